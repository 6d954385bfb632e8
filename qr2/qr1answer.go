package qr2

import (
	"crypto/subtle"
	"errors"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// answer takes a packet of an answer. Packets of addresses that
// were not asked are dropped.
func (t *textIntake) answer(w netserve.PacketWriter, p netserve.Packet) uplink.Drop {
	now := time.Now()
	a, st, whole, dropped := t.table.take(p)
	switch {
	case !whole:
		return dropped
	case a.listed:
		return t.news(a, &st, now)
	default:
		return t.proof(w, a, &st, now)
	}
}

// proved reports whether an answer could only come from a host of a game that was
// asked. given is false if it has no proof at all, right or wrong.
func (a *asked) proved(g *games.Game, st *query.Status) (right, given bool) {
	if a.token == "" {
		return false, false
	}
	if g.Policy.NoSecure.Or(false) {
		return subtle.ConstantTimeCompare([]byte(st.Echo), []byte(a.token)) == 1, st.Echo != ""
	}
	return gamespy.CheckAny(g.Secrets, a.token[:secureLength], []byte(st.Validate)), st.Validate != ""
}

// provedOther reports whether an answer is right for the game that the host names
// in its status, and makes that the game of a. The heartbeat that named another
// one may have been forged.
func (t *textIntake) provedOther(a *asked, st *query.Status) bool {
	name, ok := st.Get("gamename")
	if !ok {
		name = a.named
	}
	g, ok := t.s.opt.Games.Lookup(name)
	if !ok || g.Name == a.game.Name {
		return false
	}
	right, _ := a.proved(&g, st)
	if right {
		a.game = g
	}
	return right
}

// proof judges the answer of a host that is being verified. A wrong one changes
// nothing: it may be forged.
func (t *textIntake) proof(w netserve.PacketWriter, a asked, st *query.Status, now time.Time) uplink.Drop {
	right, given := a.proved(&a.game, st)
	switch {
	case right || t.provedOther(&a, st):
		return t.admit(w, a, st, st.Empty(), now)
	case given:
		t.noteText(a.host.key.Source, a.game.Name, verdicts.WrongResponse)
		return uplink.Wrong
	case !a.game.Policy.NoSecure.Or(false):
		return t.askApart(w, a, st, now)
	case t.s.opt.Trusted.Has(a.from.Addr()):
		// The operator vouches for this network, and the game has no proof to give.
		return t.admit(w, a, st, true, now)
	default:
		return uplink.Wrong
	}
}

// askApart queries a host for its proof only: its answer had the status without
// the proof.
func (t *textIntake) askApart(w netserve.PacketWriter, a asked, st *query.Status, now time.Time) uplink.Drop {
	named, _ := st.Get("gamename")
	out := t.table.askAlone(a.host, named, now)
	t.sendQueries(w, out)
	if len(out) == 0 {
		return uplink.Wrong
	}
	return uplink.NotDropped
}

// echoed takes the answer to an echo of ours that came in a packet of its own.
func (t *textIntake) echoed(w netserve.PacketWriter, p netserve.Packet, text []byte) bool {
	a, ours := t.table.takeEcho(p, text)
	if ours && !a.listed {
		_ = t.admit(w, a, &query.Status{}, true, time.Now())
	}
	return ours
}

// admit lists a host that has proved itself. apart: its proof came without its
// status, which is queried at once.
func (t *textIntake) admit(w netserve.PacketWriter, a asked, st *query.Status, apart bool, now time.Time) uplink.Drop {
	h := a.host
	r, ok := t.table.proved(a)
	if !ok {
		return uplink.Unexpected
	}
	if t.s.opt.Banned.Has(h.key.Source.Addr()) {
		return t.rejected(a, uplink.ErrBanned)
	}
	if err := t.listText(a, st, r, now); err != nil {
		return t.rejected(a, err)
	}
	if t.s.opt.Banned.Has(h.key.Source.Addr()) { // since the first look
		t.s.list.Remove(h.key)
		return t.rejected(a, uplink.ErrBanned)
	}
	t.s.metrics.registered.Inc()
	t.metrics.registered.Inc()
	t.noteText(h.key.Source, a.game.Name, verdicts.Listed)

	t.sendQueries(w, t.table.list(a, apart, st.Empty(), now))
	return uplink.NotDropped
}

// errSpeaksQR2 is why a verified host is not listed a second time.
var errSpeaksQR2 = errors.New("listed through the newer protocol")

// listText puts a verified host into the list.
func (t *textIntake) listText(a asked, st *query.Status, r textRecord, now time.Time) error {
	h := a.host
	if old, ok := t.s.list.At(h.key.Source); ok {
		if err := a.mayReplace(old); err != nil {
			return err
		}
	}
	srv := master.Server{
		Key: h.key, Game: a.game.Name, Origin: OldOrigin, Public: h.key.Source, Via: r.via,
		Lifetime: textLifetime, Seen: now,
	}
	if r.source != h.key.Source {
		srv.Findings.Reached = master.ReachedPerhaps // it may have answered at a port that had not talked to us
	}
	srv.Country, srv.Region = t.s.opt.Locate.Of(h.key.Source.Addr())
	var report master.Report
	t.fill(&report, st, r.extra)
	if err := report.Into(&srv); err != nil {
		return err
	}
	return t.s.list.Put(srv)
}

// fill makes the report of an answer and of further fields of the heartbeat.
func (t *textIntake) fill(r *master.Report, st *query.Status, extra []query.Field) {
	full := *st
	full.Rules = append(full.Rules, extra...) // of a name that comes twice the first counts
	joinableFields(full.Rules)
	names, values := full.Columns()
	r.Fill(t.s.list, names, values, master.Grid(full.Players), master.Grid(full.Teams))
}

// mayReplace returns why a verified host does not get the place of another
// record. One that was found on the local network gives way to the host's own
// report, and a host that answers at the address itself has it. The answer from
// another port proves the address but not the port: behind one address there may
// be several hosts.
func (a *asked) mayReplace(old *master.Server) error {
	h := a.host
	switch {
	case old.Origin == Origin && !old.Restored:
		return errSpeaksQR2
	case a.from == h.key.Source, old.Origin == master.Found, old.Origin == OldOrigin && old.Game == a.game.Name:
		return nil
	default:
		return master.ErrTaken
	}
}

// rejected forgets a host that proved itself and cannot be listed.
func (t *textIntake) rejected(a asked, err error) uplink.Drop {
	h := a.host
	verdict, reason := verdicts.Listed, uplink.Unexpected
	if !errors.Is(err, errSpeaksQR2) {
		reason = uplink.WhyNot(err)
		verdict, _ = reason.Verdict()
	}
	t.table.forget(h)
	t.noteText(h.key.Source, a.game.Name, verdict)
	return counted(reason)
}

// news takes the answer of a listed host. It needs the proof again, unless the
// host never gives both in one answer.
func (t *textIntake) news(a asked, st *query.Status, now time.Time) uplink.Drop {
	if !a.apart {
		if right, _ := a.proved(&a.game, st); !right {
			t.metrics.foreign.Inc()
			return uplink.Wrong
		}
	}
	if st.Empty() {
		return uplink.Malformed
	}
	r, current := t.table.answered(a, now)
	if !current {
		return uplink.Unexpected
	}
	t.metrics.answered.Inc()
	t.renew(a.host, st, r, now)
	return uplink.NotDropped
}

// renew replaces the record of a listed host if its answer has changed.
func (t *textIntake) renew(h *textHost, st *query.Status, r textRecord, now time.Time) {
	old, ok := t.s.list.Get(h.key)
	if !ok || old.Origin != OldOrigin {
		return
	}
	var report master.Report
	t.fill(&report, st, r.extra)
	if report.Same(old) && old.Via == r.via {
		t.s.list.Touch(h.key, OldOrigin, now)
		return
	}
	next := *old
	next.Via, next.Seen = r.via, now
	if err := report.Into(&next); err != nil {
		t.s.opt.Log.Debug().Stringer("peer", h.key.Source).Err(err).Msg("update not taken")
		return
	}
	t.s.list.Update(&next) // unless it was removed meanwhile
}
