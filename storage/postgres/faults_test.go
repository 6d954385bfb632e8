package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage"
)

// createUser creates a user with one profile that has a unique nick.
func createUser(t testing.TB, s *Store, email, nick string) (storage.User, storage.Profile) {
	t.Helper()
	u, p, err := s.CreateUser(context.Background(), storage.User{Email: email}, storage.Profile{
		Nick: nick, UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: nick, Key: storage.Fold(nick)}},
	})
	if err != nil {
		t.Fatalf("CreateUser(%s) = %v", email, err)
	}
	return u, p
}

// fail makes PostgreSQL report an error of a code.
func fail(ctx context.Context, q querier, code string) error {
	_, err := q.Exec(ctx, fmt.Sprintf(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '%s'; END $$`, code))
	return err
}

// counted returns a counter of a store.
func counted(t *testing.T, s *Store, name, label string) float64 {
	t.Helper()
	return metrictest.Value(t, s.metrics.reg.(*prometheus.Registry), name, label)
}

// retries returns how many steps ran again for a reason.
func retries(t *testing.T, s *Store, reason string) float64 {
	t.Helper()
	return counted(t, s, "respawnd_postgres_retries_total", reason)
}

func TestRetries(t *testing.T) {
	s := openNew(t)
	for code, reason := range map[string]string{codeSerialization: "serialization", codeDeadlock: "deadlock"} {
		before, tries := retries(t, s, reason), 0
		err := s.write(t.Context(), func(ctx context.Context, c *change) error {
			if tries++; tries < 3 {
				return fail(ctx, c, code)
			}
			return nil
		})
		if err != nil || tries != 3 || retries(t, s, reason) != before+2 {
			t.Errorf("%s twice: %v after %d tries, %v counted", reason, err, tries, retries(t, s, reason)-before)
		}
		tries = 0
		err = s.write(t.Context(), func(ctx context.Context, c *change) error { tries++; return fail(ctx, c, code) })
		if err == nil || tries != maxTries {
			t.Errorf("%s for ever: %v after %d tries, want an error after %d", reason, err, tries, maxTries)
		}
	}
	tries := 0
	err := s.write(t.Context(), func(ctx context.Context, c *change) error { tries++; return fail(ctx, c, codeUnique) })
	if err == nil || tries != 1 {
		t.Errorf("another error: %v after %d tries, want an error after the first", err, tries)
	}
}

// TestDeadlock lets two steps lock the same rows in opposite order.
func TestDeadlock(t *testing.T) {
	opt := testOptions()
	s := openAt(t, withParam(t, emptyDatabase(t), "deadlock_timeout", "20ms"), opt)
	_, a := createUser(t, s, "a@b.c", "A")
	_, b := createUser(t, s, "b@b.c", "B")
	var both sync.WaitGroup // until each has its first lock
	both.Add(2)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, order := range [][]storage.ProfileID{{a.ID, b.ID}, {b.ID, a.ID}} {
		first := true
		wg.Go(func() {
			errs[i] = s.write(t.Context(), func(ctx context.Context, c *change) error {
				for n, id := range order {
					if _, err := c.Exec(ctx, `SELECT FROM profiles WHERE id = $1 FOR UPDATE`, id); err != nil {
						return err
					}
					if n == 0 && first {
						first = false
						both.Done()
						both.Wait()
					}
				}
				return nil
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("two steps in a deadlock: %v", err)
	}
	if n := retries(t, s, "deadlock"); n < 1 { // the tries after the first may meet again
		t.Errorf("%v retries were counted, want 1 or more", n)
	}
}

// withParam adds a parameter to a URL.
func withParam(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// kill ends the server's process of a connection, from another one.
func kill(t *testing.T, address string, pid uint32) {
	t.Helper()
	runSQL(t, address, fmt.Sprintf(`SELECT pg_terminate_backend(%d, 60000)`, pid))
}

func TestKilledBackend(t *testing.T) {
	address := emptyDatabase(t)
	s := openAt(t, address, testOptions())
	tries := 0
	err := s.write(t.Context(), func(ctx context.Context, c *change) error {
		tries++
		if _, err := c.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('half', '')`); err != nil {
			return err
		}
		kill(t, address, c.querier.(pgx.Tx).Conn().PgConn().PID())
		_, err := c.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('whole', '')`)
		return err
	})
	// A second try is right if the last statement was not even sent.
	if !errors.Is(err, storage.ErrUnavailable) || tries > 2 {
		t.Errorf("a change whose connection is killed = %v after %d tries, want ErrUnavailable after 1 or 2", err, tries)
	}
	before := retries(t, s, "connection")
	if _, err := s.LastWrite(); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("LastWrite() = %v, want ErrUnavailable", err)
	}
	tries = 0
	var n int
	err = s.read(t.Context(), func(ctx context.Context, q querier) error {
		if tries++; tries == 1 {
			var pid uint32
			if err := q.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
				return err
			}
			kill(t, address, pid)
		}
		return q.QueryRow(ctx, `SELECT count(*) FROM settings`).Scan(&n)
	})
	if err != nil || tries != 2 || n != 0 {
		t.Errorf("a read whose connection is killed: %d rows, %v after %d tries, want none after 2", n, err, tries)
	}
	if n := retries(t, s, "connection") - before; n != 1 {
		t.Errorf("%v retries of the read were counted, want 1", n)
	}
	createUser(t, s, "a@b.c", "A")
	if _, err := s.LastWrite(); err != nil {
		t.Errorf("LastWrite() after a change = %v", err)
	}
}

func TestServerComesBack(t *testing.T) {
	server := pgtest.New(t)
	s := openAt(t, server.Database(t), testOptions())
	u, _ := createUser(t, s, "a@b.c", "A")
	for name, stop := range map[string]func(testing.TB){"stopped": server.Stop, "killed": server.Kill} {
		stop(t)
		for what, call := range map[string]func() error{
			"GetUser":  func() error { _, err := s.GetUser(t.Context(), u.ID); return err },
			"AddBuddy": func() error { return s.AddBuddy(t.Context(), 1, 2) },
			"Users": func() error {
				for _, err := range s.Users(t.Context(), 0) {
					return err
				}
				return nil
			},
			"SaveServers": func() error {
				_, err := s.SaveServers(t.Context(), func(func(storage.ListedServer) bool) {})
				return err
			},
			"Probe": func() error { return s.Probe(t.Context()) },
		} {
			if err := call(); !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("%s while the server is %s = %v, want ErrUnavailable", what, name, err)
			}
		}
		server.Start(t)
		if got, err := s.GetUser(t.Context(), u.ID); err != nil || got.Email != u.Email {
			t.Errorf("GetUser() after the server was %s = %+v, %v", name, got, err)
		}
		if err := s.Probe(t.Context()); err != nil {
			t.Errorf("Probe() after the server was %s = %v", name, err)
		}
	}
	if _, err := Open(t.Context(), "postgres://respawnd:secret@127.0.0.1:1/x", Options{}); !errors.Is(err, storage.ErrUnavailable) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("Open() without a server = %v, want ErrUnavailable and no password", err)
	}
}

func TestStatementTimeout(t *testing.T) {
	opt := testOptions()
	opt.StatementTimeout = time.Second // the statements of Open must not take it on a busy machine
	s := openAt(t, emptyDatabase(t), opt)
	err := s.write(t.Context(), func(ctx context.Context, c *change) error {
		_, err := c.Exec(ctx, `SELECT pg_sleep(60)`)
		return err
	})
	if !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a statement that takes too long = %v, want ErrUnavailable", err)
	}
	if n := counted(t, s, "respawnd_postgres_failures_total", "timeout"); n != 1 {
		t.Errorf("%v failures were counted, want 1", n)
	}
}

// TestSilentServer reaches the server through a proxy that stops forwarding, as a
// cut network does.
func TestSilentServer(t *testing.T) {
	database, err := url.Parse(emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, database.Query().Get("port"))
	address := fmt.Sprintf("postgres://%s@127.0.0.1:%d%s?sslmode=disable", database.Query().Get("user"), p.port, database.Path)
	opt := testOptions()
	opt.MaxConns = 1
	s := openAt(t, address, opt)
	createUser(t, s, "a@b.c", "A")
	s.timeout, s.slack = 50*time.Millisecond, 0
	p.cut()
	if err := s.AddBuddy(t.Context(), 1, 2); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("AddBuddy() on a cut network = %v, want ErrUnavailable", err)
	}
	if _, err := s.GetUser(t.Context(), 1); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("GetUser() on a cut network = %v, want ErrUnavailable", err)
	}
	s.timeout = time.Minute
	p.heal()
	if _, err := s.GetUser(t.Context(), 1); err != nil {
		t.Errorf("GetUser() after the network came back = %v", err)
	}
	p.closeAll() // so that nothing waits for the connections that were cut
}

// TestCutWithinTransaction cuts a node off while it holds a lock. Others wait less long for
// it than a statement may take.
func TestCutWithinTransaction(t *testing.T) {
	database := emptyDatabase(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, u.Query().Get("port"))
	cut := openAt(t, fmt.Sprintf("postgres://%s@127.0.0.1:%d%s?sslmode=disable", u.Query().Get("user"), p.port, u.Path), testOptions())
	other := openAt(t, database, testOptions())
	lock := func(ctx context.Context, c *change) error {
		_, err := c.Exec(ctx, `UPDATE audit_state SET last = last`)
		return err
	}
	errCut := errors.New("cut")
	locked, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- cut.write(t.Context(), func(ctx context.Context, c *change) error {
			if err := lock(ctx, c); err != nil {
				return err
			}
			p.cut()
			close(locked)
			return errCut // its rollback does not arrive
		})
	}()
	select {
	case <-locked:
	case err := <-ended:
		t.Fatalf("write() before the cut = %v", err)
	}
	if err := other.write(t.Context(), lock); err != nil {
		t.Errorf("write() on another node = %v", err)
	}
	select {
	case err := <-ended:
		t.Errorf("write() on a cut network = %v before the other node wrote", err)
	default:
	}
	p.closeAll()
	if err := <-ended; !errors.Is(err, errCut) {
		t.Errorf("write() on a cut network = %v", err)
	}
}

// A proxy forwards connections to a port of the loopback address.
type proxy struct {
	port int
	to   string

	mu     sync.Mutex
	isCut  chan struct{} // closed while nothing is forwarded
	conns  []net.Conn
	closed bool
}

func newProxy(t *testing.T, port string) *proxy {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{port: ln.Addr().(*net.TCPAddr).Port, to: net.JoinHostPort("127.0.0.1", port), isCut: make(chan struct{})}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = ln.Close()
		p.closeAll()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c, &wg) })
		}
	})
	return p
}

// serve forwards one connection until the proxy is cut; then it stays open.
func (p *proxy) serve(c net.Conn, wg *sync.WaitGroup) {
	d, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.to)
	if err != nil {
		_ = c.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, c, d)
	cut, closed := p.isCut, p.closed
	p.mu.Unlock()
	if closed {
		p.closeAll()
	}
	forward := func(to io.Writer, from io.Reader) {
		buf := make([]byte, 4096)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			select {
			case <-cut:
				continue // swallowed
			default:
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	wg.Go(func() { forward(d, c) })
	forward(c, d)
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.isCut)
}

// heal lets new connections through.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = make(chan struct{})
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		_ = c.Close()
	}
}
