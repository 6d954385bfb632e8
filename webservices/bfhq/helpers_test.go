package bfhq

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

const (
	testHost  = "bf2web.gamespy.com"
	testGame  = "battlefield2"
	testRound = 1700000000 // begin of rounds
)

var (
	listed   = netip.MustParseAddrPort("192.0.2.10:40000")
	unlisted = netip.MustParseAddrPort("198.51.100.7:40000")
	home     = netip.MustParseAddrPort("203.0.113.7:50000") // of all players
)

// world is a backend with a store, whose players have the profiles 1 to 4.
type world struct {
	t        testing.TB
	store    storage.Store
	backend  *Backend
	metrics  *prometheus.Registry
	verdicts *verdicts.Log
}

var testNicks = []string{"Tester", "Ann", "Ben", "Cid"}

// newWorld opens a world on a new store.
func newWorld(t testing.TB, edit func(*Options)) *world {
	t.Helper()
	s := storetest.New(t)
	return newWorldOn(t, s, edit)
}

// newWorldOn opens a world on a store that has no accounts.
func newWorldOn(t testing.TB, s storage.Store, edit func(*Options)) *world {
	t.Helper()
	w := &world{t: t, store: s}
	for i, nick := range testNicks {
		p := storage.Profile{Nick: "profile " + nick, UniqueNicks: []storage.UniqueNick{{Namespace: 12, Nick: nick, Key: storage.Fold(nick)}}}
		switch nick {
		case "Ann":
			p.Country = "de"
		case "Cid": // an account that was not made in the game
			p.UniqueNicks[0].Namespace = 1
		case "Ben":
			p.UniqueNicks = append(p.UniqueNicks, storage.UniqueNick{Namespace: 1, Nick: "Benno", Key: "benno"})
		}
		_, p, err := s.CreateUser(t.Context(), storage.User{Email: nick + "@example.com"}, p)
		if err != nil || int(p.ID) != i+1 {
			t.Fatal(p.ID, err)
		}
	}
	w.start(edit)
	return w
}

// catalog returns a catalogue with the game of the tests and another one.
func catalog(t testing.TB) *games.Catalog {
	t.Helper()
	return catalogOf(t, `games:
  - {name: battlefield2, namespace: 12, hosts: [bf2web.gamespy.com webservices], files: [{path: /asp/*, is: bfhq}]}
  - {name: other, files: [{path: /asp2/*, text: "x"}]}
`)
}

