package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// filters returns filters that all servers pass and no two of which are the same.
func filters() func() string {
	var n atomic.Int64
	return func() string { return listFilter + " and maxplayers<" + strconv.FormatInt(1000+n.Add(1), 10) }
}

// lists measures lists of all servers.
func (b *bench) lists(ctx context.Context) error {
	for _, full := range []int{1000, most} {
		n := b.size(full)
		err := b.quiet(ctx, n, func(w *world, s *swarm) error {
			for _, t := range []struct {
				name   string
				filter func() string
				goal   float64
				churn  float64
				most   float64 // ms
			}{
				{"one filter", nil, 1.2, 0, 0},
				{"a filter of its own per request", filters(), 1.5, 0, 0},
				{"one filter, 2,000 changes per second", nil, 0, b.rate(2000), 45},
			} {
				if t.churn > 0 && full != most {
					continue
				}
				f := figure{name: fmt.Sprintf("list of %d, %s", n, t.name), unit: "ms", goal: t.goal}
				err := b.list(ctx, w, s, n, t.filter, t.churn, &f)
				if err != nil {
					return err
				}
				if t.churn > 0 { // the goal is a time
					f.note += fmt.Sprintf("; %.1f times bare", f.now/f.bare)
					f.bare, f.goal = 0, t.most
				}
				b.write(f)
			}
			return nil
		}, "qr2.probe=false") // that a host is silent is a change of the list
		if err != nil {
			return err
		}
	}
	return nil
}

// list measures a list of n servers, while some change.
func (b *bench) list(ctx context.Context, w *world, s *swarm, n int, filter func() string, churn float64, f *figure) error {
	open := func(_ context.Context, w *world, i int) (user, error) {
		return &browser{w: w, i: i, want: n, wait: time.Minute, filter: filter}, nil
	}
	const clients = 4
	size := 0
	measure := func(idle float64) error {
		return measured(ctx, w, clients, open, func(users []user) error {
			if err := users[0].do(ctx); err != nil { // the first one prepares it
				return err
			}
			if churn == 0 { // the garbage of that is collected once
				closedLoop(ctx, users, min(settleStep, 2*b.opt.length), b.tally, f.name)
			}
			cpu, err := b.looped(ctx, w.daemon, users, f.name, idle)
			f.now, size = ms(cpu), users[0].(*browser).bytes
			return err
		})
	}
	err := error(nil)
	if churn == 0 {
		err = measure(0)
	} else {
		err = b.beside(ctx, s, churn, func() error {
			idle, err := b.idle(ctx, w.daemon)
			if err != nil {
				return err
			}
			f.note = fmt.Sprintf("beside %.0f %% of a core for the changes", 100*idle)
			return measure(idle)
		})
	}
	if err != nil {
		return err
	}
	bare, err := b.bareList(ctx, clients, size)
	f.bare = ms(bare)
	if f.note == "" {
		f.note = fmt.Sprintf("%.1f bytes each", float64(size)/float64(n))
	}
	return err
}

// bareList returns the processor time of enciphering and sending as many bytes.
func (b *bench) bareList(ctx context.Context, clients, size int) (sum time.Duration, err error) {
	cipher, err := cipherTime(size)
	if err != nil {
		return 0, err
	}
	w := &world{daemon: b.bare}
	err = measured(ctx, w, clients, streamEchoes(uint32(size), false), func(users []user) error {
		tcp, err := b.looped(ctx, b.bare, users, "bare list", 0)
		sum = cipher + tcp
		return err
	})
	return sum, err
}

// requested is a list that was requested once.
type requested struct {
	*browser
	took time.Duration // until it was whole
}

// firstList requests a list of n servers.
func firstList(ctx context.Context, w *world, n int) (requested, error) {
	r := requested{browser: &browser{w: w, i: 1 << 10, want: n, wait: time.Minute}}
	began := time.Now()
	err := r.do(ctx)
	r.took = time.Since(began)
	return r, err
}

// firstLists measures the first list after servers registered, and after a restart.
func (b *bench) firstLists(ctx context.Context) error {
	n := b.size(most)
	one := func(w *world, after string) error {
		var r requested
		cpu, err := spent(w.daemon, func() (err error) {
			r, err = firstList(ctx, w, n)
			return err
		})
		if err != nil {
			return err
		}
		b.write(figure{
			name: fmt.Sprintf("first list of %d after they %s, first byte", n, after), unit: "ms", now: ms(r.first), goal: 60,
			note: fmt.Sprintf("whole after %.0f ms, %.0f ms CPU", ms(r.took), ms(cpu)),
		})
		return nil
	}
	return b.withDaemon(ctx, nil, func(w *world, restart func() error) error {
		if err := b.swarmed(ctx, w, n, func(w *world, _ *swarm) error { return one(w, "registered") }); err != nil {
			return err
		}
		if err := w.daemon.stop(); err != nil {
			return err
		}
		if err := restart(); err != nil {
			return err
		}
		return one(w, "were restored")
	})
}
