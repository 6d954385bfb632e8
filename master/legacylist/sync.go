package legacylist

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
)

// ErrSync reports an answer that is not the servers of a master.
var ErrSync = errors.New("legacylist: not a list of another master's servers")

// Sync asks a master of 333networks for its servers, as its other masters do.
type Sync struct {
	Games string // names, with spaces between; empty: all
	ID    string // of the asking master: one gets nothing from itself
	Max   int    // servers that are read; 0: as many as 16 MiB hold
}

// Shared are the servers of a game, with the ports at which they are queried.
type Shared struct {
	Game    string
	Servers []netip.AddrPort
}

// AppendTo appends the message that answers a greeting. It is sent at once: some masters
// clear what they have after its middle.
func (r Sync) AppendTo(dst []byte, challenge string) ([]byte, error) {
	var hello, sync gamespy.Message
	hello.Add("validate", string(gamespy.AppendValidate(nil, 0, gamespy.MasterSecret, challenge)))
	hello.Add("gamename", gamespy.MasterGame)
	hello.Add("location", "0")
	sync.Add("sync", cmp.Or(r.Games, "all"))
	sync.Add("msid", r.ID)
	out, err := hello.AppendTo(dst)
	if err == nil {
		out, err = sync.AppendTo(append(out, gamespy.Final...))
	}
	if err != nil {
		return dst, err
	}
	return append(out, gamespy.Final...), nil
}

// sharedSize is the size of a server in the longest form, in bytes.
const sharedSize = len("::ffff:255.255.255.255:65535 ")

// Ask performs the whole exchange on a new connection. The caller closes conn. The error is
// netclient.ErrTooLong for servers beyond Max, of which the first ones are returned.
func (r Sync) Ask(ctx context.Context, conn net.Conn) (list []Shared, err error) {
	most := maxStream
	if r.Max > 0 {
		most = min(sharedSize*r.Max+1<<16, maxStream)
	}
	var text []byte
	err = netclient.During(ctx, conn, func() error {
		var greeting [GreetingLen]byte
		if _, err := io.ReadFull(conn, greeting[:]); err != nil {
			return err
		}
		challenge, err := ParseGreeting(greeting[:])
		if err != nil {
			return err
		}
		request, err := r.AppendTo(nil, challenge)
		if err != nil {
			return err
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		text, err = io.ReadAll(io.LimitReader(conn, int64(most)+1))
		return err
	})
	if err != nil {
		return nil, err
	}
	list, err = ParseShared(string(text), r.Max)
	if len(text) > most {
		err = netclient.ErrTooLong
	}
	return list, err
}

// ParseShared parses the servers of a master, at most so many; 0: all. A game may have none.
// What is no address is left out. The error is netclient.ErrTooLong for more servers, and
// ErrSync without an end mark; the servers before it are returned too.
func ParseShared(text string, most int) (list []Shared, err error) {
	for n := 0; text != ""; {
		rest, ok := strings.CutPrefix(text, `\`)
		game, rest, _ := strings.Cut(rest, `\`)
		switch {
		case !ok:
			return list, ErrSync
		case game == "final":
			return list, nil
		}
		servers, _, more := strings.Cut(rest, `\`)
		text = rest[len(servers):]
		if !more { // the last address may have been cut
			servers = servers[:strings.LastIndexByte(servers, ' ')+1]
		}
		g := Shared{Game: game}
		for word := range strings.FieldsSeq(servers) {
			a, err := netip.ParseAddrPort(strings.TrimPrefix(word, "::ffff:")) // some masters write IPv4 so
			switch {
			case err != nil:
				continue
			case most > 0 && n == most:
				return append(list, g), netclient.ErrTooLong
			}
			g.Servers = append(g.Servers, a)
			n++
		}
		list = append(list, g)
	}
	return list, ErrSync
}
