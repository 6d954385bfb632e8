package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/enginetest"
)

const one, two = enginetest.One, enginetest.Two

// retries returns how many steps ran again for a reason.
func retries(t testing.TB, e *Engine, reason string) float64 {
	t.Helper()
	return counted(t, e, "respawnd_postgres_retries_total", reason)
}

// counted returns a counter of an engine.
func counted(t testing.TB, e *Engine, name, label string) float64 {
	t.Helper()
	return metrictest.Value(t, e.metrics.reg.(*prometheus.Registry), name, label)
}

// runSQL runs statements beside an engine.
func runSQL(t testing.TB, address, sql string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// set stores a text.
func set(e *Engine, key, value string) error {
	return e.Update(context.Background(), func(tx engine.Tx) error { return tx.Put(one, []byte(key), []byte(value)) })
}

// get returns a text.
func get(e *Engine, key string) (value string, err error) {
	err = e.View(context.Background(), func(r engine.Reader) error {
		v, err := r.Get(one, []byte(key))
		value = string(v)
		return err
	})
	return value, err
}

// add adds 1 to a number.
func add(tx engine.Tx, t engine.Table, key string) error {
	old, err := tx.Get(t, []byte(key))
	if err != nil {
		return err
	}
	n := uint64(1)
	if old != nil {
		n += binary.BigEndian.Uint64(old)
	}
	return tx.Put(t, []byte(key), binary.BigEndian.AppendUint64(nil, n))
}

// number returns what add made.
func number(t *testing.T, e *Engine, table engine.Table, key string) (n uint64) {
	t.Helper()
	enginetest.View(t, e, func(r engine.Reader) error {
		v, err := r.Get(table, []byte(key))
		if n = 0; v != nil {
			n = binary.BigEndian.Uint64(v)
		}
		return err
	})
	return n
}

// TestRoundTrips counts what a client sends.
func TestRoundTrips(t *testing.T) {
	p, address := throughProxy(t, emptyDatabase(t))
	opt := testOptions()
	opt.MaxConns = 1
	e := openAt(t, address, opt)
	get := func(r engine.Reader, keys string) error {
		for _, k := range keys {
			if _, err := r.Get(one, []byte(string(k))); err != nil {
				return err
			}
		}
		return nil
	}
	scan := func(r engine.Reader) error {
		for _, err := range r.Scan(engine.Range{Table: one}) {
			return err
		}
		return nil
	}
	for name, tt := range map[string]struct {
		want int64
		step func() error
	}{
		"view of one":   {1, func() error { return e.View(t.Context(), func(r engine.Reader) error { return get(r, "a") }) }},
		"view of none":  {0, func() error { return e.View(t.Context(), func(engine.Reader) error { return nil }) }},
		"view twice":    {1, func() error { return e.View(t.Context(), func(r engine.Reader) error { return get(r, "aa") }) }},
		"view of range": {1, func() error { return e.View(t.Context(), scan) }},
		"view of three": {4, func() error { return e.View(t.Context(), func(r engine.Reader) error { return get(r, "abc") }) }}, // and the end of the transaction
		"in a range": {1, func() error {
			return e.View(t.Context(), func(r engine.Reader) error { return errors.Join(scan(r), get(r, "012")) })
		}},
		"blind change": {1, func() error { return set(e, "x", "y") }},
		"change of one": {2, func() error {
			return e.Update(t.Context(), func(tx engine.Tx) error { return errors.Join(get(tx, "a"), tx.Put(one, []byte("a"), nil)) })
		}},
		"change of loaded": {2, func() error {
			return e.Update(t.Context(), func(tx engine.Tx) error {
				err := tx.Load(engine.Key{Table: one, Key: []byte("a")}, engine.Key{Table: one, Key: []byte("b")})
				return errors.Join(err, get(tx, "ab"), tx.Put(two, []byte("a"), nil), tx.Delete(one, []byte("c")))
			})
		}},
	} {
		if err := tt.step(); err != nil { // prepares the statements
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := e.Daemons(t.Context()); err != nil { // after the end of a view
			t.Fatal(err)
		}
		before := p.sent.Load()
		if err := tt.step(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := e.Daemons(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.sent.Load() - before - 1; got != tt.want {
			t.Errorf("%s took %d round trips, want %d", name, got, tt.want)
		}
	}
}

// TestRetries has runs fail in ways that a repetition cures, twice or for ever.
func TestRetries(t *testing.T) {
	e := openNew(t)
	failure := func(code string) error { return &pgconn.PgError{Code: code} }
	e.timeout = 50 * time.Millisecond
	for reason, failed := range map[string]error{
		"serialization": failure(codeSerialization), "deadlock": failure(codeDeadlock), "changed": errChanged,
	} {
		before, tries := retries(t, e, reason), 0
		err := e.repeat(t.Context(), &attempt{}, func(context.Context, *pgxpool.Conn) error {
			if tries++; tries < 3 {
				return failed
			}
			return nil
		})
		if err != nil || tries != 3 || retries(t, e, reason) != before+2 {
			t.Errorf("%s twice: %v after %d tries, %v counted", reason, err, tries, retries(t, e, reason)-before)
		}
		contended := counted(t, e, "respawnd_postgres_failures_total", kindContended)
		err = e.repeat(t.Context(), &attempt{}, func(context.Context, *pgxpool.Conn) error { return failed })
		if !errors.Is(err, engine.ErrUnavailable) || !errors.Is(err, failed) || counted(t, e, "respawnd_postgres_failures_total", kindContended) != contended+1 {
			t.Errorf("%s for ever: %v", reason, err)
		}
	}
	tries := 0
	err := e.repeat(t.Context(), &attempt{}, func(context.Context, *pgxpool.Conn) error { tries++; return failure(codeUnique) })
	if err == nil || tries != 1 {
		t.Errorf("another error: %v after %d tries, want an error after the first", err, tries)
	}
}

// TestStarvedStep disturbs a step as long as that is possible.
func TestStarvedStep(t *testing.T) {
	address := emptyDatabase(t)
	e := openAt(t, address, testOptions())
	opt := testOptions()
	opt.StatementTimeout = 500 * time.Millisecond
	other := openAt(t, address, opt)
	tries := 0
	err := e.Update(t.Context(), func(tx engine.Tx) error {
		tries++
		if err := add(tx, one, "n"); err != nil {
			return err
		}
		err := other.Update(t.Context(), func(tx engine.Tx) error { return add(tx, one, "n") })
		if locked := tries > lockAfter; locked != errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("another step during try %d = %v", tries, err)
		}
		return nil
	})
	if err != nil || tries != lockAfter+1 || retries(t, e, "changed") != lockAfter || number(t, e, one, "n") != lockAfter+1 {
		t.Errorf("a step that is disturbed = %v after %d tries, %v counted; the number is %d", err, tries, retries(t, e, "changed"), number(t, e, one, "n"))
	}
	if n := counted(t, other, "respawnd_postgres_failures_total", kindContended); n != 1 {
		t.Errorf("%v failures of the other were counted as contended", n)
	}
}

// TestLooseScan disturbs a step in a range that it does not rely on, and in one on which
// it does.
func TestLooseScan(t *testing.T) {
	address := emptyDatabase(t)
	e, other := openAt(t, address, testOptions()), openAt(t, address, testOptions())
	for _, loose := range []bool{true, false} {
		tries := 0
		enginetest.Update(t, e, func(tx engine.Tx) error {
			for _, err := range tx.Scan(engine.Range{Table: one, Loose: loose}) {
				if err != nil {
					return err
				}
			}
			if tries++; tries == 1 {
				if err := set(other, fmt.Sprint(loose), "new"); err != nil {
					return err
				}
			}
			return tx.Put(two, []byte("x"), nil)
		})
		if (tries == 1) != loose {
			t.Errorf("%d runs of a step with Loose = %v", tries, loose)
		}
	}
}

// TestErrorsAreChecked has steps that fail because of what another changes meanwhile.
func TestErrorsAreChecked(t *testing.T) {
	address := emptyDatabase(t)
	e, other := openAt(t, address, testOptions()), openAt(t, address, testOptions())
	errTorn := errors.New("torn")
	both := func(table engine.Table, n string) func(tx engine.Tx) error {
		return func(tx engine.Tx) error {
			return errors.Join(tx.Put(table, []byte("a"), []byte(n)), tx.Put(table, []byte("b"), []byte(n)))
		}
	}
	enginetest.Update(t, other, both(one, "0"))
	disturb := func(r engine.Reader, n, most int) error {
		a, err := r.Get(one, []byte("a"))
		if err != nil {
			return err
		}
		if n <= most {
			if err := other.Update(t.Context(), both(one, fmt.Sprint(n))); err != nil {
				return err
			}
		}
		b, err := r.Get(one, []byte("b"))
		if err == nil && string(a) != string(b) {
			err = errTorn
		}
		return err
	}
	n := 0
	if err := e.View(t.Context(), func(r engine.Reader) error { n++; return disturb(r, n, 5) }); err != nil {
		t.Errorf("View() = %v", err)
	}
	for _, first := range []int{1, 0} { // with 0, the run that takes locks first is disturbed too
		n = -first
		if err := e.Update(t.Context(), func(tx engine.Tx) error {
			if n++; n == 0 {
				if err := errors.Join(add(tx, one, "n"), other.Update(t.Context(), func(tx engine.Tx) error { return add(tx, one, "n") })); err != nil {
					return err
				}
				return tx.Put(two, []byte("x"), nil)
			}
			return disturb(tx, n, 1)
		}); err != nil || n < 2 {
			t.Errorf("Update() = %v after %d runs", err, n)
		}
	}
}

// TestBusyEntry has more steps than connections change one entry.
func TestBusyEntry(t *testing.T) {
	address := emptyDatabase(t)
	opt := testOptions()
	opt.MaxConns = 4
	nodes := []*Engine{openAt(t, address, opt), openAt(t, address, testOptions())}
	const workers, each = 16, 20
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				if err := nodes[w%2].Update(t.Context(), func(tx engine.Tx) error { return add(tx, one, "n") }); err != nil {
					t.Errorf("Update() = %v", err)
				}
			}
		})
	}
	wg.Wait()
	if n := number(t, nodes[0], one, "n"); n != workers*each {
		t.Errorf("the number is %d, want %d", n, workers*each)
	}
}

