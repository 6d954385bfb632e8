package idmaster

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

var (
	home  = netip.MustParseAddr("198.51.100.1")
	one   = netip.MustParseAddrPort("192.0.2.1:27666")
	two   = netip.MustParseAddrPort("192.0.2.2:28004")
	asker = netip.MustParseAddrPort("203.0.113.9:4000")
	cheat = netip.MustParseAddrPort("203.0.113.66:4000")
)

type sent struct {
	data string
	to   netip.AddrPort
}

type wire struct{ nettest.Recorder[sent] }

func (w *wire) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	w.Keep(sent{string(data), to})
	return nil
}

// world is a Server without sockets.
type world struct {
	*Server
	t    testing.TB
	list *master.Registry
	book *verdicts.Log
	w    *wire
}

func newWorld(t testing.TB, change func(*Options)) *world {
	t.Helper()
	game := func(name string, protocols ...int) games.Game {
		return games.Game{Name: name, Facts: games.Facts{Needs: []games.Service{serviceName}, Quake3: []games.Quake3{{Name: name, Protocols: protocols}}}}
	}
	catalogue, err := games.NewCatalog([]games.Game{game("doom3", 1), game("quake4", 2), game("prey", 3, 4)})
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{
		Players: func(a netip.Addr) bool { return a == cheat.Addr() },
		Registration: part.Registration{
			Listing: part.Listing{Registry: master.NewRegistry(master.Limits{Servers: 1 << 16, PerAddr: 1 << 16, PerNet: 1 << 16}), Games: catalogue},
			Peers:   part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		},
	}
	configs.Defaults(&opt.Config)
	if change != nil {
		change(&opt)
	}
	return &world{New(opt), t, opt.Registry, opt.Verdicts, &wire{}}
}

const serviceName = games.Service(name)

// send hands a packet to the master and returns why it was dropped.
func (w *world) send(from netip.AddrPort, data []byte) string {
	p := netserve.Packet{Data: data, From: from, To: home}
	dropped := w.Handle(w.w, p, time.Now())
	if dropped != uplink.NotDropped {
		w.Dropped(p, dropped)
	}
	return dropped.String()
}

// register sends a heartbeat and answers the question.
func (w *world) register(from netip.AddrPort, i idtech4.Info) string {
	w.t.Helper()
	w.w.Take()
	if dropped := w.send(from, idtech4.AppendHeartbeat(nil)); dropped != "" {
		w.t.Fatalf("heartbeat dropped: %s", dropped)
	}
	out := w.w.Take()
	if len(out) != 1 || out[0].to != from {
		w.t.Fatalf("sent %v, want one question", out)
	}
	kind, rest, _ := idtech4.Cut([]byte(out[0].data))
	challenge, err := idtech4.Challenge(rest)
	if kind != idtech4.KindGetInfo || err != nil {
		w.t.Fatalf("sent %q", out[0].data)
	}
	i.Challenge += challenge
	return w.send(from, i.AppendTo(nil))
}

// ask requests a list and returns its servers.
func (w *world) ask(from netip.AddrPort, p idtech4.Protocol) string {
	w.t.Helper()
	w.w.Take()
	if dropped := w.send(from, idtech4.Request{Protocol: p}.AppendTo(nil)); dropped != "" {
		return dropped
	}
	var list []netip.AddrPort
	for _, s := range w.w.Take() {
		_, rest, _ := idtech4.Cut([]byte(s.data))
		var err error
		if list, err = idtech4.ParseList(list, rest); err != nil {
			w.t.Fatal(err)
		}
	}
	slices.SortFunc(list, netip.AddrPort.Compare)
	return strings.Trim(fmt.Sprint(list), "[]")
}

// inn is the info of a server.
func inn(p idtech4.Protocol) idtech4.Info {
	i := InfoOf(p, "si_name", "The Inn", "si_map", "game/mp/d3dm1", "si_maxPlayers", "8", "si_usePass", "0", "gamename", "baseDOOM-1")
	i.Players = []idtech4.Player{{Number: 0, Ping: 40, Rate: 16000, Name: []byte("Ann")}}
	return i
}

func TestServersAreListedAfterTheirAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		if got := w.ask(asker, doom3); got != "" {
			t.Errorf("the empty list: %q", got)
		}
		wrong := inn(doom3)
		wrong.Challenge = 1
		if dropped := w.register(one, wrong); dropped != "wrong_response" {
			t.Errorf("another challenge: %q", dropped)
		}
		if dropped := w.register(one, inn(doom3)); dropped != "" {
			t.Fatal(dropped)
		}
		if dropped := w.register(two, inn(2<<16+85)); dropped != "" {
			t.Fatal(dropped)
		}
		for p, want := range map[idtech4.Protocol]string{
			doom3: one.String(), 2<<16 + 85: two.String(), 0: one.String() + " " + two.String(), doom3 + 1: "",
		} {
			if got := w.ask(asker, p); got != want {
				t.Errorf("list of %v: %q, want %q", p, got, want)
			}
		}
		srv, ok := w.list.Get(w.KeyOf(one))
		if !ok || srv.Game != "doom3" || srv.Origin != Origin || srv.Population() != 1 {
			t.Fatalf("record %+v", srv)
		}
		for rule, want := range map[string]string{"hostname": "The Inn", "mapname": "game/mp/d3dm1", "maxplayers": "8", "protocol": "1.41"} {
			if got, _ := srv.Rules.Get(rule); got != want {
				t.Errorf("%s is %q, want %q", rule, got, want)
			}
		}
		if dropped := w.register(netip.MustParseAddrPort("192.0.2.9:9999"), inn(77<<16)); dropped != "unknown_game" {
			t.Errorf("a game that is not in the catalogue: %q", dropped)
		}
		// A server that stops sends a last heartbeat.
		w.send(one, idtech4.AppendHeartbeat(nil))
		for range 30 {
			time.Sleep(uplink.TickEvery)
			w.Expire(w.w, time.Now())
		}
		if got := w.ask(asker, 0); got != two.String() {
			t.Errorf("after a heartbeat without an answer: %q", got)
		}
	})
}

func TestPlayersAreLetIn(t *testing.T) {
	w := newWorld(t, nil)
	key := idtech4.Keys{Protocol: doom3, Server: one, Key: []byte("ABCDABCDABCDABCD")}
	for _, game := range []bool{false, true} {
		key.Game = game
		if dropped := w.send(asker, key.AppendTo(nil)); dropped != "" {
			t.Fatal(dropped)
		}
		out := w.w.Take()
		if want := string(idtech4.AppendAuthKey(nil, idtech4.GUIDOf(key.Key))); len(out) != 1 || out[0].data != want || len(want) > len(key.AppendTo(nil)) {
			t.Errorf("answered %v, want %q", out, want)
		}
	}
	for player, want := range map[netip.AddrPort]idtech4.Reply{asker: idtech4.Accepted, cheat: idtech4.Denied} {
		for _, c := range []idtech4.Check{{Protocol: doom3, Player: player, Client: -1}, {Protocol: doom3, Player: player, Client: 3, GUID: []byte("abcdefghijk")}} {
			q := c.AppendTo(nil)
			if dropped := w.send(one, q); dropped != "" {
				t.Fatal(dropped)
			}
			out := w.w.Take()
			if len(out) != 1 || len(out[0].data) > len(q) {
				t.Fatalf("answered %v to %d bytes", out, len(q))
			}
			_, rest, _ := idtech4.Cut([]byte(out[0].data))
			v, err := idtech4.ParseVerdict(rest)
			if err != nil || v.Reply != want || int32(v.Client) != c.Client || v.Player != player || string(v.GUID) != string(c.GUID) {
				t.Errorf("%+v: got %+v, %v", c, v, err)
			}
		}
	}
	if dropped := w.send(asker, []byte("\xff\xffversionCheck\x00\x29\x00\x01\x00x\x00y\x00")); dropped != "" || len(w.w.Take()) != 0 {
		t.Errorf("a check of versions was dropped or answered: %q", dropped)
	}
}

func TestDropped(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return a == two.Addr() } })
	for _, test := range []struct {
		from       netip.AddrPort
		data, want string
	}{
		{one, "", "foreign"},
		{one, "\xff\xff", "foreign"},
		{one, "\xff\xffheartbeat", "foreign"},
		{one, "\xff\xffother\x00", "unknown_kind"},
		{one, "\xff\xffservers\x00", "unknown_kind"},
		{two, "\xff\xffheartbeat\x00", "banned"},
		{one, "\xff\xffgetServers\x00\x01", "malformed_request"},
		{one, "\xff\xffclAuth\x00\x01", "malformed_request"},
		{one, "\xff\xffclAuth\x00" + strings.Repeat("\x00", 13), "malformed_request"},
		{one, "\xff\xffsrvAuth\x00\x01", "malformed_request"},
		{one, "\xff\xffinfoResponse\x00\x01\x02\x03\x04", "unexpected"},
		{one, "\xff\xffinfoResponse\x00", "unexpected"},
		{one, strings.Repeat("x", idtech4.MaxPacket+1), "oversized"},
		{netip.AddrPortFrom(one.Addr(), 0), "\xff\xffheartbeat\x00", "foreign"},
	} {
		if got := w.send(test.from, []byte(test.data)); got != test.want || len(w.w.Take()) > 0 {
			t.Errorf("%.40q: dropped for %q, want %q", test.data, got, test.want)
		}
	}
	entries := w.book.Of(one.Addr())
	if !slices.ContainsFunc(entries, func(e verdicts.Entry) bool {
		return e.Verdict == verdicts.NotUnderstood && e.Detail == `\xff\xffservers\x00`
	}) {
		t.Errorf("no verdict shows the first bytes of an unknown message: %+v", entries)
	}
}

