package theater

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// TestExamples replays the frames of the description.
func TestExamples(t *testing.T) {
	all := examples(t)
	f := start(t, nil)
	c := f.connect("192.0.2.1:40000")
	frame, err := wire.ParseFrame(all["C CONN"])
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	err = c.x.handle(frame, f.now)
	f.mu.Unlock()
	if err != nil || c.out.String() != string(all["S CONN"]) {
		t.Errorf("CONN is answered with\n%q, %v\nwant\n%q", c.out.Bytes(), err, all["S CONN"])
	}
	p := f.player(2, testGame)
	p.number = 2
	if err := p.say("GDAT", "LID", "257", "GID", "7"); err != nil || p.out.String() != string(all["S GDAT"]) {
		t.Errorf("GDAT of no game is answered with\n%q, %v\nwant\n%q", p.out.Bytes(), err, all["S GDAT"])
	}
}

// TestJoin is a game from its offer to its end, with a player who joins it and leaves.
func TestJoin(t *testing.T) {
	f := start(t, nil)
	host := f.player(1, testGame)
	host.wants([]string{"CGAM TID=3 LID=257 GID=1 MAX-PLAYERS=2 EKEY=* UGID=* SECRET=* JOIN=O J=O HXFR=0"},
		"CGAM", "LID", "-1", "NAME", "Co op", "PORT", "3000", "INT-IP", "10.0.0.1", "INT-PORT", "3001", "MAX-PLAYERS", "2", "JOIN", "O", "B-version", "7", "B-U-Map", "vz")
	guest := f.player(2, testGame)
	guest.wants([]string{"GLST TID=3 LID=257 LOBBY-NUM-GAMES=0 LOBBY-MAX-GAMES=10000 NUM-GAMES=0 FAVORITE-GAMES=0 FAVORITE-PLAYERS=0"}, "GLST", "LID", "257")
	guest.wants([]string{"EGAM ngam TID=4"}, "EGAM", "LID", "257", "GID", "1", "PORT", "3000") // it is not open yet
	host.wants([]string{
		"EGAM TID=4 LID=257 GID=1",
		"EGRQ LID=257 GID=1 PID=1 UID=1 NAME=Player1 R-USER=Player1 TICKET=* PTYPE=P IP=192.0.2.1 PORT=3000 R-INT-IP=10.0.0.1 R-INT-PORT=3001 TID=1",
	}, "EGAM", "LID", "257", "GID", "1", "PORT", "3000", "R-INT-IP", "10.0.0.1", "R-INT-PORT", "3001", "PTYPE", "P")
	host.wants([]string{
		"EGRS TID=5",
		"EGEG TID=4 LID=257 GID=1 PL=PC TICKET=* PID=1 I=192.0.2.1 P=3000 HUID=1 INT-IP=10.0.0.1 INT-PORT=3001 EKEY=* UGID=*",
	}, "EGRS", "LID", "257", "GID", "1", "PID", "1", "ALLOWED", "1")
	host.wants([]string{"PENT TID=6 PID=1"}, "PENT", "LID", "257", "GID", "1", "PID", "1")

	guest.wants([]string{
		"LLST TID=5 NUM-LOBBIES=1",
		"LDAT TID=5 LID=257 PASSING=1 NAME=mercs2PC01 LOCALE=en_US MAX-GAMES=10000 NUM-GAMES=1 FAVORITE-GAMES=0 FAVORITE-PLAYERS=0",
	}, "LLST")
	const game = "LID=257 GID=1 HU=1 HN=Player1 I=192.0.2.1 P=3000 N=Co op AP=1 MP=2 JP=0 QP=0 PL=PC PW=0 TYPE=G J=O V=7 F=0 NF=0 B-version=7 B-U-Map=vz"
	guest.wants([]string{"GLST TID=6 LID=257 LOBBY-NUM-GAMES=1 LOBBY-MAX-GAMES=10000 NUM-GAMES=1 FAVORITE-GAMES=0 FAVORITE-PLAYERS=0", "GDAT TID=6 " + game},
		"GLST", "LID", "257", "COUNT", "-1")
	guest.wants([]string{"GDAT TID=7 " + game}, "GDAT", "UID", "1")
	guest.wants([]string{"EGAM TID=8 LID=257 GID=1"}, "EGAM", "USER", "player1", "PORT", "4000", "R-INT-IP", "10.0.0.2", "R-INT-PORT", "4001", "PTYPE", "P", "R-U-level", "9")
	if got, want := host.hears(), "EGRQ LID=257 GID=1 PID=2 UID=2 NAME=Player2 R-USER=Player2 TICKET=* PTYPE=P IP=192.0.2.2 PORT=4000 R-INT-IP=10.0.0.2 R-INT-PORT=4001 R-U-level=9 TID=2"; len(got) != 1 || got[0] != want {
		t.Errorf("the host is asked %q\nwant %q", got, want)
	}
	host.wants([]string{"EGRS TID=7"}, "EGRS", "GID", "1", "PID", "2", "ALLOWED", "1")
	if got, want := guest.hears(), "EGEG TID=8 LID=257 GID=1 PL=PC TICKET=* PID=2 I=192.0.2.1 P=3000 HUID=1 INT-IP=10.0.0.1 INT-PORT=3001 EKEY=* UGID=*"; len(got) != 1 || got[0] != want {
		t.Errorf("the guest is sent %q\nwant %q", got, want)
	}
	host.wants([]string{"PENT TID=8 PID=2"}, "PENT", "GID", "1", "PID", "2")
	srv, ok := f.opt.Registry.Find(netip.MustParseAddrPort("192.0.2.1:3000"))
	if !ok || srv.Game != "mercs2" || srv.Origin != Origin || srv.Population() != 2 || srv.Players.Value(1, 0) != "Player2" {
		t.Errorf("the list of servers has %+v, %v", srv, ok)
	}
	third := f.player(3, testGame)
	third.wants([]string{"EGAM TID=3 LID=257 GID=1 ALLOWED=0 REASON=-602"}, "EGAM", "GID", "1", "PORT", "5000") // full
	third.wants([]string{"PCNT TID=4 COUNT=3"}, "PCNT", "LID", "257")

	guest.wants([]string{"ECNL TID=9 LID=257 GID=1"}, "ECNL", "LID", "257", "GID", "1")
	host.wants([]string{"PLVT TID=9"}, "PLVT", "GID", "1", "PID", "2")
	if srv, _ := f.opt.Registry.Find(srv.Public); srv.Population() != 1 {
		t.Errorf("the list of servers has %d players after one has left", srv.Population())
	}
	host.wants([]string{"RGAM TID=10"}, "RGAM", "LID", "257", "GID", "1")
	if _, ok := f.opt.Registry.Find(srv.Public); ok || len(f.games) != 0 || len(f.sources) != 0 {
		t.Error("the game has ended, and is still there")
	}
}

