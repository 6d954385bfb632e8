package cluster

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/wake"
)

// Collect is the interval between two batches of changes: the first change after a pause is
// sent at once, later ones together.
const Collect = 20 * time.Millisecond

// A Map holds entries that all nodes of a cluster see. A node owns those that it puts, and
// only it changes them; several nodes may own an entry with the same key. The others hold
// copies: they get the changes of an owner in its order, and a node that joined or missed
// some reads all entries while changes go on.
//
// On a node that is alone a Map is a map with a lock: nothing is encoded, and Run waits for
// the end of its context only. All methods may be called concurrently.
type Map[K comparable, V any] struct {
	opt     MapOptions[K, V]
	subject string
	metrics mapMetrics
	filled  chan struct{} // of capacity 1: has a token if there is a batch
	readers sync.WaitGroup
	logged  sync.Map // reasons for which something was dropped

	// applying puts what other nodes do in order. It is held during calls of Changed and
	// Left, and comes before mu.
	applying sync.Mutex
	// mu guards the fields below. Those about other nodes change with both locks held.
	mu      sync.RWMutex
	own     map[K]entry[V]
	order   []placed[K] // the own entries by their numbers; others in it are outdated
	number  uint64      // of the last change of an own entry
	batch   []byte      // changes to be sent
	buffers itemBuffers // for changes
	change  []byte      // the last one, before it is in the batch
	nodes   map[string]*owner[K, V]
	rounds  uint32        // the last one of an owner
	settled chan struct{} // closed when a node is complete or gone
	reached chan struct{} // closed when changes of a node are applied
}

// MapOptions are the parts of a Map. Name and Codec are required.
type MapOptions[K comparable, V any] struct {
	// Name is a part of a subject of the Bus, and the label of metrics.
	Name  string
	Bus   Bus // nil: this node is alone
	Codec Codec[K, V]
	// Grace returns how long entries of a node that is gone stay, also while it has started
	// again and not put them yet; nil: not at all.
	Grace func() time.Duration
	// Max is the maximum number of entries of another node; further ones are dropped.
	Max int
	// Changed is called after each change of an entry of another node, one after the other,
	// in the order of its owner; nil: not. It must not block.
	Changed func(Change[K, V])
	// Left is called with a node that is gone if its entries stay for a time; nil: not.
	Left func(node string)

	Log        zerolog.Logger
	Registerer prometheus.Registerer // nil: no metrics
}

// Codec encodes keys and values for other nodes. Parsed values share no memory with b.
type Codec[K comparable, V any] struct {
	Version     byte // of both encodings
	AppendKey   func(b []byte, k K) []byte
	AppendValue func(b []byte, v V) []byte
	ParseKey    func(b []byte) (K, error)
	ParseValue  func(node string, k K, b []byte) (V, error)
}

// Change is a change of an entry of another node. An entry whose owner is gone is removed.
type Change[K comparable, V any] struct {
	Node    string
	Key     K
	Old     V // the zero value if there was none
	Value   V // the zero value if it is removed
	Had     bool
	Removed bool
	Gone    bool // removed because its owner is gone
	// Note is that of PutNote or DeleteNote. Without it a change is one of Put or Delete, or of
	// an entry that was read because changes may have been missed. It is valid during the call.
	Note []byte
}

type entry[V any] struct {
	value  V
	number uint64 // of its last change by its owner
	// Of other nodes:
	round uint32    // in which it was seen last
	until time.Time // its owner is gone, and the entry stays until then
}

// placed is an own entry at a position in their order.
type placed[K comparable] struct {
	number uint64
	key    K
}

// NewMap returns an empty Map. It takes the changes of other nodes while Run runs.
func NewMap[K comparable, V any](opt MapOptions[K, V]) *Map[K, V] {
	m := &Map[K, V]{
		opt: opt, subject: "map." + opt.Name, filled: make(chan struct{}, 1), own: make(map[K]entry[V]),
		nodes: make(map[string]*owner[K, V]), settled: make(chan struct{}), reached: make(chan struct{}),
	}
	if opt.Bus != nil {
		m.metrics = newMapMetrics(opt.Registerer, opt.Name)
	}
	return m
}

// Put adds or replaces an entry of this node.
func (m *Map[K, V]) Put(k K, v V) { m.PutNote(k, v, nil) }

