package qr2

import (
	"bytes"
	"container/heap"
	"crypto/subtle"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// This file is the state machine of the hosts of the text protocol: functions
// of the table, an event and the time. They return the packets to send and the
// results to report; the textIntake does both after unlocking the table.

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

// textQuery is a packet to be sent.
type textQuery struct {
	via  netip.Addr
	to   netip.AddrPort
	data []byte
}

// introduce takes the heartbeat of a host that is not listed and returns the
// queries that verify it. fresh: it was not known. gone is the number of hosts
// removed for it, since the table has at most limit.
func (t *textTable) introduce(k master.Key, p netserve.Packet, g games.Game, limit int, now time.Time) (out []textQuery, fresh bool, gone int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, fresh, gone := t.pend(k, limit)
	if fresh || h.game.Name != g.Name {
		h.game, h.extra = g, furtherFields(p.Data) // the token stays: an answer may be in transit
	}
	t.setSource(h, p.From)
	h.via, h.expires = p.To, now.Add(textPendingLife)
	t.heard(h, len(p.Data))
	h.tries, h.saved = 0, false
	return t.verify(h, now, nil), fresh, gone
}

// again handles the heartbeat of a listed host and returns the queries to send
// now; after a recent query they are sent later. known is false if the host is
// not in the table.
func (t *textTable) again(a netip.AddrPort, p netserve.Packet, leaving bool, now time.Time) (out []textQuery, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[a]
	if h == nil || !h.listed {
		return nil, false
	}
	h.via = p.To
	t.setSource(h, p.From)
	h.leaving = h.leaving || leaving
	switch soon := h.asked.Add(askGap); {
	case h.waiting:
	case now.Before(soon):
		if soon.Before(h.due) {
			t.schedule(h, soon)
		}
	default:
		out = t.startRound(h, now, nil)
	}
	return out, true
}

// setSource notes where the last heartbeat of a host came from.
func (t *textTable) setSource(h *textHost, a netip.AddrPort) {
	if h.source != a {
		t.unask(h.source, h)
		h.source = a
	}
}

// adopt adds hosts of the saved list, which are then asked one after the other. Those
// that introduced themselves meanwhile stay.
func (t *textTable) adopt(hosts []*textHost, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, h := range hosts {
		if t.hosts[h.key.Source] == nil {
			h.due = now.Add(time.Duration(n) * adoptGap)
			h.expires = h.due.Add(textPendingLife)
			t.hosts[h.key.Source] = h
			heap.Push(&t.queue, h)
			n++
		}
	}
}

// verify queries an unproved host for its proof, at its query port and, if
// different, at the source port of its heartbeat: some games answer only at one
// of them. The table is locked.
func (t *textTable) verify(h *textHost, now time.Time, out []textQuery) []textQuery {
	if h.token == "" {
		h.token = newToken()
	}
	data := h.appendQuery(make([]byte, 0, textQuerySize+tokenLength))
	for i, to := range [2]netip.AddrPort{h.key.Source, h.source} {
		if i == 1 && to == h.key.Source {
			break
		}
		if h.saved || t.spend(h, len(data)) {
			if t.wait(to, h) {
				out = append(out, textQuery{h.via, to, data})
			}
		}
	}
	h.tries++
	h.asked = now
	if next := now.Add(askAgain); h.tries < maxAsks && next.Before(h.expires) {
		t.schedule(h, next)
	} else {
		t.schedule(h, h.expires)
	}
	return out
}

// startRound asks a listed host how it is. The table is locked.
func (t *textTable) startRound(h *textHost, now time.Time, out []textQuery) []textQuery {
	t.endRound(h)
	h.waiting = true
	if !h.apart {
		h.token = newToken()
	}
	return t.askListed(h, now, out)
}

// askListed sends a packet of a round, in turn to the address that proved itself
// and to the other one. The table is locked.
func (t *textTable) askListed(h *textHost, now time.Time, out []textQuery) []textQuery {
	to := h.home
	if h.tries%2 == 1 {
		if to = h.source; to == h.home {
			to = h.key.Source
		}
	}
	if t.wait(to, h) {
		out = append(out, textQuery{h.via, to, h.appendQuery(make([]byte, 0, textQuerySize+tokenLength))})
	}
	h.tries++
	h.asked = now
	t.schedule(h, now.Add(askAgain))
	return out
}

// textActions are the actions that are due at a time.
type textActions struct {
	queries  []textQuery
	probes   []textQuery  // from the second socket
	gone     []*textHost  // removed: they did not answer
	hidden   []master.Key // of hosts that did not answer the second socket,
	filtered []master.Key // and of those that answered only it
	silent   int          // rounds without an answer
}

// step queries the hosts that are due and removes those that are gone. listed
// reports whether a host is still in the list. probing: hosts are queried from
// the second socket, too; far: and from other addresses.
func (t *textTable) step(now time.Time, listed func(*textHost) bool, probing, far bool) (a textActions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range maxTextAtOnce {
		if len(t.queue) == 0 || t.queue[0].due.After(now) {
			break
		}
		h := t.queue[0]
		switch {
		case !h.listed && now.Before(h.expires):
			a.queries = t.verify(h, now, a.queries)
		case !h.listed:
			t.remove(h)
			a.gone = append(a.gone, h)
		case !listed(h):
			t.remove(h)
		case !h.waiting:
			a.queries = t.startRound(h, now, a.queries)
			if probing {
				a.probe(h, far, now)
			}
		case h.tries < maxAsks:
			a.queries = t.askListed(h, now, a.queries)
		case h.leaving:
			a.silent++
			t.remove(h)
			a.gone = append(a.gone, h)
		default:
			a.silent++
			t.endRound(h)
			t.schedule(h, nextPoll(now))
		}
	}
	return a
}

// probe judges the last probe of a host and begins the next if it is due.
func (a *textActions) probe(h *textHost, far bool, now time.Time) {
	if h.reach.answered && !h.reach.far && far {
		a.filtered = append(a.filtered, h.key)
	}
	a.probes = h.reach.ask(h, now, a.probes)
	if h.reach.silent == probeTries+1 {
		a.hidden = append(a.hidden, h.key)
	}
}

func nextPoll(now time.Time) time.Time {
	return now.Add(pollLeast + rand.N(pollMost-pollLeast)) // it only spreads the load
}

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

// asked holds the data of a host that is needed to check its answer. The host
// may change once the table is unlocked.
type asked struct {
	host   *textHost
	from   netip.AddrPort
	game   games.Game // that it reported
	named  string
	token  string
	listed bool
	apart  bool
}

// take adds a packet to the answer of the host that was asked at its source. If
// whole, st is the answer; else dropped is why the packet was, if it was.
func (t *textTable) take(p netserve.Packet) (a asked, st query.Status, whole bool, dropped uplink.Drop) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.waits[p.From]
	if h == nil {
		return a, st, false, uplink.Unexpected
	}
	t.heard(h, len(p.Data))
	var question [textQuerySize + tokenLength]byte
	if bytes.Equal(p.Data, h.appendQuery(question[:0])) {
		return a, st, false, uplink.Foreign // an echo of it
	}
	if whole, dropped = t.add(h, p.Data); !whole {
		return a, st, false, dropped
	}
	st, err := h.answer.Status()
	t.dropAnswer(h)
	if err != nil {
		return a, st, false, uplink.Malformed
	}
	return asked{host: h, from: p.From, game: h.game, named: h.named, token: h.token, listed: h.listed, apart: h.apart}, st, true, uplink.NotDropped
}

