package bolt

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/storage/engine"
)

// maxGroup is the highest number of steps in one transaction.
const maxGroup = 512

// maxYields is how often a group yields the processor for the next of the callers
// that were just answered: some ten microseconds on an idle machine.
const maxYields = 300

// A group is the queue of steps that wait for the disk. One goroutine takes all
// queued steps, runs them in one transaction and answers them when that is
// durable; steps queued meanwhile are the next group. So a single step costs
// one transaction and does not wait, and under load many steps share the cost
// of one fsync.
//
// A failed step does not affect the others. If it has not written anything, it
// is answered like the others. If it has, the transaction is rolled back, the
// others run again, and it runs again alone.
type group struct {
	mu      sync.Mutex // guards the fields below
	queue   []*step
	stopped bool

	wake  chan struct{} // full when the queue may have steps, or the group is closed
	ended chan struct{} // closed when the goroutine has ended
}

// A step is a change that waits for its turn.
type step struct {
	ctx  context.Context // of the waiting call
	fn   func(*change) error
	err  error      // set before done
	done chan error // receives the result; buffered
}

// newGroup returns a group whose run has not begun.
func newGroup() *group {
	return &group{wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// Update implements [engine.Engine].
func (e *Engine) Update(ctx context.Context, step func(engine.Tx) error) error {
	return e.change(ctx, func(c *change) error { return step(c) })
}

// change runs fn as a step of a group. The changes of fn are durable when
// change returns nil, and undone when it returns an error. fn may run more than
// once. ctx is checked until the step begins.
func (e *Engine) change(ctx context.Context, fn func(*change) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	st := &step{ctx: ctx, fn: fn, done: make(chan error, 1)}
	if !e.group.add(st) {
		return engine.ErrClosed
	}
	select {
	case err := <-st.done:
		return err
	case <-ctx.Done():
		if e.group.withdraw(st) {
			return ctx.Err()
		}
		return <-st.done // it has begun
	}
}

// add queues a step unless the group is closed.
func (g *group) add(st *step) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return false
	}
	g.queue = append(g.queue, st)
	wake.Up(g.wake)
	return true
}

// withdraw removes a step from the queue and reports whether it was there.
func (g *group) withdraw(st *step) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, st)
	if i < 0 {
		return false
	}
	g.queue = slices.Delete(g.queue, i, i+1)
	return true
}

// take empties the queue, up to maxGroup steps. stopped says that no others will follow.
func (g *group) take() (steps []*step, stopped bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.queue), maxGroup)
	taken := g.queue[:n:n]
	g.queue = g.queue[n:]
	if len(g.queue) == 0 {
		g.queue = nil
	}
	return taken, g.stopped
}

// waiting returns the length of the queue.
func (g *group) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}

// settle yields the processor to callers that were just answered, and to others
// that are about to call, as long as the queue grows. Without it, the first
// step after a group would be a group by itself, and the others would wait for
// its fsync.
//
// expected is how many callers there were. They may come again from another
// processor, where one yield does not help: a queue that is shorter gets maxYields
// for each further caller, which is little compared with a sync of the disk. An
// empty one gets none.
func (g *group) settle(expected int) {
	expected = min(expected, maxGroup)
	for n, idle := g.waiting(), 0; n < maxGroup; {
		runtime.Gosched()
		switch grown := g.waiting(); {
		case grown > n:
			n, idle = grown, 0
		case n == 0 || n >= expected || idle == maxYields:
			return
		default:
			idle++
		}
	}
}

// close ends the goroutine and waits for it. The steps in the queue are finished, later ones
// are answered with ErrClosed.
func (g *group) close() {
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	wake.Up(g.wake)
	<-g.ended
}

// writeGroups is the goroutine of the group. Open starts it, Close waits for
// it.
func (e *Engine) writeGroups() {
	defer close(e.group.ended)
	expected := 0
	for {
		<-e.group.wake
		<-e.check.want() // until then, steps can be withdrawn; each gets the error of the check
		for {
			e.group.settle(expected)
			steps, stopped := e.group.take()
			if len(steps) == 0 && stopped {
				return
			}
			if len(steps) == 0 {
				break
			}
			expected = len(steps) + e.runGroup(steps)
		}
	}
}

// runGroup runs the steps and answers each. It returns how many steps waited
// when it began to answer.
func (e *Engine) runGroup(steps []*step) (waiting int) {
	var alone []*step
	for len(steps) > 0 {
		failed, err := e.tryGroup(steps)
		if failed < 0 {
			waiting = e.group.waiting()
			for _, st := range steps {
				if err != nil {
					st.err = err
				}
				st.done <- st.err
			}
			break
		}
		alone = append(alone, steps[failed])
		steps = slices.Delete(slices.Clone(steps), failed, failed+1)
	}
	for _, st := range alone {
		_, err := e.tryGroup([]*step{st})
		st.done <- err
	}
	return waiting
}

// errUndo rolls a group back.
var errUndo = errors.New("a step failed after it had written")

// tryGroup runs the steps in one transaction. failed is the index of the step
// because of which everything was rolled back, or -1; then err is the error of
// the transaction, and each step has its own err. The error of the only step of
// a group is err. No step is answered yet.
func (e *Engine) tryGroup(steps []*step) (failed int, err error) {
	failed = -1
	err = e.update(func(tx *bbolt.Tx) error {
		c, idle := newChange(tx), true
		for i, st := range steps {
			c.wrote = false
			if st.err = st.ctx.Err(); st.err == nil {
				st.err = st.fn(c)
			}
			switch {
			case st.err != nil && len(steps) == 1:
				return st.err
			case st.err != nil && c.wrote:
				failed = i
				return errUndo
			case c.wrote:
				idle = false
			}
		}
		if idle {
			return errIdle
		}
		return nil
	})
	return failed, err
}
