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

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func appendAddr(dst []byte, a netip.Addr) []byte {
	text, _ := a.MarshalBinary() // never fails
	return appendText(dst, text)
}

func appendAddrPort(dst []byte, a netip.AddrPort) []byte {
	var space [32]byte
	text, _ := a.AppendBinary(space[:0]) // never fails
	return appendText(dst, text)
}

func appendTime(dst []byte, t time.Time) []byte {
	dst = binary.AppendVarint(dst, t.Unix())
	return binary.AppendUvarint(dst, uint64(t.Nanosecond()))
}

// appendServer appends a record without Seen, which is in the index.
func appendServer(dst []byte, s *storage.Server) []byte {
	dst = appendAddrPort(append(dst, serverForm), s.Source)
	var flags byte
	if s.NATNeg {
		flags |= flagNATNeg
	}
	if s.Reachable {
		flags |= flagReachable
	}
	if s.Reached != "" {
		flags |= flagReached
	}
	dst = appendAddr(append(dst, flags), s.Via)
	dst = binary.AppendUvarint(dst, uint64(s.Instance))
	for _, word := range [...]string{s.Game, s.Origin, s.Country, s.Region} {
		dst = appendText(dst, word)
	}
	if s.Reached != "" {
		dst = appendText(dst, s.Reached)
	}
	dst = appendAddrPort(dst, s.Public)
	dst = binary.AppendUvarint(dst, uint64(len(s.Local)))
	for _, a := range s.Local {
		dst = appendAddrPort(dst, a)
	}
	for _, section := range [...][]byte{s.Report, s.Rules, s.Players, s.Teams} {
		dst = appendText(dst, section)
	}
	return appendTime(dst, s.First)
}

// appendLeftOut appends a record of a server that is left out.
func appendLeftOut(dst []byte, source netip.AddrPort) []byte {
	return append(appendAddrPort(append(dst, serverForm), source), flagLeftOut)
}

// appendSeen appends an entry of the index.
func appendSeen(dst []byte, source netip.AddrPort, seen time.Time) []byte {
	return appendTime(appendAddrPort(dst, source), seen)
}

// recordReader reads the parts of a record. After a missing part, bad is set
// and all further parts are zero.
type recordReader struct {
	b   []byte
	bad bool
}

func (r *recordReader) fail() {
	r.b, r.bad = nil, true
}

func (r *recordReader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *recordReader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// text returns a text in the memory of the record; nil if it is empty.
func (r *recordReader) text() []byte {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	text := r.b[:n:n]
	r.b = r.b[n:]
	if n == 0 {
		return nil
	}
	return text
}

func (r *recordReader) addr() (a netip.Addr) {
	if a.UnmarshalBinary(r.text()) != nil {
		r.fail()
	}
	return a
}

func (r *recordReader) addrPort() (a netip.AddrPort) {
	if a.UnmarshalBinary(r.text()) != nil {
		r.fail()
	}
	return a
}

// Years 1 to 9999, the range of JSON, in seconds since 1970.
const (
	firstSecond = -62135596800
	lastSecond  = 253402300799
)

func (r *recordReader) time() time.Time {
	sec, n := binary.Varint(r.b)
	if n <= 0 || sec < firstSecond || sec > lastSecond {
		r.fail()
		return time.Time{}
	}
	r.b = r.b[n:]
	nsec := r.number()
	if nsec >= uint64(time.Second) {
		r.fail()
		return time.Time{}
	}
	return time.Unix(sec, int64(nsec)).UTC()
}

// err returns the error of reading, nil if the record was read to its end.
func (r *recordReader) err(what string) error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w: %s", storage.ErrDamaged, what)
	}
	return nil
}

// recordSource returns the source of a record.
func recordSource(record []byte) (netip.AddrPort, error) {
	if len(record) > 0 && record[0] == '{' {
		s, err := decodeJSON[storage.Server](record)
		return s.Source, err
	}
	r := recordReader{b: record}
	form := r.byte()
	source := r.addrPort()
	if r.bad || form != serverForm {
		return source, fmt.Errorf("%w: source of a server", storage.ErrDamaged)
	}
	return source, nil
}

// decodeServer reads a record. It shares no memory with it, apart from the four
// sections. kept is false if the server was left out.
func decodeServer(record []byte) (s storage.Server, kept bool, err error) {
	if len(record) > 0 && record[0] == '{' {
		s, err = decodeJSON[storage.Server](record)
		return s, true, err
	}
	r := recordReader{b: record}
	if r.byte() != serverForm {
		r.fail()
	}
	s.Source = r.addrPort()
	flags := r.byte()
	if flags == flagLeftOut {
		return storage.Server{}, false, r.err("server that was left out")
	}
	s.NATNeg, s.Reachable = flags&flagNATNeg != 0, flags&flagReachable != 0
	s.Via = r.addr()
	s.Instance = uint32(r.number())
	for _, word := range [...]*string{&s.Game, &s.Origin, &s.Country, &s.Region} {
		*word = string(r.text())
	}
	if flags&flagReached != 0 {
		s.Reached = string(r.text())
	}
	s.Public = r.addrPort()
	n := r.number()
	if n > storage.MaxServerLocal {
		r.fail()
	}
	for range n {
		if r.bad {
			break
		}
		s.Local = append(s.Local, r.addrPort())
	}
	for _, section := range [...]*[]byte{&s.Report, &s.Rules, &s.Players, &s.Teams} {
		*section = r.text()
	}
	s.First = r.time()
	if err := r.err("server"); err != nil {
		return storage.Server{}, false, err
	}
	return s, true, nil
}

// decodeSeen reads an entry of the index.
func decodeSeen(entry []byte) (source netip.AddrPort, seen time.Time, err error) {
	r := recordReader{b: entry}
	source, seen = r.addrPort(), r.time()
	return source, seen, r.err("index of the server list")
}
