package webhook

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/storage"
)

const secret = "0123456789abcdef"

// receiver takes requests in place of the network.
type receiver struct {
	mu     sync.Mutex // guards the fields below
	got    []*http.Request
	bodies []string
	at     []time.Time
	answer func(n int) *http.Response // of request n, from 0; nil: 204
}

// RoundTrip implements http.RoundTripper.
func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.got)
	r.got, r.bodies, r.at = append(r.got, req), append(r.bodies, string(body)), append(r.at, time.Now())
	resp := &http.Response{StatusCode: http.StatusNoContent}
	if r.answer != nil {
		resp = r.answer(n)
	}
	if resp == nil {
		return nil, io.ErrUnexpectedEOF
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.Body = io.NopCloser(strings.NewReader("thanks"))
	resp.Request = req
	return resp, nil
}

// answers sets the answer from now on.
func (r *receiver) answers(answer func(n int) *http.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// taken is the list of requests that a receiver got so far.
type taken struct {
	requests []*http.Request
	bodies   []string
	at       []time.Time
}

// wait lets time pass and returns the requests since the last call of sent.
func (f *fixture) wait(d time.Duration) taken {
	time.Sleep(d)
	synctest.Wait()
	f.to.mu.Lock()
	defer f.to.mu.Unlock()
	return taken{f.to.got, f.to.bodies, f.to.at}
}

func status(code int) *http.Response { return &http.Response{StatusCode: code} }

// fixture is a dispatcher in a bubble whose hooks all lead to one receiver.
type fixture struct {
	t        *testing.T
	registry *master.Registry
	bans     []storage.Ban // changed while nothing runs
	rules    []storage.ChatRule
	gauges   *prometheus.Registry
	log      nettest.Log
	to       *receiver
	d        *Dispatcher
	stop     func()
}

// newFixture returns a dispatcher that does not run yet. It must be called in a
// bubble.
func newFixture(t *testing.T, hooks []Hook) *fixture {
	f := &fixture{t: t, registry: master.NewRegistry(master.Limits{Changes: 64}), gauges: prometheus.NewRegistry(), to: &receiver{}}
	f.put(listing{port: 1000, name: "here already", players: "20"})
	f.d = New(Options{
		Listing: part.Listing{Registry: f.registry}, Bans: func() []storage.Ban { return f.bans }, Rules: func() []storage.ChatRule { return f.rules }, Room: roomOf, Hooks: hooks, Self: part.Self{Version: "1.2.3", Log: zerolog.New(&f.log), Registerer: f.gauges},
		Title: func(game string) string { return "Title of " + game },
	})
	f.d.through = f.to
	return f
}

// run runs the dispatcher while test does.
func (f *fixture) run(test func(f *fixture)) {
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.d.Run(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Errorf("Run: %v, want nil", err)
		}
	})
	synctest.Wait()
	test(f)
	f.stop()
}

func watching(t *testing.T, hooks []Hook, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { newFixture(t, hooks).run(test) })
}

// listing describes a server.
type listing struct {
	port          uint16
	game          string // default gmtest
	name, players string
	node          string // empty: this one
}

func (f *fixture) put(l listing) master.Key {
	f.t.Helper()
	if l.game == "" {
		l.game = "gmtest"
	}
	at := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), l.port)
	s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: at}, Public: at, Game: l.game, Node: l.node, Seen: time.Now()}
	var rep master.Report
	for _, v := range []string{l.name, l.players, "16", "DM_Deck"} {
		rep.Rule([]byte(v))
	}
	rep.SetRules(f.registry.Names([]string{"hostname", "numplayers", "maxplayers", "mapname"}))
	if err := rep.Into(&s); err != nil {
		f.t.Fatalf("Into: %v", err)
	}
	if err := f.registry.Put(s); err != nil {
		f.t.Fatalf("Put: %v", err)
	}
	return s.Key
}

// sent waits, and returns the events that arrived since the last call: kind and
// name, or kind and prefix.
func (f *fixture) sent(wait time.Duration) string {
	f.t.Helper()
	var out []string
	for _, body := range f.wait(wait).bodies {
		var d struct {
			Events []struct {
				Type   string
				Server struct{ Name string }
				Ban    struct{ Prefix string }
				Room   struct{ Channel string }
				Chat   ChatBan `json:"chat_ban"`
			}
		}
		if err := json.Unmarshal([]byte(body), &d); err != nil {
			f.t.Fatalf("body %q: %v", body, err)
		}
		for _, e := range d.Events {
			out = append(out, strings.TrimSpace(e.Type+" "+e.Server.Name+e.Ban.Prefix+e.Room.Channel+e.Chat.Prefix+e.Chat.Channel))
		}
	}
	f.to.mu.Lock()
	defer f.to.mu.Unlock()
	f.to.got, f.to.bodies, f.to.at = nil, nil, nil
	return strings.Join(out, ", ")
}

// expect fails unless sent returns want.
func (f *fixture) expect(wait time.Duration, want string) {
	f.t.Helper()
	if got := f.sent(wait); got != want {
		f.t.Errorf("told: got %q, want %q", got, want)
	}
}

// soon is long enough for an event to be delivered, and shorter than settle.
const soon = 10 * time.Second

func plain(change ...func(*Hook)) []Hook {
	h := Hook{Name: "bot", URL: "https://example.org/hidden-token", Secret: secret}
	for _, c := range change {
		c(&h)
	}
	return []Hook{h}
}

// dropped returns how many events were counted as lost for a reason.
func (f *fixture) dropped(reason string) int { return metrictest.Dropped(f.t, f.gauges, reason) }
