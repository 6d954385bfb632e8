package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/enginetest"
)

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
	config, err := configure("postgres:///x?statement_timeout=7&enable_seqscan=on", Options{Node: "a", StatementTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	params := config.ConnConfig.RuntimeParams
	if params["statement_timeout"] != "7" || params["application_name"] != "respawnd/a" || params["enable_seqscan"] != "off" {
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

func TestCheck(t *testing.T) {
	opt := testOptions()
	address := pgtest.Database(t)
	expect := func(what string, empty bool, pending int) {
		t.Helper()
		r, err := Check(t.Context(), address, opt)
		if err != nil || r.Empty != empty || r.Pending != pending || r.Server == "" {
			t.Errorf("Check() of %s = %+v, %v, want Empty = %v, Pending = %d", what, r, err, empty, pending)
		}
	}
	expect("an empty database", true, 4)
	openAt(t, address, opt)
	expect("a database", false, 0)
	opt.Layout.Version++
	opt.Layout.Tables = append(slices.Clone(opt.Layout.Tables), "more")
	expect("a database of an older layout", false, 2)
	opt.Registerer = prometheus.NewRegistry()
	newer := openAt(t, address, opt)
	if newer.Schema() != 9 {
		t.Errorf("Schema() = %d", newer.Schema())
	}
	expect("an upgraded database", false, 0)

	refused := func(what string, want error) {
		t.Helper()
		if _, err := Check(t.Context(), address, testOptions()); !errors.Is(err, want) {
			t.Errorf("Check() of %s = %v, want %v", what, err, want)
		}
		if e, err := Open(t.Context(), address, testOptions()); !errors.Is(err, want) {
			t.Errorf("Open() of %s = %v, %v, want %v", what, e, err, want)
		}
	}
	refused("a newer layout", ErrNewer)
	runSQL(t, address, `UPDATE entry_settings SET value = '8' WHERE name = 'layout'; UPDATE entry_settings SET value = '2' WHERE name = 'format'`)
	refused("a newer format", ErrNewer)
	address = pgtest.Database(t)
	runSQL(t, address, `CREATE TABLE schema_migrations (number int PRIMARY KEY)`)
	refused("an old database", ErrLayout)
}

func TestRights(t *testing.T) {
	address := emptyDatabase(t)
	role := fmt.Sprintf("postgres_%d", time.Now().UnixNano())
	runSQL(t, address, `CREATE ROLE `+role+` LOGIN; REVOKE ALL ON entries FROM PUBLIC`)
	t.Cleanup(func() { runSQL(t, address, `DROP OWNED BY `+role+`; DROP ROLE `+role) })
	lesser := withParam(t, address, "user", role)
	if _, err := Check(t.Context(), lesser, testOptions()); !errors.Is(err, ErrRights) || !strings.Contains(err.Error(), "entries") {
		t.Errorf("Check() without rights = %v, want ErrRights", err)
	}
	if _, err := Open(t.Context(), lesser, testOptions()); !NeedsOperator(err) {
		t.Errorf("Open() without rights = %v", err)
	}
	runSQL(t, address, `GRANT ALL ON ALL TABLES IN SCHEMA public TO `+role+`; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO `+role)
	if r, err := Check(t.Context(), lesser, testOptions()); err != nil || r.Pending != 0 {
		t.Errorf("Check() with rights = %+v, %v", r, err)
	}
	opt := testOptions()
	opt.Layout.Tables = append(slices.Clone(opt.Layout.Tables), "more")
	if _, err := Check(t.Context(), lesser, opt); !errors.Is(err, ErrRights) || !strings.Contains(err.Error(), "GRANT CREATE") {
		t.Errorf("Check() without the right to create = %v, want ErrRights", err)
	}
	e := openAt(t, lesser, testOptions())
	if err := set(e, "a", "1"); err != nil {
		t.Errorf("Update() without the right to create = %v", err)
	}
}

func TestSnapshot(t *testing.T) {
	e := openNew(t)
	if err := set(e, "a", "1"); err != nil {
		t.Fatal(err)
	}
	s, err := e.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(set(e, "a", "2"), set(e, "b", "2")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		enginetest.View(t, s, func(r engine.Reader) error {
			var got []string
			for e, err := range r.Scan(engine.Range{Table: one}) {
				if err != nil {
					return err
				}
				got = append(got, string(e.Key)+string(e.Value))
			}
			if !slices.Equal(got, []string{"a1"}) {
				t.Errorf("a snapshot has %q", got)
			}
			b, err := r.Get(one, []byte("b"))
			if b != nil {
				t.Errorf("a snapshot has a later entry")
			}
			return err
		})
	}
	if err := set(s, "c", "3"); !errors.Is(err, errReadOnly) {
		t.Errorf("Update() of a snapshot = %v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if _, err := get(s, "a"); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("View() of a closed snapshot = %v", err)
	}
	if v, err := get(e, "a"); v != "2" || err != nil {
		t.Errorf("Get() after it = %q, %v", v, err)
	}
}

func TestBulk(t *testing.T) {
	e := openNew(t)
	const n = 20000
	value := make([]byte, 1000)
	fill := func(put func(engine.Table, []byte, []byte) error) error {
		key := make([]byte, 8)
		for i := range n {
			copy(key, fmt.Sprintf("%08d", i))
			if err := put(one, key, value); err != nil {
				return err
			}
		}
		return put(two, []byte("empty"), nil)
	}
	errFill := errors.New("fill")
	if err := e.Bulk(t.Context(), func(put func(engine.Table, []byte, []byte) error) error { return errors.Join(fill(put), errFill) }); !errors.Is(err, errFill) {
		t.Errorf("Bulk() that fails = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := e.Bulk(ctx, func(put func(engine.Table, []byte, []byte) error) error { cancel(); return fill(put) })
	if !errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Bulk() whose context ends = %v", err)
	}
	if err := e.Bulk(t.Context(), fill); err != nil {
		t.Fatalf("Bulk() = %v", err)
	}
	count := 0
	enginetest.View(t, e, func(r engine.Reader) error {
		count = 0
		for got, err := range r.Scan(engine.Range{Table: one}) {
			if err != nil || string(got.Key) != fmt.Sprintf("%08d", count) || len(got.Value) != len(value) {
				return fmt.Errorf("entry %d is %q: %w", count, got.Key, err)
			}
			count++
		}
		v, err := r.Get(two, []byte("empty"))
		if v == nil {
			t.Error("the entry of the other table is missing")
		}
		return err
	})
	if count != n {
		t.Errorf("%d entries after Bulk(), want %d", count, n)
	}
	if err := e.Bulk(t.Context(), fill); !errors.Is(err, ErrThere) {
		t.Errorf("Bulk() again = %v, want ErrThere", err)
	}
	if err := e.Bulk(t.Context(), func(put func(engine.Table, []byte, []byte) error) error { return put("none", []byte("a"), nil) }); err == nil {
		t.Error("Bulk() stored an entry of a table that is not there")
	}
}

// TestNodesShareNumbers has two nodes take numbers.
func TestNodesShareNumbers(t *testing.T) {
	address := emptyDatabase(t)
	nodes := []*Engine{openAt(t, address, testOptions()), openAt(t, address, testOptions())}
	for _, table := range []engine.Table{one, enginetest.Strict} {
		seen, last := make(map[uint64]bool), uint64(0)
		for i := range 100 {
			var n uint64
			enginetest.Update(t, nodes[i%2], func(tx engine.Tx) (err error) { n, err = tx.Next(table); return err })
			if seen[n] {
				t.Fatalf("number %d of %s was returned twice", n, table)
			}
			if table == enginetest.Strict && n != last+1 {
				t.Fatalf("number %d of %s after %d", n, table, last)
			}
			seen[n], last = true, n
		}
	}
	enginetest.Update(t, nodes[0], func(tx engine.Tx) error { return tx.Raise(enginetest.Strict, 1<<40) })
	var n uint64
	enginetest.Update(t, nodes[1], func(tx engine.Tx) (err error) { n, err = tx.Next(enginetest.Strict); return err })
	if n != 1<<40+1 {
		t.Errorf("number %d after Raise() on another node", n)
	}
}

// TestUnknownTable uses tables that the layout does not have, on two nodes.
func TestUnknownTable(t *testing.T) {
	address := emptyDatabase(t)
	nodes := []*Engine{openAt(t, address, testOptions()), openAt(t, address, testOptions())}
	const more engine.Table = "more"
	enginetest.View(t, nodes[0], func(r engine.Reader) error {
		v, err := r.Get(more, []byte("a"))
		if v != nil {
			t.Error("a table that is not there has an entry")
		}
		return err
	})
	for i, e := range nodes {
		enginetest.Update(t, e, func(tx engine.Tx) error { return add(tx, more, "n") })
		if n := number(t, nodes[1-i], more, "n"); n != uint64(i+1) {
			t.Errorf("the number is %d on the other node, want %d", n, i+1)
		}
	}
}

func TestWrites(t *testing.T) {
	e := openNew(t)
	var calls atomic.Int64
	e.OnWrite(func(took time.Duration, err error) {
		if calls.Add(1); took <= 0 || err != nil {
			t.Errorf("OnWrite(%v, %v)", took, err)
		}
	})
	if at, err := e.LastWrite(); !at.IsZero() || err != nil {
		t.Errorf("LastWrite() before any = %v, %v", at, err)
	}
	errFailed := errors.New("failed")
	for _, err := range []error{nil, errFailed} { // they change nothing
		if got := e.Update(t.Context(), func(tx engine.Tx) error { _, _ = tx.Get(one, []byte("a")); return err }); !errors.Is(got, err) {
			t.Errorf("Update() = %v", got)
		}
	}
	if calls.Load() != 0 {
		t.Errorf("OnWrite() was called %d times for steps that changed nothing", calls.Load())
	}
	enginetest.Update(t, e, func(tx engine.Tx) error {
		first := e.WriteUnderWay() // the trip of this read takes time
		if _, err := tx.Get(one, []byte("a")); err != nil || e.WriteUnderWay() <= first {
			t.Errorf("WriteUnderWay() = %v, and after a read %v (%v)", first, e.WriteUnderWay(), err)
		}
		return add(tx, one, "n")
	})
	if err := e.Probe(t.Context()); err != nil {
		t.Errorf("Probe() = %v", err)
	}
	if at, err := e.LastWrite(); time.Since(at) > time.Minute || err != nil || calls.Load() != 2 || e.WriteUnderWay() != 0 {
		t.Errorf("LastWrite() = %v, %v after %d changes, %v under way", at, err, calls.Load(), e.WriteUnderWay())
	}
}

func TestDaemons(t *testing.T) {
	address := emptyDatabase(t)
	opt := testOptions()
	opt.Program = "storage copy"
	tool := openAt(t, address, opt)
	if got, err := tool.Daemons(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("Daemons() = %q, %v", got, err)
	}
	opt = testOptions()
	opt.Node = "a"
	openAt(t, address, opt)
	if got, err := tool.Daemons(t.Context()); err != nil || !slices.Equal(got, []string{"respawnd/a"}) {
		t.Errorf("Daemons() = %q, %v", got, err)
	}
}

func TestRegisterMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	end, err := RegisterMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	families, err := reg.Gather()
	if err != nil || len(families) != 7 {
		t.Errorf("%d metrics, %v, want 7", len(families), err)
	}
}

func TestWrongServer(t *testing.T) {
	address := emptyDatabase(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/none"
	if _, err := Open(t.Context(), u.String(), testOptions()); !errors.Is(err, engine.ErrUnavailable) || !NeedsOperator(err) {
		t.Errorf("Open() of a missing database = %v", err)
	}
	runSQL(t, address, `SELECT 1`)
	if _, err := Open(t.Context(), withParam(t, address, "default_transaction_read_only", "on"), testOptions()); err == nil {
		t.Error("Open() used a server that cannot be written")
	}
}
