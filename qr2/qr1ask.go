package qr2

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

func (t *textIntake) sendQueries(w netserve.PacketWriter, out []textQuery) {
	for _, q := range out {
		t.s.out.Send(w, q.data, q.via, q.to)
		t.metrics.queries.Inc()
	}
}

// tick queries the hosts that are due and gives up those that never answered.
// probe may be nil.
func (t *textIntake) tick(w, probe netserve.PacketWriter, now time.Time) {
	if !t.adopted.Swap(true) {
		t.table.adopt(t.restored(), now)
	}
	vantages := t.s.allVantages()
	a := t.table.step(now, t.stillListed, probe != nil, len(vantages) > 0)
	t.metrics.silent.Add(float64(a.silent))
	for _, h := range a.gone {
		t.gone(h)
	}
	for _, k := range a.hidden {
		t.reached(k, master.ReachedNo)
	}
	for _, k := range a.filtered {
		t.reached(k, master.ReachedPerhaps)
	}
	t.sendQueries(w, a.queries)
	t.sendQueries(probe, a.probes)
	for _, q := range a.probes {
		for _, v := range seeing(vantages, q.via) {
			t.sendQueries(v.w, []textQuery{{v.at, q.to, q.data}})
		}
	}
}

// stillListed reports whether the list still has a host: its record may have
// expired, or been removed by others.
func (t *textIntake) stillListed(h *textHost) bool {
	srv, ok := t.s.list.Get(h.key)
	return ok && srv.Origin == OldOrigin && srv.Game == h.game.Name
}

// gone records that a host did not answer: during its verification, or after a
// heartbeat that may have been its last. The table no longer has it.
func (t *textIntake) gone(h *textHost) {
	if !h.listed {
		if !h.saved {
			t.noteText(h.key.Source, h.game.Name, verdicts.NoAnswer)
		}
		return
	}
	if srv, ok := t.s.list.Get(h.key); ok && srv.Origin == OldOrigin && t.s.list.Remove(h.key) {
		t.noteText(h.key.Source, h.game.Name, verdicts.Left)
	}
}

// restored returns the servers of the saved list, to be verified: their next
// heartbeat may be five minutes away, and by then they would have left the list.
// Their addresses were proved before.
func (t *textIntake) restored() (hosts []*textHost) {
	for _, srv := range t.s.list.All() {
		if srv.Origin != OldOrigin || !srv.Restored || srv.Node != "" {
			continue
		}
		g, ok := t.s.opt.Games.Lookup(srv.Game)
		if !ok || (!g.Usable() && !g.Policy.NoSecure.Or(false)) {
			continue
		}
		hosts = append(hosts, &textHost{key: srv.Key, source: srv.Key.Source, via: srv.Via, game: g, saved: true})
	}
	return hosts
}

// probeReply takes a text packet that came to the second socket or to the vantage
// at an address.
func (t *textIntake) probeReply(p netserve.Packet, at netip.Addr) bool {
	key, far, ok := t.table.probed(p.From, at)
	switch {
	case ok && far:
		t.reached(key, master.ReachedDirect)
	case ok && len(t.s.allVantages()) == 0:
		t.reached(key, master.ReachedPerhaps)
	case ok:
		t.reachedNear(key)
	}
	return ok
}

// reachedNear notes that a host answered the second socket, while the vantages may
// still learn more.
func (t *textIntake) reachedNear(k master.Key) {
	if srv, ok := t.s.list.Get(k); ok && srv.Findings.Reached < master.ReachedPerhaps {
		t.reached(k, master.ReachedPerhaps)
	}
}

// reached records the findings of the probing sockets.
func (t *textIntake) reached(k master.Key, reached master.Reached) {
	srv, ok := t.s.list.Get(k)
	if !ok || srv.Origin != OldOrigin {
		return
	}
	t.s.list.Report(k, master.Findings{Reached: reached})
	t.noteText(k.Source, srv.Game, verdictOf(reached))
}