func TestStarvedPool(t *testing.T) {
	opt := testOptions()
	opt.MaxConns = 1
	e := openAt(t, emptyDatabase(t), opt)
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			if err := e.Update(t.Context(), func(tx engine.Tx) error { return add(tx, one, fmt.Sprint(w%4)) }); err != nil {
				t.Errorf("Update() = %v", err)
			}
			if err := e.View(t.Context(), func(r engine.Reader) error { return r.Load(engine.Key{Table: one, Key: []byte("0")}) }); err != nil {
				t.Errorf("View() = %v", err)
			}
		})
	}
	wg.Wait()
	if n := number(t, e, one, "0"); n != 8 {
		t.Errorf("the number is %d, want 8", n)
	}
}

// A connection whose packets were lost for too long says nothing of the others, which stay: each new
// one takes several round trips of a bad link. One that the server closed says that all are closed.
func TestLostConnectionAndTheOthers(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		fresh int64
	}{
		"silent": {&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}, 0},
		"closed": {io.ErrUnexpectedEOF, 1}, // the step that ran again opened another
	} {
		t.Run(name, func(t *testing.T) {
			opt := testOptions()
			opt.MaxConns = 4
			e := openAt(t, emptyDatabase(t), opt)
			var held []*pgxpool.Conn
			acquire := func(n int) {
				for range n {
					conn, err := e.acquire(t.Context(), time.Now().Add(time.Minute))
					if err != nil {
						t.Fatal(err)
					}
					held = append(held, conn)
				}
			}
			release := func() {
				for _, conn := range held {
					e.release(conn)
				}
				held = nil
			}
			acquire(3)
			release()
			runs := 0
			err := e.repeat(t.Context(), &attempt{reads: true}, func(_ context.Context, conn *pgxpool.Conn) error {
				if runs++; runs > 1 {
					return nil
				}
				_ = conn.Conn().Close(t.Context())
				return c.err
			})
			if err != nil || runs != 2 {
				t.Fatalf("%d runs of the step, %v, want 2", runs, err)
			}
			before := e.pool.Stat().NewConnsCount()
			acquire(2)
			if fresh := e.pool.Stat().NewConnsCount() - before; fresh != c.fresh {
				t.Errorf("%d connections were opened for two steps, want %d", fresh, c.fresh)
			}
			release()
		})
	}
}

