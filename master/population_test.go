package master

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// numberDecoder takes a text as the number of players.
type numberDecoder struct{ names *Names }

func (d numberDecoder) Decode(text []byte, _ Shape, into *Report) {
	into.Rule(text)
	into.SetRules(d.names)
}

// populations gives records of the model test a number of players.
type populations struct{ source *Source }

func newPopulations(r *Registry) populations {
	return populations{r.NewSource(numberDecoder{r.Names([]string{"numplayers"})})}
}

func (p populations) fill(t *rapid.T, r *Registry, s *Server) {
	if old, ok := r.At(s.Key.Source); ok && rapid.Bool().Draw(t, "same content") {
		s.Rules, s.Players, s.Teams = old.Rules, old.Players, old.Teams
		return
	}
	p.source.Into(s, p.source.Text([]byte(strconv.Itoa(rapid.IntRange(0, 64).Draw(t, "players")))))
}

// comparePopulations checks Populations.
func comparePopulations(t *rapid.T, r *Registry, model *naive) {
	want := make(map[string]Population)
	for _, e := range model.list {
		if !model.hide[e.Public] {
			n := want[e.Game]
			want[e.Game] = Population{n.Servers + 1, n.Players + e.Population()}
		}
	}
	if got := r.Populations(); !maps.Equal(got, want) {
		t.Fatalf("Populations: got %v, want %v", got, want)
	}
	if len(r.uncounted) != 0 {
		t.Fatalf("%d servers wait after everything was counted", len(r.uncounted))
	}
}

// The queue of servers that wait to be counted is never longer than the list, even
// if it is never read.
func TestPopulationsThatAreNeverReadCostNoMemory(t *testing.T) {
	r := NewRegistry(Limits{})
	for i := range 1000 {
		s := withRules(t, r, at("gmtest", source(i%10), uint32(i)), "numplayers", fmt.Sprint(i))
		mustPut(t, r, s)
		mustPut(t, r, withRules(t, r, s, "numplayers", "7"))
		if i%3 == 0 {
			r.Remove(s.Key)
		}
	}
	if len(r.uncounted) > r.Len() || cap(r.uncounted) > 64 {
		t.Errorf("%d of %d servers wait, with room for %d", len(r.uncounted), r.Len(), cap(r.uncounted))
	}
}

// A record is read once, when it is first counted.
func TestPopulationsReadEachRecordOnce(t *testing.T) {
	r := NewRegistry(Limits{})
	const servers = 3*countChunk + 5
	src := r.NewSource(numberDecoder{r.Names([]string{"numplayers"})})
	for i := range servers {
		s := at([]string{"one", "two"}[i%2], source(i), 1)
		src.Into(&s, src.Text([]byte("3")))
		mustPut(t, r, s)
	}
	want := map[string]Population{"one": {servers/2 + 1, 3 * (servers/2 + 1)}, "two": {servers / 2, 3 * (servers / 2)}}
	if got := r.Populations(); !maps.Equal(got, want) {
		t.Errorf("Populations() = %v, want %v", got, want)
	}
	s := at("one", source(0), 1)
	src.Into(&s, src.Text([]byte("5")))
	mustPut(t, r, s)
	if len(r.uncounted) != 1 {
		t.Errorf("%d servers wait after one changed, want 1", len(r.uncounted))
	}
	want["one"] = Population{servers/2 + 1, 3*(servers/2+1) + 2}
	if got := r.Populations(); !maps.Equal(got, want) {
		t.Errorf("Populations() after a change = %v, want %v", got, want)
	}
}

// Servers that come, change and go while they are counted leave no trace in the
// sums.
func TestPopulationsWhileTheListChanges(t *testing.T) {
	r := NewRegistry(Limits{})
	src := r.NewSource(numberDecoder{r.Names([]string{"numplayers"})})
	var writing sync.WaitGroup
	for w := range 3 {
		writing.Go(func() {
			for i := range 2000 {
				s := at(fmt.Sprint("game", i%3), source(100*w+i%40), uint32(i%5))
				src.Into(&s, src.Text([]byte(strconv.Itoa(i%60))))
				_ = r.Put(s) // one that is taken or not does not matter
				switch i % 7 {
				case 0:
					r.Remove(s.Key)
				case 1:
					r.Hide(s.Public)
				case 2:
					r.Unhide(s.Public)
				}
			}
		})
	}
	stop := make(chan struct{})
	var counting sync.WaitGroup
	for range 2 {
		counting.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r.Populations()
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	counting.Wait()
	want := make(map[string]Population)
	for _, e := range r.All() {
		n := want[e.Game]
		want[e.Game] = Population{n.Servers + 1, n.Players + e.Population()}
	}
	if got := r.Populations(); !maps.Equal(got, want) {
		t.Errorf("Populations() = %v, want %v", got, want)
	}
}

// BenchmarkPopulations counts again after no server changed, and after as many did
// as do in 15 s if each does once a minute.
func BenchmarkPopulations(b *testing.B) {
	for _, changed := range []int{0, 12_500} {
		b.Run(fmt.Sprintf("50000_servers_%d_changed", changed), func(b *testing.B) {
			r, keys := fillList(b, 50_000)
			r.Populations()
			h := newHeartbeat()
			h.values[slices.Index(h.rules, "numplayers")] = "12"
			var rep Report
			h.fill(r, &rep)
			for b.Loop() {
				b.StopTimer()
				for _, k := range keys[:changed] {
					s := at("gmtest", k.Source, k.Instance)
					if err := rep.Into(&s); err != nil {
						b.Fatal(err)
					}
					r.Update(&s)
				}
				b.StartTimer()
				r.Populations()
			}
		})
	}
}
