package serverbrowse

import (
	"encoding/binary"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/gamespy"
)

// Kind is the kind byte of a message from a browser.
type Kind uint8

// The kinds of message from a browser.
const (
	KindList         Kind = iota // ask for a list; the first message of a connection
	KindInfo                     // ask for everything about one server
	KindMessage                  // bytes for a server, which the master passes on
	KindKeepalive                // echo of the master's keepalive
	KindMapLoop                  // ask for the maps that a server plays
	KindPlayerSearch             // look for a player
	numKinds
)

var kindNames = [numKinds]string{"list", "info", "message", "keepalive", "maploop", "playersearch"}

// String returns the kind as metrics and logs spell it.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "unknown"
}

// ListRequest asks for a list and sets up the cipher of the connection.
//
//	offset  size
//	     0     2  length, big-endian, including these bytes
//	     2     1  kind: 0
//	     3     1  version of the list protocol: 1
//	     4     1  version of the encoding: 3
//	     5     4  version of the asking game, little-endian
//	     9     -  name of the game whose servers are requested, NUL-terminated
//	     -     -  name of the asking game, NUL-terminated; its secret keys the cipher
//	     -     8  challenge
//	     -     -  filter, NUL-terminated
//	     -     -  requested fields, each after a backslash, NUL-terminated
//	     -     4  options, big-endian
//	     -     4  address of the client, only with AlternateIP
//	     -     4  largest number of servers, little-endian, only with LimitResults
type ListRequest struct {
	Protocol    uint8
	Encoding    uint8
	GameVersion uint32
	For         string
	From        string
	Challenge   [8]byte
	Filter      string
	Fields      string // as sent: `\hostname\mapname`
	Options     Option
	Source      netip.Addr
	Max         uint32
}

// Has reports whether an option is set.
func (r *ListRequest) Has(o Option) bool { return r.Options&o != 0 }

// parseListRequest parses the data after the kind byte. Bytes after the last
// field are ignored.
func parseListRequest(body []byte) (ListRequest, error) {
	c := cursor{b: body}
	r := ListRequest{
		Protocol:    c.u8(),
		Encoding:    c.u8(),
		GameVersion: c.u32le(),
		For:         c.text(),
		From:        c.text(),
	}
	copy(r.Challenge[:], c.take(len(r.Challenge)))
	r.Filter = c.text()
	r.Fields = c.text()
	r.Options = Option(c.u32())
	if r.Has(AlternateIP) {
		r.Source = c.ip()
	}
	if r.Has(LimitResults) {
		r.Max = c.u32le()
	}
	return r, c.err
}

// AppendTo appends the whole message. It returns an error for texts with a NUL
// byte and for messages that are too long.
func (r *ListRequest) AppendTo(dst []byte) ([]byte, error) {
	for _, s := range []string{r.For, r.From, r.Filter, r.Fields} {
		if strings.IndexByte(s, 0) >= 0 {
			return dst, errNUL
		}
	}
	start := len(dst)
	b := append(dst, 0, 0, byte(KindList), r.Protocol, r.Encoding)
	b = binary.LittleEndian.AppendUint32(b, r.GameVersion)
	b = gamespy.AppendString(b, r.For)
	b = gamespy.AppendString(b, r.From)
	b = append(b, r.Challenge[:]...)
	b = gamespy.AppendString(b, r.Filter)
	b = gamespy.AppendString(b, r.Fields)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Options))
	if r.Has(AlternateIP) {
		b = appendIP(b, r.Source)
	}
	if r.Has(LimitResults) {
		b = binary.LittleEndian.AppendUint32(b, r.Max)
	}
	return seal(dst, b, start)
}

// seal writes the length of the message that starts at start; it returns dst
// if the message is too long.
func seal(dst, b []byte, start int) ([]byte, error) {
	n := len(b) - start
	if n > maxMessage {
		return dst, errTooLong
	}
	binary.BigEndian.PutUint16(b[start:], uint16(n))
	return b, nil
}

