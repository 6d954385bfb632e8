package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// most is the number of servers with which most is measured.
const most = 50_000

// registration measures servers that prove themselves and are listed.
func (b *bench) registration(ctx context.Context) error {
	n := b.size(most)
	one := func(w *world) (time.Duration, error) {
		s, err := newSwarm(w, n)
		if err != nil {
			return 0, err
		}
		defer s.close()
		return each(w.daemon, func() (int, error) { return n, s.register(ctx) })
	}
	bare, err := one(&world{daemon: b.bare})
	if err != nil {
		return err
	}
	return b.withDaemon(ctx, nil, func(w *world, _ func() error) error {
		cpu, err := one(w)
		b.write(figure{name: fmt.Sprintf("registration with challenge, up to %d servers", n), unit: "us", now: us(cpu), bare: us(bare), goal: 1.7})
		return err
	})
}

// unsaved is how many heartbeats a daemon takes before it saves the list early.
const unsaved = 45_000

// heartbeats measures servers that stay. Saving their reports now and then is measured by itself.
func (b *bench) heartbeats(ctx context.Context) error {
	for _, full := range []int{1000, most, 200_000} {
		n := b.size(full)
		var bare, cost, steady time.Duration
		if err := b.swarmed(ctx, &world{daemon: b.bare}, n, func(w *world, s *swarm) (err error) {
			bare, err = b.bursts(ctx, w.daemon, s)
			return err
		}); err != nil {
			return err
		}
		if err := b.quiet(ctx, n, func(w *world, s *swarm) (err error) {
			if cost, err = b.bursts(ctx, w.daemon, s); err != nil {
				return err
			}
			steady, err = each(w.daemon, func() (int, error) {
				during, cancel := context.WithTimeout(ctx, b.opt.length)
				defer cancel()
				done, _, err := s.beat(during, -1)
				return done, err
			})
			return err
		}); err != nil {
			return err
		}
		b.write(figure{
			name: fmt.Sprintf("heartbeat and keepalive, %d servers", n), unit: "us", now: us(cost), bare: us(bare), goal: 1.4,
			note: fmt.Sprintf("%.3g us at full speed, with saves each second", us(steady)),
		})
	}
	return nil
}

// bursts returns the processor time of a heartbeat and a keepalive, without saves: in
// bursts after which the daemon settles.
func (b *bench) bursts(ctx context.Context, c *child, s *swarm) (time.Duration, error) {
	const times, rest = 8, unsaved / 6 // rest makes it save
	var cpu time.Duration
	count := 0
	for range times {
		one, err := spent(c, func() error {
			done, _, err := s.beat(ctx, b.size(unsaved))
			count += done
			return err
		})
		if err != nil {
			return 0, err
		}
		cpu += one
		if s.bare {
			continue
		}
		if _, _, err := s.beat(ctx, b.size(rest)); err != nil {
			return 0, err
		}
		if b.opt.scale < 1 {
			continue // less is not saved anyway
		}
		if err := b.settle(ctx, c); err != nil {
			return 0, err
		}
	}
	if count == 0 {
		return 0, errSwarm
	}
	return cpu / time.Duration(count), nil
}

// memory measures the memory of a listed server after ten rounds of heartbeats.
func (b *bench) memory(ctx context.Context) error {
	n := b.size(most)
	return b.withDaemon(ctx, nil, func(w *world, _ func() error) error {
		before, err := w.daemon.measure()
		if err != nil {
			return err
		}
		return b.swarmed(ctx, w, n, func(w *world, s *swarm) error {
			if _, _, err := s.beat(ctx, 10*n); err != nil {
				return err
			}
			if err := b.settle(ctx, w.daemon); err != nil {
				return err
			}
			after, err := w.daemon.measure()
			if err != nil {
				return err
			}
			mapped, err := w.daemon.mapped()
			b.write(figure{
				name: fmt.Sprintf("memory of each of %d servers after ten rounds", n), unit: "KiB", now: float64(after.rss-before.rss) / 1024 / float64(n), goal: 2.3,
				note: fmt.Sprintf("RSS %.0f MiB, %.0f of it of files; %.0f before", mib(after.rss), mib(mapped), mib(before.rss)),
			})
			return err
		})
	})
}