// PutNote is Put with a note for those who see the change. It is not kept: a node that joins
// or missed the change does not get it.
func (m *Map[K, V]) PutNote(k K, v V, note []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opt.Bus == nil {
		m.own[k] = entry[V]{value: v}
		return
	}
	m.number++
	m.own[k] = entry[V]{value: v, number: m.number}
	m.order = append(m.order, placed[K]{m.number, k})
	if len(m.order) > 2*len(m.own)+64 {
		m.order = slices.DeleteFunc(m.order, m.outdated)
	}
	m.add(item{number: m.number, note: note}, k, &v)
}

// Delete removes the entry of this node, if there is one.
func (m *Map[K, V]) Delete(k K) { m.DeleteNote(k, nil) }

// DeleteNote is Delete with a note, see PutNote, which others get also if there is no entry.
func (m *Map[K, V]) DeleteNote(k K, note []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.own[k]; !ok && len(note) == 0 {
		return
	}
	delete(m.own, k)
	if m.opt.Bus != nil {
		m.number++
		m.add(item{number: m.number, note: note}, k, nil)
	}
}

// outdated reports whether an entry changed after it got its position. m.mu is held.
func (m *Map[K, V]) outdated(p placed[K]) bool { return m.own[p.key].number != p.number }

// add adds the last change to the batch. m.mu is held.
func (m *Map[K, V]) add(it item, k K, v *V) {
	m.metrics.out.Inc()
	m.change = m.appendItem(m.change[:0], &m.buffers, it, k, v)
	if len(m.batch)+len(m.change) > partSize+maxItem {
		m.flush()
	}
	if len(m.batch) == 0 {
		m.batch = m.head(m.number - 1).append(m.batch)
		wake.Up(m.filled)
	}
	if m.batch = append(m.batch, m.change...); len(m.batch) >= partSize {
		m.flush()
	}
}

// Flush sends the changes so far at once. It does not wait.
func (m *Map[K, V]) Flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flush()
}

// flush sends the batch. If it cannot be sent, the others notice that its numbers are missing.
// m.mu is held.
func (m *Map[K, V]) flush() {
	if len(m.batch) > 0 {
		_ = m.opt.Bus.Publish(m.subject, m.batch)
		m.batch = m.batch[:0]
	}
}

// Own returns the value that a key has on this node.
func (m *Map[K, V]) Own(k K) (v V, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, ok := m.own[k]
	return e.value, ok
}

// Elsewhere yields the values that a key has on other nodes. The Map is locked meanwhile.
func (m *Map[K, V]) Elsewhere(k K) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		m.mu.RLock()
		defer m.mu.RUnlock()
		for node, o := range m.nodes {
			if e, ok := o.entries[k]; ok && !yield(node, e.value) {
				return
			}
		}
	}
}

// Others yields the entries of all other nodes. The Map is locked meanwhile.
func (m *Map[K, V]) Others() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		m.mu.RLock()
		defer m.mu.RUnlock()
		for _, o := range m.nodes {
			for k, e := range o.entries {
				if !yield(k, e.value) {
					return
				}
			}
		}
	}
}

// Number returns the number of the last change of an entry of this node.
func (m *Map[K, V]) Number() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.number
}

// Keys returns the keys of the entries of this node.
func (m *Map[K, V]) Keys() []K {
	m.mu.RLock()
	defer m.mu.RUnlock()
	keys := make([]K, 0, len(m.own))
	for k := range m.own {
		keys = append(keys, k)
	}
	return keys
}

// Run follows the other nodes and sends them the changes of this one until ctx ends. It
// returns after all its goroutines.
func (m *Map[K, V]) Run(ctx context.Context) {
	if m.opt.Bus == nil {
		<-ctx.Done()
		return
	}
	defer m.readers.Wait()
	defer m.opt.Bus.Subscribe(m.subject, m.receive)()
	defer m.opt.Bus.OnLoss(m.lost)()
	defer m.opt.Bus.Handle(m.subject, m.answer)()
	m.readers.Go(func() {
		defer m.Flush()
		for more := true; more; more = clock.Pause(ctx, Collect) {
			select {
			case <-ctx.Done():
				return
			case <-m.filled:
				m.Flush()
			}
		}
	})
	m.follow(ctx)
}