// TestHostDecides has a host refuse a player, not answer another one, and go while a third one waits.
func TestHostDecides(t *testing.T) {
	f := start(t, nil)
	host, guest := f.host(1), f.player(2, testGame)
	guest.ask("EGAM", "GID", "1", "PORT", "1")
	host.ask("EGRS", "GID", "1", "PID", "2", "ALLOWED", "0", "REASON", "7")
	if got := guest.hears(); len(got) != 1 || got[0] != "EGAM TID=3 LID=257 GID=1 ALLOWED=0 REASON=7" {
		t.Errorf("a guest who was refused is sent %q", got)
	}
	guest.ask("EGAM", "GID", "1", "PORT", "1")
	f.after(answerTime - 1)
	guest.silent()
	f.after(1)
	if got := guest.hears(); len(got) != 1 || got[0] != "EGAM TID=4 LID=257 GID=1 ALLOWED=0 REASON=-602" {
		t.Errorf("a guest whose host is silent is sent %q", got)
	}
	host.hears()
	if host.wants(nil, "EGRS", "GID", "1", "PID", "2", "ALLOWED", "1"); len(guest.hears()) > 0 {
		t.Error("a guest who was refused is let in")
	}
	guest.ask("EGAM", "GID", "1", "PORT", "1")
	f.mu.Lock()
	f.leave(host.x)
	f.mu.Unlock()
	if got := guest.hears(); len(got) != 1 || got[0] != "EGAM ngam TID=5" {
		t.Errorf("a guest whose host has gone is sent %q", got)
	}
	if len(f.games) != 0 || f.opt.Registry.Len() != 0 || f.attached != 1 || len(f.players) != 1 {
		t.Errorf("%d games, %d records, %d attached, %d players after a host has gone", len(f.games), f.opt.Registry.Len(), f.attached, len(f.players))
	}
}

