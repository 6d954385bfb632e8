package records

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// A record of the server list:
//
//	form      1 byte: serverForm; '{' is a record in JSON, as older versions wrote it
//	source    text: address and port
//	flags     1 byte: 1 NAT negotiation, 2 reachable, 4 left out, 8 reached follows
//	via       text: address
//	instance  number
//	game, origin, country, region  text
//	reached   text, if flags say so
//	public    text: address and port
//	local     number of addresses, each as text
//	report, rules, players, teams  text
//	first     time
//
// A number is an unsigned varint, a text is its length and its bytes, a time is
// the seconds since 1970 as a signed varint and the nanoseconds as a number.
// Addresses are as netip marshals them. A record that is left out ends after
// its flags: it invalidates older ones of the same source.
//
// An entry of the index is a source, as text, and the time of its last report
// last.
const serverForm = 1

// Flags of a record.
const (
	flagNATNeg = 1 << iota
	flagReachable
	flagLeftOut
	flagReached
)

// serverFields names the parts of a record without Seen, which is in the index, for both
// directions. It reports whether the server was not left out.
func serverFields(f *fields, s *storage.Server) (kept bool) {
	flags := flag(s.NATNeg)*flagNATNeg | flag(s.Reachable)*flagReachable | flag(s.Reached != "")*flagReached
	f.form()
	f.addrPort(&s.Source)
	f.byte(&flags)
	if flags == flagLeftOut {
		return false
	}
	s.NATNeg, s.Reachable = flags&flagNATNeg != 0, flags&flagReachable != 0
	f.addr(&s.Via)
	bare(f, &s.Instance)
	for _, word := range [...]*string{&s.Game, &s.Origin, &s.Country, &s.Region} {
		bareText(f, word)
	}
	if flags&flagReached != 0 {
		bareText(f, &s.Reached)
	}
	f.addrPort(&s.Public)
	n := len(s.Local)
	if bare(f, &n); f.reading && n > 0 {
		s.Local = make([]netip.AddrPort, min(n, storage.MaxServerLocal))
	}
	f.bad = f.bad || n != len(s.Local)
	for i := range s.Local {
		f.addrPort(&s.Local[i])
	}
	for _, section := range [...]*[]byte{&s.Report, &s.Rules, &s.Players, &s.Teams} {
		bareText(f, section)
	}
	f.dated(&s.First)
	return true
}

// form is the form of a record.
func (f *fields) form() {
	form := byte(serverForm)
	f.byte(&form)
	f.bad = f.bad || form != serverForm
}

// byte is a part of one byte.
func (f *fields) byte(b *byte) {
	switch {
	case !f.reading:
		f.data = append(f.data, *b)
	case len(f.data) == 0:
		f.bad = true
	default:
		*b, f.data = f.data[0], f.data[1:]
	}
}

// bare is a part that is an unsigned number, without a tag.
func bare[N ~int | ~uint32](f *fields, n *N) {
	if f.reading {
		*n = N(f.uvarint())
	} else {
		f.data = binary.AppendUvarint(f.data, uint64(*n))
	}
}

// bareText is a part that is a text, without a tag. Bytes that are read share the memory of
// the record.
func bareText[S ~string | ~[]byte](f *fields, s *S) {
	if !f.reading {
		f.data = append(binary.AppendUvarint(f.data, uint64(len(*s))), *s...)
	} else if b := f.bytes(); len(b) > 0 {
		*s = S(b)
	}
}

func (f *fields) addr(a *netip.Addr) {
	if f.reading {
		f.bad = a.UnmarshalBinary(f.bytes()) != nil || f.bad
		return
	}
	text, _ := a.MarshalBinary() // never fails
	bareText(f, &text)
}

func (f *fields) addrPort(a *netip.AddrPort) {
	if f.reading {
		f.bad = a.UnmarshalBinary(f.bytes()) != nil || f.bad
		return
	}
	var space [32]byte
	text, _ := a.AppendBinary(space[:0]) // never fails
	f.data = append(binary.AppendUvarint(f.data, uint64(len(text))), text...)
}

// Years 1 to 9999, the range of JSON, in seconds since 1970.
const (
	firstSecond = -62135596800
	lastSecond  = 253402300799
)

// dated is a part that is a time within the range of JSON.
func (f *fields) dated(t *time.Time) {
	f.bareTime(t)
	f.bad = f.bad || f.reading && (t.Unix() < firstSecond || t.Unix() > lastSecond)
}

// end returns the error of reading, nil if the record was read to its end.
func (f *fields) end(what string) error {
	if f.bad || len(f.data) > 0 {
		return fmt.Errorf("%w: %s", storage.ErrDamaged, what)
	}
	return nil
}

// appendServer appends a record.
func appendServer(dst []byte, s *storage.Server) []byte {
	f := fields{data: dst}
	serverFields(&f, s)
	return f.data
}

// appendLeftOut appends a record of a server that is left out.
func appendLeftOut(dst []byte, source netip.AddrPort) []byte {
	f := fields{data: dst}
	f.form()
	f.addrPort(&source)
	return append(f.data, flagLeftOut)
}

// appendSeen appends an entry of the index.
func appendSeen(dst []byte, source netip.AddrPort, seen time.Time) []byte {
	f := fields{data: dst}
	f.addrPort(&source)
	f.bareTime(&seen)
	return f.data
}

// recordSource returns the source of a record.
func recordSource(record []byte) (source netip.AddrPort, err error) {
	if len(record) > 0 && record[0] == '{' {
		s, err := decodeJSON[storage.Server](record)
		return s.Source, err
	}
	f := fields{reading: true, data: record}
	f.form()
	f.addrPort(&source)
	if f.bad {
		err = fmt.Errorf("%w: source of a server", storage.ErrDamaged)
	}
	return source, err
}

// decodeServer reads a record. It shares no memory with it, apart from the four
// sections. kept is false if the server was left out.
func decodeServer(record []byte) (s storage.Server, kept bool, err error) {
	if len(record) > 0 && record[0] == '{' {
		s, err = decodeJSON[storage.Server](record)
		return s, true, err
	}
	f := fields{reading: true, data: record}
	kept = serverFields(&f, &s)
	if err = f.end("server"); err != nil || !kept {
		return storage.Server{}, false, err
	}
	return s, true, nil
}

// decodeSeen reads an entry of the index.
func decodeSeen(entry []byte) (source netip.AddrPort, seen time.Time, err error) {
	f := fields{reading: true, data: entry}
	f.addrPort(&source)
	f.dated(&seen)
	return source, seen, f.end("index of the server list")
}