// fieldNames cuts a field list into names, without empty ones and repetitions.
// ok is false if there are too many.
func fieldNames(list string) (names []string, ok bool) {
	for name := range strings.SplitSeq(list, `\`) {
		same := func(n string) bool { return ascii.EqualFold(n, name) }
		if name == "" || slices.ContainsFunc(names, same) {
			continue
		}
		if len(names) == maxFields {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// AppendInfoRequest appends the request for all rules of one server.
//
//	0  2  length: 9
//	2  1  kind: 1
//	3  4  address
//	7  2  port, big-endian
func AppendInfoRequest(dst []byte, server netip.AddrPort) []byte {
	return appendAddrPort(append(dst, 0, 9, byte(KindInfo)), server)
}

// parseAddress reads the address in a request about one server, and returns the
// rest.
func parseAddress(body []byte) (netip.AddrPort, []byte, error) {
	c := cursor{b: body}
	a := c.addrPort()
	return a, c.b, c.err
}

// AppendMessage appends a message for a server: the layout of AppendInfoRequest
// with kind 2, followed by the data.
func AppendMessage(dst []byte, server netip.AddrPort, data []byte) ([]byte, error) {
	start := len(dst)
	b := appendAddrPort(append(dst, 0, 0, byte(KindMessage)), server)
	return seal(dst, append(b, data...), start)
}

// PlayerSearch is a request for the servers on which a player is.
//
//	 0  2  length
//	 2  1  kind: 5
//	 3  4  options, big-endian
//	 7  4  largest number of answers, big-endian
//	11  -  name, NUL-terminated
type PlayerSearch struct {
	Options SearchOption
	Max     uint32
	Name    string
}

// SearchOption is the set of option bits in a player search.
type SearchOption uint32

// The option bits of a player search. Without one of the substring bits the
// whole name must be equal.
const (
	SearchAllGames SearchOption = 1 << iota
	SearchPrefix
	SearchSuffix
	SearchSubstring
)

func parsePlayerSearch(body []byte) (PlayerSearch, error) {
	c := cursor{b: body}
	p := PlayerSearch{Options: SearchOption(c.u32()), Max: c.u32(), Name: c.text()}
	return p, c.err
}

// frameReader cuts the stream of a browser into messages, however they were
// split or merged in transit. After a read error, such as a deadline, no data
// is lost: the next call continues.
type frameReader struct {
	r    io.Reader
	buf  []byte // of firstFrameBuffer bytes, or of maxMessage after a message that did not fit
	have int    // bytes in buf
	done int    // size of the last returned message
}

const firstFrameBuffer = 512

// next returns the next message without its length. It is valid until the next
// call. After errLength the stream cannot be read further.
func (f *frameReader) next() (Kind, []byte, error) {
	if f.buf == nil {
		f.buf = make([]byte, firstFrameBuffer)
	}
	f.have = copy(f.buf, f.buf[f.done:f.have])
	f.done = 0
	for {
		n, err := f.frame()
		if err != nil {
			return 0, nil, err
		}
		if n > 0 {
			f.done = n
			return Kind(f.buf[2]), f.buf[minMessage:n], nil
		}
		n, err = f.r.Read(f.buf[f.have:])
		f.have += n
		if err != nil && n == 0 {
			return 0, nil, err
		}
	}
}

// frame returns the size of the message at the front of buf, 0 if it has not
// arrived yet. It makes buf large enough for it.
func (f *frameReader) frame() (int, error) {
	if f.have < 2 {
		return 0, nil
	}
	n := int(binary.BigEndian.Uint16(f.buf))
	if n < minMessage || n > maxMessage {
		return 0, errLength
	}
	if n > len(f.buf) {
		f.buf = append(f.buf, make([]byte, maxMessage-len(f.buf))...)
	}
	if f.have < n {
		return 0, nil
	}
	return n, nil
}
