package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// limitPaths are requests of the pages and of JSON. A # is a number that no other
// request has.
func limitPaths() []string {
	return []string{
		"/", "/servers", "/servers?game=" + game, "/servers?q=load", "/games", "/games/" + game, "/why",
		"/api/v1/servers?limit=50", "/api/v1/servers?q=map3&limit=50", "/api/v1/servers?game=" + game, "/api/v1/games", "/api/v1/stats",
		"/api/v1/servers?q=%23&limit=50",
	}
}

// pages measures pages and JSON of a long list while servers change.
func (b *bench) pages(ctx context.Context) error {
	n, rate := b.size(most), b.rate(1000)
	return b.quiet(ctx, n, func(w *world, s *swarm) error {
		return b.beside(ctx, s, rate, func() error {
			idle, err := b.idle(ctx, w.daemon)
			if err != nil {
				return err
			}
			b.printf("%d servers, %.0f changes per second: %.0f %% of a core without requests; then 8 clients one after the other", n, rate, 100*idle)
			for _, path := range limitPaths() {
				if err := b.page(ctx, w, path, idle); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			return nil
		})
	})
}

func (b *bench) page(ctx context.Context, w *world, path string, idle float64) error {
	var number atomic.Int64
	open := func(ctx context.Context, w *world, i int) (user, error) {
		u, err := openReader(ctx, w, i)
		if err == nil {
			u.(*reader).paths, u.(*reader).number = []string{path}, &number
		}
		return u, err
	}
	return measured(ctx, w, 8, open, func(users []user) error {
		cpu, err := b.looped(ctx, w.daemon, users, "GET "+path, idle)
		if err != nil {
			return err
		}
		f := figure{name: "GET " + strings.Replace(path, "%23", "(one's own)", 1), unit: "ms", now: ms(cpu), goal: 1}
		if !strings.Contains(path, "%23") {
			f.note, err = repeated(ctx, users[0].(*reader), path)
		}
		b.write(f)
		return err
	})
}

// repeated says how often a request with the tag of the answer before is answered
// without a page.
func repeated(ctx context.Context, r *reader, path string) (string, error) {
	const times = 20
	same, tag, size := 0, "", int64(0)
	for range times {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
		if err != nil {
			return "", err
		}
		if tag != "" {
			req.Header.Set("If-None-Match", tag)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			return "", err
		}
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return "", err
		}
		if resp.StatusCode == http.StatusNotModified {
			same++
		} else {
			size = n
		}
		tag = resp.Header.Get("ETag")
	}
	return fmt.Sprintf("304: %d of %d, %s bytes", same, times-1, strconv.FormatInt(size, 10)), nil
}

// events measures listeners of the whole list.
func (b *bench) events(ctx context.Context) error {
	n, listeners, rate := b.size(most), b.size(500), b.rate(1000)
	return b.quiet(ctx, n, func(w *world, s *swarm) error {
		return b.beside(ctx, s, rate, func() error {
			before, err := b.idle(ctx, w.daemon)
			if err != nil {
				return err
			}
			alone, err := w.daemon.measure()
			if err != nil {
				return err
			}
			return measured(ctx, w, listeners, again(openListener), func(users []user) error {
				had := make([]int64, len(users))
				for i, u := range users {
					had[i] = u.(*listener).bytes.Load()
				}
				cpu, err := b.idle(ctx, w.daemon)
				if err != nil {
					return err
				}
				least, longest := int64(1)<<62, int64(0)
				for i, u := range users {
					got := u.(*listener).bytes.Load() - had[i]
					least, longest = min(least, got), max(longest, got)
				}
				name := fmt.Sprintf("%d listeners of %d servers, %.0f changes per second", listeners, n, rate)
				b.write(figure{name: name, unit: "%", now: 100 * cpu, goal: 12, note: fmt.Sprintf("of a core; %.0f %% without listeners; %.1f to %.1f MiB each in %s", 100*before, mib(least), mib(longest), b.opt.length)})
				return b.resident(w.daemon, name, 120, fmt.Sprintf("; %.0f without listeners", mib(alone.rss)))
			})
		})
	})
}

// again returns an opener that tries three times, for the daemon is busy.
func again(open opener) opener {
	return func(ctx context.Context, w *world, i int) (u user, err error) {
		for range 3 {
			if u, err = open(ctx, w, i); err == nil || ctx.Err() != nil {
				break
			}
		}
		return u, err
	}
}

// follow waits until browsers get no more changes than servers report, at most a
// quarter of a minute: changes made while they requested their lists reaches them later.
func (b *bench) follow(ctx context.Context, s *swarm, users []user) {
	heard := func() (n int64) {
		for _, u := range users {
			n += u.(*watcher).heard.Load()
		}
		return n
	}
	for range 15 {
		sent, had := s.sent.Load(), heard()
		pause(ctx, min(time.Second, b.opt.length))
		if (heard()-had)/int64(len(users)) <= 2*(s.sent.Load()-sent) {
			return
		}
	}
}

// push measures browsers that follow the list.
func (b *bench) push(ctx context.Context) error {
	n, browsers, rate := b.size(5000), b.size(500), b.rate(100)
	for _, different := range []int{1, 100} {
		err := b.quiet(ctx, n, func(w *world, s *swarm) error {
			alone, err := w.daemon.measure()
			if err != nil {
				return err
			}
			open := func(ctx context.Context, w *world, i int) (user, error) {
				return watch(ctx, w, i, func() string { return listFilter + " and maxplayers<" + strconv.Itoa(1000+i%different) })
			}
			return measured(ctx, w, browsers, again(open), func(users []user) error {
				return b.beside(ctx, s, rate, func() error {
					b.follow(ctx, s, users)
					had := make([]int64, len(users))
					for i, u := range users {
						had[i] = u.(*watcher).heard.Load()
					}
					before := s.sent.Load()
					cpu, err := b.idle(ctx, w.daemon)
					if err != nil {
						return err
					}
					sent := s.sent.Load() - before
					least, longest := int64(1)<<62, int64(0)
					for i, u := range users {
						got := u.(*watcher).heard.Load() - had[i]
						least, longest = min(least, got), max(longest, got)
					}
					name := fmt.Sprintf("push to %d browsers, %d servers, %d filters, %.0f changes/s", browsers, n, different, rate)
					goals := [2]float64{7, 60}
					if different > 1 {
						goals = [2]float64{}
					}
					b.write(figure{name: name, unit: "%", now: 100 * cpu, goal: goals[0], note: fmt.Sprintf("of a core; %d to %d updates for each, of %d", least, longest, sent)})
					return b.resident(w.daemon, name, goals[1], fmt.Sprintf("; %.0f without browsers", mib(alone.rss)))
				})
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
