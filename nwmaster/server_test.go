package nwmaster

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/nwn"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

var (
	home   = netip.MustParseAddr("198.51.100.1")
	one    = netip.MustParseAddrPort("192.0.2.1:5121")
	player = netip.MustParseAddrPort("203.0.113.9:5120")
	cheat  = netip.MustParseAddrPort("203.0.113.66:5120")
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

// people are accounts: names and passwords.
type people map[string]string

func (p people) profile(_ context.Context, _ int, nick string) (_ storage.Profile, _ storage.User, err error) {
	if _, ok := p[nick]; !ok {
		err = storage.ErrNotFound
	}
	return storage.Profile{}, storage.User{}, err
}

func (p people) checkProof(_ context.Context, q accounts.Proof) (accounts.Login, error) {
	password, ok := p[q.UniqueNick]
	switch {
	case q.UniqueNick == "Broken":
		return accounts.Login{}, errors.New("the disk is away")
	case !ok:
		return accounts.Login{}, accounts.ErrBadUniqueNick
	case q.Response != HashOf(password, q.Salt):
		return accounts.Login{}, accounts.ErrBadPassword
	case q.UniqueNick == "Banned":
		return accounts.Login{}, accounts.ErrBanned
	}
	return accounts.Login{}, nil
}

// world is a Server without sockets.
type world struct {
	*Server
	t      testing.TB
	list   *master.Registry
	book   *verdicts.Log
	w, ask *wire
}

func newWorld(t testing.TB, change func(*Options)) *world {
	t.Helper()
	game := func(name string, mark int) games.Game {
		return games.Game{Name: name, Facts: games.Facts{Needs: []games.Service{"nwmaster"}, Quake3: []games.Quake3{{Name: name, Protocols: []int{mark}}}}}
	}
	catalogue, err := games.NewCatalog([]games.Game{game("nwn", nwn.Game1), game("nwn2", nwn.Game2)})
	if err != nil {
		t.Fatal(err)
	}
	known := people{"Tester": "pw", "Banned": "pw", "Broken": ""}
	opt := Options{
		Profile: known.profile, CheckProof: known.checkProof, Asking: 40000,
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
	w := &world{New(opt), t, opt.Registry, opt.Verdicts, &wire{}, &wire{}}
	w.through(w.w, w.w, w.ask)
	return w
}

// portOf returns the further port of Neverwinter Nights 2, 0 for the first one.
func portOf(second bool) uint16 {
	if second {
		return usualPort + 1000
	}
	return 0
}

// send hands a packet to the master and returns its answers, or why it was dropped. Checks
// of players are made at once.
func (w *world) send(from netip.AddrPort, data []byte, second bool) []string {
	w.w.Take()
	p := netserve.Packet{Data: data, From: from, To: home}
	if dropped := w.At(portOf(second)).Handle(w.w, p, time.Now()); dropped != uplink.NotDropped {
		w.Dropped(p, dropped)
		return []string{dropped.String()}
	}
	for len(w.checks) > 0 {
		k := <-w.checks
		w.answer(k, w.check(context.Background(), k))
	}
	var out []string
	size := 0
	for _, s := range w.w.Take() {
		out = append(out, s.data)
		size += len(s.data)
	}
	return out
}

// report sends a report of a server and answers the question with rules.
func (w *world) report(from netip.AddrPort, r nwn.Rules) string {
	w.t.Helper()
	w.ask.Take()
	if got := w.send(from, nwn.AppendModule(nil, 0, "Inn"), false); len(got) > 0 {
		w.t.Fatalf("report: %q", got)
	}
	if out := w.ask.Take(); len(out) != 1 || out[0].to != from || out[0].data != string(nwn.AppendAskRules(nil, 40000)) {
		w.t.Fatalf("asked %v", out)
	}
	return w.rules(netserve.Packet{Data: r.AppendTo(nil), From: from, To: home}, time.Now()).String()
}

func rulesOf(game byte) nwn.Rules {
	return nwn.Rules{Port: 5121, Game: game, Players: 2, Most: 16, MaxLevel: 40, Module: []byte("Inn")}
}

// The examples were made from the layouts, not recorded.
func TestExamples(t *testing.T) {
	w := newWorld(t, nil)
	if got := HashOf("pw", "saltsalt"); got != "d153282f53d62b3669c44aea01132cb9" {
		t.Errorf("hash %s", got)
	}
	for name, test := range map[string]struct {
		in   string
		want []string
	}{
		"account": {
			"BMPA\x01\x14\x08\x00saltsalt\x06\x00Tester\x20\x00d153282f53d62b3669c44aea01132cb9\x00\x00\x57\x00", []string{"BMPR\x06\x00Tester\x00\x00"},
		},
		"status": {"BMST\x01\x14", []string{"BMSR\x00\x00"}},
		"keys": {
			"BMAU\x01\x14\x01\x00\xc6\x33\x64\x07\x00\x14\x08\x00saltsalt\x01\x00\x08\x00QABCDEFG\x20\x00d153282f53d62b3669c44aea01132cb9\x06\x00Tester",
			[]string{"BMAR\x01\x00\x08\x00QABCDEFG\x00\x00\x00\x00"},
		},
		"motd":        {"BMMA\x00\x14\x00\x00", []string{"BMMB\x00\x00"}},
		"version":     {"BMRA\x00\x14\x00\x00\x00", []string{"BMRB\x04\x008109"}},
		"friends":     {"BMFG\x00\x14\x06\x00Tester", []string{"BMBF\x00\x00\x00\x00"}},
		"new account": {"BMCA\x00\x14\x06\x00Tester", nil},
		"start":       {"BMSU\x57\x00\x00\x00\x00\x00\x00\x00", nil},
		"players":     {"BMDC\x01\x14\x01\x00\x00\x00", nil},
		"unknown":     {"BMXX\x00", []string{"unknown_kind"}},
		"nothing":     {"", []string{"foreign"}},
		"no port":     {"BMST", []string{"malformed_request"}},
		"cut":         {"BMPA\x01", []string{"malformed_request"}},
	} {
		if got := w.send(player, []byte(test.in), false); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	if got := w.send(player, []byte("BMST\x01\x14"), true); !slices.Equal(got, []string{"BMSR\x40\x00\x00\x00"}) {
		t.Errorf("status of Neverwinter Nights 2: %q", got)
	}
	if !slices.ContainsFunc(w.book.Of(player.Addr()), func(e verdicts.Entry) bool { return e.Detail == `BMXX\x00` }) {
		t.Errorf("no verdict shows an unknown message: %+v", w.book.Of(player.Addr()))
	}
}

func TestAccounts(t *testing.T) {
	ask := func(name, password, salt string, role byte) []byte {
		return nwn.AccountCheck{Salt: []byte(salt), Account: []byte(name), Hash: []byte(HashOf(password, salt)), Role: role}.AppendTo(nil)
	}
	for _, test := range []struct {
		mode, name, password, salt string
		second                     bool
		want                       nwn.Result
	}{
		{Open, "Tester", "pw", "s", false, nwn.Good},
		{Open, "Tester", "wrong", "s", false, nwn.Bad},
		{Open, "Stranger", "x", "s", false, nwn.Good},
		{Open, "Tester", "wrong", "s", true, nwn.BadPassword},
		{Open, "Banned", "pw", "s", true, nwn.BannedHere},
		{Open, "Banned", "pw", "s", false, nwn.Bad},
		{Open, "Tester", "pw", "", false, nwn.Bad},
		{Open, "Broken", "pw", "s", false, nwn.Bad},
		{Strict, "Tester", "pw", "s", false, nwn.Good},
		{Strict, "Stranger", "x", "s", false, nwn.Bad},
		{Strict, "Tester", "wrong", "s", false, nwn.Bad},
		{Off, "Tester", "wrong", "", false, nwn.Good},
	} {
		w := newWorld(t, func(o *Options) { o.Accounts = test.mode })
		want := []string{string(nwn.AppendAccountAnswer(nil, []byte(test.name), test.want))}
		if got := w.send(one, ask(test.name, test.password, test.salt, 0), test.second); !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", test, got, want)
		}
	}
	w := newWorld(t, func(o *Options) { o.Motd = strings.Repeat("m", maxMotd) })
	p := ask("Tester", "pw", "saltsalt", firstPlayerRole)
	got := w.send(player, p, false)
	if len(got) != 3 || len(strings.Join(got, "")) > len(p) || !strings.HasSuffix(got[2], "mm") {
		t.Errorf("a player gets %q for %d bytes", got, len(p))
	}
	if got := w.send(player, nwn.AppendMotd(nil, 1), false); !slices.Equal(got, []string{"BMMB\x00\x00"}) {
		t.Errorf("a message that is longer than its question: %q", got)
	}
	w = newWorld(t, func(o *Options) { o.MaxChecks = 1 })
	w.Handle(w.w, netserve.Packet{Data: p, From: player}, time.Now())
	if got := w.Handle(w.w, netserve.Packet{Data: p, From: player}, time.Now()); got != uplink.Busy {
		t.Errorf("a full queue: %q", got)
	}
}

func TestKeysOfBannedPlayers(t *testing.T) {
	w := newWorld(t, nil)
	c := nwn.KeyCheck{Player: cheat, Salt: []byte("salt"), Keys: []nwn.Key{{Public: []byte("QABCDEFG"), Hash: []byte(HashOf("", ""))}}, Account: []byte("Tester")}
	got := w.send(one, c.AppendTo(nil), false)
	if len(got) != 1 {
		t.Fatalf("answered %q", got)
	}
	list, err := nwn.ParseKeysAnswer([]byte(got[0][4:]))
	if err != nil || len(list) != 1 || list[0].Result != nwn.Bad {
		t.Errorf("answered %+v, %v", list, err)
	}
	c.Keys = []nwn.Key{{}, {}, {}}
	c.Account = nil
	if got := w.send(one, c.AppendTo(nil), false); len(strings.Join(got, "")) > len(c.AppendTo(nil)) {
		t.Errorf("keys without texts: %q", got)
	}
}

func TestServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		if got := w.rules(netserve.Packet{Data: rulesOf(nwn.Game1).AppendTo(nil), From: one, To: home}, time.Now()).String(); got != "unexpected" {
			t.Errorf("an answer without a question: %q", got)
		}
		if got := w.send(one, rulesOf(nwn.Game1).AppendTo(nil), false); got[0] != "unknown_kind" {
			t.Errorf("an answer to the port that all know: %q", got)
		}
		if got := w.report(one, rulesOf(nwn.Game1)); got != "" {
			t.Fatal(got)
		}
		srv, ok := w.list.At(one)
		if !ok || srv.Game != "nwn" || srv.Origin != Origin || srv.Population() != 2 || srv.QueryProtocol() != "nwn" {
			t.Fatalf("record %+v", srv)
		}
		if got := w.report(netip.MustParseAddrPort("192.0.2.2:5121"), rulesOf(nwn.Game2)); got != "" {
			t.Error(got)
		}
		if got := w.report(netip.MustParseAddrPort("192.0.2.3:5121"), rulesOf(1)); got != "unknown_game" {
			t.Errorf("another game: %q", got)
		}
		w.send(one, nwn.AppendStop(nil, 5121), false)
		for range 30 {
			time.Sleep(uplink.TickEvery)
			w.Expire(w.ask, time.Now())
		}
		if _, ok := w.list.At(one); ok {
			t.Error("a server that stopped is listed")
		}
	})
}

