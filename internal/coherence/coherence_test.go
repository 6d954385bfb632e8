package coherence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/storage"
)

// base is a store with one value per table.
type base struct {
	mu    sync.Mutex
	value map[string]int64
	down  bool
	asked int // for revisions
}

var errDown = fmt.Errorf("the test has it down: %w", storage.ErrUnavailable)

func (b *base) revisions(context.Context) (map[string]int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.down {
		return nil, errDown
	}
	return maps.Clone(b.value), nil
}

// set changes a value, as a commit does.
func (b *base) set(name string, v int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.value[name] = v
}

func (b *base) setDown(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

func (b *base) get(name string) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return 0, errDown
	}
	return b.value[name], nil
}

// member is a node with two tables.
type member struct {
	*Tables
	mu    sync.Mutex
	has   map[string]int64
	loads map[string]int
	took  time.Duration // a load
}

func (m *member) value(name string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.has[name]
}

func (m *member) loaded(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loads[name]
}

// world is a cluster on one store.
type world struct {
	base  *base
	net   *clustertest.Net
	nodes map[string]*member
	ctx   context.Context
}

func inWorld(t *testing.T, revisions bool, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := &world{&base{value: map[string]int64{"bans": 1, "games": 1}}, clustertest.New(t, "a", "b", "c"), make(map[string]*member), ctx}
		for _, name := range []string{"a", "b", "c"} {
			w.nodes[name] = w.start(name, revisions)
		}
		time.Sleep(time.Second)
		f(t, w)
		stop()
		synctest.Wait()
	})
}

func (w *world) start(name string, revisions bool) *member {
	m := &member{has: map[string]int64{"bans": 1, "games": 1}, loads: make(map[string]int)}
	opt := Options{Bus: w.net.Bus(name), Log: zerolog.Nop(), Registerer: prometheus.NewRegistry()}
	if revisions {
		opt.Revisions = w.base.revisions
	}
	m.Tables = New(opt)
	for _, table := range []string{"bans", "games"} {
		m.Add(table, func(context.Context) error {
			v, err := w.base.get(table)
			m.mu.Lock()
			took := m.took
			m.mu.Unlock()
			time.Sleep(took)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.loads[table]++
			if err == nil {
				m.has[table] = v
			}
			return err
		})
	}
	m.Assume(map[string]int64{"bans": 1, "games": 1})
	go m.Run(w.ctx)
	return m
}

// change commits a value as a node does.
func (w *world) change(node, table string, v int64) {
	w.base.set(table, v)
	m := w.nodes[node]
	m.mu.Lock()
	m.has[table] = v
	m.mu.Unlock()
	m.Changed(table)
}

func (w *world) expect(t *testing.T, what, table string, want int64, nodes ...string) {
	t.Helper()
	for _, name := range nodes {
		if got := w.nodes[name].value(table); got != want {
			t.Errorf("%s: %s has %s of revision %d, want %d", what, name, table, got, want)
		}
	}
}

func TestChangeReachesAllNodes(t *testing.T) {
	for _, revisions := range []bool{false, true} {
		inWorld(t, revisions, func(t *testing.T, w *world) {
			games := w.nodes["b"].loaded("games")
			w.change("a", "bans", 2)
			time.Sleep(time.Second)
			w.expect(t, "after a second", "bans", 2, "a", "b", "c")
			if got := w.nodes["b"].loaded("games"); got != games {
				t.Errorf("revisions %v: another table was loaded %d times", revisions, got-games)
			}
		})
	}
}

func TestLostMessageHeals(t *testing.T) {
	inWorld(t, true, func(t *testing.T, w *world) {
		w.net.SetSilence(time.Hour) // no node notices
		w.net.Cut("a", "b")
		w.change("a", "bans", 2)
		time.Sleep(time.Second)
		w.expect(t, "cut off", "bans", 1, "b")
		w.expect(t, "connected", "bans", 2, "c")
		time.Sleep(CheckEvery * 11 / 10)
		w.expect(t, "after the check", "bans", 2, "b")
	})
}

