package federation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/operator"
)

// scripted fails a number of times.
type scripted struct {
	fails int
	at    []time.Duration // when it was read
	began time.Time
	noted int
}

func (f *scripted) read(_ context.Context, s *source, _ int) (string, error) {
	f.at = append(f.at, time.Since(f.began))
	if len(f.at) <= f.fails {
		return resultRead, errors.New("no answer")
	}
	s.tell(found{addr: addr("20.0.0.1:27960"), query: "quake3"})
	return resultRead, nil
}
func (f *scripted) note(context.Context, *source) { f.noted++ }
func (*scripted) follow(context.Context, *source) {}
func (*scripted) close()                          {}

// A master that fails is tried again, later each time, and logged once; so is the end of
// its failure.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var log bytes.Buffer
		b.log = zerolog.New(&log)
		s := b.source(t, 0, "q3 a.org protocol=1")
		script := &scripted{fails: 4, began: time.Now()}
		s.fetch = script
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.run(ctx); close(ended) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if st := s.now(0); st.State != operator.MasterFailing || st.Error != "no answer" || st.Failures != 1 || st.Next.IsZero() {
			t.Errorf("state %+v", st)
		}
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		if st := s.now(0); st.State != operator.MasterRead || st.Error != "" || st.Failures != 0 || st.Told != 1 {
			t.Errorf("state %+v", st)
		}
		for i, want := range []time.Duration{0, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute} {
			if i >= len(script.at) {
				t.Fatalf("read %d times", len(script.at))
			}
			wait := script.at[i]
			if i > 0 {
				wait -= script.at[i-1]
			}
			if i == 0 && wait > firstWithin || i > 0 && (wait < want*9/10 || wait > want*11/10) {
				t.Errorf("reading %d after %v, want %v", i, wait, want)
			}
		}
		cancel()
		<-ended
		b.sweep(time.Now(), time.Hour)
		if len(b.servers) != 0 || b.list.Len() != 0 {
			t.Errorf("%d candidates and %d listed after the end", len(b.servers), b.list.Len())
		}
		if lines := strings.Count(log.String(), "\n"); lines != 2 || !strings.Contains(log.String(), "answers again") {
			t.Errorf("log has %d lines, want 2:\n%s", lines, log.String())
		}
	})
}

// The state names what a limit kept out, until a reading has no such part. The log has a
// line for the first such reading.
func TestPartlyRead(t *testing.T) {
	b := newBench(t)
	var log bytes.Buffer
	b.log = zerolog.New(&log)
	b.live.Store(&settings{every: time.Minute, expire: time.Hour, max: 2})
	s := b.source(t, 0, "q3 a.org protocol=1")
	var list []netip.AddrPort
	var err error
	s.fetch = once(func(_ context.Context, s *source, _ int) error { tellAll(s, list); return err })
	expect := func(when, problem string) {
		t.Helper()
		s.turn(t.Context())
		if st := s.now(0); st.State != operator.MasterRead || !strings.Contains(st.Error, problem) || (st.Error == "") != (problem == "") || st.Failures != 0 {
			t.Errorf("%s: state %+v, want problem %q", when, st, problem)
		}
	}
	list = numbered(2)
	expect("whole", "")
	err = fmt.Errorf("entry 3: %w", netclient.ErrTooLong)
	expect("cut", "federation.max_per_master (2)")
	expect("cut again", "federation.max_per_master (2)")
	err = nil
	list = append(list, addr("10.0.0.1:27960"), list[0])
	expect("entries that are never used", "")
	b.prober.full, list = true, append(list, addr("20.1.0.1:27960"), addr("20.1.0.2:27960"))
	expect("no room at the prober", "2 not queried: probe.max_servers is reached")
	for n := range maxCandidates {
		b.servers[netip.AddrPortFrom(netip.AddrFrom4([4]byte{21, byte(n >> 16), byte(n >> 8), byte(n)}), 1)] = nil
	}
	list = append(list, addr("20.2.0.1:27960"))
	expect("no room in the table", "; 1 beyond the limit of 262144 for all masters")
	clear(b.servers)
	b.prober.full, list = false, numbered(1)
	expect("whole again", "")
	if lines := strings.Count(log.String(), "\n"); lines != 2 {
		t.Errorf("log has %d lines, want one for the cut and one for the full prober:\n%s", lines, log.String())
	}
}

