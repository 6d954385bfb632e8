package gpcm

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/storetest"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// The players of the tests.
const (
	testPassword  = "secret"
	testNamespace = 1
)

// fixture is a running service.
type fixture struct {
	t        testing.TB
	store    *records.Store
	accounts *accounts.Service
	hub      *presence.Local
	server   *Server
	dropped  *dropped
	dial     func() (net.Conn, error)
	stop     func() // may be called before the end
	timeout  time.Duration
}

// start runs a service on a loopback socket.
func start(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	return build(t, change).listen()
}

// listen runs the service on a loopback socket. Nothing counts as arrived by its age: a busy machine
// may take longer.
func (f *fixture) listen() *fixture {
	t := f.t
	t.Helper()
	f.server.settleTime = time.Hour
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.serve(ln)
	f.dial = func() (net.Conn, error) {
		return new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String())
	}
	return f
}

// startPipe runs a service on connections in memory, which synctest can follow.
func startPipe(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln := nettest.NewPipes()
	f := build(t, change)
	f.serve(ln)
	f.dial, f.timeout = ln.Dial, time.Hour // which passes at once
	return f
}

// build makes a service that does not run.
func build(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	store := storetest.New(t)
	service, err := accounts.Open(t.Context(), store, accounts.Options{KeyFile: filepath.Join(t.TempDir(), "account.key")})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, timeout: timeout, store: store, accounts: service, dropped: newDropped()}
	opt := Options{
		Store: store, Accounts: service, Self: part.Self{Log: zerolog.Nop(), Metrics: f.dropped.metrics},
		Config: defaults(), Games: catalog(t),
	}
	opt.Rate, opt.MaxPerAddr = -1, -1 // no limits
	if change != nil {
		change(&opt)
	}
	if opt.Hub == nil {
		mail, ok := opt.Store.(presence.Store)
		if !ok {
			mail = store
		}
		f.hub = presence.New(mail, presence.Options{})
		opt.Hub = f.hub
	}
	f.server = New(opt)
	return f
}

// defaults returns a configuration of defaults.
func defaults() (c Config) {
	configs.Defaults(&c)
	return c
}

// catalog returns a catalogue of some games.
func catalog(t testing.TB, some ...games.Game) *games.Catalog {
	t.Helper()
	c, err := games.NewCatalog(some)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reload changes live keys of the service.
func (f *fixture) reload(change func(*Config)) {
	c := f.server.opt.Config
	change(&c)
	f.server.Reload(&c)
}

func (f *fixture) serve(ln net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.server.Serve(ctx, ln) }()
	stopped := false
	f.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("Serve: %v", err)
		}
	}
	f.t.Cleanup(f.stop)
}

// register creates an account whose unique nick is its nick.
func (f *fixture) register(nick string) storage.Profile {
	f.t.Helper()
	p, err := f.accounts.Users.Register(context.Background(), accounts.Registration{
		Namespace: testNamespace, Email: strings.ToLower(nick) + "@example.com", Nick: nick, UniqueNick: nick,
		Password: testPassword, From: netip.MustParseAddr("127.0.0.1"),
	})
	if err != nil {
		f.t.Fatalf("Register(%s): %v", nick, err)
	}
	return p
}

// befriend puts each on the list of the other.
func (f *fixture) befriend(a, b storage.ProfileID) {
	f.t.Helper()
	for _, pair := range [][2]storage.ProfileID{{a, b}, {b, a}} {
		if err := f.store.AddBuddy(context.Background(), pair[0], pair[1]); err != nil {
			f.t.Fatalf("AddBuddy: %v", err)
		}
	}
	f.server.listsChanged(a)
}

// peer is a client.
type peer struct {
	t         testing.TB
	conn      net.Conn
	timeout   time.Duration
	buf       []byte
	challenge string // of the server
	proof     string // that it has to answer
	key       string
	sig       string // of the last request
	id        storage.ProfileID
}

func (f *fixture) peer(c net.Conn) *peer { return &peer{t: f.t, conn: c, timeout: f.timeout} }

// connect returns a client that has read the greeting.
func (f *fixture) connect() *peer {
	f.t.Helper()
	c, err := f.dial()
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = c.Close() })
	p := f.peer(c)
	p.challenge = field(p.recv(), "challenge")
	return p
}

// signIn returns a client that has signed in and read the answer. The lists are
// in front of it, unless the revision says otherwise.
func (f *fixture) signIn(who storage.Profile, revision int) *peer {
	f.t.Helper()
	p := f.connect()
	p.login(who.UniqueNickIn(testNamespace), testPassword, fmt.Sprintf(`\productid\11\gamename\gmtest\namespaceid\1\sdkrevision\%d`, revision))
	p.welcome(revision)
	p.fence("") // it has looked around
	return p
}