// TestGuestGoes has guests whose connections end before and after they are in the game.
func TestGuestGoes(t *testing.T) {
	f := start(t, nil)
	host := f.host(1, "MAX-PLAYERS", "3")
	leave := func(c *client) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.leave(c.x)
	}
	early := f.player(2, testGame)
	early.ask("EGAM", "GID", "1", "PORT", "1")
	leave(early)
	host.hears()
	host.wants(nil, "EGRS", "GID", "1", "PID", "2", "ALLOWED", "1")
	late := f.player(3, testGame)
	late.ask("EGAM", "GID", "1", "PORT", "1")
	host.ask("EGRS", "GID", "1", "PID", "2", "ALLOWED", "1")
	host.ask("PENT", "GID", "1", "PID", "2")
	leave(late)
	if n := len(f.game(1).players()); n != 2 {
		t.Errorf("%d players, want two until the host says that one has left", n)
	}
	host.wants([]string{"PLVT TID=10"}, "PLVT", "GID", "1", "PID", "2")
	slow := f.player(4, testGame)
	slow.ask("EGAM", "GID", "1", "PORT", "1")
	host.ask("EGRS", "GID", "1", "PID", "2", "ALLOWED", "1")
	f.after(enterTime)
	if n := len(f.game(1).seats); n != 1 {
		t.Errorf("%d seats, want the one of the host after a guest did not arrive", n)
	}
}

// TestOnlyTheHost sends messages about a game that are not its host's, and messages out of order.
func TestOnlyTheHost(t *testing.T) {
	f := start(t, nil)
	f.host(1)
	other := f.host(2)
	for _, word := range []string{"UGAM", "UGDE", "RGAM", "EGRS", "PENT", "PLVT", "UPLA"} {
		other.wants(nil, word, "GID", "1", "PID", "1", "ALLOWED", "1", "NAME", "mine", "D-x", "1")
	}
	if g := f.game(1); g == nil || g.values.Get("NAME") != "A game" || len(g.details.Text) != 0 || g.seats[1] == nil {
		t.Error("a player has changed the game of another one")
	}
	other.wants(nil, "PENT", "GID", "2", "PID", "9")
	other.wants(nil, "EGRS", "GID", "2", "PID", "1", "ALLOWED", "1") // it was let in
	other.wants([]string{"EGAM TID=16 LID=257 GID=1 ALLOWED=0 REASON=-602"}, "EGAM", "GID", "1", "PORT", "1")
	other.wants([]string{"WHAT TID=17"}, "WHAT", "X", "1")
}

// TestSignIn has clients without a valid key, and two of one player.
func TestSignIn(t *testing.T) {
	f := start(t, nil)
	c := f.connect("192.0.2.1:40000")
	if err := c.say("GLST"); !errors.Is(err, endedEarly) {
		t.Errorf("a list before the sign-in: %v", err)
	}
	if err := c.say("USER", "LKEY", "key1"); !errors.Is(err, endedEarly) {
		t.Errorf("USER before CONN: %v", err)
	}
	c.ask("CONN", "PROT", "2")
	if err := c.say("USER", "LKEY", "key1"); !errors.Is(err, endedKey) {
		t.Errorf("USER with a key of no player: %v", err)
	}
	if got := c.hears(); len(got) != 1 || got[0] != "USER bpar TID=4" {
		t.Errorf("USER with a key of no player is answered with %q", got)
	}
	first := f.host(2)
	if err := first.say("USER", "LKEY", "key2"); !errors.Is(err, endedEarly) {
		t.Errorf("a second USER: %v", err)
	}
	f.player(2, testGame)
	if !errors.Is(first.kicked, presence.ErrDisplaced) || len(f.games) != 0 || len(f.players) != 1 {
		t.Errorf("the first session of a player was kicked with %v and left %d games", first.kicked, len(f.games))
	}
}

