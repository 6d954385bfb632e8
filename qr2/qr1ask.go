package qr2

import (
	"container/heap"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Times and bounds of queries.
const (
	askGap          = 10 * time.Second // between two rounds of one host
	askAgain        = 3 * time.Second  // between two packets of a round
	maxAsks         = 3                // packets of a round, per address
	pollLeast       = 60 * time.Second // between two rounds, without a heartbeat
	pollMost        = 120 * time.Second
	textPendingLife = 75 * time.Second // hosts repeat their heartbeat every 30 s
	textLifetime    = 10 * time.Minute // without an answer, until it leaves the list
	maxTextAtOnce   = 250              // hosts looked at per tick: 2,500 a second
	adoptGap        = 2 * time.Millisecond
)

// textQuery is a packet to be sent once the table is unlocked.
type textQuery struct {
	via  netip.Addr
	to   netip.AddrPort
	data []byte
}

func (t *textIntake) sendQueries(w netserve.PacketWriter, out []textQuery) {
	for _, q := range out {
		t.s.out.Send(w, q.data, q.via, q.to)
		t.metrics.queries.Inc()
	}
}

// verify asks an unproved host for its proof, at its query port and, if that is
// another one, where its heartbeat came from: some games answer at one of them
// alone. The table is locked.
func (t *textIntake) verify(h *textHost, now time.Time, out []textQuery) []textQuery {
	if h.token == "" {
		h.token = newToken()
	}
	data := h.appendQuery(nil)
	for i, to := range [2]netip.AddrPort{h.key.Source, h.source} {
		if i == 1 && to == h.key.Source {
			break
		}
		if h.saved || h.spend(len(data)) {
			if t.table.wait(to, h) {
				out = append(out, textQuery{h.via, to, data})
			}
		}
	}
	h.tries++
	h.asked = now
	if next := now.Add(askAgain); h.tries < maxAsks && next.Before(h.expires) {
		t.table.schedule(h, next)
	} else {
		t.table.schedule(h, h.expires)
	}
	return out
}

// startRound asks a listed host how it is. The table is locked.
func (t *textIntake) startRound(h *textHost, now time.Time, out []textQuery) []textQuery {
	t.table.endRound(h)
	h.waiting = true
	if !h.apart {
		h.token = newToken()
	}
	return t.askListed(h, now, out)
}

// askListed sends a packet of a round, in turn to the address that proved itself
// and to the other one. The table is locked.
func (t *textIntake) askListed(h *textHost, now time.Time, out []textQuery) []textQuery {
	to := h.home
	if h.tries%2 == 1 {
		if to = h.source; to == h.home {
			to = h.key.Source
		}
	}
	if t.table.wait(to, h) {
		out = append(out, textQuery{h.via, to, h.appendQuery(nil)})
	}
	h.tries++
	h.asked = now
	t.table.schedule(h, now.Add(askAgain))
	return out
}

// appendQuery appends what a host is asked in this round.
func (h *textHost) appendQuery(b []byte) []byte {
	noSecure := h.game.Policy.NoSecure.Or(false)
	switch {
	case h.token == "":
		return append(b, askStatus...)
	case h.alone && !h.listed && !noSecure:
		return append(append(b, askSecure...), h.token[:secureLength]...)
	default:
		return appendTextQuery(b, noSecure, h.token)
	}
}

// tick asks the hosts that are due and gives up those that never answered.
// probe may be nil.
func (t *textIntake) tick(w, probe netserve.PacketWriter, now time.Time) {
	t.adopt(now)
	var out, probes []textQuery
	var gone []*textHost
	var hidden, filtered []master.Key
	vantages := t.s.allVantages()
	t.table.mu.Lock()
	for range maxTextAtOnce {
		if len(t.table.queue) == 0 || t.table.queue[0].due.After(now) {
			break
		}
		h := t.table.queue[0]
		switch {
		case !h.listed && now.Before(h.expires):
			out = t.verify(h, now, out)
		case !h.listed:
			t.table.remove(h)
			gone = append(gone, h)
		case !t.stillListed(h):
			t.table.remove(h)
		case !h.waiting:
			out = t.startRound(h, now, out)
			if probe != nil {
				if h.reach.answered && !h.reach.far && len(vantages) > 0 {
					filtered = append(filtered, h.key)
				}
				probes = h.reach.ask(h, now, probes)
				if h.reach.silent == probeTries+1 {
					hidden = append(hidden, h.key)
				}
			}
		case h.tries < maxAsks:
			out = t.askListed(h, now, out)
		case h.leaving:
			t.metrics.silent.Inc()
			t.table.remove(h)
			gone = append(gone, h)
		default:
			t.metrics.silent.Inc()
			t.table.endRound(h)
			t.table.schedule(h, nextPoll(now))
		}
	}
	t.table.mu.Unlock()

	for _, h := range gone {
		t.gone(h)
	}
	for _, k := range hidden {
		t.reached(k, master.ReachedNo)
	}
	for _, k := range filtered {
		t.reached(k, master.ReachedPerhaps)
	}
	t.sendQueries(w, out)
	t.sendQueries(probe, probes)
	for _, q := range probes {
		for _, v := range seeing(vantages, q.via) {
			t.sendQueries(v.w, []textQuery{{v.at, q.to, q.data}})
		}
	}
}

func nextPoll(now time.Time) time.Time {
	return now.Add(pollLeast + rand.N(pollMost-pollLeast)) // it only spreads the load
}

// stillListed reports whether the list still has a host: its record may have
// expired, or been removed by others.
func (t *textIntake) stillListed(h *textHost) bool {
	srv, ok := t.s.list.Get(h.key)
	return ok && srv.Origin == master.FromQR1 && srv.Game == h.game.Name
}

// gone notes that a host did not answer: one that was being verified, or one
// whose heartbeat may have been its last. The table does not have it any more.
func (t *textIntake) gone(h *textHost) {
	if !h.listed {
		if !h.saved {
			t.noteText(h.key.Source, h.game.Name, verdicts.NoAnswer)
		}
		return
	}
	if srv, ok := t.s.list.Get(h.key); ok && srv.Origin == master.FromQR1 && t.s.list.Remove(h.key) {
		t.noteText(h.key.Source, h.game.Name, verdicts.Left)
	}
}

// adopt has the servers of the saved list verified, once: their next heartbeat
// may be five minutes away, and by then they would have left the list. Their
// addresses were proved before.
func (t *textIntake) adopt(now time.Time) {
	t.table.mu.Lock()
	done := t.table.adopted
	t.table.adopted = true
	t.table.mu.Unlock()
	if done {
		return
	}
	n := 0
	for _, srv := range t.s.list.All() {
		if srv.Origin != master.FromQR1 || !srv.Restored {
			continue
		}
		g, ok := t.s.opt.Games.Lookup(srv.Game)
		if !ok || (!g.Usable() && !g.Policy.NoSecure.Or(false)) {
			continue
		}
		t.table.mu.Lock()
		if t.table.hosts[srv.Key.Source] == nil {
			h := &textHost{key: srv.Key, source: srv.Key.Source, via: srv.Via, game: g, saved: true, textBudget: &textBudget{hosts: 1}}
			h.due = now.Add(time.Duration(n) * adoptGap)
			h.expires = h.due.Add(textPendingLife)
			t.table.hosts[h.key.Source] = h
			heap.Push(&t.table.queue, h)
			n++
		}
		t.table.mu.Unlock()
	}
}

// textReach is what is known about whether a host answers a port of ours that
// it never talked to.
type textReach struct {
	asked    time.Time
	silent   int  // packets since the last answer
	answered bool // the last packet was answered
	far      bool // on another address, too
}

// ask appends a query for the second socket if one is due.
func (r *textReach) ask(h *textHost, now time.Time, out []textQuery) []textQuery {
	if r.answered && now.Sub(r.asked) < probeAgain {
		return out
	}
	r.asked, r.answered, r.far = now, false, false
	r.silent = min(r.silent+1, probeTries+2)
	return append(out, textQuery{h.via, h.key.Source, []byte(`\basic\`)})
}

// probeReply takes a text packet that came to the second socket or to the vantage
// at an address.
func (t *textIntake) probeReply(p netserve.Packet, at netip.Addr) bool {
	far := at.IsValid()
	t.table.mu.Lock()
	h := t.table.hosts[p.From]
	ok := h != nil && h.listed && !h.reach.asked.IsZero()
	if far {
		ok = ok && !h.reach.far && at != h.via
	} else {
		ok = ok && !h.reach.answered
	}
	if ok {
		h.reach.answered, h.reach.silent, h.reach.far = true, 0, far || h.reach.far
		far = h.reach.far
	}
	t.table.mu.Unlock()
	switch {
	case ok && far:
		t.reached(h.key, master.ReachedDirect)
	case ok && len(t.s.allVantages()) == 0:
		t.reached(h.key, master.ReachedPerhaps)
	case ok:
		t.reachedNear(h.key)
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

// reached notes what the sockets that probe learned.
func (t *textIntake) reached(k master.Key, reached master.Reached) {
	srv, ok := t.s.list.Get(k)
	if !ok || srv.Origin != master.FromQR1 {
		return
	}
	t.s.list.Report(k, master.Findings{Reached: reached})
	t.noteText(k.Source, srv.Game, verdictOf(reached))
}

// reachedAt returns what the proof of a host says about the way to it: it may have
// answered at a port that had not talked to us.
func reachedAt(h *textHost) master.Reached {
	if h.source != h.key.Source {
		return master.ReachedPerhaps
	}
	return master.ReachedUnknown
}
