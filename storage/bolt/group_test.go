package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// holdGroup keeps the writer busy with a step of its own until the function
// that it returns is called, which waits for the end of that step.
func holdGroup(t *testing.T, e *Engine) (release func()) {
	t.Helper()
	begun, hold, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		ended <- e.change(context.Background(), func(*change) error {
			if first {
				first = false
				close(begun)
				<-hold
			}
			return nil
		})
	}()
	<-begun
	return func() {
		close(hold)
		if err := <-ended; err != nil {
			t.Errorf("the holding step: %v", err)
		}
	}
}

// waitQueued waits until n steps are queued.
func waitQueued(t *testing.T, e *Engine, n int) {
	t.Helper()
	for e.group.waiting() < n {
		if t.Context().Err() != nil {
			t.Fatal("the test ended")
		}
		yield()
	}
}

// yield lets others run.
func yield() { runtime.Gosched() }

// putMark writes a key.
func putMark(tx engine.Tx, key string) error {
	return tx.Put("marks", []byte(key), engine.Seal([]byte(key), nil))
}

// markStep is a step that writes a key and returns err.
func markStep(key string, err error) func(*change) error {
	return func(c *change) error { return errors.Join(putMark(c, key), err) }
}

// marked reports whether a step that wrote key was kept.
func marked(t *testing.T, e *Engine, key string) (yes bool) {
	t.Helper()
	err := e.View(t.Context(), func(r engine.Reader) error {
		v, err := r.Get("marks", []byte(key))
		yes = v != nil
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

func TestStepsThatWaitShareATransaction(t *testing.T) {
	e := openNew(t)
	release := holdGroup(t, e)
	const n = 50
	ids := make([]int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := e.change(t.Context(), func(c *change) error {
				ids[i] = c.tx.ID()
				return putMark(c, fmt.Sprint("k", i))
			})
			if err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		})
	}
	waitQueued(t, e, n)
	release()
	wg.Wait()
	for i, id := range ids {
		if id != ids[0] || !marked(t, e, fmt.Sprint("k", i)) {
			t.Errorf("step %d ran in transaction %d, step 0 in %d", i, id, ids[0])
		}
	}
}

func TestStepThatFailsTakesNothingOfTheOthers(t *testing.T) {
	e := openNew(t)
	release := holdGroup(t, e)
	failure := errors.New("no")
	steps := map[string]struct {
		fn   func(*change) error
		want error
	}{
		"good 1":         {markStep("good 1", nil), nil},
		"failed, wrote":  {markStep("failed, wrote", failure), failure},
		"good 2":         {markStep("good 2", nil), nil},
		"failed, wrote2": {markStep("failed, wrote2", failure), failure},
		"failed, clean":  {func(*change) error { return failure }, failure},
		"good 3":         {markStep("good 3", nil), nil},
	}
	var wg sync.WaitGroup
	for name, step := range steps {
		wg.Go(func() {
			if err := e.change(t.Context(), step.fn); !errors.Is(err, step.want) {
				t.Errorf("%s: change() = %v, want %v", name, err, step.want)
			}
		})
	}
	waitQueued(t, e, len(steps))
	release()
	wg.Wait()
	for name, step := range steps {
		if got := marked(t, e, name); got != (step.want == nil) {
			t.Errorf("%s: kept = %v", name, got)
		}
	}
}

func TestRerunStepSeesNothingOfItsFirstRun(t *testing.T) {
	e := openNew(t)
	release := holdGroup(t, e)
	var n uint64
	runs := 0
	failure := errors.New("no")
	var wg sync.WaitGroup
	wg.Go(func() {
		err := e.change(t.Context(), func(c *change) (err error) {
			runs++
			if v, err := c.Get("marks", []byte("own")); v != nil || err != nil {
				t.Errorf("run %d finds %v, %v", runs, v, err)
			}
			n, err = c.Next("marks")
			return errors.Join(err, putMark(c, "own"))
		})
		if err != nil {
			t.Errorf("change() = %v", err)
		}
	})
	waitQueued(t, e, 1)
	wg.Go(func() {
		if err := e.change(t.Context(), markStep("x", failure)); !errors.Is(err, failure) {
			t.Errorf("change() = %v, want its error", err)
		}
	})
	waitQueued(t, e, 2)
	release()
	wg.Wait()
	if runs != 2 || n != 1 || !marked(t, e, "own") {
		t.Errorf("%d runs, number %d, kept: %v; want 2, 1, true", runs, n, marked(t, e, "own"))
	}
}

func TestContextCountsUntilAStepBegins(t *testing.T) {
	e := openNew(t)
	release := holdGroup(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- e.change(ctx, markStep("late", nil)) }()
	waitQueued(t, e, 1)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("change() in the queue = %v, want context.Canceled", err)
	}
	release()

	ctx, cancel = context.WithCancel(t.Context())
	err := e.change(ctx, func(c *change) error {
		cancel()
		return putMark(c, "begun")
	})
	if err != nil {
		t.Errorf("change() that had begun = %v, want nil", err)
	}
	if marked(t, e, "late") || !marked(t, e, "begun") {
		t.Errorf("kept: late %v, begun %v, want only begun", marked(t, e, "late"), marked(t, e, "begun"))
	}
}

