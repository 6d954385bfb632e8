package federation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/utmaster"
)

var errUnknownSecret = errors.New("the secret of this game is not known: `respawnd game add` sets it")

var errNoUnreal = errors.New("the catalogue does not say how this game signs in at such a master: ut2 and ut2004 do")

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

// browseTimeout is the time for a list of server browsing.
const browseTimeout = 12 * time.Second

// readBrowse reads a list of server browsing, version 2: with the names of servers, as some
// masters answer nothing to a request without fields, and without them if that gives nothing.
func readBrowse(ctx context.Context, s *source, d *dialer, catalogue *games.Catalog, most int) error {
	m := &s.master
	as := cmp.Or(m.As, m.Game)
	g, _ := catalogue.Lookup(as)
	if g.Secret() == "" {
		return errUnknownSecret
	}
	r := serverbrowse.NewRequest(m.Game, m.Filter, `\hostname`, serverbrowse.FieldsForAll)
	r.From = as
	list, err := browse(ctx, m, d, &r, g.Secret(), most)
	if len(list) == 0 && ctx.Err() == nil && !errors.Is(err, netclient.ErrTooLong) {
		r.Fields, r.Options = "", 0
		list, err = browse(ctx, m, d, &r, g.Secret(), most)
	}
	for i := range list {
		s.tell(found{addr: list[i].Public, query: cmp.Or(m.Query, "gs3"), game: m.Game})
	}
	return err
}

// browse requests a list of server browsing on a new connection.
func browse(ctx context.Context, m *configs.OtherMaster, d *dialer, r *serverbrowse.ListRequest, secret string, most int) ([]serverbrowse.Entry, error) {
	conn, err := d.tcp(ctx, m)
	if err != nil {
		return nil, err
	}
	// An entry has less than 32 bytes before the name of its server.
	c := serverbrowse.NewClient(&limitedConn{conn, (32+128)*most + 1<<16}, secret)
	defer func() { _ = c.Close() }()
	c.SetMax(most)
	reply, err := c.List(netclient.Bound(ctx, browseTimeout), *r)
	return reply.Entries, err
}

// exchange connects to a master, and reads what answers a request up to a number of bytes.
// whole reports that this was all.
func exchange(ctx context.Context, m *configs.OtherMaster, d *dialer, request []byte, most int) (answer []byte, whole bool, err error) {
	conn, err := d.tcp(ctx, m)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = conn.Close() }()
	err = netclient.During(ctx, conn, func() error {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		answer, err = io.ReadAll(io.LimitReader(conn, int64(most)+1))
		return err
	})
	return answer[:min(len(answer), most)], len(answer) <= most, err
}

// readUnreal reads the list of a master in the form of Epic's, as the newest version of a game.
func readUnreal(ctx context.Context, s *source, d *dialer, catalogue *games.Catalog, most int) error {
	m := &s.master
	g, _ := catalogue.Lookup(m.Game)
	if len(g.Epic) == 0 {
		return errNoUnreal
	}
	conn, err := d.tcp(ctx, m)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	b := utmaster.Browser{Version: int32(g.Epic[0].Versions[1]), Word: g.Epic[0].Word, Max: most}
	list, err := b.List(ctx, conn)
	for _, e := range list {
		s.tell(found{addr: netip.AddrPortFrom(e.Addr, e.QueryPort), query: cmp.Or(m.Query, "unreal2"), game: m.Game})
	}
	return err
}

// readCod4X reads the list of CoD4X.
func readCod4X(ctx context.Context, s *source, d *dialer, most int) error {
	answer, whole, err := exchange(ctx, &s.master, d, quake3.AppendCod4XRequest(nil), quake3.Cod4XEntry*most+1<<10)
	if err != nil && len(answer) == 0 {
		return err
	}
	list, err := quake3.ParseCod4XList(answer)
	if !whole || len(list) > most {
		list, err = list[:min(len(list), most)], netclient.ErrTooLong
	}
	return tellAll(s, list, "quake3", s.master.Game, err)
}

// readSync reads the servers that a master of 333networks shares with other masters. self is
// the identity of this daemon, by which such a master recognizes itself.
func readSync(ctx context.Context, s *source, d *dialer, self string, most int) error {
	m := &s.master
	conn, err := d.tcp(ctx, m)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	sum := sha256.Sum256([]byte(self))
	shared, err := legacylist.Sync{Games: m.Game, ID: hex.EncodeToString(sum[:6]), Max: most}.Ask(ctx, conn)
	for _, g := range shared {
		err = errors.Join(tellAll(s, g.Servers, cmp.Or(m.Query, "gs1"), g.Game, nil), err)
	}
	return err
}
