package serverbrowse

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
)

// maxDecoded bounds the entries of one list that a Decoder keeps.
const maxDecoded = 1 << 20

// Errors of the browser's side.
var (
	errNoKeys  = errors.New("values without a key list")
	errKeyType = errors.New("key of an unknown type")
	errIndex   = errors.New("index of a popular value that does not exist")
	errElement = errors.New("element does not fit the client")
)

// Reply is a list as a browser sees it.
type Reply struct {
	Client  netip.Addr
	Port    uint16 // default query port of the game
	Error   string // set if the list was refused; the rest is empty then
	Keys    []Key
	Popular []string
	Entries []Entry
}

// Entry is a server, or a room, in a list or a push. A port that is not on the
// wire is the game's default port.
type Entry struct {
	Flags  Flag
	Public netip.AddrPort
	Local  netip.AddrPort // valid with FlagLocal
	ICMP   netip.Addr     // valid with FlagICMP
	Values []string       // with FlagValues: one per key
	Rules  []Rule         // with FlagRules
}

// Rule is a name and a value.
type Rule struct{ Name, Value string }

// Push is a message after the list. Its kind determines which of the other
// fields are set.
type Push struct {
	Kind    PushKind
	Body    []byte         // the data after the kind; the Push owns it
	Keys    []Key          // PushKeys
	Entry   Entry          // PushServer
	Address netip.AddrPort // PushDelete, PushMapLoop
	Changes uint32         // PushMapLoop: Unix time
	Maps    []string       // PushMapLoop
	Final   bool           // PushPlayers
	Players []FoundPlayer  // PushPlayers
}

// Decoder is the browser's side of a connection: it parses the data of a
// master. It is used by clients and tests, has the limits of the original
// client, and is not safe for concurrent use.
type Decoder struct {
	r     *bufio.Reader
	flags uint16
	port  uint16
	keys  []Key
	left  int   // bytes that the current element may still have
	most  int   // entries of a list
	err   error // the first one; everything reads as zero after it
}

// NewDecoder reads the crypt header from r, a connection on which a ListRequest
// with this challenge was sent, and returns the decoder of the data after it.
func NewDecoder(r io.Reader, secret string, challenge [8]byte) (*Decoder, error) {
	br := bufio.NewReader(r)
	var head []byte
	for {
		b, err := br.ReadByte()
		if err != nil {
			return nil, fmt.Errorf("crypt header: %w", err)
		}
		head = append(head, b)
		flags, server, _, err := gamespy.ParseCryptHeader(head)
		if errors.Is(err, gamespy.ErrShortCryptHeader) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("crypt header: %w", err)
		}
		key := gamespy.BrowseKey(secret, challenge, server)
		d := newClearDecoder(&decipherer{r: br, cipher: gamespy.NewCipher(key[:])})
		d.flags = flags
		return d, nil
	}
}

// newClearDecoder reads from a stream that is not encrypted.
func newClearDecoder(r io.Reader) *Decoder {
	return &Decoder{r: bufio.NewReader(r), most: maxDecoded}
}

// decipherer is a reader that undoes the cipher.
type decipherer struct {
	r      io.Reader
	cipher gamespy.Cipher
}

func (d *decipherer) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	d.cipher.Decrypt(p[:n], p[:n])
	return n, err
}

// Reply reads the answer to a list request with the given options.
func (d *Decoder) Reply(o Option) (Reply, error) {
	d.element()
	r := Reply{Client: d.ip(), Port: d.u16()}
	d.port, d.keys = r.Port, nil
	switch {
	case r.Port == errorPort:
		r.Error = d.text()
	case o&NoServerList == 0:
		d.list(&r)
	}
	return r, d.err
}

// list reads key list, popular values and entries.
func (d *Decoder) list(r *Reply) {
	d.keys = d.keyList()
	r.Keys = d.keys
	for range int(d.u8()) {
		d.element()
		r.Popular = append(r.Popular, d.text())
	}
	for d.err == nil {
		d.element()
		e := d.entryHead()
		if e.Flags == 0 && e.Public.Addr() == unlistable {
			return
		}
		if len(r.Entries) == d.most {
			d.fail(netclient.ErrTooLong)
		}
		d.entryTail(&e, r.Popular, true)
		if d.err == nil {
			r.Entries = append(r.Entries, e)
		}
	}
}

func (d *Decoder) keyList() []Key {
	n := int(d.u8())
	var keys []Key
	for range n {
		d.element()
		k := Key{KeyType(d.u8()), d.text()}
		if k.Type > KeyShort {
			d.fail(errKeyType)
		}
		if d.err != nil {
			return nil
		}
		keys = append(keys, k)
	}
	return keys
}