func TestContextEndsWait(t *testing.T) {
	opt := testOptions()
	opt.MaxConns = 1
	e := openAt(t, emptyDatabase(t), opt)
	enginetest.View(t, e, func(engine.Reader) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := e.Probe(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("Probe() whose context ends while it waits = %v, want context.DeadlineExceeded", err)
		}
		e.timeout = 10 * time.Millisecond
		if err := e.Probe(t.Context()); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("Probe() that waits too long = %v, want ErrUnavailable", err)
		}
		return nil
	})
}

func TestCloseWaitsForSteps(t *testing.T) {
	e := openNew(t)
	ctx, closed := context.WithCancel(context.Background())
	e.pool.Close() // one that says when it begins to close: it has an idle connection then
	config := e.pool.Config()
	config.BeforeClose = func(*pgx.Conn) { closed() }
	var err error
	if e.pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	closing := make(chan error)
	enginetest.Update(t, e, func(tx engine.Tx) error {
		if err := e.Probe(t.Context()); err != nil {
			return err
		}
		go func() { closing <- e.Close() }()
		<-ctx.Done()
		return add(tx, one, "finished")
	})
	if err := <-closing; err != nil {
		t.Errorf("Close() = %v", err)
	}
}

// pid returns the server's process of a step.
func pid(r engine.Reader) uint32 { return r.(*tx).conn.Conn().PgConn().PID() }

