package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// TestTwoStores lets two nodes of one database make conflicting changes.
func TestTwoStores(t *testing.T) {
	address := emptyDatabase(t)
	nodes := []*Store{openAt(t, address, nodeOptions("a")), openAt(t, address, nodeOptions("b"))}
	const racers = 16
	race := func(f func(s *Store, i int) error) (won int, errs []error) {
		errs = make([]error, racers)
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() { errs[i] = f(nodes[i%2], i) })
		}
		wg.Wait()
		for _, err := range errs {
			if err == nil {
				won++
			}
		}
		return won, errs
	}
	refused := func(what string, errs []error, want error) {
		t.Helper()
		for i, err := range errs {
			if err != nil && !errors.Is(err, want) {
				t.Errorf("%s: racer %d got %v, want nil or %v", what, i, err, want)
			}
		}
	}

	var profiles [racers]storage.Profile
	for i := range racers {
		_, profiles[i] = createUser(t, nodes[i%2], fmt.Sprintf("%d@b.c", i), fmt.Sprint("N", i))
	}
	won, errs := race(func(s *Store, i int) error {
		mine := profiles[i]
		mine.UniqueNicks = []storage.UniqueNick{{Namespace: 1, Nick: "Joe", Key: "joe"}}
		_, err := s.UpdateProfile(t.Context(), mine)
		return err
	})
	if won != 1 {
		t.Errorf("%d of %d profiles got the unique nick, want 1", won, racers)
	}
	refused("unique nick", errs, storage.ErrTaken)

	won, errs = race(func(s *Store, i int) error {
		_, _, err := s.CreateUser(t.Context(), storage.User{Email: "new@b.c"}, storage.Profile{Nick: "New"})
		return err
	})
	if won != 1 {
		t.Errorf("%d of %d users got the e-mail, want 1", won, racers)
	}
	refused("e-mail", errs, storage.ErrTaken)

	now := time.Now()
	// A full mailbox takes no more from all nodes together.
	won, errs = race(func(s *Store, i int) error {
		for n := range storage.MaxMessagesFrom {
			m := storage.Message{From: 1, Kind: storage.MessageText, Text: fmt.Sprint(i, n), Sent: now}
			if err := s.Leave(t.Context(), profiles[1].ID, m); err != nil {
				return err
			}
		}
		return nil
	})
	refused("mailbox", errs, storage.ErrFull)
	messages, err := nodes[0].Messages(t.Context(), profiles[1].ID, now)
	if err != nil || len(messages) != storage.MaxMessagesFrom || won > 1 {
		t.Errorf("%d messages wait, %v, and %d racers left all of theirs", len(messages), err, won)
	}

	_, errs = race(func(s *Store, i int) error {
		_, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test", Subject: fmt.Sprint(i)})
		return err
	})
	refused("audit", errs, nil)
	var numbers []uint64
	for e, err := range nodes[1].AuditLog(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, e.Seq)
	}
	slices.Reverse(numbers)
	for i, n := range numbers {
		if n != uint64(i+1) || len(numbers) != racers {
			t.Fatalf("the entries of two nodes have the numbers %v", numbers)
		}
	}
}

func nodeOptions(node string) Options {
	opt := testOptions()
	opt.Node = node
	return opt
}

func TestEachNodeHasAList(t *testing.T) {
	address := emptyDatabase(t)
	a, b := openAt(t, address, nodeOptions("a")), openAt(t, address, nodeOptions("b"))
	for s, n := range map[*Store]int{a: 3, b: 5} {
		saved, err := s.SaveServers(t.Context(), storage.WholeList(func(yield func(storage.Server) bool) {
			for i := range n {
				if !yield(listed(i)) {
					return
				}
			}
		}))
		if err != nil || saved.Servers != n {
			t.Fatalf("SaveServers() = %+v, %v", saved, err)
		}
	}
	for s, want := range map[*Store]int{a: 3, b: 5} {
		n := 0
		for _, err := range s.LoadServers(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("node %s has %d servers, want %d", s.node, n, want)
		}
	}
}