// welcome reads the answer to a login.
func (p *peer) welcome(revision int) {
	p.t.Helper()
	if revision&knowsLists != 0 {
		p.want(`\bdy\`)
		p.want(`\blk\`)
	}
	lc := p.want(`\lc\2\`)
	p.key = field(lc, "sesskey")
	_, _ = fmt.Sscan(field(lc, "profileid"), &p.id)
}

// login sends a login with a unique nick.
func (p *peer) login(uniqueNick, secret, more string) {
	p.t.Helper()
	const challenge = "abcdefghijklmnopqrstuvwxyz012345"
	p.send(`\login\\challenge\%s\uniquenick\%s\partnerid\0\response\%s\port\0%s\id\1\final\`,
		challenge, uniqueNick, response(secret, uniqueNick, challenge, p.challenge), more)
}

// response is the formula of the login proof.
func response(secret, user, first, second string) string {
	h := md5hex(secret)
	return md5hex(h + strings.Repeat(" ", 48) + user + first + second + h)
}

func md5hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// send writes a message. $K in it stands for the session key.
func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	text = strings.ReplaceAll(text, "$K", p.key)
	if err := p.trySend(text); err != nil {
		p.t.Fatalf("send %q: %v", text, err)
	}
}

func (p *peer) trySend(text string) error {
	_ = p.conn.SetWriteDeadline(time.Now().Add(p.timeout))
	_, err := p.conn.Write([]byte(text))
	return err
}

// timeout limits how long a test waits for an expected message.
const timeout = time.Minute

// recv returns the next message with its end.
func (p *peer) recv() string {
	p.t.Helper()
	m, err := p.tryRecv(p.timeout)
	if err != nil {
		p.t.Fatalf("recv: %v (unread: %q)", err, p.buf)
	}
	return m
}

func (p *peer) tryRecv(wait time.Duration) (string, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(wait))
	for {
		if i := strings.Index(string(p.buf), gamespy.Final); i >= 0 {
			m := string(p.buf[:i+len(gamespy.Final)])
			p.buf = p.buf[len(m):]
			return m, nil
		}
		var b [4096]byte
		n, err := p.conn.Read(b[:])
		p.buf = append(p.buf, b[:n]...)
		if n == 0 && err != nil {
			return "", err
		}
	}
}

// want returns the next message, which must begin like that.
func (p *peer) want(head string) string {
	p.t.Helper()
	m := p.recv()
	if !strings.HasPrefix(m, head) {
		p.t.Fatalf("received %q, want %q...", m, head)
	}
	return m
}

// wantError reads an error with that code.
func (p *peer) wantError(c code) string {
	p.t.Helper()
	return p.want(fmt.Sprintf(`\error\\err\%d\`, c))
}

// wantNothing sends something with an answer and checks that this comes next.
func (p *peer) wantNothing() {
	p.t.Helper()
	p.send(`\getprofile\\sesskey\$K\profileid\2147483647\id\999\final\`)
	if m := p.recv(); !strings.HasSuffix(m, `\id\999\final\`) {
		p.t.Fatalf("received %q, want nothing", m)
	}
}

// wantEnd checks that the server closes the connection and says nothing more.
func (p *peer) wantEnd() {
	p.t.Helper()
	m, err := p.tryRecv(p.timeout)
	if err == nil {
		p.t.Fatalf("received %q, want the end", m)
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		p.t.Fatal("the connection is still open")
	}
}

// field returns the value of a key in the way clients look for it.
func field(message, key string) string {
	_, rest, ok := strings.Cut(message, `\`+key+`\`)
	if !ok {
		return ""
	}
	v, _, _ := strings.Cut(rest, `\`)
	return v
}

// changing are the parts of messages that differ from run to run.
var changing = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`^(\\lc\\1\\challenge\\)[A-Z]{10}`), `$1{challenge}`},
	{regexp.MustCompile(`(\\sesskey\\)[1-9]\d*`), `$1{key}`},
	{regexp.MustCompile(`(\\proof\\)[0-9a-f]{32}`), `$1{proof}`},
	{regexp.MustCompile(`(\\lt\\)[A-Za-z0-9_\[\]]{24}`), `$1{ticket}`},
	{regexp.MustCompile(`(\\date\\)\d+`), `$1{date}`},
	{regexp.MustCompile(`(\\sig\\)[0-9a-f]{32}`), `$1{sig}`},
	{regexp.MustCompile(`(\|signed\|)[0-9a-f]*[1-9a-f][0-9a-f]*\\`), `$1{sig}\`},
}

// settle replaces values that differ from run to run.
func settle(message string) string {
	for _, c := range changing {
		message = c.re.ReplaceAllString(message, c.with)
	}
	return message
}
