package gstats

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// The players of the tests have this password.
const testPassword = "mypassword"

// timeout limits how long a test waits for an expected message.
const timeout = time.Minute

// recorded is testdata/recorded.json.
type recorded struct {
	Game, SecretKey string
	Hashes          []struct {
		Challenge string `json:"challenge"`
		Hash      int32  `json:"crc_signed"`
		Secret    string `json:"secretkey"`
		Response  string `json:"response"`
	} `json:"hash_and_response"`
	Players []struct {
		Key       int32  `json:"sesskey"`
		Challenge string `json:"challenge"`
		Proof     string `json:"auth_for_password_mypassword"`
	} `json:"player_challenge"`
	XOR []struct {
		Clear string `json:"clear"`
		Hex   string `json:"hex"`
	} `json:"xor"`
	Session []message `json:"session"`
	Offline []message `json:"session_after_offline_logging"`
	Probes  []string  `json:"framing_probes"`
}

// message is a recorded message.
type message struct {
	Dir   string `json:"dir"`
	Clear string `json:"clear"`
	Wire  string `json:"wire_hex"`
}

// bytes returns the message as it was sent.
func (m message) bytes(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(m.Wire)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// text returns the clear text as bytes: the file has them as characters.
func (m message) text() string {
	var b strings.Builder
	for _, r := range m.Clear {
		b.WriteByte(byte(r))
	}
	return b.String()
}

func loadRecorded(t testing.TB) (r recorded) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "recorded.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// pairsOf returns pairs of keys and values in turn.
func pairsOf(text ...string) (all []stats.Pair) {
	for p := range slices.Chunk(text, 2) {
		all = append(all, stats.Pair{Key: p[0], Value: p[1]})
	}
	return all
}

// fakeBook keeps blocks in memory.
type fakeBook struct {
	mu      sync.Mutex
	blocks  map[storage.StatBlockID]storage.StatBlock
	reports []stats.Snapshot
	proved  map[int][]storage.ProfileID // of a report, of the profiles that it asked for
	ask     []storage.ProfileID         // which each report asks for
	now     time.Time                   // of changes
	err     error                       // of all calls
	swept   []time.Time                 // by Sweep
	gate    chan struct{}               // not nil: each change takes a value first
}

func newFakeBook() *fakeBook {
	return &fakeBook{blocks: make(map[storage.StatBlockID]storage.StatBlock), proved: make(map[int][]storage.ProfileID), now: time.Unix(1700000123, 0)}
}

func (b *fakeBook) Get(_ context.Context, id storage.StatBlockID) (storage.StatBlock, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return storage.StatBlock{}, b.err
	}
	v, ok := b.blocks[id]
	if !ok {
		return storage.StatBlock{}, storage.ErrNotFound
	}
	return v, nil
}

func (b *fakeBook) Select(ctx context.Context, id storage.StatBlockID, keys []string, missing string) (storage.StatBlock, error) {
	v, err := b.Get(ctx, id)
	if errors.Is(err, storage.ErrNotFound) && missing != "" {
		for _, k := range keys {
			v.Data = append(v.Data, "\\"+k+"\\"+missing...)
		}
	}
	return v, err
}

func (b *fakeBook) Set(_ context.Context, id storage.StatBlockID, data []byte) (time.Time, error) {
	if b.gate != nil {
		<-b.gate
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return time.Time{}, b.err
	}
	b.blocks[id] = storage.StatBlock{StatBlockID: id, Data: bytes.Clone(data), Modified: b.now}
	return b.now, nil
}

func (b *fakeBook) Merge(ctx context.Context, id storage.StatBlockID, data []byte) (time.Time, error) {
	return b.Set(ctx, id, data)
}

func (b *fakeBook) Report(_ context.Context, s stats.Snapshot) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	for _, id := range b.ask {
		if s.Proved != nil && s.Proved(id) {
			b.proved[len(b.reports)] = append(b.proved[len(b.reports)], id)
		}
	}
	s.Proved = nil
	b.reports = append(b.reports, s)
	return nil
}