// TestIterationHoldsNoConnection calls the store in loop bodies with a pool of one
// connection.
func TestIterationHoldsNoConnection(t *testing.T) {
	opt := testOptions()
	opt.MaxConns = 1
	s := openAt(t, emptyDatabase(t), opt)
	for i := range 3 {
		createUser(t, s, fmt.Sprintf("%d@b.c", i), fmt.Sprint("N", i))
	}
	if _, err := s.SaveServers(t.Context(), storage.WholeList(slices.Values([]storage.Server{listed(1), listed(2)}))); err != nil {
		t.Fatal(err)
	}
	for u, err := range s.Users(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		for p, err := range s.FindProfiles(t.Context(), storage.ByNick, fmt.Sprint("n", u.ID-1)) {
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range s.LoadServers(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.GetProfile(t.Context(), p.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestContextEndsWait(t *testing.T) {
	opt := testOptions()
	opt.MaxConns = 1
	s := openAt(t, emptyDatabase(t), opt)
	err := s.write(t.Context(), func(context.Context, *change) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := s.Probe(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Probe() whose context ends while it waits = %v, want context.DeadlineExceeded", err)
		}
		s.timeout = 10 * time.Millisecond
		if err := s.Probe(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("Probe() that waits too long = %v, want ErrUnavailable", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBegunStepIsFinished(t *testing.T) {
	s := openNew(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.write(ctx, func(ctx context.Context, c *change) error {
		cancel()
		_, err := c.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('finished', '')`)
		return err
	})
	if err != nil {
		t.Errorf("a step whose context ends after it has begun = %v", err)
	}
	var n int
	if err := s.read(t.Context(), func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT count(*) FROM settings WHERE name = 'finished'`).Scan(&n)
	}); err != nil || n != 1 {
		t.Errorf("it left %d rows, %v, want 1", n, err)
	}
}

func TestCloseWaitsForSteps(t *testing.T) {
	s := openNew(t)
	closing := make(chan error)
	err := s.write(t.Context(), func(ctx context.Context, c *change) error {
		go func() { closing <- s.Close() }()
		for !s.closed.Load() {
			if err := s.Probe(t.Context()); err != nil && !errors.Is(err, storage.ErrClosed) {
				return err
			}
		}
		_, err := c.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('finished', '')`)
		return err
	})
	if err != nil {
		t.Errorf("a step during Close() = %v", err)
	}
	if err := <-closing; err != nil {
		t.Errorf("Close() = %v", err)
	}
}

func TestDamagedRecords(t *testing.T) {
	address := emptyDatabase(t)
	s := openAt(t, address, testOptions())
	for i := range 3 {
		createUser(t, s, fmt.Sprintf("%d@b.c", i), fmt.Sprint("N", i))
	}
	runSQL(t, address, `UPDATE users SET doc = '{"email": 7}' WHERE id = 2`)
	if _, err := s.GetUser(t.Context(), 2); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("GetUser() of a damaged record = %v, want ErrDamaged", err)
	}
	var got []string
	for u, err := range s.Users(t.Context(), 0) {
		if errors.Is(err, storage.ErrDamaged) {
			got = append(got, "damaged")
		} else if err != nil {
			t.Fatal(err)
		} else {
			got = append(got, u.Email)
		}
	}
	if want := []string{"0@b.c", "damaged", "2@b.c"}; !slices.Equal(got, want) {
		t.Errorf("Users() = %q, want %q", got, want)
	}
}

func TestCheckKey(t *testing.T) {
	address := emptyDatabase(t)
	a, b := openAt(t, address, nodeOptions("a")), openAt(t, address, nodeOptions("b"))
	for name, err := range map[string]error{
		"the first":   a.CheckKey(t.Context(), "seal_key", "one"),
		"the same":    a.CheckKey(t.Context(), "seal_key", "one"),
		"on another":  b.CheckKey(t.Context(), "seal_key", "one"),
		"with audit?": b.CheckKey(storage.WithAudit(t.Context(), storage.AuditEntry{Action: "x"}), "seal_key", "one"),
	} {
		if err != nil {
			t.Errorf("CheckKey() of %s = %v", name, err)
		}
	}
	if err := b.CheckKey(t.Context(), "seal_key", "two"); !errors.Is(err, ErrOtherKey) {
		t.Errorf("CheckKey() of another key = %v, want ErrOtherKey", err)
	}
}

func TestRoomIDsPassOverChosenOnes(t *testing.T) {
	s := openNew(t)
	for i := range uint32(300) {
		r := storage.Room{ID: storage.FirstFreeRoomID + i, Game: "gmtest", Name: "chosen"}
		if _, err := s.PutRoom(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.PutRoom(t.Context(), storage.Room{Game: "gmtest", Name: "next"})
	if err != nil || r.ID != storage.FirstFreeRoomID+300 {
		t.Errorf("PutRoom() = %d, %v, want id %d", r.ID, err, storage.FirstFreeRoomID+300)
	}
}

func TestIDsEnd(t *testing.T) {
	address := emptyDatabase(t)
	s := openAt(t, address, testOptions())
	last := storage.User{ID: storage.MaxAccountID, Email: "last@b.c"}
	if _, _, err := s.CreateUser(t.Context(), last, storage.Profile{Nick: "Last"}); err != nil {
		t.Fatalf("CreateUser() with the highest id = %v", err)
	}
	_, _, err := s.CreateUser(t.Context(), storage.User{Email: "more@b.c"}, storage.Profile{Nick: "More"})
	if !errors.Is(err, storage.ErrFull) {
		t.Errorf("CreateUser() after the highest id = %v, want ErrFull", err)
	}
}

func TestConfigure(t *testing.T) {
	tests := map[string]struct {
		url  string
		opt  Options
		want int32
	}{
		"option":         {"postgres:///x", Options{MaxConns: 3}, 3},
		"URL":            {"postgres:///x?pool_max_conns=2", Options{}, 2},
		"option and URL": {"postgres:///x?pool_max_conns=2", Options{MaxConns: 3}, 3},
		"neither":        {"postgres:///x", Options{}, int32(max(2*runtime.GOMAXPROCS(0), minConns))},
	}
	for name, tt := range tests {
		config, err := configure(tt.url, tt.opt)
		if err != nil || config.MaxConns != tt.want {
			t.Errorf("%s: %+v, %v, want %d connections", name, config, err, tt.want)
		}
	}
	config, err := configure("postgres:///x?statement_timeout=7", Options{Node: "a", StatementTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	params := config.ConnConfig.RuntimeParams
	if params["statement_timeout"] != "7" || params["application_name"] != "respawnd/a" {
		t.Errorf("parameters = %v, want those of the URL and the name of the node", params)
	}
	for _, url := range []string{
		"postgres://a:secret@host/x?sslmode=nonsense", "postgres://a:secret@host:port/x", "postgres://a:se%cret@host/x",
		"user=a password=secret host=h port=p",
	} {
		if _, err := configure(url, Options{}); err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("configure() of a wrong URL = %v, want an error without the password", err)
		}
	}
}
