package q2master

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/uplink"
)

// A server is listed once it has answered at all posts, and only then.
func TestRegister(t *testing.T) {
	w := newWorld(t, nil)
	at := w.beat(one, inn)
	if w.listed(one) != nil || w.verdict(one) != "challenge sent" {
		t.Fatalf("after a heartbeat: %v, verdict %q", w.listed(one), w.verdict(one))
	}
	posts := []int{at}
	for step := 1; ; step++ {
		if dropped := w.answer(at, one, header+"print\n"+drunk); dropped != "" {
			t.Fatalf("answer %d dropped: %s", step, dropped)
		}
		out := w.out.Take()
		if step == uplink.PostSteps {
			if len(out) > 0 {
				t.Errorf("sent %v after the last answer", out)
			}
			break
		}
		if w.listed(one) != nil || len(out) != 1 {
			t.Fatalf("after %d answers: listed %v, sent %v", step, w.listed(one), out)
		}
		if at = w.question(one, out[0], quake2.Two); slices.Contains(posts, at) {
			t.Fatalf("asked again from post %d: %v", at, posts)
		}
		posts = append(posts, at)
	}
	srv := w.listed(one)
	if srv == nil || srv.Game != "quake2" || srv.Origin != Origin || srv.Population() != 1 {
		t.Fatalf("record %+v", srv)
	}
	if host, _ := srv.Rules.Get("hostname"); host != "The Inn" || w.verdict(one) != "listed" {
		t.Errorf("listed as %q, verdict %q", host, w.verdict(one))
	}
	// A heartbeat renews the record; all is proved once more.
	if dropped := w.register(one, inn); dropped != "" || w.Hosts() != 1 {
		t.Errorf("second heartbeat: %q, %d servers", dropped, w.Hosts())
	}
}

// The order of the posts differs from server to server.
func TestPostsCannotBeForeseen(t *testing.T) {
	w := newWorld(t, nil)
	first := make(map[int]bool)
	for i := range 200 {
		first[w.beat(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 1}), 27910), inn)] = true
	}
	if len(first) != uplink.PostCount {
		t.Errorf("first posts of 200 servers: %v", first)
	}
}

// A forger does not see the questions. An answer at a wrong post ends the attempt: the
// next one has another order.
func TestForgedAnswers(t *testing.T) {
	w := newWorld(t, nil)
	status := header + "print\n" + inn
	if got := w.answer(3, one, status); got != "unexpected" {
		t.Errorf("an answer without a heartbeat: %q", got)
	}
	at := w.beat(one, inn)
	if got := w.answer((at+1)%uplink.PostCount, one, status); got != "wrong_response" || w.Pending() != 0 {
		t.Errorf("an answer at a wrong post: %q, %d servers waited for", got, w.Pending())
	}
	if got := w.answer(at, one, status); got != "unexpected" {
		t.Errorf("the right answer after a wrong one: %q", got)
	}
	if got := w.verdict(one); got != "wrong response" {
		t.Errorf("verdict %q", got)
	}
	// From the first right post on, each other post is wrong but those that were passed.
	at = w.beat(two, inn)
	if got := w.answer(at, two, status); got != "" {
		t.Fatalf("answer: %q", got)
	}
	next := w.question(two, w.out.Take()[0], quake2.Two)
	if got := w.answer(at, two, status); got != "unexpected" || w.Pending() != 1 {
		t.Errorf("a copy of the answer: %q, %d waited for", got, w.Pending())
	}
	for number := range uplink.PostCount {
		if number != at && number != next {
			if got := w.answer(number, two, status); got != "wrong_response" || w.Pending() != 0 {
				t.Errorf("an answer at post %d: %q", number, got)
			}
			break
		}
	}
	if w.listed(one) != nil || w.listed(two) != nil {
		t.Error("a server is listed")
	}
}

// Lost questions and answers are repeated from the first answer on, and a server that stops
// to answer is forgotten.
func TestLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		at := w.beat(one, inn)
		w.pass(3 * time.Second)
		if out := w.out.Take(); len(out) != 0 {
			t.Errorf("sent %v to a server that has not answered", out)
		}
		w.answer(at, one, header+"print\n"+inn)
		at = w.question(one, w.out.Take()[0], quake2.Two)
		w.pass(time.Second)
		out := w.out.Take()
		if len(out) != 1 || w.question(one, out[0], quake2.Two) != at {
			t.Errorf("sent %v, want the question at post %d again", out, at)
		}
		if dropped := w.prove(one, at, quake2.Two, inn); dropped != "" {
			t.Errorf("last answer: %q", dropped)
		}
		if w.listed(one) == nil {
			t.Error("not listed")
		}
		at = w.beat(two, inn)
		w.answer(at, two, header+"print\n"+inn)
		w.pass(uplink.PendingLife + time.Second)
		if w.Pending() != 0 || w.listed(two) != nil || w.verdict(two) != "no answer" {
			t.Errorf("%d waited for, verdict %q", w.Pending(), w.verdict(two))
		}
	})
}