func (b *fakeBook) Sweep(_ context.Context, now time.Time) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.swept = append(b.swept, now)
	return 1, b.err
}

// reported returns the reported snapshots.
func (b *fakeBook) reported() []stats.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reports
}

// blockOfTest returns the id of a block of gmtest.
func blockOfTest(id storage.ProfileID, kind storage.StatKind, index int32) storage.StatBlockID {
	return storage.StatBlockID{Game: "gmtest", Profile: id, Kind: kind, Index: index}
}

// fakePlayers are the accounts: users and profiles have the same numbers. Their password
// is testPassword, and testToken and testKeyHash are those of two of them.
type fakePlayers struct {
	mu      sync.Mutex
	err     error // of CheckStatsProof
	banned  map[storage.UserID]bool
	changed map[storage.UserID]bool // the password, after the proof was checked
	checked int
}

// The players of the recording.
const (
	firstPlayer = 100001
	tokenPlayer = 100003
	keyPlayer   = 100004
)

func (a *fakePlayers) CheckStatsProof(_ context.Context, p accounts.StatsProof) (accounts.Login, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checked++
	id, secret := p.Profile, testPassword
	switch {
	case a.err != nil:
		return accounts.Login{}, a.err
	case p.Token == "TOKEN123":
		id, secret = tokenPlayer, ""
	case p.KeyHash != "", p.Token != "":
		return accounts.Login{}, accounts.ErrBadProfile
	}
	if secret != "" && Proof(secret, p.Challenge) != p.Response {
		return accounts.Login{}, accounts.ErrBadPassword
	}
	return accounts.Login{User: storage.UserID(id), Profile: storage.Profile{ID: id, User: storage.UserID(id)}}, nil
}

func (a *fakePlayers) SamePassword(_ *accounts.Login, u *storage.User) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.changed[u.ID]
}

func (a *fakePlayers) byCDKey(_ context.Context, game, nick, hash string) (storage.Profile, error) {
	if game != "gmtest" || nick != "Nick1" || hash != "d3b07384d113edec49eaa6238ad5ff00" {
		return storage.Profile{}, accounts.ErrBadProfile
	}
	return storage.Profile{ID: keyPlayer}, nil
}

func (a *fakePlayers) GetUser(_ context.Context, id storage.UserID) (storage.User, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := storage.User{ID: id}
	if a.banned[id] {
		u.Ban = storage.AccountBan{Added: time.Unix(1, 0)}
	}
	return u, nil
}

func (a *fakePlayers) GetProfile(_ context.Context, id storage.ProfileID) (storage.Profile, error) {
	return storage.Profile{ID: id, User: storage.UserID(id)}, nil
}

// noWatchers is a store in which no profile has buddies.
type noWatchers struct{ presence.Store }

func (noWatchers) Watchers(context.Context, storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(func(storage.ProfileID, error) bool) {}
}

// fixture is a running service.
type fixture struct {
	t       testing.TB
	book    *fakeBook
	players *fakePlayers
	hub     *presence.Local
	server  *Server
	drops   *prometheus.Registry
	dial    func() (net.Conn, error)
	timeout time.Duration
}

// start runs a service on a loopback socket.
func start(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := build(t, change)
	f.dial = func() (net.Conn, error) {
		return new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String())
	}
	f.serve(ln)
	return f
}

// startPipe runs a service on connections in memory, which synctest can follow.
func startPipe(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln := nettest.NewPipes()
	f := build(t, change)
	f.dial = func() (net.Conn, error) { return ln.DialFrom(netip.MustParseAddrPort("127.0.0.1:1")) }
	f.timeout = 48 * time.Hour // which passes at once
	f.serve(ln)
	return f
}