// catalogOf returns the catalogue of a games file.
func catalogOf(t testing.TB, text string) *games.Catalog {
	t.Helper()
	list, err := games.ParseYAML(strings.NewReader(text), games.Source{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := games.NewCatalog(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start makes a backend over the store, as a restart does. No goroutine changes totals: see settle.
func (w *world) start(edit func(*Options)) {
	w.t.Helper()
	w.metrics, w.verdicts = prometheus.NewRegistry(), verdicts.NewLog(zerolog.Nop(), 0)
	opt := Options{
		Config: PagesConfig{SnapshotServers: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Unlocks: unlocksRank},
		Games:  catalog(w.t), Store: w.store, Limits: func() stats.Limits { return stats.Limits{KeepGames: 1000} },
		Nick: func(ctx context.Context, namespace int, nick string) (storage.Profile, storage.User, error) {
			return w.store.ProfileByUniqueNick(ctx, namespace, storage.Fold(nick))
		},
		SignedIn: func(_ context.Context, _ storage.ProfileID, from netip.Addr) bool { return from == home.Addr() },
		Peers:    part.Peers{Verdicts: w.verdicts}, Self: part.Self{Name: "webservices", Registerer: w.metrics},
	}
	if edit != nil {
		edit(&opt)
	}
	w.backend = New(opt)
}

var _ Store = storage.Store(nil)

// settle changes the totals of all rounds that wait.
func (w *world) settle() {
	for {
		select {
		case c := <-w.backend.waiting:
			w.backend.finish(w.t.Context(), c)
		default:
			return
		}
	}
}

// request sends a request and returns the status and the text of the answer.
func (w *world) request(from netip.AddrPort, method, target, body string) (int, string) {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body))
	page, game, ok := w.backend.Find(testHost, r.URL.Path)
	if !ok {
		return 404, ""
	}
	rec := httptest.NewRecorder()
	if page.MaxBody < int64(len(body)) {
		w.t.Logf("a body of %d bytes is over the limit", len(body))
	}
	r.Body = maxBytes(rec, r.Body, page.MaxBody)
	page.Serve(rec, r, &soap.Request{From: from, Game: game})
	return rec.Code, rec.Body.String()
}

// get requests a page from the players' address and returns its text with a fixed time.
func (w *world) get(target string) string {
	w.t.Helper()
	_, text := w.request(home, "GET", "/ASP/"+target, "")
	return fixed(text)
}

// fixed replaces the present time, which has as many digits.
func fixed(text string) string {
	now := time.Now().Unix()
	for _, at := range []int64{now, now - 1} {
		text = strings.ReplaceAll(text, fmt.Sprint(at), "1700000000")
	}
	return text
}

// value returns a column of a page.
func (w *world) value(target, column string) string {
	w.t.Helper()
	_, text := w.request(home, "GET", "/ASP/"+target, "")
	a, err := ParseAnswer(text)
	v, ok := a.Value(column)
	if err != nil || !ok {
		w.t.Fatalf("%s has no %s: %v, %q", target, column, err, text)
	}
	return v
}

// info returns a column of a player.
func (w *world) info(pid int, column string) string {
	w.t.Helper()
	return w.value(fmt.Sprintf("getplayerinfo.aspx?pid=%d&info=%s", pid, column), column)
}

// testPlayer is a player in a list: pairs of keys, without the number.
type testPlayer []string

// snapshot returns the list of a round that began n hours after the first one.
func snapshot(n int, players ...testPlayer) string {
	start := testRound + 3600*n
	var b strings.Builder
	fmt.Fprintf(&b, `clan\My \Server\gameport\16567\queryport\29900\mapname\strike_at_karkand\mapid\4\mapstart\%d.25\mapend\%d.5\win\1\gm\0\m\4\v\bf2\pc\%d\rwa\0\ra1\0\rs1\50\ra2\1\rs2\0\rst2\0`,
		start, start+1800, len(players))
	for i, p := range players {
		for k := 0; k+1 < len(p); k += 2 {
			fmt.Fprintf(&b, `\%s_%d\%s`, p[k], 3*i, p[k+1])
		}
	}
	b.WriteString(`\EOF\1`)
	return b.String()
}

// soldier returns a player with the profile of a number and some score.
func soldier(pid, score int, more ...string) testPlayer {
	return append(testPlayer{
		"pID", fmt.Sprint(pid), "name", "=TAG= " + testNicks[pid-1], "t", "1", "a", "0", "ctime", "1200", "c", "1", "ip", "127.0.0.1", "ai", "0",
		"rs", fmt.Sprint(score),
	}, more...)
}

// post sends a round from a listed server.
func (w *world) post(list string) (int, string) {
	w.t.Helper()
	return w.request(listed, "POST", "/ASP/bf2statistics.php", list)
}

// mustPost is post for a round that counts.
func (w *world) mustPost(list string) {
	w.t.Helper()
	if code, text := w.post(list); code != 200 || !strings.HasPrefix(text, "O\nH\tresponse\tmapname\tmapstart\nD\tOK\tstrike_at_karkand\t") {
		w.t.Fatalf("round: %d %q", code, text)
	}
	w.settle()
}

// dropReports removes the reports of all rounds.
func (w *world) dropReports() {
	w.t.Helper()
	for r, err := range w.store.Reports(w.t.Context(), testGame, 0) {
		if err != nil || w.store.DeleteReport(w.t.Context(), r.ID) != nil {
			w.t.Fatal(err)
		}
	}
}

// counters returns the values of a counter by label, without those that are 0.
func (w *world) counters(name string) string {
	w.t.Helper()
	families, err := w.metrics.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "respawnd_webservices_"+name && m.GetCounter().GetValue() > 0 {
				all = append(all, fmt.Sprintf("%s %v", m.GetLabel()[0].GetValue(), m.GetCounter().GetValue()))
			}
		}
	}
	return strings.Join(all, ", ")
}

// maxBytes bounds a body as the service does.
func maxBytes(rec *httptest.ResponseRecorder, body io.ReadCloser, most int64) io.ReadCloser {
	return http.MaxBytesReader(rec, body, most)
}