func (d *Decoder) entryHead() Entry {
	e := Entry{Flags: Flag(d.u8())}
	e.Public = netip.AddrPortFrom(d.ip(), d.port)
	if e.Flags&FlagPort != 0 {
		e.Public = netip.AddrPortFrom(e.Public.Addr(), d.u16())
	}
	if e.Flags&FlagLocal != 0 {
		e.Local = netip.AddrPortFrom(d.ip(), d.port)
	}
	if e.Flags&FlagLocalPort != 0 {
		e.Local = netip.AddrPortFrom(e.Local.Addr(), d.u16())
	}
	if e.Flags&FlagICMP != 0 {
		e.ICMP = d.ip()
	}
	return e
}

// entryTail reads values and rules. In a list a string value is an index or
// marked text, in a push it is plain text.
func (d *Decoder) entryTail(e *Entry, popular []string, marked bool) {
	if e.Flags&FlagValues != 0 {
		if len(d.keys) == 0 {
			d.fail(errNoKeys)
			return
		}
		for _, k := range d.keys {
			e.Values = append(e.Values, d.value(k.Type, popular, marked))
		}
	}
	if e.Flags&FlagRules != 0 {
		for d.err == nil {
			name := d.text()
			if name == "" {
				return
			}
			e.Rules = append(e.Rules, Rule{name, d.text()})
		}
	}
}

func (d *Decoder) value(t KeyType, popular []string, marked bool) string {
	switch {
	case t == KeyByte:
		return strconv.Itoa(int(d.u8()))
	case t == KeyShort:
		return strconv.Itoa(int(d.u16()))
	case !marked:
		return d.text()
	}
	i := int(d.u8())
	switch {
	case i == literal:
		return d.text()
	case i < len(popular):
		return popular[i]
	}
	d.fail(errIndex)
	return ""
}

// Push reads the next message after the list.
func (d *Decoder) Push() (Push, error) {
	d.element()
	n := int(d.u16())
	if d.err == nil && (n < minMessage || n > maxMessage) {
		d.fail(errLength)
	}
	p := Push{Kind: PushKind(d.u8())}
	if d.err == nil && n > minMessage {
		p.Body = make([]byte, n-minMessage)
		d.fill(p.Body)
	}
	if d.err != nil {
		return Push{}, d.err
	}
	body := newClearDecoder(bytes.NewReader(p.Body))
	body.port, body.keys = d.port, d.keys
	body.element()
	body.push(&p)
	if errors.Is(body.err, io.ErrUnexpectedEOF) {
		body.err = errShort
	}
	if p.Kind == PushKeys {
		d.keys = p.Keys
	}
	d.err = body.err
	return p, d.err
}

// push reads the body of a message. Unknown kinds are left to the caller, as
// the client skips them.
func (d *Decoder) push(p *Push) {
	switch p.Kind {
	case PushKeys:
		p.Keys = d.keyList()
	case PushServer:
		p.Entry = d.entryHead()
		d.entryTail(&p.Entry, nil, false)
	case PushKeepalive:
	case PushDelete:
		p.Address = netip.AddrPortFrom(d.ip(), d.u16())
	case PushMapLoop:
		p.Address = netip.AddrPortFrom(d.ip(), d.u16())
		p.Changes = d.u32()
		for range int(d.u8()) {
			p.Maps = append(p.Maps, d.text())
		}
	case PushPlayers:
		p.Final = d.u8() == 1
		for range int(d.u8()) {
			f := FoundPlayer{Name: d.text()}
			f.Server = netip.AddrPortFrom(d.ip(), d.u16())
			f.Seen, f.Game = d.u32(), d.text()
			p.Players = append(p.Players, f)
		}
	}
}

// element begins an element, which must fit the client's buffer as a whole.
func (d *Decoder) element() { d.left = maxElement }

func (d *Decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// fill reads len(p) bytes; zeros once something has failed.
func (d *Decoder) fill(p []byte) {
	if d.left -= len(p); d.left < 0 {
		d.fail(errElement)
	}
	if d.err == nil {
		if _, err := io.ReadFull(d.r, p); errors.Is(err, io.EOF) {
			d.fail(io.ErrUnexpectedEOF)
		} else if err != nil {
			d.fail(err)
		}
	}
	if d.err != nil {
		clear(p)
	}
}

func (d *Decoder) u8() uint8 {
	var p [1]byte
	d.fill(p[:])
	return p[0]
}

func (d *Decoder) u16() uint16 {
	var p [2]byte
	d.fill(p[:])
	return binary.BigEndian.Uint16(p[:])
}

func (d *Decoder) u32() uint32 {
	var p [4]byte
	d.fill(p[:])
	return binary.BigEndian.Uint32(p[:])
}

func (d *Decoder) ip() netip.Addr {
	var p [4]byte
	d.fill(p[:])
	return netip.AddrFrom4(p)
}

func (d *Decoder) text() string {
	var b []byte
	for d.err == nil {
		c := d.u8()
		if c == 0 {
			break
		}
		b = append(b, c)
	}
	if d.err != nil {
		return ""
	}
	return string(b)
}