func TestKilledBackend(t *testing.T) {
	address := emptyDatabase(t)
	e := openAt(t, address, testOptions())
	kill := func(r engine.Reader) {
		runSQL(t, address, fmt.Sprintf(`SELECT pg_terminate_backend(%d, 60000)`, pid(r)))
	}
	for name, run := range map[string]func(step func(engine.Reader) error) error{
		"View": func(step func(engine.Reader) error) error { return e.View(t.Context(), step) },
		"Update": func(step func(engine.Reader) error) error {
			return e.Update(t.Context(), func(tx engine.Tx) error { return errors.Join(add(tx, one, "n"), step(tx)) })
		},
	} {
		before, tries := retries(t, e, "connection"), 0
		err := run(func(r engine.Reader) error {
			if tries++; tries == 1 {
				kill(r)
			}
			_, err := r.Get(one, []byte(name))
			return err
		})
		if err != nil || tries != 2 || retries(t, e, "connection") != before+1 {
			t.Errorf("%s whose connection is killed while it reads = %v after %d tries", name, err, tries)
		}
	}
	// The server ends the connection as the changes arrive.
	runSQL(t, address, `CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
		CREATE TRIGGER die AFTER INSERT ON entries FOR EACH ROW WHEN (NEW.k = 'die') EXECUTE FUNCTION die()`)
	tries := 0
	err := e.Update(t.Context(), func(tx engine.Tx) error {
		tries++
		return errors.Join(add(tx, one, "n"), tx.Put(one, []byte("die"), nil))
	})
	if !errors.Is(err, engine.ErrUnavailable) || tries != 1 {
		t.Errorf("a change whose connection is killed while it is made = %v after %d tries, want ErrUnavailable after 1", err, tries)
	}
	if _, err := e.LastWrite(); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("LastWrite() = %v, want ErrUnavailable", err)
	}
	if n := number(t, e, one, "n"); n != 1 {
		t.Errorf("the number is %d after one step", n)
	}
	if err := set(e, "after", "it"); err != nil {
		t.Errorf("Update() = %v", err)
	}
	if _, err := e.LastWrite(); err != nil {
		t.Errorf("LastWrite() after a change = %v", err)
	}
}

func TestServerComesBack(t *testing.T) {
	server := pgtest.New(t)
	e := openAt(t, server.Database(t), testOptions())
	if err := set(e, "a", "1"); err != nil {
		t.Fatal(err)
	}
	for name, stop := range map[string]func(testing.TB){"stopped": server.Stop, "killed": server.Kill} {
		stop(t)
		for what, call := range map[string]func() error{
			"View":     func() error { _, err := get(e, "a"); return err },
			"Update":   func() error { return e.Update(t.Context(), func(tx engine.Tx) error { return add(tx, one, "n") }) },
			"Probe":    func() error { return e.Probe(t.Context()) },
			"Snapshot": func() error { _, err := e.Snapshot(t.Context()); return err },
		} {
			if err := call(); !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("%s while the server is %s = %v, want ErrUnavailable", what, name, err)
			}
		}
		server.Start(t)
		<-e.gone.awaited()
		if got, err := get(e, "a"); err != nil || got != "1" {
			t.Errorf("Get() after the server was %s = %q, %v", name, got, err)
		}
		if err := e.Probe(t.Context()); err != nil {
			t.Errorf("Probe() after the server was %s = %v", name, err)
		}
	}
	if _, err := Open(t.Context(), "postgres://respawnd:secret@127.0.0.1:1/x", Options{}); !errors.Is(err, engine.ErrUnavailable) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("Open() without a server = %v, want ErrUnavailable and no password", err)
	}
}

