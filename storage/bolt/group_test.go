package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// holdGroup keeps the writer busy with a step of its own until the function
// that it returns is called, which waits for the end of that step.
func holdGroup(t *testing.T, s *Store) (release func()) {
	t.Helper()
	begun, hold, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		ended <- s.change(context.Background(), func(*change) error {
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
func waitQueued(t *testing.T, s *Store, n int) {
	t.Helper()
	for s.group.waiting() < n {
		if t.Context().Err() != nil {
			t.Fatal("the test ended")
		}
		yield()
	}
}

// yield lets others run.
func yield() { runtime.Gosched() }

// markStep is a step that writes a key and returns err.
func markStep(key string, err error) func(*change) error {
	return func(c *change) error { return errors.Join(c.putEntry(bucketMeta, []byte(key), []byte{1}), err) }
}

// marked reports whether a step that wrote key was kept.
func marked(t *testing.T, s *Store, key string) (yes bool) {
	t.Helper()
	err := s.view(t.Context(), func(tx *bbolt.Tx) error {
		yes = tx.Bucket([]byte(bucketMeta)).Get([]byte(key)) != nil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

func TestStepsThatWaitShareATransaction(t *testing.T) {
	s := openNew(t)
	release := holdGroup(t, s)
	const n = 50
	ids := make([]int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := s.change(t.Context(), func(c *change) error {
				ids[i] = c.ID()
				return c.putEntry(bucketMeta, []byte(fmt.Sprint("k", i)), []byte{1})
			})
			if err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		})
	}
	waitQueued(t, s, n)
	release()
	wg.Wait()
	for i, id := range ids {
		if id != ids[0] || !marked(t, s, fmt.Sprint("k", i)) {
			t.Errorf("step %d ran in transaction %d, step 0 in %d", i, id, ids[0])
		}
	}
}

func TestStepThatFailsTakesNothingOfTheOthers(t *testing.T) {
	s := openNew(t)
	release := holdGroup(t, s)
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
			if err := s.change(t.Context(), step.fn); !errors.Is(err, step.want) {
				t.Errorf("%s: change() = %v, want %v", name, err, step.want)
			}
		})
	}
	waitQueued(t, s, len(steps))
	release()
	wg.Wait()
	for name, step := range steps {
		if got := marked(t, s, name); got != (step.want == nil) {
			t.Errorf("%s: kept = %v", name, got)
		}
	}
}

func TestRerunStepSeesNothingOfItsFirstRun(t *testing.T) {
	s := openNew(t)
	release := holdGroup(t, s)
	var user storage.User
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		user, _, err = s.CreateUser(t.Context(), storage.User{Email: "a@b.c"}, storage.Profile{Nick: "A"})
		if err != nil {
			t.Errorf("CreateUser() = %v", err)
		}
	})
	waitQueued(t, s, 1)
	wg.Go(func() {
		if err := s.change(t.Context(), markStep("x", storage.ErrFull)); !errors.Is(err, storage.ErrFull) {
			t.Errorf("change() = %v, want ErrFull", err)
		}
	})
	waitQueued(t, s, 2)
	release()
	wg.Wait()
	if got, err := s.GetUser(t.Context(), user.ID); user.ID != 1 || err != nil || got.Rev != user.Rev {
		t.Errorf("CreateUser() = %+v after a rerun, stored is %+v (%v)", user, got, err)
	}
}

func TestContextCountsUntilAStepBegins(t *testing.T) {
	s := openNew(t)
	release := holdGroup(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- s.change(ctx, markStep("late", nil)) }()
	waitQueued(t, s, 1)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("change() in the queue = %v, want context.Canceled", err)
	}
	release()

	ctx, cancel = context.WithCancel(t.Context())
	err := s.change(ctx, func(c *change) error {
		cancel()
		return c.putEntry(bucketMeta, []byte("begun"), []byte{1})
	})
	if err != nil {
		t.Errorf("change() that had begun = %v, want nil", err)
	}
	if marked(t, s, "late") || !marked(t, s, "begun") {
		t.Errorf("kept: late %v, begun %v, want only begun", marked(t, s, "late"), marked(t, s, "begun"))
	}
}

func TestCloseFinishesTheRunningGroup(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	begun, hold := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.change(t.Context(), func(c *change) error {
			close(begun)
			<-hold
			return c.putEntry(bucketMeta, []byte("begun"), []byte{1})
		})
		if err != nil {
			t.Errorf("the step that had begun: %v", err)
		}
	})
	<-begun
	const n = 20
	done := make(chan error, n)
	for i := range n {
		wg.Go(func() { done <- s.change(t.Context(), markStep(fmt.Sprint("k", i), nil)) })
	}
	waitQueued(t, s, n)
	wg.Go(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	for !s.group.isStopped() {
		yield()
	}
	close(hold)
	wg.Wait()
	refused := 0
	for range n {
		switch err := <-done; {
		case errors.Is(err, storage.ErrClosed):
			refused++
		case err != nil:
			t.Errorf("a step behind it: %v, want nil or ErrClosed", err)
		}
	}
	again := openAt(t, s.path)
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
	s := openNew(t)
	id := func() (id int) {
		if err := s.view(t.Context(), func(tx *bbolt.Tx) error { id = tx.ID(); return nil }); err != nil {
			t.Fatal(err)
		}
		return id
	}
	before := id()
	if err := s.RemoveBuddy(t.Context(), 1, 2); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("RemoveBuddy() = %v", err)
	}
	if err := s.change(t.Context(), func(*change) error { return nil }); err != nil {
		t.Errorf("change() = %v", err)
	}
	if after := id(); after != before {
		t.Errorf("transaction %d was committed after %d", after, before)
	}
}