func TestHealedNodeLooksAtOnce(t *testing.T) {
	inWorld(t, true, func(t *testing.T, w *world) {
		w.net.Isolate("b")
		time.Sleep(CheckEvery / 2)
		w.change("a", "bans", 2)
		w.net.Heal()
		time.Sleep(time.Second)
		w.expect(t, "healed", "bans", 2, "b")
	})
}

func TestLossIsFollowedByAComparison(t *testing.T) {
	inWorld(t, true, func(t *testing.T, w *world) {
		w.net.Lose(func(_, to, _ string) bool { return to == "b" })
		w.change("a", "bans", 2)
		time.Sleep(time.Second)
		w.expect(t, "a lost message", "bans", 2, "b", "c")
	})
}

func TestStoreThatIsDown(t *testing.T) {
	for _, revisions := range []bool{false, true} {
		inWorld(t, revisions, func(t *testing.T, w *world) {
			w.base.setDown(true) // before another node can load the change
			w.change("a", "bans", 2)
			time.Sleep(time.Minute)
			w.expect(t, "while it is down", "bans", 1, "b", "c")
			w.base.setDown(false)
			time.Sleep(5 * time.Second)
			w.expect(t, "five seconds after", "bans", 2, "a", "b", "c")
		})
	}
}

// A command changes the store without a daemon, and no node is informed.
func TestChangePastTheDaemons(t *testing.T) {
	inWorld(t, true, func(t *testing.T, w *world) {
		w.base.set("games", 9)
		time.Sleep(CheckEvery * 11 / 10)
		w.expect(t, "after the check", "games", 9, "a", "b", "c")
	})
}

// A change whose request ended before the store answered may be made all the same, even
// a moment later.
func TestChangeInDoubt(t *testing.T) {
	for name, tt := range map[string]struct {
		revisions bool
		after     time.Duration // the change
	}{
		"made": {true, -1}, "made later": {true, 2 * time.Second}, "without revisions": {false, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, tt.revisions, func(t *testing.T, w *world) {
				if tt.after < 0 {
					w.base.set("bans", 2)
				}
				w.nodes["a"].Doubt("bans")
				if tt.after > 0 {
					time.Sleep(tt.after)
					w.base.set("bans", 2)
				}
				time.Sleep(time.Second)
				w.expect(t, "a second after the change", "bans", 2, "a", "b", "c")
				before := w.nodes["a"].loaded("bans")
				time.Sleep(CheckEvery)
				if got := w.nodes["a"].loaded("bans"); tt.revisions && got != before {
					t.Errorf("the table was loaded %d times more", got-before)
				}
			})
		})
	}
}

// A load for the change of another node may bring a change into force before its request
// ends. The other nodes have then loaded before it, and no later difference is found.
func TestChangeInForceBeforeTheDoubt(t *testing.T) {
	inWorld(t, true, func(t *testing.T, w *world) {
		w.base.set("bans", 2)
		w.nodes["a"].hear(cluster.Change[string, uint64]{Node: "b", Key: "bans", Note: []byte("bans")})
		synctest.Wait()
		w.expect(t, "after a load", "bans", 2, "a")
		w.nodes["a"].Doubt("bans")
		time.Sleep(time.Second)
		w.expect(t, "a second after the doubt", "bans", 2, "a", "b", "c")
	})
}

// The doubt outlasts a store that is down, and ends.
func TestChangeInDoubtWhileTheStoreIsDown(t *testing.T) {
	inWorld(t, true, func(t *testing.T, w *world) {
		w.base.setDown(true)
		w.nodes["a"].Doubt("bans")
		time.Sleep(time.Minute)
		w.base.set("bans", 2)
		w.base.setDown(false)
		time.Sleep(retryEvery + time.Second)
		w.expect(t, "after the store is back", "bans", 2, "a", "b", "c")
		time.Sleep(doubtFor)
		w.base.mu.Lock()
		w.base.asked = 0
		w.base.mu.Unlock()
		time.Sleep(CheckEvery / 2)
		w.base.mu.Lock()
		defer w.base.mu.Unlock()
		if w.base.asked > 3 {
			t.Errorf("the store was asked %d times after the doubt had ended", w.base.asked)
		}
	})
}

