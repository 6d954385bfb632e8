package master

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Concurrent writers and readers, checked by the race detector and by the
// readers.
func TestWritersAndReadersAtOnce(t *testing.T) {
	const writers, servers, rounds = 4, 40, 12
	r := NewRegistry(Limits{Expire: time.Hour, Changes: 64})
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	for w := range writers {
		writing.Go(func() {
			var rep Report
			for i := range servers * rounds {
				n := w*servers + i%servers
				s := at(fmt.Sprint("game", n%3), source(n), uint32(i%7))
				s.Seen = time.Now()
				rep.Reset()
				fillRules(r, &rep, "hostname", fmt.Sprint(n), "round", fmt.Sprint(i))
				if err := rep.Into(&s); err != nil {
					t.Errorf("Into: %v", err)
					return
				}
				if err := r.Put(s); err != nil {
					t.Errorf("Put: %v", err)
					return
				}
				r.Touch(s.Key, fromQR2, time.Now())
				r.Report(s.Key, Findings{Reached: Reached(i % 2)})
				r.Update(&s)
				if i%5 == 0 {
					r.Remove(s.Key)
				}
			}
		})
	}
	reading.Go(func() { // follows the changes as a browser session does
		var serial uint64
		var buf []Change
		for !done.Load() {
			var ok bool
			before := serial
			buf, serial, ok = r.Changes("", serial, buf[:0])
			if ok && uint64(len(buf)) != serial-before {
				t.Errorf("%d changes between %d and %d", len(buf), before, serial)
				return
			}
			r.Changed(serial)
		}
	})
	reading.Go(func() { // reads lists
		var buf []*Server
		for !done.Load() {
			for g := range 3 {
				game := fmt.Sprint("game", g)
				buf, _ = r.Snapshot(game, buf[:0])
				for _, s := range buf {
					name, _ := s.Rules.Get("hostname")
					if s.Game != game || fmt.Sprint(name) == "" {
						t.Errorf("list of %s has %v", game, s.Key)
						return
					}
				}
			}
			r.All()
			r.Counts()
		}
	})
	reading.Go(func() { // sweeps
		for !done.Load() {
			r.expire(time.Now())
			r.names.sweep()
			r.RemoveFunc(func(s *Server) bool { return s.Key.Instance == 6 })
		}
	})
	writing.Wait()
	done.Store(true)
	reading.Wait()

	r.RemoveFunc(func(*Server) bool { return true })
	if len(r.bySource)+len(r.byPublic)+len(r.perAddr)+len(r.perNet) != 0 {
		t.Errorf("an empty list holds %d sources, %d public addresses, %d address and %d network counts",
			len(r.bySource), len(r.byPublic), len(r.perAddr), len(r.perNet))
	}
}
