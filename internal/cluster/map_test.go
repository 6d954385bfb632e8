package cluster_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/cluster/clustertest"
)

// codec is that of the tests: an empty key or value cannot be read.
func codec(version byte) cluster.Codec[string, string] {
	parse := func(b []byte) (string, error) {
		if len(b) == 0 {
			return "", errors.New("empty")
		}
		return string(b), nil
	}
	add := func(b []byte, s string) []byte { return append(b, s...) }
	return cluster.Codec[string, string]{
		Version: version, AppendKey: add, AppendValue: add, ParseKey: parse,
		ParseValue: func(_, _ string, b []byte) (string, error) { return parse(b) },
	}
}

// sharer is a node with a Map, and the copies that its watcher knows.
type sharer struct {
	*cluster.Map[string, string]
	metrics *prometheus.Registry
	own     map[string]string // the model

	mu    sync.Mutex                   // guards the fields below
	seen  map[string]map[string]string // by node
	notes []string
	left  []string

	stop context.CancelFunc
	done chan struct{}
}

// world is a cluster of sharers.
type world struct {
	*clustertest.Net
	t     testing.TB
	grace atomic.Int64 // a time.Duration
	max   int
	nodes map[string]*sharer
}

func newWorld(t testing.TB, names ...string) *world {
	w := &world{Net: clustertest.New(t, names...), t: t, max: 1000, nodes: make(map[string]*sharer)}
	for _, name := range names {
		w.run(name, 1)
	}
	t.Cleanup(func() {
		for _, s := range w.nodes {
			s.stop()
			<-s.done
		}
	})
	return w
}

// run starts the Map of a node whose Bus runs.
func (w *world) run(name string, version byte) *sharer {
	s := &sharer{metrics: prometheus.NewRegistry(), own: make(map[string]string), seen: make(map[string]map[string]string), done: make(chan struct{})}
	s.Map = cluster.NewMap(cluster.MapOptions[string, string]{
		Name: "test", Bus: w.Bus(name), Codec: codec(version), Grace: func() time.Duration { return time.Duration(w.grace.Load()) }, Max: w.max,
		Changed: s.changed, Left: s.leave, Log: zerolog.Nop(), Registerer: s.metrics,
	})
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	go func() {
		defer close(s.done)
		s.Run(ctx)
	}()
	w.nodes[name] = s
	return s
}

// changed keeps what a watcher knows. It panics if a change does not fit that.
func (s *sharer) changed(c cluster.Change[string, string]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[c.Node] == nil {
		s.seen[c.Node] = make(map[string]string)
	}
	of := s.seen[c.Node]
	if old, had := of[c.Key]; had != c.Had || old != c.Old {
		panic(fmt.Sprintf("%s of %s was %q, %v; the change says %q, %v", c.Key, c.Node, old, had, c.Old, c.Had))
	}
	of[c.Key] = c.Value
	if c.Removed {
		delete(of, c.Key)
	}
	if len(c.Note) > 0 {
		s.notes = append(s.notes, string(c.Note))
	}
}

func (s *sharer) leave(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, node)
}

// of returns what a watcher knows of a node.
func (s *sharer) of(node string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen[node])
}

func (s *sharer) put(k, v string) {
	s.own[k] = v
	s.Put(k, v)
}

func (s *sharer) del(k string) {
	delete(s.own, k)
	s.Delete(k)
}

// die ends a node as a crash does.
func (w *world) die(name string) {
	w.Kill(name)
	w.nodes[name].stop()
	<-w.nodes[name].done
	delete(w.nodes, name)
}

