package odamaster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

const (
	serverWord = 5560020 // begins messages of servers; 0 does too
	masterWord = 777123  // begins those of the master, and requests of launchers

	wordSize   = 4
	keySize    = 4
	infoHead   = 12 // word, token, key
	entrySize  = 6
	headSize   = 6 // of a list
	maxPacket  = 8 << 10
	maxServers = (maxPacket - headSize) / entrySize
)

// kind is the kind of a message to the master.
type kind uint8

const (
	foreign kind = iota
	heartbeat
	information
	request
)

// message is a message to the master. Port is that of a heartbeat, 0 if it has none.
type message struct {
	kind kind
	port uint16
	key  uint32
	info []byte
}

func parse(p []byte) (m message) {
	if len(p) < wordSize {
		return m
	}
	word := binary.LittleEndian.Uint32(p)
	switch ours := word == serverWord || word == 0; {
	case word == masterWord && len(p) == wordSize:
		m.kind = request
	case ours && len(p) == wordSize:
		m.kind = heartbeat
	case ours && len(p) == wordSize+2:
		m.kind, m.port = heartbeat, binary.LittleEndian.Uint16(p[wordSize:])
	case ours && len(p) > infoHead:
		m.kind, m.key, m.info = information, binary.LittleEndian.Uint32(p[infoHead-keySize:]), p[infoHead:]
	}
	return m
}

func appendHeartbeat(b []byte, port uint16) []byte {
	return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint32(b, serverWord), port)
}

func appendQuestion(b []byte, key uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, masterWord), key)
}

func appendRequest(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, masterWord) }

// appendList appends the packet of a list, which has the first maxServers of it.
func appendList(packets [][]byte, list []netip.AddrPort, _ bool) [][]byte {
	list = list[:min(len(list), maxServers)]
	b := binary.LittleEndian.AppendUint16(appendRequest(nil), uint16(len(list)))
	for _, a := range list {
		ip := a.Addr().As4()
		b = binary.LittleEndian.AppendUint16(append(b, ip[:]...), a.Port())
	}
	return append(packets, b)
}

func parseList(b []byte) (list []netip.AddrPort, ok bool) {
	if len(b) < headSize || binary.LittleEndian.Uint32(b) != masterWord {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint16(b[wordSize:]))
	for b = b[headSize:]; len(b) >= entrySize && len(list) < n; b = b[entrySize:] {
		list = append(list, netip.AddrPortFrom(netip.AddrFrom4([4]byte(b)), binary.LittleEndian.Uint16(b[4:])))
	}
	return list, len(list) == n
}

// errInfo reports an info that ends too early.
var errInfo = errors.New("odamaster: malformed info")

// reader reads an info. bad reports that it ended too early.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) text() string {
	text, rest, ok := bytes.Cut(r.rest, []byte{0})
	r.rest, r.bad = rest, r.bad || !ok
	return string(text)
}

func (r *reader) number() int {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	n := r.rest[0]
	r.rest = r.rest[1:]
	return int(n)
}

// said is what a server says of itself. The reader has the rest, which is not read.
type said struct {
	reader
	host, area, kind string
	players, most    int
	files            []string
}

func readInfo(b []byte) (i said) {
	i.reader, i.kind = reader{rest: b}, "cooperative"
	i.host, i.players, i.most, i.area = i.text(), i.number(), i.number(), i.text()
	for range i.number() {
		i.files = append(i.files, i.text())
	}
	for n, name := range []string{"deathmatch", "", "team deathmatch", "capture the flag"} {
		if on := i.number() != 0; on && n != 1 { // the second is the skill
			i.kind = name
		}
	}
	return i
}

func rules(b []byte) (names, values []string, err error) {
	i := readInfo(b)
	if i.bad {
		return nil, nil, errInfo
	}
	return []string{"hostname", "numplayers", "maxplayers", "mapname", "gametype", "wads"},
		[]string{i.host, strconv.Itoa(i.players), strconv.Itoa(i.most), i.area, i.kind, strings.Join(i.files, " ")}, nil
}
