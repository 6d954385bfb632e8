package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

func TestRetry(t *testing.T) {
	for name, first := range map[string]*http.Response{"error of the network": nil, "500": status(500), "503": status(503), "429": status(429)} {
		t.Run(name, func(t *testing.T) {
			watching(t, plain(), func(f *fixture) {
				f.to.answers(func(n int) *http.Response {
					if n < 2 {
						return first
					}
					return status(200)
				})
				f.put(listing{port: 1, name: "One"})
				to := f.wait(time.Minute)
				if len(to.requests) != 3 {
					t.Fatalf("%d attempts, want 3", len(to.requests))
				}
				if to.bodies[0] != to.bodies[1] || to.bodies[1] != to.bodies[2] {
					t.Error("the attempts have different bodies")
				}
				for i, want := range []time.Duration{firstWait, firstWait * waitFactor} {
					if got := to.at[i+1].Sub(to.at[i]); got != want {
						t.Errorf("pause %d: %v, want %v", i+1, got, want)
					}
				}
				if a, b := to.requests[0].Header.Get(HeaderTimestamp), to.requests[2].Header.Get(HeaderTimestamp); a == b {
					t.Error("all attempts are signed with one time")
				}
			})
		})
	}
}

func TestRetryAfter(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		f.to.answers(func(n int) *http.Response {
			if n == 0 {
				return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"17.5"}}}
			}
			return status(204)
		})
		f.put(listing{port: 1})
		at := f.wait(time.Minute).at
		if len(at) != 2 || at[1].Sub(at[0]) != 17500*time.Millisecond {
			t.Errorf("attempts at %v, want two with 17.5 s between them", at)
		}
	})
	for text, want := range map[string]time.Duration{
		"": 0, "-1": 0, "x": 0, "NaN": 0, "0.5": 500 * time.Millisecond, "86400": maxWait, "1e300": maxWait, "Wed, 21 Oct 2015 07:28:00 GMT": 0,
	} {
		if got := retryAfter(text); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestGivenUp(t *testing.T) {
	for code, attempts := range map[int]int{301: 1, 400: 1, 401: 1, 404: 1, 410: 1, 500: maxAttempts} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			watching(t, plain(), func(f *fixture) {
				f.to.answers(func(int) *http.Response { return status(code) })
				f.put(listing{port: 1})
				got := len(f.wait(30 * time.Minute).requests)
				if got != attempts || f.dropped(dropUndelivered) != 1 {
					t.Errorf("%d attempts, %v events counted as lost; want %d and 1", got, f.dropped(dropUndelivered), attempts)
				}
				log := f.log.String()
				if !strings.Contains(log, "gave up") || !strings.Contains(log, `"hook":"bot"`) || strings.Contains(log, "hidden-token") || strings.Contains(log, secret) {
					t.Errorf("the log is %q, want the hook and no secret", log)
				}
				f.to.answers(nil)
				f.sent(0)
				f.put(listing{port: 2, name: "Next"})
				f.expect(soon, "server.up Next")
			})
		})
	}
}

func TestBatches(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		for i := range 50 {
			f.put(listing{port: uint16(i + 1), name: "x"})
		}
		if got := len(f.wait(soon).requests); got != 3 {
			t.Errorf("50 events with %d at a time: %d requests, want 3", maxEvents, got)
		}
		if got := strings.Count(f.sent(0), "server.up"); got != 50 {
			t.Errorf("%d events were told, want 50", got)
		}
	})
}

func TestQueueLimit(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		f.d.mu.Lock()
		w := f.d.workers[0]
		f.d.mu.Unlock()
		for range queueLen + 7 { // nothing of it is taken while this goroutine runs on
			w.offer(Event{Kind: ServerUp, Server: describe(&master.Server{Origin: qr2.Origin}, "", colour.None)})
		}
		lost := f.dropped(dropQueueFull)
		if lost < 6 || lost > 7 { // the worker may hold one already
			t.Errorf("%d events for a queue of %d: %v counted as lost, want 7", queueLen+7, queueLen, lost)
		}
		if got := strings.Count(f.log.String(), "events lost"); got != 1 {
			t.Errorf("%d lines in the log about it, want 1", got)
		}
	})
}

func TestStop(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		f.to.answers(func(int) *http.Response { return status(500) })
		for i := range 30 {
			f.put(listing{port: uint16(i + 1)})
		}
		time.Sleep(soon)
		began := time.Now()
		f.stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("Run ended after %v, want at once", took)
		}
		if got := f.dropped(dropStopped); got != 30 {
			t.Errorf("%v events counted as lost, want 30", got)
		}
	})
}
