package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// population is a number of users of one kind that connect, act now and then, and leave.
type population struct {
	name  string
	open  opener
	users int
	rate  float64 // operations per second of all of them together
	life  int     // operations of a user on average, until another takes its place; 0: it stays
}

// tally counts operations and their failures.
type tally struct {
	mu     sync.Mutex // guards the fields below
	done   map[string]int
	worst  map[string]time.Duration // the longest operation of a kind
	wrong  map[string]int
	failed int
	total  int
}

func newTally() *tally {
	return &tally{done: make(map[string]int), worst: make(map[string]time.Duration), wrong: make(map[string]int)}
}

// count counts an operation of a kind that took so long and ended with err.
func (t *tally) count(kind string, took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total++
	t.worst[kind] = max(t.worst[kind], took)
	if err == nil {
		t.done[kind]++
		return
	}
	t.failed++
	t.wrong[kind+": "+reason(err)]++
}

// sums returns how many operations there were, and how many of them failed.
func (t *tally) sums() (total, failed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total, t.failed
}

// write writes the counts of all kinds.
func (t *tally) write(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(t.done)) {
		_, _ = fmt.Fprintf(out, "%10d  %-28s  longest %.3f s\n", t.done[k], k, t.worst[k].Seconds())
	}
	for _, k := range slices.Sorted(maps.Keys(t.wrong)) {
		_, _ = fmt.Fprintf(out, "%10d  FAILED %s\n", t.wrong[k], k)
	}
}

// reason returns the kind of an error, without addresses and times.
func reason(err error) string {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		before, _, nested := strings.Cut(err.Error(), ": ")
		if op, ok := errors.AsType[*net.OpError](err); ok && strings.HasPrefix(before, op.Op) {
			before = op.Op
		}
		if nested && !strings.ContainsAny(before, "0123456789") { // no address
			return before + ": no answer in time"
		}
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err.Error()
	}
	return err.Error()
}

// retry is the time between a failure of a user and its next attempt.
const retry = time.Second

// run runs the population's users until ctx ends, and returns when they have ended.
func (c population) run(ctx context.Context, w *world, t *tally) {
	var wg sync.WaitGroup
	for i := range c.users {
		wg.Go(func() { c.live(ctx, w, t, i) })
	}
	wg.Wait()
}

// live is one place in the population: its users come one after the other.
func (c population) live(ctx context.Context, w *world, t *tally, i int) {
	every := time.Duration(float64(c.users) / c.rate * float64(time.Second))
	wait := rand.N(every) // spreads the load
	var u user
	defer func() {
		if u != nil {
			u.close(false)
		}
	}()
	for pause(ctx, wait) {
		wait = every/2 + rand.N(every) // spreads the load
		var err error
		start := time.Now()
		if u == nil {
			if u, err = c.open(ctx, w, i); err != nil {
				u = nil // it may be a nil pointer of some type
			}
		} else {
			err = u.do(ctx)
		}
		if err != nil && ctx.Err() != nil {
			return // it ended in the middle
		}
		t.count(c.name, time.Since(start), err)
		switch {
		case err != nil && u != nil:
			u.close(true)
			u = nil
			wait = retry
		case err != nil:
			u = nil
			wait = retry
		case c.life > 0 && rand.N(c.life) == 0: // spreads the load
			u.close(rand.N(2) == 0) // half of them crash
			u = nil
		}
	}
}

// pause waits and reports whether to continue.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
