// Package coherence keeps equal what the nodes of a cluster hold in memory of their
// store: a node that changed a table informs the others, which load it again. A slow
// comparison of revisions heals what a lost message or a change past the daemons, such
// as one of a command on the store, left behind.
//
// It knows no table, and does not act on changes: a table that was loaded reports that
// to those who use it.
package coherence

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/storage"
)

// subject is that of the messages about changes. Their payload is a version byte and
// the name of a table.
const subject = "tables.changed"

const version = 1

// Times of Run.
const (
	// CheckEvery is the interval at which the revisions of the store are compared.
	CheckEvery = 15 * time.Second
	// retryEvery is the interval at which a table that could not be loaded is tried
	// again. It doubles up to maxRetry unless the store is unavailable, which costs
	// little to find out.
	retryEvery = 2 * time.Second
	maxRetry   = time.Minute
	// loadTime bounds how long a table is loaded.
	loadTime = 30 * time.Second
	// restShare is the share of time that one table may be loaded: after a load it rests
	// that many times as long as the load took, at most maxRest: what takes that long waits
	// for the network.
	restShare = 4
	maxRest   = 2 * time.Second
)

// maxName is the maximum length of the name of a table in bytes.
const maxName = 32

// Revisions returns a number for each table of the store that changes with every
// change of the table.
type Revisions func(ctx context.Context) (map[string]int64, error)

// Options configure Tables. All but Revisions and Registerer are required.
type Options struct {
	Bus cluster.Bus
	// Revisions compares the tables with the store; nil: they are loaded after messages
	// only.
	Revisions  Revisions
	Log        zerolog.Logger
	Registerer prometheus.Registerer // nil: the metrics are not registered
}

// Tables are the tables of one node. Add is called before Run, Changed at any time by
// any goroutine.
type Tables struct {
	opt     Options
	wake    chan struct{} // has one token if Run has something to do
	order   []string
	metrics struct {
		loads  *prometheus.CounterVec
		unread prometheus.Counter
	}

	mu     sync.Mutex // guards the fields below
	tables map[string]*table
	check  bool // the revisions are to be compared now
}

type table struct {
	load     func(context.Context) error
	stale    bool
	rest     time.Time // when it may be loaded again
	failures int       // since it was last loaded
	revision int64     // of the store when the table was loaded; 0: not known
}

// New returns Tables without a table.
func New(opt Options) *Tables {
	t := &Tables{opt: opt, wake: make(chan struct{}, 1), tables: make(map[string]*table)}
	in := metric.With(opt.Registerer)
	t.metrics.loads = in.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_cluster_table_loads_total",
		Help: "Tables of the store that were loaded again because something changed them, by result.",
	}, []string{"table", "result"})
	t.metrics.unread = in.Counter("respawnd_cluster_table_unreadable_total", "Messages about changed tables that could not be read.")
	return t
}

// Assume notes the revisions of the store from before the tables were first loaded, so
// that Run loads only those that changed since. It is called after Add.
func (t *Tables) Assume(revisions map[string]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, one := range t.tables {
		one.revision = revisions[name]
	}
}