// A client that the hub kicks while it attaches is not signed in.
func TestBannedWhileSigningIn(t *testing.T) {
	var shared *lobby.Lobby
	f := start(t, func(o *Options) {
		shared = o.Lobby
		o.Attach = func(presence.Attached) func() {
			shared.Revoke("key1")
			return func() {}
		}
	})
	shared.Enter("key1", lobby.Player{Profile: 1, Client: testGame})
	c := f.connect("192.0.2.1:40000")
	c.ask("CONN", "PROT", "2")
	if err := c.say("USER", "LKEY", "key1"); !errors.Is(err, endedKey) || len(f.players) != 0 {
		t.Errorf("a player who was banned meanwhile: %v", err)
	}
}

// TestFilters lists games with filters.
func TestFilters(t *testing.T) {
	f := start(t, nil)
	f.host(1, "MAX-PLAYERS", "4", "B-U-Mode", "coop")
	f.host(2, "MAX-PLAYERS", "1", "B-U-Mode", "duel") // full
	f.host(3, "MAX-PLAYERS", "2", "B-U-Mode", "coop", "JOIN", "C", "B-U-mode", "x")
	f.player(4, "lotr-pandemic-pc").ask("CGAM", "PORT", "3000", "MAX-PLAYERS", "2")
	c := f.player(9, testGame)
	for _, test := range []struct {
		want    string
		filters []string
	}{
		{"1 2 3", nil},
		{"1 3", []string{"FILTER-NOT-FULL", "1"}},
		{"1 2", []string{"FILTER-NOT-CLOSED", "1"}},
		{"1", []string{"FILTER-MIN-SIZE", "3"}},
		{"2 3", []string{"GID", "1"}},
		{"1 2", []string{"COUNT", "2"}},
		{"", []string{"COUNT", "0"}},
		{"1 3", []string{"FILTER-ATTR-U-Mode", "coop"}},
		{"3", []string{"FILTER-ATTR-U-mode", "x"}},
		{"", []string{"FILTER-ATTR-U-Mode", "coop", "FILTER-ATTR-U-Map", "vz"}},
	} {
		var got []string
		for _, m := range c.ask("GLST", append([]string{"LID", "257"}, test.filters...)...)[1:] {
			_, rest, _ := strings.Cut(m, " GID=")
			id, _, _ := strings.Cut(rest, " ")
			got = append(got, id)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("with %v the list has %v, want %s", test.filters, got, test.want)
		}
	}
	if got := c.ask("GLST", "LID", "258"); got[0] != "GLST nrom TID=13" {
		t.Errorf("the list of a lobby that is not there: %q", got)
	}
	if got := c.ask("GDAT", "UID", "77"); got[0] != "GDAT ntfn TID=14" {
		t.Errorf("the game of a player who is not there: %q", got)
	}
	if got := c.ask("GDAT", "GID", "0"); !strings.Contains(got[0], " GID=1 ") {
		t.Errorf("any game: %q", got)
	}
	found := f.search(testGame, []lobby.Condition{{Key: "B-U-Mode", Value: "coop"}}, 9)
	if len(found) != 2 || found[0] != (lobby.Found{Lobby: 257, Game: 1}) || len(f.search(testGame, nil, 1)) != 1 || len(f.search("x", nil, 9)) != 0 {
		t.Errorf("a search finds %v", found)
	}
}

// TestBracket updates a game in brackets, as a dedicated server does, and shows its details.
func TestBracket(t *testing.T) {
	f := start(t, nil)
	c := f.player(1, testGame)
	c.ask("CGAM", "NAME", "x", "PORT", "3000", "MAX-PLAYERS", "8")
	c.wants(nil, "UBRA", "GID", "1", "START", "1")
	c.wants(nil, "UGAM", "GID", "1", "NAME", "new name", "B-U-Map", "a")
	c.wants(nil, "UGDE", "GID", "1", "D-KillCam", "1", "B-U-x", "2")
	c.wants([]string{"UBRA TID=4", "UBRA TID=5", "UBRA TID=6", "UBRA TID=7"}, "UBRA", "GID", "1", "START", "0")
	c.wants([]string{"UBRA TID=8"}, "UBRA", "GID", "1", "START", "0")
	c.ask("UBRA", "GID", "1", "START", "1")
	c.number += 1000 // it lies about the messages between
	c.wants([]string{"UBRA TID=1010"}, "UBRA", "GID", "1", "START", "0")
	guest := f.player(2, testGame)
	got := guest.ask("GDAT", "GID", "1")
	if len(got) != 2 || !strings.Contains(got[0], "N=new name ") || !strings.HasSuffix(got[0], " B-U-Map=a") || got[1] != "GDET TID=3 LID=257 GID=1 UGID=* D-KillCam=1" {
		t.Errorf("a game with details: %q", got)
	}
	guest.ask("EGAM", "GID", "1", "PORT", "4000")
	c.hears()
	c.ask("EGRS", "GID", "1", "PID", "1", "ALLOWED", "1")
	c.ask("PENT", "GID", "1", "PID", "1")
	c.wants([]string{"UPLA TID=1013"}, "UPLA", "GID", "1", "PID", "1", "P-team", "2")
	guest.hears()
	if got := guest.ask("GDAT", "GID", "1"); len(got) != 3 || got[2] != "PDAT TID=5 LID=257 GID=1 PID=1 UID=2 NAME=Player2 P-team=2" {
		t.Errorf("a game with a player: %q", got)
	}
}

