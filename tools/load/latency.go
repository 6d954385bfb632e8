package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// phase is the result of one loop.
type phase struct {
	times []time.Duration // of operations that succeeded, sorted
	lost  int             // operations that failed
	took  time.Duration
}

// rate returns operations per second.
func (p *phase) rate() float64 { return float64(len(p.times)) / p.took.Seconds() }

// quantile returns the latency that a part q of all operations did not exceed, 0
// if there are none. q is 0 to 1.
func (p *phase) quantile(q float64) time.Duration {
	if len(p.times) == 0 {
		return 0
	}
	i := int(q*float64(len(p.times))+0.999999) - 1
	return p.times[min(max(i, 0), len(p.times)-1)]
}

// closedLoop has every user do one operation after the other for a time.
func closedLoop(ctx context.Context, users []user, length time.Duration, t *tally, name string) phase {
	return loop(users, func(_ int, u user, record func(time.Time, error)) {
		for end := time.Now().Add(length); ctx.Err() == nil; {
			start := time.Now()
			if !start.Before(end) {
				return
			}
			record(start, u.do(ctx))
		}
	}, t, name)
}

// openLoop starts operations at a steady rate, in operations per second, whether
// or not earlier ones are done. Each user takes every len(users)-th of them. If
// he is late because the one before took long, the time that the operation waited
// for him counts; if he overslept, it does not, for that is not the daemon's.
func openLoop(ctx context.Context, users []user, rate float64, length time.Duration, t *tally, name string) phase {
	begin := time.Now()
	return loop(users, func(i int, u user, record func(time.Time, error)) {
		for k := i; ; k += len(users) {
			at := begin.Add(time.Duration(float64(k) / rate * float64(time.Second)))
			if at.Sub(begin) >= length || ctx.Err() != nil {
				return
			}
			if wait := time.Until(at); wait > 0 {
				time.Sleep(wait)
				at = time.Now()
			}
			record(at, u.do(ctx))
		}
	}, t, name)
}

// loop runs work for each user at the same time and joins their records: the start and the result of each
// operation.
func loop(users []user, work func(i int, u user, record func(time.Time, error)), t *tally, name string) phase {
	var p phase
	var mu sync.Mutex // guards p
	var wg sync.WaitGroup
	begin := time.Now()
	for i, u := range users {
		wg.Go(func() {
			var times []time.Duration
			lost := 0
			work(i, u, func(start time.Time, err error) {
				if err != nil {
					lost++
					t.count(name, time.Since(start), err)
					return
				}
				times = append(times, time.Since(start))
			})
			mu.Lock()
			defer mu.Unlock()
			p.times = append(p.times, times...)
			p.lost += lost
		})
	}
	wg.Wait()
	p.took = time.Since(begin)
	slices.Sort(p.times)
	return p
}
