package cluster

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/wake"
)

// readPause is the least time between two readings of all entries of a node, which take half of
// the time at most: messages are rarely lost alone. partTime bounds the request of one part.
const (
	readPause = 300 * time.Millisecond
	partTime  = 5 * time.Second
)

// owner is another node with entries, live or gone. It changes with both locks held.
type owner[K comparable, V any] struct {
	entries     map[K]entry[V]
	incarnation uint64
	live        bool
	same        bool   // it was gone, and came back as the same incarnation
	complete    bool   // its entries are all here
	orphans     bool   // some entries may stay for a time only
	last        uint64 // number of the last change that came
	floor       uint64 // of the last change that was known when its entries were read
	known       uint64 // of the last one that parts of its entries may show; older notes are outdated
	// While its entries are read:
	round  uint32       // of the reading; kept until the next one
	missed bool         // changes were missed since it began
	gone   map[K]uint64 // numbers of removals since then; nil: they are not read

	wanted chan struct{} // has one token if the entries are to be read
	end    context.CancelFunc
}

// want has the entries of a node read. Both locks are held.
func (o *owner[K, V]) want() {
	o.complete, o.missed = false, true
	wake.Up(o.wanted)
}

// both calls f with both locks held.
func (m *Map[K, V]) both(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// follow follows the nodes until ctx ends.
func (m *Map[K, V]) follow(ctx context.Context) {
	for {
		changed := m.opt.Bus.Changed()
		var over <-chan time.Time
		if next := m.compare(ctx, time.Now()); !next.IsZero() {
			over = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-over:
		}
	}
}

// compare begins to follow nodes that came or restarted, and gives up those that left. It
// returns when the next entries of a node that is gone leave; zero: there are none.
func (m *Map[K, V]) compare(ctx context.Context, now time.Time) (next time.Time) {
	m.applying.Lock()
	defer m.applying.Unlock()
	live := make(map[string]uint64)
	for _, node := range m.opt.Bus.Nodes() {
		if incarnation := m.opt.Bus.Incarnation(node); node != m.opt.Bus.Self() && incarnation != 0 {
			live[node] = incarnation
		}
	}
	for node, o := range m.nodes {
		if o.live && live[node] != o.incarnation {
			m.leave(node, o, now)
		}
	}
	for node, incarnation := range live {
		if o := m.nodes[node]; o == nil || !o.live {
			m.meet(ctx, node, incarnation)
		}
	}
	for node, o := range m.nodes {
		if at := m.expire(node, o, now); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// meet begins to follow a node.
func (m *Map[K, V]) meet(ctx context.Context, node string, incarnation uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.nodes[node]
	if o == nil {
		o = &owner[K, V]{entries: make(map[K]entry[V])}
		m.nodes[node] = o
	}
	o.same, o.incarnation, o.live = o.incarnation == incarnation, incarnation, true
	o.last, o.floor, o.known = 0, 0, 0
	o.wanted = make(chan struct{}, 1)
	ctx, o.end = context.WithCancel(ctx) //nolint:gosec // leave calls it
	m.begin(o)
	o.want()
	wanted := o.wanted
	m.readers.Go(func() { m.read(ctx, node, o, wanted) })
}

// begin begins a round of an owner. Both locks are held.
func (m *Map[K, V]) begin(o *owner[K, V]) {
	m.rounds++
	o.round, o.missed, o.gone = m.rounds, false, make(map[K]uint64)
}

// leave ceases to follow a node. Its entries stay for the time of grace.
func (m *Map[K, V]) leave(node string, o *owner[K, V], now time.Time) {
	o.end()
	var grace time.Duration
	if m.opt.Grace != nil {
		grace = m.opt.Grace()
	}
	m.both(func() {
		o.live, o.complete, o.gone, o.orphans = false, false, nil, true
		for k, e := range o.entries {
			if e.until.IsZero() {
				e.until = now.Add(grace)
				o.entries[k] = e
			}
		}
		m.progress()
	})
	if grace > 0 && m.opt.Left != nil {
		m.opt.Left(node)
	}
}

// expire removes the entries of a node whose time is over, and returns when the next ones are.
func (m *Map[K, V]) expire(node string, o *owner[K, V], now time.Time) (next time.Time) {
	if !o.orphans {
		return next
	}
	for k, e := range o.entries {
		switch {
		case e.until.IsZero():
		case !e.until.After(now):
			m.remove(node, o, k, nil)
		case next.IsZero() || e.until.Before(next):
			next = e.until
		}
	}
	m.both(func() {
		o.orphans = !next.IsZero()
		if !o.live && len(o.entries) == 0 {
			delete(m.nodes, node)
		}
	})
	return next
}

// receive takes a batch of another node.
func (m *Map[K, V]) receive(from string, data []byte) {
	h, items, err := m.parseHead(data)
	if err != nil {
		m.drop(reasonOf(err), from)
		return
	}
	m.applying.Lock()
	defer m.applying.Unlock()
	o := m.nodes[from]
	if o == nil || !o.live || o.incarnation != h.incarnation {
		m.drop(dropEarly, from)
		return
	}
	last := m.apply(from, o, items, false)
	m.both(func() {
		if o.last != 0 && h.number > o.last {
			m.metrics.gaps.Inc()
			o.want()
		}
		o.last = max(o.last, h.number, last)
		close(m.reached)
		m.reached = make(chan struct{})
	})
}

func reasonOf(err error) string {
	if errors.Is(err, errMapVersion) {
		return dropVersion
	}
	return dropMalformed
}

// apply applies the items of a batch or a part and returns the number of the last one.
func (m *Map[K, V]) apply(node string, o *owner[K, V], items []byte, part bool) (last uint64) {
	for len(items) > 0 {
		var it item
		rest, err := it.next(items)
		if err == nil {
			items, last = rest, it.number
			err = m.take(node, o, &it, part)
		} else {
			items = nil
		}
		if err != nil {
			m.drop(dropMalformed, node)
		}
	}
	return last
}

// take applies one item. An older one than that which is known is ignored.
func (m *Map[K, V]) take(node string, o *owner[K, V], it *item, part bool) error {
	k, err := m.opt.Codec.ParseKey(it.key)
	if err != nil {
		return err
	}
	old, had := o.entries[k]
	round := old.round
	if part {
		round = o.round
	} else if it.number <= o.known {
		it.note = nil
	}
	switch {
	case had && old.until.IsZero() && it.number <= old.number:
		old.round = round
		m.both(func() { o.entries[k] = old })
		return nil
	case part && it.number <= o.gone[k], !part && it.number <= o.floor:
		return nil
	case it.removed:
		m.remove(node, o, k, it)
		return nil
	case !had && len(o.entries) >= m.opt.Max:
		m.drop(dropFull, node)
		return nil
	}
	v, err := m.opt.Codec.ParseValue(node, k, it.value)
	if err != nil {
		return err
	}
	m.metrics.in.Inc()
	m.both(func() { o.entries[k] = entry[V]{value: v, number: it.number, round: round} })
	if m.opt.Changed != nil {
		m.opt.Changed(Change[K, V]{Node: node, Key: k, Old: old.value, Value: v, Had: had, Note: it.note})
	}
	return nil
}

// remove removes an entry, because of an item or, if it is nil, because its owner is gone or does
// not have it.
func (m *Map[K, V]) remove(node string, o *owner[K, V], k K, it *item) {
	old, had := o.entries[k]
	var note []byte
	m.both(func() {
		delete(o.entries, k)
		if it != nil && o.gone != nil {
			o.gone[k] = it.number
		}
	})
	if it != nil {
		note = it.note
	}
	if (had || len(note) > 0) && m.opt.Changed != nil {
		m.opt.Changed(Change[K, V]{Node: node, Key: k, Old: old.value, Had: had, Removed: true, Gone: !old.until.IsZero(), Note: note})
	}
}

// lost starts to read all entries of a node after messages of it were lost.
func (m *Map[K, V]) lost(from string) {
	m.applying.Lock()
	defer m.applying.Unlock()
	if o := m.nodes[from]; o != nil && o.live {
		m.both(o.want)
	}
}

// read reads the entries of a node whenever that is wanted, until ctx ends.
func (m *Map[K, V]) read(ctx context.Context, node string, o *owner[K, V], wanted <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-wanted:
		}
		began, pause := time.Now(), readPause
		if err := m.readAll(ctx, node, o); err == nil {
			pause = max(pause, time.Since(began))
		} else if ctx.Err() == nil {
			if errors.Is(err, errMapVersion) {
				m.drop(dropVersion, node)
			}
			m.opt.Log.Debug().Err(err).Str("map", m.opt.Name).Str("node", node).Msg("the entries of a node are read again")
			m.lost(node)
		}
		clock.Pause(ctx, pause)
	}
}

// readAll reads the entries of a node once, in the order of their last changes: those that
// change meanwhile come in batches, too. ctx ends when the node leaves.
func (m *Map[K, V]) readAll(ctx context.Context, node string, o *owner[K, V]) error {
	m.metrics.asked.Inc()
	m.applying.Lock()
	ask := m.head(0)
	m.both(func() { m.begin(o) })
	ask.incarnation = o.incarnation
	m.applying.Unlock()
	for all := uint64(0); ; {
		step, cancel := context.WithTimeout(ctx, partTime)
		part, err := m.opt.Bus.Request(step, node, m.subject, ask.append(nil))
		cancel()
		if err != nil {
			return err
		}
		h, items, err := m.parseHead(part)
		if err != nil {
			return err
		}
		if ask.number == 0 {
			all = h.number // later changes come in batches
		}
		ask.number, err = m.takePart(ctx, node, o, all, h.number, items)
		if err != nil || ask.number == 0 {
			return err
		}
	}
}

// takePart applies a part of the entries of a node of which all is the number of the last change
// to read, and known that of the last change before the part was made. It returns the number to
// continue after; 0: that was the last part.
func (m *Map[K, V]) takePart(ctx context.Context, node string, o *owner[K, V], all, known uint64, items []byte) (last uint64, err error) {
	m.applying.Lock()
	defer m.applying.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err // the node left, and may be another incarnation now
	}
	m.both(func() { o.known = max(o.known, known) })
	last = m.apply(node, o, items, true)
	m.both(func() { o.last = max(o.last, all) })
	if last == 0 || last >= all {
		m.finish(node, o, all)
		return 0, nil
	}
	return last, nil
}