// TestFloodFromForgedAddresses lets an attacker send everything that clients send.
func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Motd = strings.Repeat("m", maxMotd) })
		var a *nettest.Attack
		handler := serveFunc(func(pw netserve.PacketWriter, p netserve.Packet) {
			w.ServePacket(pw, p)
			w.At(portOf(true)).ServePacket(pw, p) // the second half of each answer
			for len(w.checks) > 0 {
				k := <-w.checks
				w.answer(k, w.check(context.Background(), k))
			}
		})
		a = &nettest.Attack{
			Handler: handler, To: home, Count: 10_000, Memory: 64 << 20,
			Packets: [][]byte{
				nwn.AppendStatus(nil, 5121), nwn.AppendModule(nil, 0, "Inn"), nwn.AppendHeartbeat(nil), nwn.AppendStop(nil, 5121), nwn.AppendMotd(nil, 5120),
				nwn.AppendVersion(nil, 5120), []byte("BMFG\x00\x14\x00\x00"),
				nwn.AccountCheck{Salt: []byte("saltsalt"), Account: []byte("Tester"), Hash: []byte(HashOf("pw", "saltsalt")), Role: 2}.AppendTo(nil),
				nwn.KeyCheck{Player: player, Salt: []byte("s"), Keys: []nwn.Key{{Public: []byte("QABCDEFG")}}}.AppendTo(nil),
			},
			Exceptions: []nettest.Exception{{
				Name: "all, twice", Is: func([]byte) bool { return true },
				More: func(in nettest.Account) (packets, size int) { return 5 * in.PacketsIn, in.BytesIn + 24*in.PacketsIn },
			}},
		}
		w.through(a, a, a)
		a.Pass = func() { time.Sleep(50 * time.Millisecond); w.Expire(a, time.Now()) }
		t.Logf("amplification %+v", a.Run(t))
		if n := len(slices.Collect(func(yield func(int) bool) {
			for range w.list.All() {
				if !yield(0) {
					return
				}
			}
		})); n != 0 {
			t.Errorf("%d servers are listed that proved nothing", n)
		}
	})
}

type serveFunc func(netserve.PacketWriter, netserve.Packet)

func (f serveFunc) ServePacket(w netserve.PacketWriter, p netserve.Packet) { f(w, p) }

func TestSettings(t *testing.T) {
	for _, test := range []struct {
		motd, version string
		good          bool
	}{
		{strings.Repeat("m", maxMotd), "8109", true}, {strings.Repeat("m", maxMotd+1), "8109", false}, {"", "81090", false}, {"\n", "1", false}, {"", "", true},
	} {
		if err := (&Config{Motd: test.motd, Version: test.version}).check(); (err == nil) != test.good {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