// saving measures the costs of saving the list while the daemon runs and when it stops.
func (b *bench) saving(ctx context.Context) error {
	n, length := b.size(most), max(b.opt.length, 6*time.Second)
	if b.opt.scale < 1 {
		length = b.opt.length
	}
	changes := float64(n) / 50 // 2 % per save
	var idle [2]float64
	saves := 0
	for i, every := range []string{"1h", "1s"} {
		err := b.withDaemon(ctx, []string{"master.save_every=" + every, "log.level=debug"}, func(w *world, _ func() error) error {
			return b.swarmed(ctx, w, n, func(w *world, s *swarm) error {
				if err := b.settle(ctx, w.daemon); err != nil {
					return err
				}
				before := w.daemon.wrote("server list saved")
				began := time.Now()
				cpu, err := spent(w.daemon, func() error {
					return b.beside(ctx, s, changes/2, func() error {
						pause(ctx, length)
						return ctx.Err()
					})
				})
				idle[i] = cpu.Seconds() / time.Since(began).Seconds()
				saves = w.daemon.wrote("server list saved") - before
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	f := figure{name: fmt.Sprintf("a save of %d servers, of which 2 %% changed", n), unit: "ms", goal: 50}
	if saves == 0 {
		f.note = "no save was seen"
		f.goal = 0
	} else {
		f.now = max(0, 1e3*(idle[1]-idle[0])*length.Seconds()/float64(saves))
		f.note = fmt.Sprintf("mean of %d saves, by the difference to none", saves)
	}
	b.write(f)
	return b.stopping(ctx)
}

// stopping measures the processor time of a stop with as many changes as are saved
// late.
func (b *bench) stopping(ctx context.Context) error {
	n := b.size(200_000)
	return b.withDaemon(ctx, nil, func(w *world, restart func() error) error {
		if err := b.swarmed(ctx, w, n, func(_ *world, s *swarm) error {
			if err := b.settle(ctx, w.daemon); err != nil {
				return err
			}
			_, _, err := s.beat(ctx, b.size(unsaved))
			return err
		}); err != nil {
			return err
		}
		before, err := w.daemon.measure()
		if err != nil {
			return err
		}
		began := time.Now()
		if err := w.daemon.stop(); err != nil {
			return err
		}
		took, state := time.Since(began), w.daemon.cmd.ProcessState
		b.write(figure{
			name: fmt.Sprintf("a stop with %d servers, of which %d changed", n, b.size(unsaved)), unit: "ms", now: ms(state.UserTime() + state.SystemTime() - before.cpu), goal: 1000,
			note: fmt.Sprintf("CPU; it took %.2f s", took.Seconds()),
		})
		return restart()
	})
}

// start measures a start on a full store.
func (b *bench) start(ctx context.Context) error {
	n, stored := b.size(most), b.size(b.opt.accounts)
	return b.withDaemon(ctx, nil, func(w *world, restart func() error) error {
		if err := b.swarmed(ctx, w, n, func(*world, *swarm) error { return nil }); err != nil {
			return err
		}
		if err := w.daemon.stop(); err != nil {
			return err
		}
		file := filepath.Join(w.dir, "data", databaseFile)
		before, err := os.Stat(file)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := storeAccounts(ctx, filepath.Join(w.dir, "data"), 0, stored); err != nil {
			return err
		}
		after, err := os.Stat(file)
		if err != nil {
			return err
		}
		b.write(figure{
			name: fmt.Sprintf("database, of each of %d accounts", stored), unit: "KiB", now: float64(after.Size()-before.Size()) / 1024 / float64(stored), goal: 0.5e9 / 1e6 / 1024,
			note: fmt.Sprintf("%.0f MiB, made in %.0f s", mib(after.Size()), time.Since(began).Seconds()),
		})
		began = time.Now()
		if err := restart(); err != nil {
			return err
		}
		ready := time.Since(began)
		cpu, err := w.daemon.measure()
		if err != nil {
			return err
		}
		browser, err := firstList(ctx, w, n)
		listed := time.Since(began)
		if err != nil {
			return err
		}
		after1, err := w.daemon.measure()
		b.write(figure{
			name: fmt.Sprintf("start with %d servers and %d accounts to the first list", n, stored), unit: "ms", now: ms(listed - browser.took + browser.first), goal: 300,
			note: fmt.Sprintf("ready after %.0f ms and %.0f ms CPU; whole list after %.0f ms and %.0f ms CPU", ms(ready), ms(cpu.cpu), ms(listed), ms(after1.cpu)),
		})
		return err
	})
}

// offered is the result of heartbeats at a steady rate.
type offered struct {
	sent, lost int
	dropped    int // by the system, before they were read
}

// offer has servers report at a steady rate for the time of the open loop, while beside runs, and counts losses. port is the
// port that they report to.
func (b *bench) offer(ctx context.Context, s *swarm, port uint16, rate float64, beside func(during context.Context)) (o offered, err error) {
	var before, after [2]int
	count := func(into *[2]int) (err error) {
		for i, p := range [2]uint16{port, s.port()} {
			if into[i], err = drops(p); err != nil {
				return err
			}
		}
		return nil
	}
	if err := count(&before); err != nil {
		return o, err
	}
	during, cancel := context.WithTimeout(ctx, b.opt.openLoop)
	defer cancel()
	var wg sync.WaitGroup
	answered := 0
	wg.Go(func() { answered = s.count(ctx, during) })
	wg.Go(func() { beside(during) })
	o.sent, err = s.steady(during, rate, false, s.report)
	wg.Wait()
	if err != nil {
		return o, err
	}
	err = count(&after)
	o.dropped = after[0] - before[0]
	o.lost = max(o.sent-answered-(after[1]-before[1]), o.dropped) // answers that we lost do not count
	return o, err
}

// openLoop measures heartbeats at a steady rate beside lists and a full garbage
// collection.
func (b *bench) openLoop(ctx context.Context) error {
	n, rate := b.size(most), b.rate(15_000)
	var bare offered
	err := b.swarmed(ctx, &world{daemon: b.bare}, n, func(w *world, s *swarm) (err error) {
		bare, err = b.offer(ctx, s, w.daemon.at("null").Port(), rate, func(context.Context) {})
		return err
	})
	if err != nil {
		return err
	}
	return b.quiet(ctx, n, func(w *world, s *swarm) error {
		lists, collected := 0, ""
		o, err := b.offer(ctx, s, w.daemon.at("qr2").Port(), rate, func(during context.Context) {
			half := time.Now().Add(b.opt.openLoop / 2)
			for pause(during, time.Second) {
				if _, err := firstList(ctx, w, n); err == nil {
					lists++
				}
				if collected == "" && time.Now().After(half) && collect(ctx, w) {
					collected = " and a collection of garbage"
				}
			}
		})
		b.write(figure{
			name: fmt.Sprintf("lost of %.0f heartbeats per second, %d servers", rate, n), now: float64(o.lost), goal: 0.5,
			note: fmt.Sprintf("of %d in %s beside %d lists%s, %d dropped by the system; a bare server beside nothing lost %d of %d", o.sent, b.opt.openLoop, lists, collected, o.dropped, bare.lost, bare.sent),
		})
		return err
	})
}

// collect has the daemon collect its garbage, and reports whether it can.
func collect(ctx context.Context, w *world) bool {
	token, err := os.ReadFile(filepath.Join(w.dir, "data", "admin.token"))
	if err != nil {
		return false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.daemon.at("admin").String()+"/api/v1/debug/pprof/heap?gc=1", nil)
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
