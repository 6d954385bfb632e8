package federation

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

// instance marks the records that are listed on the word of a peer.
const instance = 0x46454400

func vouchedKey(a netip.AddrPort) master.Key { return master.Key{Source: a, Instance: instance} }

// vouch lists a server on the word of a verified peer. mu is held.
func (t *table) vouch(a netip.AddrPort, c *candidate, now time.Time) {
	first := c.first()
	r := first.report
	if !r.made.IsZero() {
		now = r.made
	}
	srv := master.Server{
		Key: vouchedKey(a), Game: first.game, Origin: master.Federated, Public: a, Query: first.query,
		Told: first.source.master.Name, Vouched: true, Lifetime: r.lifetime, Seen: now,
	}
	old, known := t.Registry.At(a)
	if known && old.Origin != master.Federated {
		return
	}
	var content master.Report
	content.Fill(t.Registry, r.names, r.values, r.players, r.teams)
	if known && old.Key == srv.Key && old.Game == srv.Game && old.Told == srv.Told && old.Query == srv.Query && content.Same(old) {
		t.Registry.Touch(srv.Key, srv.Origin, now)
		c.vouched = true
		return
	}
	if err := content.Into(&srv); err != nil {
		return // a bound of the list, which the reader of peers keeps
	}
	switch {
	case known:
		srv.Country, srv.Region, srv.First = old.Country, old.Region, old.First
	default:
		srv.Country, srv.Region = t.Locate.Of(a.Addr())
	}
	if srv.Country == "" {
		srv.Country, srv.Region = r.country, r.region
	}
	c.vouched = t.Registry.Put(srv) == nil
}

// vouchedLifetime expires a record whose peer is no longer read. Losing it removes it long
// before.
const vouchedLifetime = 7*24*time.Hour + time.Hour

// unvouch removes the servers that vouch listed. mu is held.
func (t *table) unvouch(a netip.AddrPort, c *candidate) {
	if c.vouched {
		t.Registry.Remove(vouchedKey(a))
		c.vouched = false
	}
}

// known reports whether a word may be the name of a game.
func isGame(name string) bool {
	_, ok := games.ListedName(name)
	return ok
}
