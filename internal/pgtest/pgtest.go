// Package pgtest starts PostgreSQL servers for tests.
//
// Database and Prepared give each test a database of its own on one server, which all test
// binaries that run at the same time share on Linux. It ends a few seconds after the last of
// them, even if they are killed. New starts a server for one test, which ends with the test
// binary. The data of a server is in a temporary folder. It listens on a Unix socket there and
// on a free port of the loopback address. It does not wait for the disk, so its data does not
// survive a power cut, but for one of Durable. When root runs the tests, it runs as user postgres, because PostgreSQL
// refuses root.
//
// The programs postgres, initdb and pg_ctl are taken from PATH or from the newest folder
// below /usr/lib/postgresql. Without them tests are skipped, but fail where CI is set.
// Short runs skip them too.
//
// It is for tests and the load tool only.
package pgtest

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	adminTimeout = time.Minute // of one statement of this package
	longestPause = time.Minute // of a client within a transaction
)

// loopback is the address of servers that only this machine reaches.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// shared joins or starts the server of Database and Prepared.
var shared = sync.OnceValues(joinShared)

// Database creates an empty database on the shared server and returns its URL, which names
// the Unix socket. The database is dropped with the end of the test.
func Database(tb testing.TB) string {
	tb.Helper()
	return Shared(tb).Database(tb)
}

// Prepared is Database with a copy of a database that prepare filled. It is filled once for
// each name and test binary, so that a hundred tests do not create the same tables a hundred
// times. prepare must close its connections.
func Prepared(tb testing.TB, name string, prepare func(url string) error) string {
	tb.Helper()
	return Shared(tb).Prepared(tb, name, prepare)
}

// Shared returns the server of Database and Prepared. Tests must not stop it.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	find(tb)
	s, err := shared()
	if err != nil {
		tb.Fatalf("PostgreSQL for tests: %v", err)
	}
	return s
}

// New starts a server for one test, which may stop it and start it again. It is stopped
// with the end of the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	return NewAt(tb, loopback)
}

// Durable is New for a server that waits for the disk, as those of operators do: for
// measurements.
func Durable(tb testing.TB) *Server {
	tb.Helper()
	find(tb)
	s, err := newServer(&Server{at: loopback, durable: true})
	if err != nil {
		tb.Fatalf("PostgreSQL for tests: %v", err)
	}
	tb.Cleanup(s.close)
	return s
}

// NewAt is New on another address of this machine than the loopback one. Everyone who
// reaches the address has all rights: it should be one of a network namespace.
func NewAt(tb testing.TB, at netip.Addr) *Server {
	tb.Helper()
	find(tb)
	s, err := newServer(&Server{at: at})
	if err != nil {
		tb.Fatalf("PostgreSQL for tests: %v", err)
	}
	tb.Cleanup(s.close)
	return s
}

// Open is New for a program that measures. close stops the server.
func Open() (s *Server, closeServer func(), err error) {
	s, err = newServer(&Server{at: loopback})
	if err != nil {
		return nil, nil, fmt.Errorf("PostgreSQL for tests: %w", err)
	}
	return s, s.close, nil
}

// Server is a PostgreSQL server.
type Server struct {
	dir  string // the socket, the log and folder data
	at   netip.Addr
	port int
	end  func() // stops it and removes the folder; nil for the shared server

	durable bool // it waits for the disk

	users *os.File     // holds this process's lock of the shared server; nil for others
	made  atomic.Int64 // databases of this process so far

	mu       sync.Mutex
	prepared map[string]string // databases to copy, by name
}

// Dir returns the folder of the Unix socket.
func (s *Server) Dir() string { return s.dir }

// Port returns the TCP port. It stays the same after Stop and
// Start.
func (s *Server) Port() int { return s.port }

// URL returns the URL of a database, by way of the Unix socket. Unlike TCP, that works
// from every network namespace. The server waits longer than the store asks it to for a
// client that pauses within a transaction: no network is cut, but the machine may be busy.
func (s *Server) URL(database string) string {
	q := url.Values{
		"host": {s.dir}, "port": {fmt.Sprint(s.port)}, "user": {superuser},
		"idle_in_transaction_session_timeout": {fmt.Sprint(longestPause.Milliseconds())},
	}
	return "postgres:///" + database + "?" + q.Encode()
}

// TCP returns the URL of the database of a URL of this server, by way of TCP, with a
// password that the server does not look at.
func (s *Server) TCP(socket string) string {
	u, err := url.Parse(socket)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("postgres://%s:unused@%v:%d%s?sslmode=disable", superuser, s.at, s.port, u.Path)
}

// Database creates an empty database and returns its URL. It is dropped with the end of
// the test.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	return s.copyOf(tb, "template0")
}

// Prepared is as the function Prepared, on this server.
func (s *Server) Prepared(tb testing.TB, name string, prepare func(url string) error) string {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	template, ok := s.prepared[name]
	if !ok {
		template = s.newName("template")
		if err := s.admin(fmt.Sprintf("CREATE DATABASE %s TEMPLATE template0 STRATEGY file_copy", template)); err != nil {
			tb.Fatalf("create database: %v", err)
		}
		if err := prepare(s.URL(template)); err != nil {
			tb.Fatalf("prepare database %s: %v", name, err)
		}
		s.prepared[name] = template
	}
	return s.copyOf(tb, template)
}

func (s *Server) copyOf(tb testing.TB, template string) string {
	tb.Helper()
	name, err := s.create(template)
	if err != nil {
		tb.Fatalf("create database: %v", err)
	}
	tb.Cleanup(func() {
		// The server may be stopped now, and ends soon in any case.
		_ = s.admin(fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name))
	})
	return s.URL(name)
}

// Create creates an empty database, which stays until the server is closed, and returns
// its URL.
func (s *Server) Create() (string, error) {
	name, err := s.create("template0")
	return s.URL(name), err
}

func (s *Server) create(template string) (name string, err error) {
	name = s.newName("test")
	return name, s.admin(fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY %s", name, template, strategy))
}

// newName returns a name that no other process gives to a database of a shared server.
func (s *Server) newName(kind string) string {
	return fmt.Sprintf("%s_%d_%d", kind, os.Getpid(), s.made.Add(1))
}

// admin runs a statement in the database of administrators.
func (s *Server) admin(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// Stop stops the server as the system's service manager would: clients are disconnected and their
// transactions are rolled back.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	if err := s.control("stop", "--mode=fast"); err != nil {
		tb.Fatalf("stop PostgreSQL: %v", err)
	}
}

// Kill stops the server without a word to its clients, as a crash would.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	if err := s.control("stop", "--mode=immediate"); err != nil {
		tb.Fatalf("kill PostgreSQL: %v", err)
	}
}

// Start starts the server after Stop or Kill and waits until it answers.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatalf("start PostgreSQL: %v", err)
	}
}

// settings are those of the server's command line, in the words of postgresql.conf.
func (s *Server) settings() string {
	all := []string{
		"listen_addresses=" + s.at.String(),
		fmt.Sprintf("port=%d", s.port),
		"unix_socket_directories=" + s.dir,
		"max_connections=500",
		"autovacuum=off", // it would hold databases that are copied
		"jit=off",
		"max_wal_size=256MB",
		"timezone=UTC",
	}
	if s.durable {
		all = append(all, "shared_buffers=128MB")
	} else {
		all = append(all, "fsync=off", "full_page_writes=off", "shared_buffers=16MB")
	}
	return "-c " + strings.Join(all, " -c ")
}