// TestListOfServers hides a game, bans its address and takes its place in the list of servers.
func TestListOfServers(t *testing.T) {
	banned := netip.Addr{}
	f := start(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return a == banned } })
	host, guest := f.host(1), f.player(2, testGame)
	at := netip.MustParseAddrPort("192.0.2.1:3000")
	seen := func() bool { return len(guest.ask("GLST", "LID", "257")) == 2 }
	if !seen() {
		t.Fatal("the game is not listed")
	}
	if f.opt.Registry.Hide(at); seen() {
		t.Error("a game is listed that the operator hides")
	}
	if f.opt.Registry.Unhide(at); !seen() {
		t.Error("a game is not listed that is not hidden any more")
	}
	srv, _ := f.opt.Registry.Find(at)
	f.opt.Registry.Remove(srv.Key)
	if f.gone(0)(srv); seen() {
		t.Error("a game is listed whose record was replaced")
	}
	if host.ask("UGAM", "GID", "1", "NAME", "again"); !seen() {
		t.Error("a game has no new record after an update")
	}
	banned = at.Addr()
	if host.ask("UGAM", "GID", "1", "NAME", "banned"); seen() {
		t.Error("a game of a banned address is listed")
	}
	banned = netip.Addr{}
	other := *srv
	other.Origin, other.Key.Instance = &master.Origin{Name: "other"}, 7
	if err := f.opt.Registry.Put(other); err != nil {
		t.Fatal(err)
	}
	if host.ask("UGAM", "GID", "1", "NAME", "elsewhere"); seen() {
		t.Error("a game has taken the place of a server that reports by itself")
	}
}

// TestLimits goes to the bounds of what a host may say.
func TestLimits(t *testing.T) {
	f := start(t, nil)
	c := f.player(1, testGame)
	for _, pairs := range [][]string{
		{"PORT", "3000"},
		{"PORT", "3000", "MAX-PLAYERS", "0"},
		{"PORT", "3000", "MAX-PLAYERS", "129"},
		{"PORT", "65536", "MAX-PLAYERS", "2"},
		{"MAX-PLAYERS", "2"},
	} {
		if got := c.ask("CGAM", pairs...); len(got) != 1 || !strings.HasPrefix(got[0], "CGAM bpar ") {
			t.Errorf("CGAM with %v is answered with %q", pairs, got)
		}
	}
	many := []string{"PORT", "3000", "MAX-PLAYERS", "128"}
	for i := len(many) / 2; i < maxKeys; i++ {
		many = append(many, "B-U-"+strconv.Itoa(i), "x")
	}
	if got := c.ask("CGAM", many...); len(got) != 1 || !strings.HasPrefix(got[0], "CGAM TID=") {
		t.Errorf("CGAM with %d values is answered with %q", maxKeys, got)
	}
	g := f.game(c.x.hosts.id)
	if c.ask("UGAM", "GID", strconv.Itoa(g.id), "B-U-more", "x"); len(g.values.Text) != maxKeys {
		t.Errorf("a game has %d values", len(g.values.Text))
	}
	for range 8 {
		c.ask("UGAM", "GID", strconv.Itoa(g.id), "B-U-9", strings.Repeat("x", wire.MaxValue), "B-U-10", strings.Repeat("x", wire.MaxValue),
			"B-U-11", strings.Repeat("x", wire.MaxValue), "B-U-12", strings.Repeat("x", wire.MaxValue))
	}
	if g.values.size > maxText || len(g.values.exact("B-U-11")) != wire.MaxValue || g.values.exact("B-U-12") != "x" {
		t.Errorf("a game has %d bytes of values", g.values.size)
	}
	for i := range f.live.Load().GamesPerAddr + 1 {
		p := f.player(100+i, testGame)
		p.x.peer = netip.MustParseAddrPort("198.51.100.1:" + strconv.Itoa(40000+i))
		got := p.ask("CGAM", "PORT", strconv.Itoa(3000+i), "MAX-PLAYERS", "2")[0]
		if refused := strings.HasPrefix(got, "CGAM bpar"); refused != (i == f.live.Load().GamesPerAddr) {
			t.Errorf("game %d of an address is answered with %s", i+1, got)
		}
	}
	before := len(f.games)
	if c.ask("CGAM", "PORT", "3000", "MAX-PLAYERS", "2"); len(f.games) != before {
		t.Error("a player hosts two games")
	}
}