// build makes a service that does not run.
func build(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	catalog, err := games.NewCatalog([]games.Game{
		{Name: "gmtest", Title: "Test", Secrets: []string{"abcdef", "HA6zkS"}, Facts: games.Facts{Aliases: []string{"gmalias"}}},
		{Name: "nokey", Title: "No key"},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		t: t, book: newFakeBook(), players: &fakePlayers{banned: make(map[storage.UserID]bool), changed: make(map[storage.UserID]bool)}, timeout: timeout,
		hub: presence.New(noWatchers{}, presence.Options{}), drops: prometheus.NewRegistry(),
	}
	opt := Options{
		Config: defaults(), Book: f.book, SignIn: f.players, ByCDKey: f.players.byCDKey, Players: f.players, Games: catalog, Attach: f.hub.Attach,
		Present: func(context.Context, storage.ProfileID, netip.Addr) bool { return false },
		Self:    part.Self{Log: zerolog.Nop(), Metrics: netserve.NewMetrics(f.drops, name, reasons...), Registerer: f.drops},
	}
	if change != nil {
		change(&opt)
	}
	f.server = New(opt)
	return f
}

// defaults returns a configuration of defaults.
func defaults() (c Config) {
	configs.Defaults(&c)
	return c
}

// serve runs the service until the end of the test, and then checks that it has
// released everything.
func (f *fixture) serve(ln net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.server.Serve(ctx, ln) }()
	f.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("Serve: %v", err)
		}
		s := f.server
		if n := s.memory.used.Load(); n != 0 || len(s.keys.used) != 0 || f.value("respawnd_gstats_players") != 0 {
			f.t.Errorf("left: %d bytes, %d session keys, %d players", n, len(s.keys.used), f.value("respawnd_gstats_players"))
		}
	})
}

// dropped returns how often something was dropped for a reason.
func (f *fixture) dropped(reason ended) int { return f.value("respawnd_dropped_total", reason.Error()) }

// value returns the sum of a metric whose labels have the given values.
func (f *fixture) value(name string, labels ...string) int {
	f.t.Helper()
	return int(metrictest.Value(f.t, f.drops, name, labels...))
}

// client is a game with helpers that end the test.
type client struct {
	*Client
	f *fixture
}

// connect returns a client that has read the greeting.
func (f *fixture) connect() client {
	f.t.Helper()
	conn, err := f.dial()
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	defer cancel()
	c, err := Connect(ctx, conn)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = c.Close() })
	return client{c, f}
}

// game returns a client that has proved that it is gmtest.
func (f *fixture) game() client {
	f.t.Helper()
	c := f.connect()
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	defer cancel()
	if err := c.Authenticate(ctx, "gmtest", "HA6zkS"); err != nil {
		f.t.Fatal(err)
	}
	return c
}

// player returns a client at which firstPlayer is authenticated.
func (f *fixture) player() client {
	f.t.Helper()
	c := f.game()
	c.want(`\authp\\pid\100001\resp\`+Proof(testPassword, c.Challenge)+`\lid\1`, `\pauthr\100001\lid\1`)
	return c
}

// send sends bodies, all at once.
func (c client) send(bodies ...string) {
	c.f.t.Helper()
	var all []byte
	for _, b := range bodies {
		all = append(all, b...)
		all = seal(all, len(all)-len(b))
	}
	c.raw(all)
}

// raw sends bytes.
func (c client) raw(b []byte) {
	c.f.t.Helper()
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.f.timeout))
	if _, err := c.conn.Write(b); err != nil {
		c.f.t.Fatal(err)
	}
}

// next returns the next message.
func (c client) next() string {
	c.f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), c.f.timeout)
	defer cancel()
	m, err := c.Next(ctx)
	if err != nil {
		c.f.t.Fatal(err)
	}
	return m
}

// want sends a body and expects an answer.
func (c client) want(body, answer string) {
	c.f.t.Helper()
	c.send(body)
	if got := c.next(); got != answer {
		c.f.t.Fatalf("%.200q is answered with %.200q, want %.200q", body, got, answer)
	}
}

// closed expects the end of the connection, after a message with a text.
func (c client) closed(text string) {
	c.f.t.Helper()
	if m := c.next(); !strings.HasPrefix(m, `\error\`) || fieldOf(m, "errmsg") != text {
		c.f.t.Fatalf("last message %q, want an error with %q", m, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.f.timeout)
	defer cancel()
	if m, err := c.Next(ctx); err == nil {
		c.f.t.Fatalf("%q after the error", m)
	}
}