// add adds a packet to the answer of a host and keeps the account of all. The table
// is locked.
func (t *textTable) add(h *textHost, packet []byte) (whole bool, dropped uplink.Drop) {
	if t.held+len(packet) > maxHeld {
		return false, uplink.NoBudget
	}
	whole, err := h.answer.Add(packet)
	t.held += h.answer.Size() - h.held
	h.held = h.answer.Size()
	if err != nil {
		return false, uplink.Malformed
	}
	return whole, uplink.NotDropped
}

// takeEcho takes an echo in a packet of its own. ok is false if it is not the
// answer to one of ours.
func (t *textTable) takeEcho(p netserve.Packet, text []byte) (a asked, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.waits[p.From]
	if h == nil || h.token == "" || !h.game.Policy.NoSecure.Or(false) ||
		subtle.ConstantTimeCompare(text, []byte(h.token)) != 1 {
		return a, false
	}
	t.heard(h, len(p.Data))
	return asked{host: h, from: p.From, game: h.game, token: h.token, listed: h.listed}, true
}

// askAlone returns the queries for the proof of a host that answered without
// it, with or without a game. There are none if they were sent before.
func (t *textTable) askAlone(h *textHost, named string, now time.Time) []textQuery {
	t.mu.Lock()
	defer t.mu.Unlock()
	h.named = named
	if !t.isPending(h) || h.alone || !now.Before(h.expires) {
		return nil
	}
	h.alone = true
	return t.verify(h, now, nil)
}

// proved records the game that a host has proved, and returns the other data of
// its record. ok is false if the host is listed or gone.
func (t *textTable) proved(a asked) (r textRecord, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := a.host
	if t.hosts[h.key.Source] != h || h.listed {
		return r, false
	}
	if h.game.Name != a.game.Name {
		h.game, h.extra = a.game, nil // the extra fields are those of another game's heartbeat
	}
	return h.record(), true
}

// textRecord is the data of a host's record besides its answer.
type textRecord struct {
	via    netip.Addr
	source netip.AddrPort
	extra  []query.Field
}

// record returns the data for the record of a host. The table is locked.
func (h *textHost) record() textRecord { return textRecord{h.via, h.source, h.extra} }

// list records that a host is listed. apart: its proof came without its status.
// A host without any status is queried at once.
func (t *textTable) list(a asked, apart, empty bool, now time.Time) (out []textQuery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := a.host
	if t.hosts[h.key.Source] != h {
		return nil
	}
	t.settle(h)
	t.endRound(h)
	h.listed, h.saved, h.apart, h.home = true, false, apart, a.from
	if empty {
		return t.startRound(h, now, nil)
	}
	t.schedule(h, now.Add(askGap)) // the first look from the second socket
	return nil
}

// forget removes a host that cannot be listed.
func (t *textTable) forget(h *textHost) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hosts[h.key.Source] == h {
		t.remove(h)
	}
}

// answered ends the round of a listed host. ok is false if it ended before.
func (t *textTable) answered(a asked, now time.Time) (r textRecord, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := a.host
	if t.hosts[h.key.Source] != h || !h.waiting || h.token != a.token {
		return r, false
	}
	t.endRound(h)
	h.leaving = false
	t.schedule(h, nextPoll(now))
	return h.record(), true
}

// probed takes an answer that came to the second socket, or to the one at another
// address. ok is false if it was not asked for; far: the host answers other
// addresses, too.
func (t *textTable) probed(from netip.AddrPort, at netip.Addr) (k master.Key, far, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[from]
	if h == nil || !h.listed || h.reach.asked.IsZero() {
		return k, false, false
	}
	if far = at.IsValid(); far {
		ok = !h.reach.far && at != h.via
	} else {
		ok = !h.reach.answered
	}
	if ok {
		h.reach.answered, h.reach.silent, h.reach.far = true, 0, far || h.reach.far
	}
	return h.key, h.reach.far, ok
}

// textReach records whether a host answers a port of ours that it never sent
// to.
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
