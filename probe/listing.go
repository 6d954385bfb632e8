package probe

import (
	"errors"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/verdicts"
	wire "github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

const serviceName = "probe"

// instance marks the records of watched servers, so that a report of the server
// itself, which has another instance, replaces the whole record.
const instance = 0x50524F42

// lifetime expires a record that is no longer watched. A running Prober removes
// silent servers long before.
const lifetime = time.Hour

func (t *target) key() master.Key { return master.Key{Source: t.addr, Instance: instance} }

// learn enters an answer into the list. p.mu is held.
func (p *Prober) learn(t *target, tk talk, st *query.Status, now time.Time) {
	if !tk.partial() {
		t.rulesDue = now.Add(p.rulesEvery)
	}
	if t.owner != nil {
		p.learnOwned(t, st)
		return
	}
	c, ok := t.strongest()
	if !ok {
		return
	}
	game, ok := p.gameOf(t, tk, c, st)
	if !ok {
		p.metrics.refused(refusedGame)
		p.unlist(t, verdicts.UnknownGame)
		p.note(t, c.game, verdicts.UnknownGame)
		return
	}
	old, known := p.opt.Registry.AtAny(t.addr)
	if known && !replaceable(old, t, c.origin) {
		p.metrics.refused(refusedElse)
		p.setListed(t, "")
		return
	}
	p.list(t, tk, st, old, master.Server{
		Key: t.key(), Game: game, Origin: c.origin, Public: t.addr, Via: c.via,
		Findings: master.Findings{Reached: reachedBy(c.origin)}, Lifetime: lifetime, Seen: now, Query: c.protocol.String(), Told: c.told,
	})
}

// replaceable reports whether the record at the address of a target is the
// Prober's, or one that an origin may replace. A server that reports by itself
// keeps its own record.
func replaceable(old *master.Server, t *target, origin *master.Origin) bool {
	was := old.Origin.Claim
	return was != master.NoClaim && (old.Key == t.key() || origin.Claim > was)
}

// list lists a record, or refreshes an unchanged one. old is the one at its
// address; nil: there is none. p.mu is held.
func (p *Prober) list(t *target, tk talk, st *query.Status, old *master.Server, srv master.Server) {
	same := old != nil && old.Node == "" && old.Key == srv.Key && old.Game == srv.Game && old.Origin == srv.Origin && old.Told == srv.Told && old.Query == srv.Query && !old.Restored
	if old != nil && old.Key == srv.Key && tk.partial() {
		keepRules(st, old)
	}
	var report master.Report
	names, values := st.Columns()
	report.Fill(p.opt.Registry, names, values, master.Grid(st.Players), master.Grid(st.Teams))
	if same && report.Same(old) {
		p.opt.Registry.Touch(srv.Key, srv.Origin, srv.Seen)
		p.setListed(t, srv.Game)
		return
	}
	if err := report.Into(&srv); err != nil {
		p.opt.Log.Debug().Stringer("peer", t.addr).Err(err).Msg("answer not taken")
		return
	}
	switch {
	case old != nil:
		srv.Country, srv.Region, srv.First = old.Country, old.Region, old.First
	default:
		srv.Country, srv.Region = p.opt.Locate.Of(t.addr.Addr())
	}
	if err := p.opt.Registry.Put(srv); err != nil {
		p.metrics.refused(refusedList)
		why := notTaken(err)
		p.unlist(t, why)
		p.note(t, srv.Game, why)
		return
	}
	if t.listed != srv.Game {
		p.note(t, srv.Game, verdicts.Listed)
	}
	p.setListed(t, srv.Game)
}

// notTaken returns the verdict about a server that the list has no room for.
func notTaken(err error) verdicts.Verdict {
	if errors.Is(err, master.ErrFull) {
		return verdicts.ListFull
	}
	return verdicts.TooManyHere
}

// keepRules adds the rules of a record that are missing in a partial answer.
func keepRules(st *query.Status, old *master.Server) {
	have := make(map[string]bool, len(st.Rules))
	for _, f := range st.Rules {
		have[strings.ToLower(f.Name)] = true
	}
	for name, value := range old.Rules.All() {
		if !have[strings.ToLower(name)] {
			st.Rules = append(st.Rules, query.Field{Name: name, Value: value})
		}
	}
}

// unlist removes a server that the Prober listed. p.mu is held.
func (p *Prober) unlist(t *target, why verdicts.Verdict) {
	if t.listed == "" {
		return
	}
	if srv, listed := p.opt.Registry.GetAny(t.key()); listed && srv.Node != "" {
		p.setListed(t, "") // another node lists it now
		return
	}
	p.opt.Registry.Remove(t.key())
	p.note(t, t.listed, why)
	p.setListed(t, "")
}

// setListed records the game under which a server is listed, and counts the
// games that are not in the catalogue. p.mu is held.
func (p *Prober) setListed(t *target, game string) {
	if t.listed == game {
		return
	}
	if p.games[t.listed]--; p.games[t.listed] <= 0 {
		delete(p.games, t.listed)
	}
	if game != "" {
		if _, known := p.opt.Games.Lookup(game); !known {
			p.games[game]++
		}
	}
	t.listed = game
}

// gameOf returns the game under which a server is listed. p.mu is held.
func (p *Prober) gameOf(t *target, tk talk, c claim, st *query.Status) (string, bool) {
	switch c.protocol {
	case Zandronum:
		return wire.Game, true
	case Quake3:
		if game, ok := p.quake3Game(st); ok && c.game == "" {
			c.game = game
		}
	case IDTech4:
		if game, ok := p.idTech4Game(tk, st); ok && c.game == "" {
			c.game = game
		}
	case NWN:
		if game, ok := p.nwnGame(tk); ok && c.game == "" {
			c.game = game
		}
	default:
		if c.game == "" {
			c.game = sameEngine(tk, t.addr.Port())
		}
	}
	name := c.game
	if name == "" {
		name, _ = st.Get("gamename")
	}
	name, ok := p.opt.Games.ListedAs(name, c.origin.Beside || c.origin == master.Federated && c.protocol == A2S)
	if !ok || name == wire.Game {
		return "", false
	}
	if _, known := p.opt.Games.Lookup(name); known {
		return name, true
	}
	if p.games[name] == 0 && name != t.listed && len(p.games) >= p.config.MaxGames {
		return "", false
	}
	return name, true
}

// answered records that a server denied the query. p.mu is held.
func (p *Prober) answered(t *target, now time.Time) {
	if t.owner != nil {
		p.reachable(t.follow)
	} else if c, ok := t.strongest(); ok && t.listed != "" {
		p.opt.Registry.Touch(t.key(), c.origin, now)
	}
}

// reachable records that a server answered this port, although it reports to
// another one.
func (p *Prober) reachable(key master.Key) {
	if srv, ok := p.opt.Registry.Get(key); ok && srv.Findings.Reached < master.ReachedPerhaps {
		p.opt.Registry.Report(key, master.Findings{Reached: master.ReachedPerhaps})
	}
}

// reachedBy returns how far an answer proves the way to the server: those that report have sent
// to one of our addresses before.
func reachedBy(origin *master.Origin) master.Reached {
	if origin.Claim == master.ClaimReport {
		return master.ReachedPerhaps
	}
	return master.ReachedDirect
}

// learnOwned writes an answer into a record of another service, unless nothing has
// changed. The rules that this service set come first and are kept.
func (p *Prober) learnOwned(t *target, st *query.Status) {
	p.reachable(t.follow)
	old, ok := p.opt.Registry.Get(t.follow)
	if !ok || old.Node != "" {
		return
	}
	merged := *st
	merged.Rules = make([]query.Field, 0, len(st.Rules)+3)
	for _, name := range t.owner.origin.Keeps {
		if value, has := old.Rules.Get(name); has {
			merged.Rules = append(merged.Rules, query.Field{Name: name, Value: value})
		}
	}
	merged.Rules = append(merged.Rules, st.Rules...)
	var report master.Report
	names, values := merged.Columns()
	report.Fill(p.opt.Registry, names, values, master.Grid(merged.Players), master.Grid(merged.Teams))
	if report.Same(old) {
		return
	}
	next := *old
	if err := report.Into(&next); err != nil {
		p.opt.Log.Debug().Stringer("peer", t.addr).Err(err).Msg("answer not taken")
		return
	}
	p.opt.Registry.Update(&next)
}