// Add adds a table with the function that loads it from the store. An error of load
// must leave what is in force.
func (t *Tables) Add(name string, load func(context.Context) error) {
	if name == "" || len(name) > maxName {
		panic("coherence: bad name of a table: " + name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tables[name] = &table{load: load}
	t.order = append(t.order, name)
}

// Changed informs the other nodes that this one has changed a table: the change is
// committed and in force here. It does not wait.
func (t *Tables) Changed(name string) {
	if err := t.opt.Bus.Publish(subject, append([]byte{version}, name...)); err != nil {
		t.opt.Log.Debug().Err(err).Str("table", name).Msg("the other nodes notice a change later")
	}
}

// Run loads tables until ctx ends. It begins with a comparison: a change may have been
// made between the first load and Run.
func (t *Tables) Run(ctx context.Context) {
	defer t.opt.Bus.Subscribe(subject, t.hear)()
	defer t.opt.Bus.OnLoss(func(string) { t.compare() })()
	t.compare()
	check := time.NewTimer(t.pause())
	defer check.Stop()
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	for {
		changed := t.opt.Bus.Changed()
		select {
		case <-ctx.Done():
			return
		case <-changed: // a node that was away may have changed something
			t.compare()
		case <-check.C:
			t.compare()
			check.Reset(t.pause())
		case <-again.C:
		case <-t.wake:
		}
		again.Reset(t.work(ctx))
	}
}

// pause returns CheckEvery, a little more or less, so that nodes do not ask at once.
func (t *Tables) pause() time.Duration {
	return CheckEvery*9/10 + rand.N(CheckEvery/5) //nolint:gosec // it spreads load
}

// compare makes Run compare the revisions.
func (t *Tables) compare() {
	t.mu.Lock()
	t.check = true
	t.mu.Unlock()
	t.signal()
}

func (t *Tables) signal() {
	select {
	case t.wake <- struct{}{}:
	default: // Run is already signalled
	}
}

// hear notes the message of another node.
func (t *Tables) hear(_ string, data []byte) {
	if len(data) < 2 || len(data) > 1+maxName || data[0] != version {
		t.metrics.unread.Inc()
		return
	}
	t.mu.Lock()
	one := t.tables[string(data[1:])]
	if one != nil { // nil: of another version of the program
		one.stale = true
	}
	t.mu.Unlock()
	if one == nil {
		t.metrics.unread.Inc()
		return
	}
	t.signal()
}

// work loads what is stale and returns when to look again.
func (t *Tables) work(ctx context.Context) (next time.Duration) {
	t.mu.Lock()
	check, stale := t.check, false
	for _, one := range t.tables {
		stale = stale || one.stale
	}
	t.check = false
	t.mu.Unlock()
	if !check && !stale {
		return time.Hour
	}
	var revisions map[string]int64
	if t.opt.Revisions != nil {
		var err error
		revisions, err = t.opt.Revisions(ctx)
		if err != nil {
			t.opt.Log.Debug().Err(err).Msg("the tables could not be compared with the store")
			if check {
				t.mu.Lock()
				t.check = true
				t.mu.Unlock()
			}
			return retryEvery // a load would fail, too
		}
	}
	next = time.Hour
	for _, name := range t.order {
		if wait := t.refresh(ctx, name, revisions); wait > 0 {
			next = min(next, wait)
		}
	}
	return next
}

// refresh loads a table if it is stale. revisions are those of the store before. It
// returns after how long the table is to be looked at again; 0: no need.
func (t *Tables) refresh(ctx context.Context, name string, revisions map[string]int64) (again time.Duration) {
	now := time.Now()
	t.mu.Lock()
	one := t.tables[name]
	if revision, known := revisions[name]; known && revision != one.revision {
		one.stale = true
	}
	rest := one.rest.Sub(now)
	due := one.stale && rest <= 0
	stale := one.stale
	if due {
		one.stale = false // a message from now on asks for one more load
	}
	t.mu.Unlock()
	switch {
	case !stale:
		return 0
	case !due:
		return rest
	}
	bounded, cancel := context.WithTimeout(ctx, loadTime)
	err := one.load(bounded)
	cancel()
	if err != nil && ctx.Err() != nil {
		return 0
	}
	took := time.Since(now)
	t.mu.Lock()
	defer t.mu.Unlock()
	one.rest = time.Now().Add(min(restShare*took, maxRest))
	if err != nil {
		one.stale = true
		retry := retryEvery
		if !errors.Is(err, storage.ErrUnavailable) {
			retry = min(retryEvery<<min(one.failures, 10), maxRetry)
		}
		one.rest = time.Now().Add(max(retry, min(restShare*took, maxRest)))
		t.failed(name, one, err)
		return time.Until(one.rest)
	}
	t.metrics.loads.WithLabelValues(name, "loaded").Inc()
	if one.failures > 0 {
		t.opt.Log.Info().Str("table", name).Msg("a table of the store was loaded again")
	}
	one.failures, one.revision = 0, revisions[name]
	if one.stale {
		return max(time.Until(one.rest), time.Millisecond)
	}
	return 0
}

// failed reports the first of several failures. t.mu is held.
func (t *Tables) failed(name string, one *table, err error) {
	t.metrics.loads.WithLabelValues(name, "failed").Inc()
	if one.failures == 0 {
		t.opt.Log.Warn().Err(err).Str("table", name).Msg("a table that another node changed cannot be loaded; it is tried again")
	}
	one.failures++
}