func TestListsAreBudgeted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.ListBurst, o.ListWindow = 2, time.Second })
		w.register(one, inn(doom3))
		for i, want := range []string{one.String(), one.String(), "no_budget"} {
			if got := w.ask(asker, doom3); got != want {
				t.Errorf("request %d: %q, want %q", i, got, want)
			}
		}
		time.Sleep(time.Second)
		if got := w.ask(asker, doom3); got != one.String() {
			t.Errorf("after the window: %q", got)
		}
	})
}

// TestFloodFromForgedAddresses lets an attacker send everything that clients send.
func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 300 {
			w.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(27666+i)), inn(doom3))
		}
		w.w.Take()
		begin := time.Now()
		info := inn(doom3)
		a := &nettest.Attack{
			Handler: w.Server, To: home, Count: 20_000, Memory: 64 << 20,
			Packets: [][]byte{
				idtech4.AppendHeartbeat(nil), idtech4.Request{Protocol: doom3}.AppendTo(nil), idtech4.Request{}.AppendTo(nil), info.AppendTo(nil),
				idtech4.Keys{Protocol: doom3, Server: one, Key: []byte("ABCDABCDABCDABCD")}.AppendTo(nil),
				idtech4.Check{Protocol: doom3, Player: one, Client: 3, GUID: []byte("abcdefghijk")}.AppendTo(nil),
				idtech4.Check{Protocol: doom3, Player: one, Client: -1}.AppendTo(nil),
			},
			Reply: func(_ netip.AddrPort, b []byte) [][]byte {
				kind, rest, _ := idtech4.Cut(b)
				c, err := idtech4.Challenge(rest)
				if kind != idtech4.KindGetInfo || err != nil {
					return nil
				}
				info.Challenge = c
				return [][]byte{info.AppendTo(nil)}
			},
			Honest: func(a netip.Addr) bool { return w.list.HasAt(a) },
			Exceptions: []nettest.Exception{{
				Name: "lists", Is: func(b []byte) bool { kind, _, _ := idtech4.Cut(b); return kind == idtech4.KindServers },
				More: func(nettest.Account) (packets, size int) {
					lists := w.opt.ListBurst + int(time.Since(begin)/w.opt.ListWindow) + 1
					return lists * 3, lists * 3 * idtech4.MaxList
				},
			}, {
				Name: "questions", Is: func(b []byte) bool { kind, _, _ := idtech4.Cut(b); return kind == idtech4.KindGetInfo },
				More: func(in nettest.Account) (packets, size int) { return 0, 2 * in.PacketsIn },
			}},
		}
		a.Pass = func() { time.Sleep(50 * time.Millisecond); w.Expire(a, time.Now()) }
		r := a.Run(t)
		t.Logf("amplification %+v", r)
		for _, srv := range w.list.All() {
			if at := srv.Public; at.Addr().As4()[0] != 192 && !a.Own(at.Addr()) {
				t.Errorf("%v is listed and proved nothing", at)
			}
		}
	})
}

func BenchmarkHeartbeat(b *testing.B) {
	w := newWorld(b, func(o *Options) { o.Verdicts = nil; o.UnprovedRate, o.UnprovedBurst = 1000000, 1000000 })
	p := netserve.Packet{Data: idtech4.AppendHeartbeat(nil), From: one, To: home}
	b.ReportAllocs()
	for b.Loop() {
		w.ServePacket(nettest.Discard{}, p)
	}
}

func TestNumbersOfChallengesDiffer(t *testing.T) {
	seen := map[uint32]bool{}
	for i := range 1000 {
		var c uplink.Challenge
		binary.LittleEndian.PutUint32(c[:], uint32(i))
		seen[number(c)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d numbers of 1000 challenges", len(seen))
	}
}