// TestKilledServer kills the server under load, twice. What was acknowledged must be there,
// and of other steps all or nothing.
func TestKilledServer(t *testing.T) {
	server := pgtest.New(t)
	e := openAt(t, server.Database(t), testOptions())
	const workers = 6
	var acknowledged, unknown [workers]atomic.Int64
	var away sync.RWMutex // held while the server is away: steps that failed wait for it
	first, stop := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	for w := range workers {
		name := fmt.Sprint("worker", w)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := e.Update(t.Context(), func(tx engine.Tx) error {
					return errors.Join(add(tx, one, name), add(tx, two, name), add(tx, one, "all"))
				})
				switch {
				case err == nil:
					if acknowledged[w].Add(1); w > 0 {
						continue
					}
					select { // the first worker reports each
					case first <- struct{}{}:
					case <-stop:
					}
				case errors.Is(err, engine.ErrUnavailable):
					unknown[w].Add(1)
					away.RLock()
					away.RUnlock() // it waits
				default:
					t.Errorf("Update() = %v", err)
					return
				}
			}
		})
	}
	for range 2 {
		for range 10 {
			<-first
		}
		away.Lock()
		server.Kill(t)
		server.Start(t)
		away.Unlock()
	}
	for range 5 {
		<-first
	}
	close(stop)
	wg.Wait()
	sum := uint64(0)
	for w := range workers {
		name := fmt.Sprint("worker", w)
		n, m := number(t, e, one, name), number(t, e, two, name)
		least := uint64(acknowledged[w].Load())
		if n != m || n < least || n > least+uint64(unknown[w].Load()) {
			t.Errorf("%s: %d and %d stored, %d acknowledged, %d unknown", name, n, m, least, unknown[w].Load())
		}
		sum += n
	}
	if all := number(t, e, one, "all"); all != sum {
		t.Errorf("%d steps changed the common number, and %d their own", all, sum)
	}
}

// TestSilentServer reaches the server through a proxy that stops forwarding, as a
// cut network does.
func TestSilentServer(t *testing.T) {
	p, address := throughProxy(t, emptyDatabase(t))
	opt := testOptions()
	opt.MaxConns = 1
	e := openAt(t, address, opt)
	if err := set(e, "a", "1"); err != nil {
		t.Fatal(err)
	}
	e.timeout = 50 * time.Millisecond
	p.cut()
	if err := set(e, "a", "2"); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Update() on a cut network = %v, want ErrUnavailable", err)
	}
	if _, err := get(e, "a"); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("View() on a cut network = %v, want ErrUnavailable", err)
	}
	if _, err := get(e, "a"); !errors.Is(err, engine.ErrUnavailable) || e.gone.refusal() == nil {
		t.Errorf("View() after two failures = %v; refused: %v", err, e.gone.refusal())
	}
	e.timeout = time.Minute
	p.heal()
	<-e.gone.awaited()
	if got, err := get(e, "a"); err != nil || got != "1" {
		t.Errorf("View() after the network came back = %q, %v", got, err)
	}
	p.closeAll() // so that nothing waits for the connections that were cut
}

// TestCutWithLocks cuts a node off while it holds locks. Others wait less long for
// it than a statement may take.
func TestCutWithLocks(t *testing.T) {
	database := emptyDatabase(t)
	p, address := throughProxy(t, database)
	cut, other := openAt(t, address, testOptions()), openAt(t, database, testOptions())
	bump := func(e *Engine) error {
		return e.Update(t.Context(), func(tx engine.Tx) error { return add(tx, one, "n") })
	}
	locked, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		tries := 0
		ended <- cut.Update(context.Background(), func(tx engine.Tx) error {
			if err := add(tx, one, "n"); err != nil {
				return err
			}
			if tries++; tries <= lockAfter {
				return bump(other)
			}
			if tries == lockAfter+1 {
				p.cut()
				close(locked)
			}
			return nil
		})
	}()
	select {
	case <-locked:
	case err := <-ended:
		t.Fatalf("Update() before the cut = %v", err)
	}
	if err := bump(other); err != nil {
		t.Errorf("Update() on another node = %v", err)
	}
	p.closeAll()
	if err := <-ended; !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Update() on a cut network = %v", err)
	}
	if n := number(t, other, one, "n"); n != lockAfter+1 {
		t.Errorf("the number is %d, want %d", n, lockAfter+1)
	}
}
