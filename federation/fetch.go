package federation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"
)

// fetcher reads a master in its protocol.
type fetcher interface {
	// read tells s every entry of the list, at most about max. It may tell some and
	// then return an error.
	read(ctx context.Context, s *source, max int) (result string, err error)
	// follow tells s of changes until ctx ends, if the protocol has them, or returns.
	follow(ctx context.Context, s *source)
	// close ends follow and read.
	close()
}

// Times of single answers.
const (
	udpTimeout = 5 * time.Second // without an answer
	udpTries   = 3
	lingerFor  = time.Second // after the last packet of a list in Quake III's form
	pageRetry  = 2 * time.Second
)

var errUnknownSecret = errors.New("the secret of this game is not known: `respawnd game add` sets it")

// once is a fetcher of a protocol without changes.
type once func(ctx context.Context, s *source, max int) error

func (f once) read(ctx context.Context, s *source, max int) (string, error) {
	return resultRead, f(ctx, s, max)
}
func (once) follow(context.Context, *source) {}
func (once) close()                          {}

// newFetcher returns the fetcher of a master.
func newFetcher(m *configs.OtherMaster, d *dialer, catalogue *games.Catalog, self string) fetcher {
	switch m.Protocol {
	case "gamespy":
		return once(func(ctx context.Context, s *source, max int) error { return readGameSpy(ctx, s, d, catalogue, max) })
	case "serverbrowse":
		return once(func(ctx context.Context, s *source, max int) error { return readBrowse(ctx, s, d, catalogue, max) })
	case "zandronum":
		return once(func(ctx context.Context, s *source, max int) error { return readZandronum(ctx, s, d, max) })
	case "valve":
		return once(func(ctx context.Context, s *source, max int) error { return readValve(ctx, s, d, max) })
	case "q3":
		return once(func(ctx context.Context, s *source, max int) error { return readQuake3(ctx, s, d, max) })
	default:
		return newPeer(m, d, self)
	}
}

// tellAll tells the servers of a list, also those before an error. One that the master
// names twice is counted.
func tellAll(s *source, list []netip.AddrPort, query, game string, err error) error {
	for _, a := range list {
		s.tell(found{addr: netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), query: query, game: game})
	}
	return err
}

// readGameSpy reads the list of GameSpy's first protocol.
func readGameSpy(ctx context.Context, s *source, d *dialer, catalogue *games.Catalog, most int) error {
	m := &s.master
	g, _ := catalogue.Lookup(m.Game)
	if g.Secret() == "" && m.Enctype > 0 {
		return errUnknownSecret
	}
	conn, err := d.tcp(ctx, m)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	r := legacylist.Request{Engine: m.Game, Secret: g.Secret(), Enctype: m.Enctype, Mode: legacylist.Plain, Game: m.Game, Filter: m.Filter, Max: most}
	if m.CMP {
		r.Mode = legacylist.Compact
	}
	list, err := r.Ask(ctx, conn)
	return tellAll(s, list, cmp.Or(m.Query, "gs1"), m.Game, err)
}

// readBrowse reads a list of server browsing, version 2.
func readBrowse(ctx context.Context, s *source, d *dialer, catalogue *games.Catalog, most int) error {
	m := &s.master
	as := cmp.Or(m.As, m.Game)
	g, _ := catalogue.Lookup(as)
	if g.Secret() == "" {
		return errUnknownSecret
	}
	conn, err := d.tcp(ctx, m)
	if err != nil {
		return err
	}
	// Entries without values have less than 32 bytes.
	c := serverbrowse.NewClient(&limitedConn{conn, 32*most + 1<<16}, g.Secret())
	defer func() { _ = c.Close() }()
	c.SetMax(most)
	r := serverbrowse.NewRequest(m.Game, m.Filter, "", 0)
	r.From = as
	reply, err := c.List(ctx, r)
	for i := range reply.Entries {
		s.tell(found{addr: reply.Entries[i].Public, query: cmp.Or(m.Query, "gs3"), game: m.Game})
	}
	return err
}

// udp opens a socket to the master and calls ask, again if there is no answer.
func udp(ctx context.Context, s *source, d *dialer, ask func(context.Context, *netclient.Packets) ([]netip.AddrPort, error)) ([]netip.AddrPort, error) {
	p, err := d.udp(ctx, &s.master)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	for try := 1; ; try++ {
		list, err := ask(netclient.Bound(ctx, udpTimeout), p)
		t, timed := errors.AsType[net.Error](err)
		if len(list) > 0 || try == udpTries || ctx.Err() != nil || !timed || !t.Timeout() {
			if timed && t.Timeout() {
				err = fmt.Errorf("no whole answer within %v", udpTimeout)
			}
			return list, err
		}
	}
}

// readZandronum reads the list for launchers.
func readZandronum(ctx context.Context, s *source, d *dialer, most int) error {
	list, err := udp(ctx, s, d, func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
		l := zanmaster.Launcher{Packets: p, Max: most}
		return l.List(ctx)
	})
	return tellAll(s, list, "zandronum", "", err)
}

// readValve reads the pages of a list in Valve's form.
func readValve(ctx context.Context, s *source, d *dialer, most int) error {
	p, err := d.udp(ctx, &s.master)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	b := valvemaster.Browser{Packets: p, Retry: pageRetry, Max: most}
	list, err := b.List(ctx, s.master.Filter, most)
	return tellAll(s, list, "a2s", "", err)
}

// readQuake3 reads the list of a game and protocol.
func readQuake3(ctx context.Context, s *source, d *dialer, most int) error {
	m := &s.master
	list, err := udp(ctx, s, d, func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
		b := q3master.Browser{Packets: p, Max: most, Linger: lingerFor}
		return b.List(ctx, quake3.Request{Game: []byte(m.Game), Protocol: m.Number, Empty: true, Full: true})
	})
	return tellAll(s, list, "quake3", "", err)
}