func TestQuietClusterLoadsNothing(t *testing.T) {
	inWorld(t, true, func(t *testing.T, w *world) {
		before := w.nodes["a"].loaded("bans")
		if before != 0 {
			t.Errorf("the table was loaded %d times at the start, want never", before)
		}
		w.base.mu.Lock()
		w.base.asked = 0
		w.base.mu.Unlock()
		time.Sleep(10 * CheckEvery)
		if got := w.nodes["a"].loaded("bans"); got != before {
			t.Errorf("the table was loaded %d times, want never", got-before)
		}
		w.base.mu.Lock()
		defer w.base.mu.Unlock()
		if w.base.asked > 3*12 {
			t.Errorf("three nodes asked for revisions %d times in ten intervals", w.base.asked)
		}
	})
}

func TestManyChangesOfALargeTable(t *testing.T) {
	inWorld(t, true, func(t *testing.T, w *world) {
		b := w.nodes["b"]
		b.mu.Lock()
		b.took = 400 * time.Millisecond
		b.mu.Unlock()
		before := b.loaded("bans")
		for i := range int64(100) {
			w.change("a", "bans", 2+i)
			time.Sleep(100 * time.Millisecond)
		}
		if got := b.loaded("bans") - before; got < 2 || got > 6 {
			t.Errorf("a table that takes 0.4 s was loaded %d times in 10 s, want a fifth of the time", got)
		}
		time.Sleep(3 * time.Second)
		w.expect(t, "at the end", "bans", 101, "b")
	})
}

// A load that was slow, because the way to the database was, does not delay the next one
// for long.
func TestSlowLoad(t *testing.T) {
	inWorld(t, true, func(t *testing.T, w *world) {
		b := w.nodes["b"]
		slow := func(d time.Duration) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.took = d
		}
		slow(5 * time.Second)
		w.change("a", "bans", 2)
		time.Sleep(5100 * time.Millisecond)
		w.expect(t, "after a slow load", "bans", 2, "b")
		slow(0)
		w.change("a", "bans", 3)
		time.Sleep(maxRest)
		w.expect(t, "after the next change", "bans", 3, "b")
	})
}

func TestTableThatIsBroken(t *testing.T) {
	inWorld(t, false, func(t *testing.T, w *world) {
		var loads atomic.Int32
		var broken atomic.Bool
		broken.Store(true)
		m := New(Options{Bus: w.net.Start("d"), Log: zerolog.Nop()})
		m.Add("bans", func(context.Context) error {
			if loads.Add(1); broken.Load() {
				return errors.New("broken")
			}
			return nil
		})
		go m.Run(w.ctx)
		synctest.Wait()
		w.change("a", "bans", 2)
		time.Sleep(10 * time.Minute)
		if n := loads.Load(); n < 5 || n > 20 {
			t.Errorf("it was tried %d times in 10 minutes, want about one per minute", n)
		}
		broken.Store(false)
		loads.Store(0)
		time.Sleep(2 * maxRetry)
		if n := loads.Load(); n != 1 {
			t.Errorf("once it is repaired it was loaded %d times, want once", n)
		}
	})
}

// A table of another version of the program loads nothing.
func TestUnknownTable(t *testing.T) {
	inWorld(t, false, func(t *testing.T, w *world) {
		w.nodes["a"].Changed("unknown")
		time.Sleep(time.Second)
		if got := w.nodes["b"].loaded("bans") + w.nodes["b"].loaded("games"); got != 0 {
			t.Errorf("%d tables were loaded because of it", got)
		}
	})
}