// TestInside takes addresses that a player states for its own network.
// What hosts say makes no answer so long that the client who asked is ended as too slow.
func TestLongAnswers(t *testing.T) {
	f := start(t, nil)
	const hosts = 10
	for id := 1; id <= hosts; id++ {
		c := f.player(id, "other-pc") // not in the catalogue: no record limits it
		values := []string{"LID", "-1", "NAME", "A game", "PORT", "3000", "MAX-PLAYERS", "2"}
		for i := range 15 {
			values = append(values, "B-U-"+strconv.Itoa(i), strings.Repeat("%", 1000))
		}
		c.ask("CGAM", values...)
		game := strconv.Itoa(c.x.hosts.id)
		c.ask("EGAM", "GID", game, "PORT", "3000")
		c.ask("EGRS", "GID", game, "PID", "1", "ALLOWED", "1")
		c.ask("PENT", "GID", game, "PID", "1")
	}
	guest := f.player(hosts+1, "other-pc")
	listed := 0
	for listed < hosts {
		if err := guest.say("GLST", "LID", "257", "GID", strconv.Itoa(listed)); err != nil {
			t.Fatal(err)
		}
		if n := guest.out.Len(); n > maxWaiting {
			t.Errorf("%d bytes answer GLST", n)
		}
		games := guest.hears()
		if n := len(games) - 1; n == 0 || n == hosts || !strings.Contains(games[0], fmt.Sprint(" NUM-GAMES=", n, " ")) {
			t.Fatalf("%d games after %d: %.120q", n, listed, games)
		}
		listed += len(games) - 1
	}
}

func TestInside(t *testing.T) {
	peer, here := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.1")
	for ip, want := range map[string]string{
		"10.1.2.3": "10.1.2.3:7", "": "192.0.2.1:7", "127.0.0.1": "192.0.2.1:7", "224.0.0.1": "192.0.2.1:7", "255.255.255.255": "192.0.2.1:7",
		"0.0.0.0": "192.0.2.1:7", "::1": "192.0.2.1:7", "x\nTID=1": "192.0.2.1:7",
	} {
		if got := inside(ip, "7", peer); got.String() != want {
			t.Errorf("inside(%q) = %v, want %s", ip, got, want)
		}
	}
	if got := inside("127.0.0.1", "70000", here); got.String() != "127.0.0.1:0" {
		t.Errorf("of a player on this machine: %v", got)
	}
}

// A name with line feeds and quotes stays one line.
func TestNoSecondLine(t *testing.T) {
	f := start(t, nil)
	f.host(1, "B-U-x", "a\nTID=9\n\"b=", "NAME", "x\nI=1.2.3.4")
	got := f.player(2, testGame).ask("GDAT", "GID", "1")
	if len(got) != 1 || !strings.Contains(got[0], "N=x\nI=1.2.3.4 ") || !strings.HasSuffix(got[0], "B-U-x=a\nTID=9\n\"b=") {
		t.Errorf("a game with line feeds in its values: %q", got)
	}
}

// TestSilence asks a player for signs of life, and ends it without one.
func TestSilence(t *testing.T) {
	f := start(t, nil)
	c := f.host(1)
	f.after(f.opt.Ping - time.Second)
	c.silent()
	f.after(time.Second)
	if got := c.hears(); len(got) != 1 || got[0] != "PING TID=0" {
		t.Errorf("after a minute a player is sent %q", got)
	}
	f.after(f.opt.Ping * (silentPings - 1))
	if c.kicked == nil {
		t.Error("a player who says nothing stays")
	}
	c.kicked = nil
	if c.ask("PING"); c.x.heard != f.now {
		t.Error("an answer to PING was not heard")
	}
	if f.after(time.Second); c.kicked != nil {
		t.Error("a player who was heard is disconnected")
	}
}

