package torquemaster

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strconv"
)

// kind is the kind of a message.
type kind byte

const (
	typesRequest  kind = 2
	typesResponse kind = 4
	listRequest   kind = 6
	listResponse  kind = 8
	infoRequest   kind = 10
	infoResponse  kind = 12
	pingRequest   kind = 14 // of browsers to servers, as the next
	pingResponse  kind = 16
	heartbeat     kind = 22
)

const (
	headSize  = 6 // kind, flags, session
	listHead  = headSize + 4
	entrySize = 6
	perPacket = 231 // servers, so that a packet is at most 1400 bytes
	maxList   = 254 // packets
	maxTypes  = 16

	wantedRest = 14 // bytes behind the least number of players, without friends
	maxPacket  = 1400

	newList = 255 // the index of a request for a whole list
	anyType = "any"
)

// Flags of a server.
const (
	dedicated = 1 << iota
	password
	linux
)

// appendHead appends the head of a message. session are 4 bytes.
func appendHead(b []byte, k kind, session []byte) []byte {
	return append(append(b, byte(k), 0), session...)
}

func appendKey(b []byte, k kind, key uint32) []byte {
	return appendHead(b, k, binary.LittleEndian.AppendUint32(nil, key))
}

func appendText(b []byte, s string) []byte {
	s = s[:min(len(s), 255)]
	return append(append(b, byte(len(s))), s...)
}

// errPacket reports a message that ends too early.
var errPacket = errors.New("torquemaster: malformed message")

// reader reads a message. bad reports that it ended too early.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if len(r.rest) < n {
		r.rest, r.bad = nil, true
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) number() int  { return int(r.take(1)[0]) }
func (r *reader) text() string { return string(r.take(r.number())) }

// wanted is what a browser requests.
type wanted struct {
	index             byte
	gameType, mission string
	least             int // players
}

func appendWanted(b []byte, w wanted) []byte {
	b = appendText(appendText(append(b, w.index), w.gameType), w.mission)
	b = append(b, byte(w.least), 255, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0) // players, regions, version
	return append(b, 0, 255, 0, 0, 0)                                     // flags, bots, speed, friends
}

func parseWanted(b []byte) (w wanted, err error) {
	r := reader{rest: b}
	w = wanted{index: byte(r.number()), gameType: r.text(), mission: r.text(), least: r.number()}
	if r.take(wantedRest); r.bad { // a shorter request would be answered with more for less
		return wanted{}, errPacket
	}
	return w, nil
}

// info is what a server says of itself.
type info struct {
	gameType, mission string
	places, players   int
	version           uint32
	flags             byte
}

func appendInfo(b []byte, i info) []byte {
	b = append(appendText(appendText(b, i.gameType), i.mission), byte(i.places))
	b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 0xFFFFFFFF), i.version)
	return append(b, i.flags, 0, 0, 0, 0, 0, byte(i.players)) // flags, bots, speed, players
}

func parseInfo(b []byte) (i info, err error) {
	r := reader{rest: b}
	i = info{gameType: r.text(), mission: r.text(), places: r.number()}
	r.take(4) // regions
	i.version = binary.LittleEndian.Uint32(r.take(4))
	i.flags = r.take(1)[0]
	r.take(1) // bots
	// The speed of the processor has two bytes in Tribes 2 and four in Torque. Behind it are the
	// players, a byte, and four bytes for each that is named.
	if r.take(2); len(r.rest)%4 == 3 {
		r.take(2)
	}
	if i.players = r.number(); r.bad {
		return info{}, errPacket
	}
	return i, nil
}

// rules returns the rules of a server, under the names of GameSpy's protocols.
func (i *info) rules() (names, values []string) {
	bit := func(flag byte) string { return strconv.Itoa(int(min(i.flags&flag, 1))) }
	return []string{"gametype", "missiontype", "numplayers", "maxplayers", "gamever", "dedicated", "password", "linux"},
		[]string{
			i.gameType, i.mission, strconv.Itoa(i.players), strconv.Itoa(i.places), strconv.FormatUint(uint64(i.version), 10),
			bit(dedicated), bit(password), bit(linux),
		}
}

// appendList appends the packets of a list. Their session is zero.
func appendList(packets [][]byte, list []netip.AddrPort, _ bool) [][]byte {
	list = list[:min(len(list), maxList*perPacket)]
	total := max((len(list)+perPacket-1)/perPacket, 1)
	for i := range total {
		part := list[i*perPacket : min((i+1)*perPacket, len(list))]
		b := append(appendKey(nil, listResponse, 0), byte(i), byte(total))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(part)))
		for _, a := range part {
			ip := a.Addr().As4()
			b = binary.LittleEndian.AppendUint16(append(b, ip[:]...), a.Port())
		}
		packets = append(packets, b)
	}
	return packets
}

// parseList parses a packet of a list.
func parseList(b []byte) (list []netip.AddrPort, index, total int, ok bool) {
	if len(b) < listHead || kind(b[0]) != listResponse {
		return nil, 0, 0, false
	}
	n := int(binary.LittleEndian.Uint16(b[8:]))
	index, total = int(b[6]), int(b[7])
	for b = b[listHead:]; len(b) >= entrySize && len(list) < n; b = b[entrySize:] {
		list = append(list, netip.AddrPortFrom(netip.AddrFrom4([4]byte(b)), binary.LittleEndian.Uint16(b[4:])))
	}
	return list, index, total, len(list) == n && index < total
}

// appendTypes appends the types of games and missions, those that fit, after any.
func appendTypes(b []byte, lists ...[]string) []byte {
	for _, list := range lists {
		list = slices.DeleteFunc(list, func(s string) bool { return s == "" || s == anyType })
		slices.Sort(list)
		list = slices.Compact(list)
		list = list[:min(len(list), maxTypes)]
		b = appendText(append(b, byte(len(list)+1)), anyType)
		for _, s := range list {
			b = appendText(b, s)
		}
	}
	return b
}