// finish handles the end of a reading of the state after a change: entries that it does not have
// do not exist, unless they are newer, or of a node that started again and may put them yet. If
// changes were missed meanwhile, all are read again.
func (m *Map[K, V]) finish(node string, o *owner[K, V], all uint64) {
	m.both(func() { o.gone, o.floor = nil, all })
	if o.missed {
		return
	}
	for k, e := range o.entries {
		if e.round != o.round && (e.until.IsZero() && e.number <= all || !e.until.IsZero() && o.same) {
			m.remove(node, o, k, nil)
		}
	}
	m.both(func() {
		o.complete = true
		m.progress()
	})
	m.opt.Log.Debug().Str("map", m.opt.Name).Str("node", node).Int("entries", len(o.entries)).Msg("the entries of a node are complete")
}

// progress wakes those who wait for nodes to be complete. m.mu is held.
func (m *Map[K, V]) progress() {
	close(m.settled)
	m.settled = make(chan struct{})
}

// answer answers a request for a part of the entries of this node.
func (m *Map[K, V]) answer(_ context.Context, from string, data []byte) ([]byte, error) {
	ask, _, err := m.parseHead(data)
	if err != nil {
		m.drop(reasonOf(err), from)
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.head(m.number)
	if ask.incarnation != h.incarnation {
		return nil, ErrGone
	}
	m.metrics.sent.Inc()
	var buf itemBuffers
	b := h.append(make([]byte, 0, partSize+4096))
	i := sort.Search(len(m.order), func(i int) bool { return m.order[i].number > ask.number })
	for ; i < len(m.order) && len(b) < partSize; i++ {
		if p := m.order[i]; !m.outdated(p) {
			v := m.own[p.key].value
			b = m.appendItem(b, &buf, item{number: p.number}, p.key, &v)
		}
	}
	return b, nil
}

// Complete reports which live nodes' entries are all here, by name.
func (m *Map[K, V]) Complete() map[string]bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make(map[string]bool)
	for node, o := range m.nodes {
		if o.live {
			out[node] = o.complete
		}
	}
	return out
}