func TestCloseFinishesTheRunningGroup(t *testing.T) {
	e, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	begun, hold := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := e.change(t.Context(), func(c *change) error {
			close(begun)
			<-hold
			return putMark(c, "begun")
		})
		if err != nil {
			t.Errorf("the step that had begun: %v", err)
		}
	})
	<-begun
	const n = 20
	done := make(chan error, n)
	for i := range n {
		wg.Go(func() { done <- e.change(t.Context(), markStep(fmt.Sprint("k", i), nil)) })
	}
	waitQueued(t, e, n)
	wg.Go(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	for !e.group.isStopped() {
		yield()
	}
	close(hold)
	wg.Wait()
	refused := 0
	for range n {
		switch err := <-done; {
		case errors.Is(err, engine.ErrClosed):
			refused++
		case err != nil:
			t.Errorf("a step behind it: %v, want nil or ErrClosed", err)
		}
	}
	again := openAt(t, e.path)
	kept := 0
	for i := range n {
		if marked(t, again, fmt.Sprint("k", i)) {
			kept++
		}
	}
	if kept+refused != n || !marked(t, again, "begun") {
		t.Errorf("%d kept and %d refused of %d; begun: %v", kept, refused, n, marked(t, again, "begun"))
	}
}

func TestIdleGroupLeavesTheFileAlone(t *testing.T) {
	e := openNew(t)
	id := func() (id int) {
		if err := e.view(t.Context(), func(tx *bbolt.Tx) error { id = tx.ID(); return nil }); err != nil {
			t.Fatal(err)
		}
		return id
	}
	before := id()
	missing := errors.New("not found")
	if err := e.change(t.Context(), func(*change) error { return missing }); !errors.Is(err, missing) {
		t.Errorf("change() = %v", err)
	}
	if err := e.change(t.Context(), func(c *change) error { return c.Delete("games", []byte("none")) }); err != nil {
		t.Errorf("change() = %v", err)
	}
	if after := id(); after != before {
		t.Errorf("transaction %d was committed after %d", after, before)
	}
}

func TestPanicInAStepRefusesFurtherSteps(t *testing.T) {
	e := openLoose(t)
	if err := e.change(t.Context(), markStep("before", nil)); err != nil {
		t.Fatal(err)
	}
	err := e.change(t.Context(), func(*change) error { panic("page 7 is odd") })
	wantRestore(t, "change() that panics", err, e.path)
	wantRestore(t, "change() after it", e.change(t.Context(), markStep("after", nil)), e.path)
	if !marked(t, e, "before") || marked(t, e, "after") {
		t.Error("after it, what was written before cannot be read")
	}
	if err := e.Close(); err != nil {
		t.Errorf("Close() after it = %v", err)
	}
}

func TestAcknowledgedIsInACopyOfTheFile(t *testing.T) {
	e := openNew(t)
	var mu sync.Mutex
	var acknowledged []string
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("%d-%d", worker, i)
				if err := e.change(t.Context(), markStep(key, nil)); err != nil {
					t.Errorf("change() = %v", err)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, key)
				mu.Unlock()
			}
		})
	}
	dir := t.TempDir()
	for round := range 5 {
		mu.Lock()
		known := len(acknowledged)
		mu.Unlock()
		path := filepath.Join(dir, fmt.Sprint(round))
		if err := e.copyTo(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		found := openAt(t, path)
		mu.Lock()
		keys := acknowledged[:known]
		mu.Unlock()
		for _, key := range keys {
			if !marked(t, found, key) {
				t.Errorf("copy %d lacks %s", round, key)
			}
		}
	}
	close(stop)
	wg.Wait()
}

// isStopped reports whether close was called.
func (g *group) isStopped() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopped
}