// Shutdown may be forged: a server that answers stays, another one leaves.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.register(one, inn)
		w.register(two, inn)
		for _, a := range []netip.AddrPort{one, two, asker} {
			w.out.Take()
			if dropped := w.send(a, header+"shutdown"); dropped != "" {
				t.Errorf("shutdown of %v: %q", a, dropped)
			}
			if out := w.out.Take(); a == one {
				if dropped := w.prove(one, w.question(one, out[0], quake2.Two), quake2.Two, inn); dropped != "" {
					t.Errorf("answer dropped: %q", dropped)
				}
			} else if a == asker && len(out) > 0 {
				t.Errorf("sent %v to a server that is not listed", out)
			}
		}
		w.pass(uplink.ListedLife + time.Second)
		if w.listed(one) == nil || w.listed(two) != nil || w.verdict(two) != "expired" {
			t.Errorf("listed: %v, %v; verdict %q", w.listed(one) != nil, w.listed(two) != nil, w.verdict(two))
		}
	})
}

func TestPingAndAck(t *testing.T) {
	w := newWorld(t, nil)
	if dropped := w.send(one, header+"ping"); dropped != "" || w.Pending() != 0 {
		t.Errorf("ping: %q, %d waited for", dropped, w.Pending())
	}
	if out := w.out.Take(); !slices.Equal(out, []sent{{header + "ack", one, main}}) {
		t.Errorf("sent %v", out)
	}
	if dropped := w.send(one, header+"ack"); dropped != "" || len(w.out.Take()) != 0 {
		t.Errorf("ack: %q", dropped)
	}
}

func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct{ packet, dropped, verdict string }{
		"no rule":       {header + "heartbeat\n\\a\\b\n", "malformed", "malformed heartbeat"},
		"Quake III":     {header + "heartbeat QuakeArena-1\n", "foreign", "wrong port: speaks Quake III's protocol"},
		"QuakeWorld":    {"a\n1\n0\n", "foreign", "wrong port: speaks QuakeWorld's protocol"},
		"status":        {header + "status\n", "unknown_kind", "packet not understood"},
		"another print": {header + "print\n" + inn, "unknown_kind", "packet not understood"},
		"noise":         {"zzz", "foreign", "none"},
		"nothing":       {"", "foreign", "none"},
		"too long":      {header + "heartbeat\n" + inn + strings.Repeat("x", quake2.MaxPacket), "oversized", "packet too long"},
	} {
		w := newWorld(t, nil)
		if got := w.send(one, tt.packet); got != tt.dropped || w.verdict(one) != tt.verdict {
			t.Errorf("%s: dropped %q, verdict %q; want %q, %q", name, got, w.verdict(one), tt.dropped, tt.verdict)
		}
	}
	w := newWorld(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return a == one.Addr() } })
	if got := w.send(one, header+"heartbeat\n"+inn); got != "banned" {
		t.Errorf("banned: %q", got)
	}
	w = newWorld(t, nil)
	at := w.beat(one, inn)
	if got := w.answer(at, one, header+"ack"); got != "foreign" {
		t.Errorf("another message at a post: %q", got)
	}
	if got := w.prove(one, at, quake2.Two, "\\a\\b\n"); got != "malformed" || w.listed(one) != nil {
		t.Errorf("a status without a rule: %q", got)
	}
}

// What a status says of its engine is the game, then its port; at a further port all servers
// have its game.
func TestGames(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Ports = []string{"heretic2=27904"}
		places, err := o.places()
		if err != nil {
			t.Fatal(err)
		}
		o.Dialect = Two(places)
	})
	for i, tt := range []struct{ status, game string }{
		{inn, "quake2"},
		{strings.TrimSpace(inn) + "\\version\\Kingpin 1.21\n", "kingpin"},
		{strings.TrimSpace(inn) + "\\version\\Alien Arena 7.7\n", "alienarena"},
	} {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 27910)
		if dropped := w.register(a, tt.status); dropped != "" || w.listed(a).Game != tt.game {
			t.Errorf("%s: dropped %q, record %+v", tt.game, dropped, w.listed(a))
		}
	}
	w.out.Take()
	w.sendAt(27904, one, header+"heartbeat\n"+inn)
	if dropped := w.prove(one, w.out.Take()[1].by, quake2.Two, inn); dropped != "" || w.listed(one).Game != "heretic2" {
		t.Errorf("at a further port: dropped %q, record %+v", dropped, w.listed(one))
	}
	if about := w.about(w.listed(one)); about != "heretic2" {
		t.Errorf("it is asked for %q after a restart", about)
	}
	if got, want := w.ask(27904, quake2.Two, "query"), one.String(); got != want {
		t.Errorf("list at the further port: %s", got)
	}
	if got, want := w.ask(0, quake2.Two, "query"), "10.0.0.0:27910"; got != want {
		t.Errorf("list at the first port: %s", got)
	}
	c := *w.live.Load()
	c.Game = allGames
	w.Reload(&c)
	if got := w.ask(0, quake2.Two, "query"); len(strings.Fields(got)) != 4 {
		t.Errorf("list of all games: %s", got)
	}
}