// A reload begins and ends sources; metrics are only of masters in the configuration.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		reg := prometheus.NewRegistry()
		srv := &server{table: b.table, wake: make(chan struct{}, 1)}
		b.metrics = newMetrics(reg, srv.told)
		scripts := make(map[string]*scripted)
		srv.fetch = func(m *configs.OtherMaster) fetcher {
			scripts[m.Name] = &scripted{began: time.Now()}
			return scripts[m.Name]
		}
		config := func(entries ...string) *Config {
			c := &Config{Every: 5 * time.Minute, MaxPerMaster: 10, Expire: 15 * time.Minute}
			for _, e := range entries {
				c.Masters = append(c.Masters, parse(t, e))
			}
			return c
		}
		srv.reload(config())
		if got := (count{srv}).String(); got != "" {
			t.Errorf("without masters it works on %q", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = srv.serve(ctx); close(ended) }()
		synctest.Wait()
		expect := func(when string, want ...string) {
			t.Helper()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			var got []string
			for _, st := range srv.states() {
				got = append(got, st.Name+" "+st.State)
			}
			if strings.Join(got, ", ") != strings.Join(want, ", ") {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
			n, err := testutil.GatherAndCount(reg, "respawnd_federation_last_success_timestamp_seconds")
			if n != len(want) || err != nil {
				t.Errorf("%s: %d series, %v; want %d", when, n, err, len(want))
			}
		}
		expect("empty")
		srv.reload(config("q3 b.org protocol=1"))
		expect("one", "b.org read")
		srv.reload(config("q3 a.org protocol=1", "q3 b.org protocol=1"))
		expect("another before it", "a.org read", "b.org read")
		if n := len(scripts["b.org"].at); n != 1 {
			t.Errorf("the one that stayed was read %d times, want once", n)
		}
		if got := (count{srv}).String(); got != "2 other masters" {
			t.Errorf("it works on %q", got)
		}
		srv.reload(config("q3 a.org protocol=2"))
		expect("changed and removed", "a.org read")
		srv.reload(config())
		expect("none")
		if b.list.Len() != 0 || len(b.servers) != 0 {
			t.Errorf("%d listed, %d candidates without masters", b.list.Len(), len(b.servers))
		}
		cancel()
		<-ended
	})
}

// In a cluster the masters of other nodes are not read, but for what each node notes itself.
func TestMine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s := b.source(t, 0, "q3 a.org protocol=1")
		script := &scripted{began: time.Now()}
		var owner atomic.Bool
		s.fetch, s.mine = script, func(name string) bool { return owner.Load() && name == "a.org" }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.run(ctx); close(ended) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := s.now(0); st.State != operator.MasterElse || len(script.at) != 0 || script.noted == 0 {
			t.Errorf("another node's: %+v, read %d times", st, len(script.at))
		}
		owner.Store(true)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if st := s.now(0); st.State != operator.MasterRead || st.Told != 1 {
			t.Errorf("taken over: %+v", st)
		}
		cancel()
		<-ended
	})
}

func TestMistakes(t *testing.T) {
	var many []configs.OtherMaster
	for range MaxMasters {
		m := parse(t, "q3 a.org protocol=1")
		m.Name += strings.Repeat("x", len(many))
		many = append(many, m)
	}
	if got := Mistakes(many); len(got) != 0 {
		t.Errorf("%d masters: %v", len(many), got)
	}
	got := Mistakes(append(many, many[0]))
	if len(got) != 2 || !strings.Contains(got[0].Problem, "more than 64") || !strings.Contains(got[1].Problem, `name of entry 1, "a.org"`) {
		t.Errorf("one more: %v", got)
	}
}