// compare returns how the Map of a node differs from the entries of all live ones.
func (w *world) compare(name string) string {
	s := w.nodes[name]
	if missing := s.Await(canceled()); missing != nil {
		return fmt.Sprintf("%s does not have all of %v", name, missing)
	}
	for other, o := range w.nodes {
		if knows := s.of(other); other != name && !maps.Equal(knows, o.own) {
			return fmt.Sprintf("%s knows of %s %v, want %v", name, other, short(knows), short(o.own))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, copies := range s.seen {
		if w.nodes[other] == nil && len(copies) > 0 {
			return fmt.Sprintf("%s knows of %s, which is gone, %v", name, other, copies)
		}
	}
	for k, v := range s.own {
		if got, ok := s.Own(k); got != v || !ok {
			return fmt.Sprintf("%s: Own(%s) = %q, %v, want %q", name, k, got, ok, v)
		}
	}
	return ""
}

// short returns a map with its values cut.
func short(in map[string]string) map[string]string {
	out := make(map[string]string)
	for k, v := range in {
		out[k] = strings.TrimRight(v, "x")
	}
	return out
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (w *world) check(what string) {
	w.t.Helper()
	synctest.Wait() // what other goroutines know was written before
	for name := range w.nodes {
		if diff := w.compare(name); diff != "" {
			w.t.Errorf("%s: %s", what, diff)
		}
	}
}

// settle is the time after the last fault within which all nodes know the same.
const settle = 8 * time.Second

// Random changes and faults: whatever happened, after the last fault all nodes know the entries
// of all live nodes, and nothing of others.
func TestMapModel(t *testing.T) {
	runs := 400
	if testing.Short() {
		runs = 40
	}
	for seed := range runs {
		synctest.Test(t, func(t *testing.T) { modelRun(t, uint64(seed)) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func modelRun(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	names := []string{"a", "b", "c", "d"}[:2+r.IntN(3)]
	w := newWorld(t, names...)
	w.SetSilence(time.Duration(r.IntN(3)) * time.Second)
	if r.IntN(2) == 0 {
		w.grace.Store(int64(time.Duration(1+r.IntN(5)) * time.Second))
	}
	var loses atomic.Int64
	faults := rand.New(rand.NewPCG(seed, 2))
	w.Lose(func(string, string, string) bool { return faults.Int64N(100) < loses.Load() })
	value := 0
	for range 60 {
		name := names[r.IntN(len(names))]
		s := w.nodes[name]
		switch n := r.IntN(40); {
		case n < 22 && s != nil:
			for range 1 + r.IntN(3) {
				value++
				v := fmt.Sprint(value)
				if r.IntN(50) == 0 {
					v += strings.Repeat("x", 100<<10) // several parts
				}
				s.put(fmt.Sprint(r.IntN(12)), v)
			}
		case n < 28 && s != nil:
			s.del(fmt.Sprint(r.IntN(12)))
		case n == 28 && s != nil:
			s.Flush()
		case n == 29 && s != nil:
			w.die(name)
		case n == 30:
			if s != nil {
				w.die(name)
			}
			w.Start(name)
			w.run(name, 1)
		case n == 31:
			w.Cut(name, names[r.IntN(len(names))])
		case n == 32:
			w.Isolate(name)
		case n == 33:
			w.Heal()
		case n == 34:
			loses.Store(r.Int64N(60) * r.Int64N(2))
		case n == 35:
			w.SetDelay(time.Duration(r.IntN(100)) * time.Millisecond)
		default:
			time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
		}
	}
	loses.Store(0)
	w.SetDelay(time.Millisecond)
	w.Heal()
	time.Sleep(settle + time.Duration(w.grace.Load()))
	w.check("at the end")
}

func TestMapAlone(t *testing.T) {
	m := cluster.NewMap(cluster.MapOptions[string, string]{Name: "test"}) // without a codec: nothing is encoded
	m.Put("k", "v")
	m.PutNote("k", "w", []byte("note"))
	m.Put("other", "x")
	m.Delete("other")
	m.Flush()
	if v, ok := m.Own("k"); v != "w" || !ok {
		t.Errorf("Own = %q, %v, want w", v, ok)
	}
	if _, ok := m.Own("other"); ok || len(m.Keys()) != 1 || m.Await(canceled()) != nil {
		t.Error("an entry that was deleted is there, or Await waits for somethings")
	}
	m.Run(canceled()) // returns
}

// A change is elsewhere at once if there was none before, and within Collect otherwise.
func TestMapDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		time.Sleep(time.Minute)
		for i, wait := range []time.Duration{0, cluster.Collect, cluster.Collect} {
			w.nodes["a"].put("k", fmt.Sprint(i))
			time.Sleep(wait)
			synctest.Wait()
			w.check(fmt.Sprint("change ", i))
		}
		w.nodes["a"].put("k", "flushed")
		w.nodes["a"].Flush()
		synctest.Wait()
		w.check("flushed")
		w.nodes["b"].put("k", "own")
		time.Sleep(cluster.Collect)
		for node, v := range w.nodes["b"].Elsewhere("k") {
			if node != "a" || v != "flushed" {
				t.Errorf("b: elsewhere %q of %q", v, node)
			}
		}
		for k, v := range w.nodes["b"].Others() {
			if k != "k" || v != "flushed" {
				t.Errorf("b: the others have %q for %q", v, k)
			}
		}
	})
}

// A note comes with its change, in order, and not with entries that are read.
func TestMapNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		time.Sleep(time.Second)
		a := w.nodes["a"]
		for i := range 3 {
			a.own["k"] = "v"
			a.PutNote("k", "v", fmt.Append(nil, i))
		}
		delete(a.own, "k")
		a.DeleteNote("k", []byte("end"))
		a.DeleteNote("none", []byte("notice"))
		a.own["l"] = "v"
		a.PutNote("l", "v", []byte("new"))
		time.Sleep(time.Second)
		synctest.Wait()
		if got := strings.Join(w.nodes["b"].notes, " "); got != "0 1 2 end notice new" {
			t.Errorf("notes %q", got)
		}
		w.Start("c")
		c := w.run("c", 1)
		time.Sleep(3 * time.Second)
		if w.check("c joined"); c.notes != nil {
			t.Errorf("c joined and got notes %q", c.notes)
		}
	})
}

// Entries of a node that is gone stay for the grace, also when it has started again without them.
// TestMapReach: a wait for changes ends when they are here, also if they were lost at first.
func TestMapReach(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("lost ", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "a", "b")
				a, b := w.nodes["a"], w.nodes["b"]
				time.Sleep(time.Second)
				w.Lose(func(_, _, _ string) bool { return lost })
				a.put("k", "v")
				time.Sleep(cluster.Collect)
				w.Lose(nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				b.Reach(ctx, "a", a.Number())
				if got := b.of("a")["k"]; got != "v" || ctx.Err() != nil {
					t.Errorf("the entry is %q after the wait, %v", got, ctx.Err())
				}
				began := time.Now()
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if b.Reach(ctx, "a", a.Number()+1); time.Since(began) != time.Second {
					t.Errorf("a wait for a change that does not come took %v", time.Since(began))
				}
			})
		})
	}
}

func TestMapGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.grace.Store(int64(10 * time.Second))
		w.nodes["a"].put("k", "v")
		w.nodes["a"].put("l", "v")
		time.Sleep(time.Second)
		has := func(what, keys string) {
			t.Helper()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := strings.Join(slices.Sorted(maps.Keys(w.nodes["b"].of("a"))), ""); got != keys {
				t.Errorf("%s: b knows %q, want %q", what, got, keys)
			}
		}
		w.die("a")
		has("dead", "kl")
		w.Start("a")
		a := w.run("a", 1)
		has("started again", "kl")
		a.put("l", "again")
		has("one is put", "kl")
		has("over", "l")
		if !slices.Equal(w.nodes["b"].left, []string{"a"}) {
			t.Errorf("Left was called with %q", w.nodes["b"].left)
		}
		w.Cut("a", "b")
		a.del("l")
		w.Heal()
		has("deleted during a cut", "")
	})
}

// A node of another version, garbage, an entry that is too long, and too many entries are dropped
// and counted; the rest arrives.
func TestMapBadInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.max = 2
		time.Sleep(time.Second)
		b := w.nodes["b"]
		w.Start("c")
		c := w.run("c", 2)
		time.Sleep(time.Second)
		dropped := func(reason string) float64 {
			t.Helper()
			return total(t, b.metrics, reason)
		}
		before := dropped("version")
		if c.Put("k", "v"); before == 0 { // each reads the entries of the other
			t.Error("a request of another version was not counted")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if dropped("version") == before || len(b.of("c")) != 0 {
			t.Errorf("b took %v of another version", b.of("c"))
		}
		if missing := b.Await(canceled()); !slices.Equal(missing, []string{"c"}) {
			t.Errorf("b misses %q, want c", missing)
		}
		w.die("c")
		bad := [][]byte{nil, {1}, make([]byte, 18), head(w.Bus("a").Incarnation("a"), []byte{1}), head(w.Bus("a").Incarnation("a"), []byte{1, 0, 0, 0})}
		for _, p := range bad {
			_ = w.Bus("a").Publish("map.test", p)
		}
		_ = w.Bus("a").Publish("map.test", head(1<<60, nil)) // of another incarnation
		a := w.nodes["a"]
		a.put("l", "v")
		a.Put("long", strings.Repeat("x", 300<<10))
		a.Put("", "no key")
		a.put("k", "v")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for reason, want := range map[string]float64{"malformed": 4, "early": 1} {
			if got := dropped(reason); got < want {
				t.Errorf("%v dropped as %s, want at least %v", got, reason, want)
			}
		}
		if total(t, a.metrics, "long") == 0 {
			t.Error("the long entry was not counted")
		}
		w.max = 1000
		if want := map[string]string{"k": "v", "l": "v"}; !maps.Equal(b.of("a"), want) {
			t.Errorf("b knows %v of a, want %v", b.of("a"), want)
		}
		w.Start("d")
		d := w.run("d", 1)
		for i := range 1001 {
			d.put(fmt.Sprint(i), "v")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(a.of("d")) != 1000 || total(t, a.metrics, "full") == 0 {
			t.Errorf("a took %d entries, and %v were dropped", len(a.of("d")), total(t, a.metrics, "full"))
		}
	})
}

// head returns a message to the Map of the tests.
func head(incarnation uint64, items []byte) []byte {
	b := binary.BigEndian.AppendUint64([]byte{1, 1}, incarnation)
	return append(binary.BigEndian.AppendUint64(b, 0), items...)
}

// total returns how much was dropped for a reason.
func total(t *testing.T, r *prometheus.Registry, reason string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "reason" && l.GetValue() == reason {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}

// Maps of one registerer share their metrics.
func TestMapMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		bus := clustertest.New(t, "a").Bus("a")
		for _, name := range []string{"one", "two"} {
			cluster.NewMap(cluster.MapOptions[string, string]{Name: name, Bus: bus, Codec: codec(1), Registerer: r}).Put("k", "v")
		}
		if n, err := testutil.GatherAndCount(r, "respawnd_map_changes_total"); n != 4 || err != nil {
			t.Errorf("%d counters of changes, %v; want 2 of each Map", n, err)
		}
	})
}
