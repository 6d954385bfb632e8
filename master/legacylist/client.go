package legacylist

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
)

// greeting is the first text of the master. Only the challenge follows.
const (
	greeting     = `\basic\\secure\`
	challengeLen = 6
)

// GreetingLen is the size of the greeting in bytes.
const GreetingLen = len(greeting) + challengeLen

// Errors of a client.
var (
	ErrGreeting = errors.New("legacylist: not a greeting")
	ErrList     = errors.New("legacylist: not a compact list of servers")
	ErrRefused  = errors.New("legacylist: the master refused")
)

// ParseGreeting returns the challenge in the first [GreetingLen] bytes of the
// master.
func ParseGreeting(b []byte) (challenge string, err error) {
	challenge, ok := strings.CutPrefix(string(b), greeting)
	if !ok || len(challenge) != challengeLen {
		return "", ErrGreeting
	}
	return challenge, nil
}

// Request is the request of a client.
type Request struct {
	Engine  string // the client's own game
	Secret  string // of Engine
	Enctype int    // 0 to 2
	Mode    Mode
	Game    string // game whose servers are requested
	Filter  string // empty: all of them
	Max     int    // entries of the list that are read at most; 0: as many as 16 MiB hold
}

// AppendTo appends the two messages that answer a greeting, and returns the
// longer slice. The error is gamespy.ErrUnwritable.
func (r Request) AppendTo(dst []byte, challenge string) ([]byte, error) {
	var hello, list gamespy.Message
	hello.Add("gamename", r.Engine)
	hello.Add("gamever", "2")
	hello.Add("location", "0")
	hello.Add("validate", string(gamespy.AppendValidate(nil, r.Enctype, r.Secret, challenge)))
	hello.Add("enctype", strconv.Itoa(r.Enctype))
	list.Add("list", string(r.Mode))
	list.Add("gamename", r.Game)
	if r.Filter != "" {
		list.Add("where", r.Filter)
	}
	out, err := hello.AppendTo(dst)
	if err == nil {
		out, err = list.AppendTo(append(out, gamespy.Final+`\queryid\1.1\`...))
	}
	if err != nil {
		return dst, err
	}
	return append(out, gamespy.Final...), nil
}

// maxStream is the longest answer that a client reads, in bytes.
const maxStream = 16 << 20

// entrySize returns the greatest size of an entry of a list.
func (r *Request) entrySize() int {
	if r.Mode == Plain {
		return len(`\ip\255.255.255.255:65535`)
	}
	return compactSize
}

// parse reads a decoded list, or the beginning of one that is not whole.
func (r *Request) parse(list []byte, whole bool) ([]netip.AddrPort, error) {
	switch {
	case r.Mode == Plain && !whole:
		return ParsePlain(list[:max(bytes.LastIndex(list, []byte(plainKey)), 0)])
	case r.Mode == Plain:
		return ParsePlain(list)
	case !whole:
		list = list[:len(list)/compactSize*compactSize]
	}
	return ParseCompact(list)
}

// maxHead is how much may lie before and behind the entries of a list, in bytes.
const maxHead = 1 << 10

// Ask performs the whole exchange on a new connection: it waits for the
// greeting, sends the request, and returns the servers of the list. The mode of
// the request must be [Compact] or [Plain]. The caller closes conn. The error is
// netclient.ErrTooLong for a list beyond Max, of which the beginning is returned.
func (r Request) Ask(ctx context.Context, conn net.Conn) (servers []netip.AddrPort, err error) {
	err = netclient.During(ctx, conn, func() error {
		servers, err = r.ask(conn)
		return err
	})
	return servers, err
}

func (r Request) ask(conn net.Conn) ([]netip.AddrPort, error) {
	var greeting [GreetingLen]byte
	if _, err := io.ReadFull(conn, greeting[:]); err != nil {
		return nil, err
	}
	challenge, err := ParseGreeting(greeting[:])
	if err != nil {
		return nil, err
	}
	request, err := r.AppendTo(nil, challenge)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	most := maxStream
	if r.Max > 0 {
		most = min(r.entrySize()*r.Max+maxHead, maxStream)
	}
	stream, err := io.ReadAll(io.LimitReader(conn, int64(most)+1))
	if err != nil {
		return nil, err
	}
	whole := len(stream) <= most
	if !whole && r.Enctype == 1 { // only the end says how to decode the beginning
		return nil, netclient.ErrTooLong
	}
	list, err := r.Decode(challenge, stream[:min(len(stream), most)])
	if err != nil {
		return nil, err
	}
	servers, err := r.parse(list, whole)
	if err == nil && (!whole || r.Max > 0 && len(servers) > r.Max) {
		return servers[:min(len(servers), cmp.Or(r.Max, len(servers)))], netclient.ErrTooLong
	}
	return servers, err
}

// Decode returns the decrypted list in stream, which is everything that the
// master sent after the request. The error is [ErrRefused] or
// gamespy.ErrListHeader. A refusal at enctype 0 looks like an empty list.
func (r Request) Decode(challenge string, stream []byte) ([]byte, error) {
	if strings.HasPrefix(string(stream), `\fatal\`) {
		return nil, ErrRefused
	}
	switch r.Enctype {
	case 1:
		return gamespy.DecodeEnctype1(challenge, stream)
	case 2:
		key, list, err := gamespy.ParseEnctype2Header(stream, r.Secret)
		if err != nil {
			return nil, err
		}
		tree := gamespy.NewTreeCipher(key)
		out := make([]byte, len(list))
		tree.XOR(out, list)
		return out, nil
	}
	return stream, nil
}

// ParseCompact reads a decoded list of mode [Compact]. The end mark may be
// missing. The error is [ErrList].
func ParseCompact(list []byte) ([]netip.AddrPort, error) {
	var out []netip.AddrPort
	for ; len(list) > 0 && string(list) != gamespy.Final; list = list[compactSize:] {
		if len(list) < compactSize {
			return nil, ErrList
		}
		ip := netip.AddrFrom4([4]byte(list))
		out = append(out, netip.AddrPortFrom(ip, binary.BigEndian.Uint16(list[4:])))
	}
	return out, nil
}

// plainKey begins an entry of a list of mode [Plain].
const plainKey = `\ip\`

// ParsePlain reads a decoded list of mode [Plain]. The end mark may be missing. The
// error is [ErrList].
func ParsePlain(list []byte) ([]netip.AddrPort, error) {
	var out []netip.AddrPort
	rest := strings.TrimSuffix(string(list), gamespy.Final)
	for rest != "" {
		entry, found := strings.CutPrefix(rest, plainKey)
		if !found {
			return nil, ErrList
		}
		rest = ""
		if i := strings.IndexByte(entry, '\\'); i >= 0 {
			entry, rest = entry[:i], entry[i:]
		}
		a, err := netip.ParseAddrPort(entry)
		if err != nil {
			return nil, ErrList
		}
		out = append(out, a)
	}
	return out, nil
}

func appendNumber(dst []byte, n int) []byte {
	return strconv.AppendInt(append(dst, '\\'), int64(n), 10)
}