func TestSettings(t *testing.T) {
	for text, ok := range map[string]bool{
		"kingpin=27902": true, "kingpin": false, "kingpin=": false, "kingpin=0": false, "kingpin=65536": false, "=27902": false, "king/pin=1": false,
	} {
		c := Config{Game: "quake2", Ports: []string{text}}
		if list, err := c.places(); (err == nil) != ok || ok && (len(list) != 1 || list[0] != Place{27902, quake2.Two, "kingpin"}) {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
	if _, err := (&Config{Game: "quake/2"}).places(); err == nil {
		t.Error("a bad name of a game is taken")
	}
	if _, err := (&Config{Game: "all", Ports: slices.Repeat([]string{"kingpin=1"}, maxPorts+1)}).places(); err == nil {
		t.Errorf("%d ports are taken", maxPorts+1)
	}
}

// worldDialect is that of QuakeWorld.
func worldDialect() Dialect {
	return Dialect{
		Service: "qwmaster", Origin: Origin, Instance: 1, Form: quake2.World, Usual: 27000, Further: []Place{{26900, quake2.Hexen, "hexenworld"}},
		Own: foreign.QuakeWorld, Game: func(s *quake2.Status, _ uint16) string { return s.WorldGame() },
		ListOf: func(game string) string {
			if game == "hexenworld" {
				return game
			}
			return "quakeworld"
		},
	}
}

// QuakeWorld's heartbeats are not acknowledged, and its pings are with a longer message.
func TestWorld(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Dialect = worldDialect(); o.Game = "quakeworld" })
	const status = `\hostname\The Inn\map\dm6\maxclients\8\*version\QTV 1.2` + "\n"
	for _, tt := range []struct {
		port uint16
		form quake2.Form
		from netip.AddrPort
		game string
	}{
		{0, quake2.World, one, "qtv"},
		{26900, quake2.Hexen, two, "hexenworld"},
	} {
		w.out.Take()
		if dropped := w.sendAt(tt.port, tt.from, string(tt.form.AppendHeartbeat(nil, nil))); dropped != "" {
			t.Errorf("%s: dropped %s", tt.game, dropped)
		}
		out := w.out.Take()
		if len(out) != 1 {
			t.Fatalf("%s: sent %v", tt.game, out)
		}
		if dropped := w.prove(tt.from, w.question(tt.from, out[0], tt.form), tt.form, status); dropped != "" || w.listed(tt.from).Game != tt.game {
			t.Errorf("%s: dropped %q, record %+v", tt.game, dropped, w.listed(tt.from))
		}
		if got := w.ask(tt.port, tt.form, string(tt.form.AppendQuery(nil))); got != tt.from.String() {
			t.Errorf("%s: list %s", tt.game, got)
		}
		w.sendAt(tt.port, asker, string(tt.form.AppendPing(nil)))
		if out := w.out.Take(); len(out) != 1 || out[0].data != string(tt.form.AppendAck(nil)) {
			t.Errorf("%s: a ping is answered with %v", tt.game, out)
		}
	}
	for i := range w.opt.UnprovedBurst + 2 { // two were sent before
		got := w.send(netip.AddrPortFrom(one.Addr(), uint16(1000+i)), "a\n1\n0\n")
		if want := map[bool]string{true: "limited"}[i >= w.opt.UnprovedBurst-1]; got != want {
			t.Fatalf("heartbeat %d of an address: %q, want %q", i+1, got, want)
		}
	}
}

// Servers of an address are limited, and so are those that are waited for.
func TestLimits(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxPerAddr = 2; o.MaxPending = 100 })
	for i, want := range []string{"", "", "too_many_here"} {
		if got := w.register(netip.AddrPortFrom(one.Addr(), uint16(27910+i)), inn); got != want {
			t.Errorf("server %d of an address: %q, want %q", i+1, got, want)
		}
	}
	for i := range 300 {
		w.send(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 27910), header+"heartbeat\n"+inn)
	}
	if n := w.Pending(); n != 100 {
		t.Errorf("%d servers waited for", n)
	}
}

// Lists have the servers with players first, and are cut.
func TestLongList(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxPending = 1 << 16 })
	busy := netip.MustParseAddrPort("203.0.113.200:27910")
	for i := range quake2.MaxEntries + 20 {
		w.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, 0, byte(i >> 8), byte(i)}), 27910), inn)
	}
	w.register(busy, drunk)
	list := strings.Fields(w.ask(0, quake2.Two, "query\n\x00"))
	if len(list) != quake2.MaxEntries || list[0] != busy.String() {
		t.Errorf("%d servers, the first is %s", len(list), list[0])
	}
	for i := range w.opt.ListBurst {
		if got := w.send(asker, "query"); (got == "no_budget") != (i == w.opt.ListBurst-1) {
			t.Errorf("list %d: %q", i+2, got)
		}
	}
	if got := fmt.Sprint(w.Hosts()); got != fmt.Sprint(quake2.MaxEntries+21) {
		t.Errorf("%s servers", got)
	}
}