// TestLogHoldsNoSecrets has a player host and join, and searches the log.
func TestLogHoldsNoSecrets(t *testing.T) {
	log := new(nettest.Log)
	f := start(t, func(o *Options) {
		o.Log = zerolog.New(log).Level(zerolog.TraceLevel)
		o.Verdicts, o.Players = verdicts.NewLog(o.Log, 0), verdicts.NewLog(o.Log, 0)
	})
	host := f.host(1, "SECRET", "hidden-secret")
	host.ask("WHAT", "LKEY", "hidden-key")
	g := f.game(1)
	for _, s := range []string{"key1", "hidden", g.key, g.seats[1].ticket} {
		if strings.Contains(log.String(), s) {
			t.Errorf("the log has %q in it:\n%s", s, log)
		}
	}
	if !strings.Contains(log.String(), "unknown request") || !strings.Contains(log.String(), "mercs2") {
		t.Errorf("the log says nothing of the session:\n%s", log)
	}
}

// The secret that a host names is sent to no other player.
func TestSecretStays(t *testing.T) {
	f := start(t, nil)
	host := f.host(1, "SECRET", "hidden-secret")
	guest := f.player(2, testGame)
	for _, say := range [][]string{{"GLST", "LID", "257"}, {"GDAT", "LID", "257", "GID", "1"}, {"EGAM", "GID", "1", "PORT", "3000"}} {
		if err := guest.say(say[0], say[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	host.ask("EGRS", "GID", "1", "PID", "2", "ALLOWED", "1")
	if got := guest.out.String(); strings.Contains(got, "hidden") || !strings.Contains(got, "EGEG") {
		t.Errorf("a guest is sent %q", got)
	}
}

// TestMaxList offers one game more than an answer has room for.
func TestMaxList(t *testing.T) {
	f := start(t, nil)
	for id := 1; id <= maxList+1; id++ {
		c := f.connect(fmt.Sprintf("198.51.%d.%d:40000", id/200, id%200+1))
		key := "key" + strconv.Itoa(id)
		f.opt.Lobby.Enter(key, lobby.Player{Profile: storage.ProfileID(id), User: 1, Name: "P", Client: "other-pc"})
		c.ask("CONN", "PROT", "2")
		c.ask("USER", "LKEY", key)
		c.ask("CGAM", "LID", "-1", "PORT", "3000", "MAX-PLAYERS", "2")
		game := strconv.Itoa(c.x.hosts.id)
		c.ask("EGAM", "GID", game, "PORT", "3000")
		c.ask("EGRS", "GID", game, "PID", "1", "ALLOWED", "1")
		c.ask("PENT", "GID", game, "PID", "1")
		if id <= maxList {
			continue
		}
		if got := c.ask("GLST", "LID", "257", "COUNT", "-1"); len(got)-1 != maxList {
			t.Errorf("%d games are listed, want %d", len(got)-1, maxList)
		}
		if got := c.ask("GLST", "LID", "257", "GID", strconv.Itoa(c.x.hosts.id-1)); len(got)-1 != 1 {
			t.Errorf("%d games follow, want 1", len(got)-1)
		}
	}
}

func TestShort(t *testing.T) {
	if longest := strings.Repeat("x", maxID); short(longest) != longest || short(longest+"x") != "" {
		t.Error("an identity is not bounded as stated")
	}
}

// TestQueue has players wait for a full game: in their order, until another one leaves, and not after
// they have given up or the game has ended.
func TestQueue(t *testing.T) {
	f := start(t, nil)
	host := f.host(1, "QLEN", "2")
	enters := func(c *client, pid string) {
		t.Helper()
		if got, want := host.hears(), "UID="+c.x.uid(); len(got) != 1 || !strings.Contains(got[0], " PID="+pid+" "+want+" ") {
			t.Fatalf("the host is asked %q, want player %s with %s", got, pid, want)
		}
		host.ask("EGRS", "GID", "1", "PID", pid, "ALLOWED", "1")
		host.ask("PENT", "GID", "1", "PID", pid)
		if got := c.hears(); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "EGEG TID=3 ") {
			t.Fatalf("a player who is let in is sent %q", got)
		}
	}
	second, third, fourth, fifth := f.player(2, testGame), f.player(3, testGame), f.player(4, testGame), f.player(5, testGame)
	second.ask("EGAM", "GID", "1", "PORT", "1")
	enters(second, "2")
	third.wants([]string{"EGAM queu TID=3 LID=257 GID=1 QPOS=1 QLEN=2"}, "EGAM", "GID", "1", "PORT", "1")
	fourth.wants([]string{"EGAM queu TID=3 LID=257 GID=1 QPOS=2 QLEN=2"}, "EGAM", "GID", "1", "PORT", "4")
	fifth.wants([]string{"EGAM TID=3 LID=257 GID=1 ALLOWED=0 REASON=-602"}, "EGAM", "GID", "1", "PORT", "1")
	if got := fifth.ask("GDAT", "GID", "1"); len(got) != 1 || !strings.Contains(got[0], " QP=2 ") {
		t.Errorf("a game with a queue is %q", got)
	}
	third.wants([]string{"ECNL TID=4 LID=257 GID=1"}, "ECNL", "GID", "1")
	host.wants([]string{
		"PLVT TID=9",
		"QENT LID=257 GID=1 PID=2 UID=4 NAME=Player4 R-USER=Player4 TICKET=* PTYPE= IP=192.0.2.4 PORT=4 R-INT-IP=192.0.2.4 R-INT-PORT=0 TID=3",
	}, "PLVT", "GID", "1", "PID", "2")
	fifth.wants([]string{"EGAM queu TID=5 LID=257 GID=1 QPOS=1 QLEN=2"}, "EGAM", "GID", "1", "PORT", "1")
	f.after(answerTime) // the host says nothing of the fourth
	if got := fourth.hears(); len(got) != 1 || !strings.Contains(got[0], " ALLOWED=0 ") {
		t.Errorf("a player of whom the host says nothing is sent %q", got)
	}
	if got := host.hears(); len(got) != 1 || !strings.HasPrefix(got[0], "QENT ") || !strings.Contains(got[0], " UID=5 ") {
		t.Errorf("after that the host is asked %q", got)
	}
	third.wants([]string{"EGAM queu TID=5 LID=257 GID=1 QPOS=1 QLEN=2"}, "EGAM", "GID", "1", "PORT", "1")
	host.ask("RGAM", "GID", "1")
	for _, c := range []*client{third, fifth} {
		if got := c.hears(); len(got) != 1 || !strings.HasPrefix(got[0], "EGAM ngam ") || c.x.seat != nil {
			t.Errorf("a player who waits for a game that ends is sent %q", got)
		}
	}
}

// TestNoQueue has hosts that want none, or a longer one than there can be.
func TestNoQueue(t *testing.T) {
	for name, tt := range map[string]struct {
		values []string
		want   int
	}{
		"not stated":    {nil, 0},
		"negative":      {[]string{"QLEN", "-1"}, 0},
		"by hand":       {[]string{"QLEN", "2", "DISABLE-AUTO-DEQUEUE", "1"}, 0},
		"wanted":        {[]string{"QLEN", "2", "DISABLE-AUTO-DEQUEUE", "0"}, 2},
		"out of bounds": {[]string{"QLEN", "2000000000"}, maxSeats},
	} {
		if got := start(t, nil).host(1, tt.values...).x.hosts.places(); got != tt.want {
			t.Errorf("%s: a queue of %d, want %d", name, got, tt.want)
		}
	}
}

// TestExpel has the host hear of a player who must go, and not of one who only asks to enter.
func TestExpel(t *testing.T) {
	f := start(t, nil)
	host, guest := f.host(1), f.player(2, testGame)
	guest.ask("EGAM", "GID", "1", "PORT", "1")
	host.hears()
	guest.x.expel()
	host.silent()
	host.ask("EGRS", "GID", "1", "PID", "2", "ALLOWED", "1")
	guest.x.expel()
	if got := host.hears(); len(got) != 1 || got[0] != "KICK LID=257 GID=1 PID=2 TID=3" {
		t.Errorf("the host hears %q", got)
	}
	host.x.expel()
	host.silent()
}