// Settled returns a channel that is closed when the entries of another node are all here, or when it
// leaves.
func (m *Map[K, V]) Settled() <-chan struct{} {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.settled
}

// Reach waits until all changes of a node up to a number of its Map are applied here, or ctx ends.
func (m *Map[K, V]) Reach(ctx context.Context, node string, number uint64) {
	for ctx.Err() == nil {
		m.mu.RLock()
		o, settled, reached := m.nodes[node], m.settled, m.reached
		there := o != nil && o.complete && o.last >= number
		m.mu.RUnlock()
		if there {
			return
		}
		select {
		case <-ctx.Done():
		case <-settled:
		case <-reached:
		}
	}
}

// Await waits until the entries of all live nodes are here, while Run runs. It returns the nodes
// whose entries are not when ctx ends.
func (m *Map[K, V]) Await(ctx context.Context) (missing []string) {
	if m.opt.Bus == nil {
		return nil
	}
	for {
		nodes := m.opt.Bus.Changed()
		m.mu.RLock()
		settled := m.settled
		m.mu.RUnlock()
		complete := m.Complete()
		missing = slices.DeleteFunc(slices.Clone(m.opt.Bus.Nodes()), func(node string) bool {
			return node == m.opt.Bus.Self() || complete[node]
		})
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return missing
		case <-nodes:
		case <-settled:
		}
	}
}
