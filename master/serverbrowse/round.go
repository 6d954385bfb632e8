package serverbrowse

import (
	"hash/maphash"
	"slices"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
)

// outcome is the state of a changed server in one list.
type outcome struct {
	address uint64
	record  uint64 // serial of its record; 0 if it is not on the list
	push    []byte // the message that shows it; nil if it is not on the list
	hash    uint64 // of push
}

// round is the memory of one update, kept for the next one.
type round struct {
	changes  []master.Change
	changed  map[uint64]bool // packed addresses; true: on the view of the current joiner
	order    []uint64        // the same in the order of their first change
	outcomes []outcome
	messages []byte
	snapshot []*master.Server
	wanted   columns
	asked    columns
	row      row
	values   []string
}

// updateOne brings one list up to date.
func (f *feed) updateOne(to *follow) {
	if !to.remembered && len(to.subs)+len(to.joined) >= rememberFrom {
		f.remember(to)
	}
	f.tell(to, f.collect(to))
}

// remember gives the servers that came with the list, and have not changed since, the
// hash of what it showed. Without it, each would be sent again to all subscribers with
// its next change, such as an answer to a query, that shows nothing new.
func (f *feed) remember(to *follow) {
	r := &f.round
	r.wanted.reset(to.asked.names)
	for a, hash := range to.had {
		if s, ok := f.reg.Find(unpack(a)); ok && hash == 0 && s.Serial <= to.since {
			r.messages = r.appendPush(r.messages[:0], to, s)
			to.had[a] = f.hash(r.messages)
		}
	}
	r.wanted.reset(nil)
	to.remembered = true
}

// appendPush appends the message that shows a server. r.wanted has the list's names.
func (r *round) appendPush(dst []byte, to *follow, s *master.Server) []byte {
	return appendPushServer(dst, s, to.asked.key.port, to.asked.key.asker, r.wanted.of(s.Rules.Names()), &r.values)
}

// hash returns the hash of a push, which is not 0.
func (f *feed) hash(push []byte) uint64 { return max(1, maphash.Bytes(f.seed, push)) }

// tell sends the subscribers the present state of the servers that collect
// found. It may include changes after now: the next round then finds them
// already sent.
func (f *feed) tell(to *follow, now uint64) {
	f.judge(to)
	f.deliver(to.subs, f.news(to))
	for len(to.joined) > 0 {
		f.level(to)
	}
	to.since = now
	f.count(to)
}

// collect gathers the servers that changed since the oldest subscriber was up
// to date, each once, and returns the last change seen.
func (f *feed) collect(to *follow) (now uint64) {
	r := &f.round
	if r.changed == nil {
		r.changed = make(map[uint64]bool)
	}
	clear(r.changed)
	r.order = r.order[:0]
	var ok bool
	r.changes, now, ok = f.reg.Changes(to.asked.key.game, to.oldest(), r.changes[:0])
	if sharing := f.reg.Sharing(to.asked.key.game); !ok || to.regrouped(sharing) {
		to.sharing = sharing
		f.collectAll(to)
		return now
	}
	for i := range r.changes {
		if c := &r.changes[i]; listable(c.Public) {
			r.note(pack(c.Public))
		}
	}
	clear(r.changes)
	return now
}

// regrouped reports whether a subscriber has a list of other games than those whose
// servers are in it now.
func (to *follow) regrouped(sharing []string) bool {
	return !slices.Equal(sharing, to.sharing) ||
		slices.ContainsFunc(to.joined, func(j joiner) bool { return !slices.Equal(sharing, j.view.sharing) })
}

// collectAll treats every server as changed, because the log does not reach
// back to the state of the subscribers, or is about other games.
func (f *feed) collectAll(to *follow) {
	r := &f.round
	r.snapshot, _ = f.reg.Snapshot(to.asked.key.game, r.snapshot[:0])
	for _, s := range r.snapshot {
		if listable(s.Public) {
			r.note(pack(s.Public))
		}
	}
	clear(r.snapshot)
	for a := range to.had {
		r.note(a)
	}
	for _, j := range to.joined {
		j.view.addresses(to.asked.key.port, r.note)
	}
}

