// Package coherence keeps the in-memory copies of stored tables equal on the nodes of a cluster: a
// node that changed a table informs the others, which load it again. A slow comparison of revisions
// repairs tables that are outdated after a lost message, or after a change past the daemons, such as
// that of a command on the store.
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
	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/storage"
)

// version is that of the entries of the Map of changes: the name of a table, and how often its
// owner has changed it.
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
	// that many times as long as the load took, at most maxRest: a load that takes that long waits
	// for the network.
	restShare = 4
	maxRest   = 2 * time.Second
	// doubtFor is how long after Doubt the table is compared, every doubtEvery. The store
	// undoes a step within 2 s once its client is gone.
	doubtFor   = 5 * time.Second
	doubtEvery = 500 * time.Millisecond
)

// maxTables bounds the tables of another node.
const maxTables = 256

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
	changes *cluster.Map[string, uint64]
	wake    chan struct{} // has one token if Run has something to do
	order   []string
	loads   *prometheus.CounterVec

	mu     sync.Mutex // guards the fields below
	tables map[string]*table
	check  bool // the revisions are to be compared now
}

type table struct {
	load     func(context.Context) error
	stale    bool
	doubt    time.Time // until when it is compared often; zero: it is not
	rest     time.Time // when it may be loaded again
	failures int       // since it was last loaded
	revision int64     // of the store when the table was loaded; 0: not known
}

// New returns Tables without a table.
func New(opt Options) *Tables {
	t := &Tables{opt: opt, wake: make(chan struct{}, 1), tables: make(map[string]*table)}
	t.changes = cluster.NewMap(cluster.MapOptions[string, uint64]{
		Name: "tables", Bus: opt.Bus, Codec: cluster.JSON[string, uint64](version), Max: maxTables, Changed: t.hear,
		Log: opt.Log, Registerer: opt.Registerer,
	})
	t.loads = metric.With(opt.Registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_cluster_table_loads_total",
		Help: "Tables of the store that were loaded again because something changed them, by result.",
	}, []string{"table", "result"})
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

// Add adds a table with the function that loads it from the store. An error of load must leave the
// table unchanged.
func (t *Tables) Add(name string, load func(context.Context) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tables[name] = &table{load: load}
	t.order = append(t.order, name)
}

// Changed informs the other nodes that this one has changed a table: the change is
// committed and in force here. It does not wait.
func (t *Tables) Changed(name string) {
	n, _ := t.changes.Own(name)
	t.changes.PutNote(name, n+1, []byte(name))
}

// Doubt reports that it is unknown whether the store made a change of this node: the
// request ended, or the connection broke, before the answer. The table is compared
// until the change must have been made or undone, and a difference takes effect here
// and is published. The other nodes are informed at once, too: if another load
// has brought the change into force here already, later comparisons find no difference.
// Doubt does not wait.
func (t *Tables) Doubt(name string) {
	t.mu.Lock()
	if one := t.tables[name]; one != nil {
		one.doubt = time.Now().Add(doubtFor)
	}
	t.mu.Unlock()
	t.Changed(name)
	t.compare()
}