func TestPanicInAStepRefusesFurtherSteps(t *testing.T) {
	s := openLoose(t)
	if _, _, err := s.CreateUser(t.Context(), storage.User{Email: "a@b.c"}, storage.Profile{Nick: "A"}); err != nil {
		t.Fatal(err)
	}
	err := s.change(t.Context(), func(*change) error { panic("page 7 is odd") })
	wantRestore(t, "change() that panics", err, s.path)
	wantRestore(t, "DeleteUser() after it", s.DeleteUser(t.Context(), 1), s.path)
	if _, err := s.GetUser(t.Context(), 1); err != nil {
		t.Errorf("GetUser() after it = %v, want the user", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close() after it = %v", err)
	}
}

func TestDamagedAccountIsOneItem(t *testing.T) {
	s := openLoose(t)
	for _, email := range []string{"a@b.c", "b@b.c", "c@b.c"} {
		if _, _, err := s.CreateUser(t.Context(), storage.User{Email: email}, storage.Profile{Nick: "N"}); err != nil {
			t.Fatal(err)
		}
	}
	overwrite(t, s, []byte("?"), idKey(storage.UserID(2)), bucketUsers)
	overwrite(t, s, []byte("?"), idKey(storage.ProfileID(2)), bucketProfiles)
	overwrite(t, s, []byte("?"), idKey(storage.ProfileID(3)), bucketMailboxes)
	good, bad := 0, 0
	for _, err := range s.Users(t.Context(), 0) {
		switch {
		case errors.Is(err, storage.ErrDamaged):
			bad++
		case err != nil:
			t.Fatal(err)
		default:
			good++
		}
	}
	if good != 2 || bad != 1 {
		t.Errorf("Users() has %d good and %d damaged, want 2 and 1", good, bad)
	}
	message := storage.Message{From: 1, Kind: storage.MessageText, Sent: time.Now()}
	_, messages := s.Messages(t.Context(), 3, time.Now())
	_, returned := s.Return(t.Context(), 3, []storage.Message{message})
	_, getUser := s.GetUser(t.Context(), 2)
	_, byEmail := s.UserByEmail(t.Context(), 0, "b@b.c")
	_, getProfile := s.GetProfile(t.Context(), 2)
	for name, err := range map[string]error{
		"GetUser": getUser, "UserByEmail": byEmail, "GetProfile": getProfile, "Messages": messages, "Return": returned,
		"RemoveMessages": s.RemoveMessages(t.Context(), 3, []uint64{1}),
		"Leave":          s.Leave(t.Context(), 3, message), "DeleteUser": s.DeleteUser(t.Context(), 2),
	} {
		if !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("%s() = %v, want ErrDamaged", name, err)
		}
	}
	if n, err := s.SweepMessages(t.Context(), time.Now()); n != 0 || err != nil {
		t.Errorf("SweepMessages() over damage = %d, %v, want 0", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Verify(s.path); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("Verify() = %v, want ErrDamaged", err)
	}
}

func TestAcknowledgedIsInACopyOfTheFile(t *testing.T) {
	s := openNew(t)
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
				email := fmt.Sprintf("%d-%d@b.c", worker, i)
				if _, _, err := s.CreateUser(t.Context(), storage.User{Email: email}, storage.Profile{Nick: "N"}); err != nil {
					t.Errorf("CreateUser() = %v", err)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, email)
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
		if err := s.copyTo(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		found := openAt(t, path)
		mu.Lock()
		emails := acknowledged[:known]
		mu.Unlock()
		for _, email := range emails {
			if _, err := found.UserByEmail(t.Context(), 0, email); err != nil {
				t.Errorf("copy %d lacks %s: %v", round, email, err)
			}
		}
	}
	close(stop)
	wg.Wait()
}

func TestRelationsAreForgotten(t *testing.T) {
	var r relations
	p, _ := newPair(2, 1)
	other, _ := newPair(1, 3)
	_, _, mark := r.find(p)
	r.forget([]pair{other}) // something was written since
	r.remember(p, storage.Relation{Buddy: true}, mark)
	if _, ok, _ := r.find(p); ok {
		t.Error("what was read before a write was remembered after it")
	}
	for i := range storage.ProfileID(maxRelations + 10) {
		next, _ := newPair(1, i+2)
		_, _, mark := r.find(next)
		r.remember(next, storage.Relation{Buddy: true}, mark)
	}
	if n := len(r.known); n != 10 {
		t.Errorf("%d relations are remembered, want 10 after the overflow", n)
	}
	r.close()
	_, _, mark = r.find(p)
	r.remember(p, storage.Relation{}, mark)
	if _, ok, _ := r.find(p); ok {
		t.Error("a closed table remembers")
	}
}