func (r *round) note(address uint64) {
	if _, again := r.changed[address]; !again {
		r.order = append(r.order, address)
		r.changed[address] = false
	}
}

// judge determines the outcome of each changed server, and encodes those that
// are on the list. When the filter runs out of steps the remaining servers are
// left unchanged for the clients.
func (f *feed) judge(to *follow) {
	r := &f.round
	r.outcomes, r.messages = r.outcomes[:0], r.messages[:0]
	r.wanted.reset(to.asked.names)
	r.asked.reset(to.asked.filter.Names())
	budget := filter.ListBudget(len(r.order))
	for _, a := range r.order {
		o := outcome{address: a}
		s, ok := f.reg.Find(unpack(a))
		matches := ok && s.SpeaksGameSpy() && s.IsOf(to.asked.key.game, to.sharing) && r.matches(to.asked.filter, s, &budget)
		if budget.Exhausted() {
			to.remembered = true // from here on, the records do not tell what was shown
			break
		}
		if matches {
			start := len(r.messages)
			r.messages = r.appendPush(r.messages, to, s)
			o.record, o.push = s.Serial, r.messages[start:len(r.messages):len(r.messages)]
			o.hash = f.hash(o.push)
		}
		r.outcomes = append(r.outcomes, o)
	}
	r.row = row{}
	r.wanted.reset(nil)
	r.asked.reset(nil)
}

func (r *round) matches(f *filter.Filter, s *master.Server, budget *filter.Budget) bool {
	if f.Trivial() {
		return true
	}
	r.row.server, r.row.slots = s, r.asked.of(s.Rules.Names())
	return f.Match(&r.row, budget)
}

// news returns the updates for subscribers in the state had, and brings had up
// to date.
func (f *feed) news(to *follow) (b batch) {
	for i := range f.round.outcomes {
		o := &f.round.outcomes[i]
		hash, has := to.had[o.address]
		switch {
		case o.push == nil && has:
			delete(to.had, o.address)
			b.gone(to, o.address)
		case o.push == nil, has && hash == o.hash, has && o.record <= to.since:
		default:
			to.had[o.address] = o.hash
			b.shown(o.push)
		}
	}
	return b
}

// level brings the joiners with the same view as the first one up to date.
func (f *feed) level(to *follow) {
	v, since := to.joined[0].view, to.joined[0].since
	level := make(map[*subscriber]struct{})
	rest := to.joined[:0]
	for _, j := range to.joined {
		if j.view != v {
			rest = append(rest, j)
			continue
		}
		level[j.sub] = struct{}{}
		to.subs[j.sub] = struct{}{}
		since = max(since, j.since) // nothing changed in between
	}
	clear(to.joined[len(rest):])
	to.joined = rest

	r := &f.round
	for _, a := range r.order {
		r.changed[a] = false
	}
	v.addresses(to.asked.key.port, func(a uint64) {
		if _, ok := r.changed[a]; ok {
			r.changed[a] = true
		}
	})
	var b batch
	for i := range r.outcomes {
		o := &r.outcomes[i]
		has := r.changed[o.address]
		switch {
		case o.push == nil && has:
			b.gone(to, o.address)
		case o.push == nil, has && o.record <= since:
		default:
			b.shown(o.push)
		}
	}
	f.deliver(level, b)
}

// batch is one update for some subscribers.
type batch struct {
	bytes            []byte // whole messages
	servers, deletes int
}

func (b *batch) shown(push []byte) {
	b.bytes = append(b.bytes, push...)
	b.servers++
}

func (b *batch) gone(from *follow, address uint64) {
	b.bytes = appendDelete(b.bytes, from.asked.key.asker.Given(unpack(address)))
	b.deletes++
}

// deliver queues a batch for subscribers. One whose queue is full is notified
// and gets nothing more; its session ends the subscription.
func (f *feed) deliver(subs map[*subscriber]struct{}, b batch) {
	if len(b.bytes) == 0 {
		return
	}
	for sub := range subs {
		select {
		case sub.out <- &b:
			f.metrics.pushed(b.servers, b.deletes)
		default:
			sub.slow()
		}
	}
}