// Run loads tables until ctx ends. It begins with a comparison: a change may have been
// made between the first load and Run.
func (t *Tables) Run(ctx context.Context) {
	var changes sync.WaitGroup
	defer changes.Wait()
	changes.Go(func() { t.changes.Run(ctx) })
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

// pause returns CheckEvery, a little more or less, so that the nodes do not all ask at the same moment.
func (t *Tables) pause() time.Duration {
	return CheckEvery*9/10 + rand.N(CheckEvery/5) // it spreads load
}

// compare makes Run compare the revisions.
func (t *Tables) compare() {
	t.mu.Lock()
	t.check = true
	t.mu.Unlock()
	t.signal()
}

func (t *Tables) signal() { wake.Up(t.wake) }

// hear notes a change by another node. Without a note the node came, or its changes were missed.
func (t *Tables) hear(c cluster.Change[string, uint64]) {
	if len(c.Note) == 0 {
		t.compare()
		return
	}
	t.mu.Lock()
	if one := t.tables[c.Key]; one != nil { // nil: of another version of the program
		one.stale = true
	}
	t.mu.Unlock()
	t.signal()
}

// work loads stale tables and returns when to look again.
func (t *Tables) work(ctx context.Context) (next time.Duration) {
	t.mu.Lock()
	check, stale := t.check, false
	for _, one := range t.tables {
		stale = stale || one.stale || !one.doubt.IsZero()
	}
	t.check = false
	t.mu.Unlock()
	if !check && !stale {
		return time.Hour
	}
	asked := time.Now()
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
		if wait := t.refresh(ctx, name, revisions, asked); wait > 0 {
			next = min(next, wait)
		}
	}
	return next
}

// refresh loads a table if it is stale. revisions are those of the store at asked. It
// returns after how long the table is to be looked at again; 0: no need.
func (t *Tables) refresh(ctx context.Context, name string, revisions map[string]int64, asked time.Time) (again time.Duration) {
	one := t.tables[name]
	revision, known := revisions[name]
	load, again := t.look(one, revision, known, asked)
	if !load {
		return again
	}
	bounded, cancel := context.WithTimeout(ctx, loadTime)
	began := time.Now()
	err := one.load(bounded)
	cancel()
	if err != nil && ctx.Err() != nil {
		return 0
	}
	doubted, again := t.loaded(name, one, revision, asked, time.Since(began), err)
	if doubted {
		t.Changed(name)
	}
	return again
}

// look decides whether a table is to be loaded now; if not, again is when to look next.
func (t *Tables) look(one *table, revision int64, known bool, asked time.Time) (load bool, again time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known && revision != one.revision || !known && !one.doubt.IsZero() {
		one.stale = true
	}
	if !one.stale {
		return false, one.settle(asked)
	}
	if rest := time.Until(one.rest); rest > 0 {
		return false, rest
	}
	one.stale = false // a message from now on asks for one more load
	return true, 0
}

// settle ends the doubt about a table that is equal to the store of that time, and
// returns when to compare it again; 0: there is no doubt.
func (one *table) settle(asked time.Time) (again time.Duration) {
	if asked.After(one.doubt) {
		one.doubt = time.Time{}
		return 0
	}
	return doubtEvery
}

// loaded notes how a load ended that took so long. doubted reports whether the other
// nodes may not know of the change.
func (t *Tables) loaded(name string, one *table, revision int64, asked time.Time, took time.Duration, err error) (doubted bool, again time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := min(restShare*took, maxRest)
	if err != nil {
		one.stale = true
		retry := retryEvery
		if !errors.Is(err, storage.ErrUnavailable) {
			retry = min(retryEvery<<min(one.failures, 10), maxRetry)
		}
		one.rest = time.Now().Add(max(retry, rest))
		t.failed(name, one, err)
		return false, time.Until(one.rest)
	}
	t.loads.WithLabelValues(name, "loaded").Inc()
	if one.failures > 0 {
		t.opt.Log.Info().Str("table", name).Msg("a table of the store was loaded again")
	}
	one.rest = time.Now().Add(rest)
	one.failures, one.revision = 0, revision
	doubted, again = !one.doubt.IsZero(), one.settle(asked)
	if one.stale {
		again = max(time.Until(one.rest), time.Millisecond)
	}
	return doubted, again
}

// failed reports the first of several failures. t.mu is held.
func (t *Tables) failed(name string, one *table, err error) {
	t.loads.WithLabelValues(name, "failed").Inc()
	if one.failures == 0 {
		t.opt.Log.Warn().Err(err).Str("table", name).Msg("a table that another node changed cannot be loaded; it is tried again")
	}
	one.failures++
}
