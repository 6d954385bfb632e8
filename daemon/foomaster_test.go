package daemon_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/playtest"
	"github.com/respawnd/respawnd/daemon/testdata/foomaster"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/web/api"
)

// running is a daemon with one more service.
type running struct {
	*daemon.Daemon

	config daemon.Config
	at     map[string]string // addresses of its services
	log    lines
	stop   func() // may be called several times
}

// start starts a daemon on a data folder.
func start(t *testing.T, o daemon.Options, dir string, more ...string) *running {
	t.Helper()
	c, _, err := settings(dir, more...)
	if err != nil {
		t.Fatal(err)
	}
	log := make(lines, 1024)
	o.Config, o.Log, o.Tail = c, zerolog.New(log), logtail.New(10)
	d, err := daemon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	r := &running{d, c, log.until("ready"), log, sync.OnceFunc(func() {
		stop()
		if err := errors.Join(<-ended, d.Close()); err != nil {
			t.Error(err)
		}
	})}
	t.Cleanup(r.stop)
	return r
}

// fooServers returns the servers of Foo as a daemon shows them to another one.
func (r *running) fooServers(t *testing.T) (list []api.Remote) {
	t.Helper()
	c := &api.Client{HTTP: http.DefaultClient, Base: "http://" + r.at["web"], Game: "foogame", Full: true}
	if _, err := c.List(t.Context(), func(s *api.Remote) { list = append(list, *s) }); err != nil {
		t.Fatal(err)
	}
	return list
}

// awaitServer waits until a server of Foo is listed with an origin: with each line in the stream of
// changes it reads the list again.
func (r *running) awaitServer(t *testing.T, origin string) api.Remote {
	t.Helper()
	req, err := http.NewRequestWithContext(netclient.Bound(t.Context(), 30*time.Second), http.MethodGet, "http://"+r.at["web"]+"/api/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for changes := bufio.NewScanner(resp.Body); ; {
		switch list := r.fooServers(t); {
		case len(list) == 1 && list[0].Origin == origin:
			return list[0]
		case !changes.Scan():
			t.Fatalf("servers %+v, want one of origin %s: %v", list, origin, changes.Err())
		}
	}
}

// wantVerdict fails unless doctor explains the last decision about a server.
func (r *running) wantVerdict(t *testing.T, dir string, at netip.AddrPort) {
	t.Helper()
	token, err := admin.ReadToken(filepath.Join(dir, admin.TokenFile))
	if err != nil {
		t.Fatal(err)
	}
	c, err := admin.NewClient(r.at["admin"], token)
	if err != nil {
		t.Fatal(err)
	}
	list, err := operator.ListVerdicts.Call(t.Context(), c, operator.Address{Addr: at.Addr()})
	i := slices.IndexFunc(list, func(v operator.Verdict) bool { return v.Address == at })
	if err != nil || i < 0 || list[i].Service != "foomaster" || list[i].Verdict != "listed" || list[i].Cause != "the server proved itself and is in the list" {
		t.Errorf("verdicts %+v, error %v, want listed by foomaster at %s", list, err, at)
	}
}

// wantPlayed fails unless the trial game finds a server in the list.
func (r *running) wantPlayed(t *testing.T) {
	t.Helper()
	at := netip.MustParseAddrPort(r.at["foomaster"])
	trial := &playtest.Target{
		Game: games.Game{Facts: games.Facts{Needs: []games.Service{"foomaster"}}}, Address: at.Addr(), Port: func(games.Service) uint16 { return at.Port() },
		Steps: new(foomaster.Config).Describe().Plays,
	}
	var got []playtest.Result
	err := playtest.Run(t.Context(), trial, func(p playtest.Result) error { got = append(got, p); return nil })
	if err != nil || len(got) != 1 || got[0] != (playtest.Result{Step: "foomaster: the master of Foo", Needed: true, Remark: "1 server"}) {
		t.Errorf("the trial game: %+v, error %v, want one server", got, err)
	}
}

// A master that only its own folder names is one like the others: its servers are listed, shown, found,
// queried, played, read by other daemons, explained, and there after a restart.
func TestMasterOfAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	catalogue := filepath.Join(dir, "foo.yaml")
	if err := os.WriteFile(catalogue, []byte("games:\n  - {name: foogame, title: Foo the Game, needs: [foomaster]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	catalogue = "RESPAWND_GAMES_FILE=" + catalogue
	r := start(t, daemon.Options{}, dir, catalogue)
	conn, err := netclient.Listen(t.Context(), r.at["foomaster"])
	if err != nil {
		t.Fatal(err)
	}
	at, site := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), conn.Local().Port()), "http://"+r.at["web"]
	host := foomaster.NewHost(conn, "Castle of Foo")
	var serving sync.WaitGroup
	serving.Go(host.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := host.Heartbeat(netclient.Bound(t.Context(), 30*time.Second)); err != nil {
		t.Fatal(err)
	}
	s := r.awaitServer(t, "foo")
	if s.Rules["hostname"] != "Castle of Foo" || s.Query != "quake3" || s.Address != at {
		t.Errorf("listed %+v, want Castle of Foo at %s, queried by quake3", s, at)
	}
	wantOnPage(t, site+"/servers/"+s.ID, "It registered with the master server of Foo; its address is verified.", "its answer from just now", "Fooist", "queried")
	wantOnPage(t, site+"/servers?q=castle", s.ID)
	wantOnPage(t, site+"/api/v1/servers?q=castle", s.ID)
	wantOnPage(t, site+"/api/v1/games/foogame", `"state":"untried"`)
	wantOnPage(t, site+"/connect", "set <code>foo_master "+r.at["foomaster"])
	r.wantPlayed(t)
	r.wantVerdict(t, dir, at)
	wantOnPage(t, site+"/why", "foomaster", at.String(), "the server proved itself and is in the list")
	friend := start(t, daemon.Options{}, t.TempDir(), catalogue, "RESPAWND_FEDERATION_MASTERS=respawnd "+site+" name=lan-friend")
	if s := friend.awaitServer(t, "federated"); s.Via != "lan-friend" || s.Rules["mapname"] != "queried" {
		t.Errorf("another daemon lists %+v, want one with the map queried via lan-friend", s)
	}
	r.stop()
	if err := conn.Close(); err != nil { // nothing can list it again
		t.Fatal(err)
	}
	again := start(t, daemon.Options{}, dir, catalogue)
	if s := again.awaitServer(t, "foo"); s.Rules["hostname"] != "Castle of Foo" || s.Address != at {
		t.Errorf("restored %+v, want Castle of Foo at %s", s, at)
	}
}

// Games say what they lack in the words of the master.
func TestGameOfAnotherMaster(t *testing.T) {
	c, _, err := settings(t.TempDir(), "RESPAWND_FOOMASTER_LISTEN=")
	if err != nil {
		t.Fatal(err)
	}
	needs := games.Facts{Needs: []games.Service{"foomaster"}}
	if got, want := needs.Standing(daemon.Served(c)).String(), "the master of Foo is switched off"; got != want {
		t.Errorf("a game that needs it: %q, want %q", got, want)
	}
}
