package played

import (
	"fmt"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// Counts of peers are shown as theirs, and never as reports of this server.
func TestPeersRaiseNoWord(t *testing.T) {
	table, _ := newTable(t)
	now := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	a, b := table.NewPeer(), table.NewPeer()
	serial := table.Serial()
	gog := PeerCount{"swat4", []string{"gog", "retail"}, games.Tally{Times: 40, Last: "2026-11-03", Version: "1.1"}}
	if n := a.Set([]PeerCount{gog, {"swat4", []string{"steam"}, games.Tally{Times: 2, Last: "2026-11-05"}}}, now); n != 0 {
		t.Errorf("%d counts were left out", n)
	}
	b.Set([]PeerCount{{"swat4", nil, games.Tally{Times: 1, Last: "2026-11-01"}}}, now)
	if table.Serial() == serial {
		t.Error("the serial is the same")
	}
	wantSum(t, "all", table, nil, games.Reported{Elsewhere: games.Tally{Times: 43, Last: "2026-11-05", Version: "1.1"}})
	wantSum(t, "GOG", table, []string{"gog"}, games.Reported{Elsewhere: games.Tally{Times: 41, Last: "2026-11-03", Version: "1.1"}})
	wantSum(t, "discs, which are counted with GOG", table, []string{"retail"}, games.Reported{Elsewhere: games.Tally{Times: 1, Last: "2026-11-01"}})
	g := games.Game{Name: "swat4", Facts: games.Facts{Needs: []games.Service{"qr2"}}}
	if o := g.Outlook(func(games.Service) games.Served { return games.Running }, table.Of("swat4")); o.Word != games.Untried ||
		o.String() != "not reported yet: the services run here; played elsewhere: 43 times, last on 5 November 2026, version 1.1" {
		t.Errorf("the outlook is %s: %s", o.Word, o)
	}
	add(t, table, report("a", storage.Played))
	a.Close()
	wantSum(t, "after a peer left", table, []string{"gog"}, games.Reported{Times: 1, Last: "2026-11-28", Elsewhere: games.Tally{Times: 1, Last: "2026-11-01"}})
	b.Set(nil, now)
	wantSum(t, "after the other says nothing", table, []string{"gog"}, games.Reported{Times: 1, Last: "2026-11-28"})
}

// What a peer says is bounded, in what it says of a game and in all.
func TestPeerIsBounded(t *testing.T) {
	table, _ := newTable(t)
	now := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	p := table.NewPeer()
	good := games.Tally{Times: 1, Last: "2026-11-03"}
	for what, c := range map[string]PeerCount{
		"a name": {"Swat 4", nil, good}, "no name": {"", nil, good}, "never": {"swat4", nil, games.Tally{Last: "2026-11-03"}},
		"less": {"swat4", nil, games.Tally{Times: -5, Last: "2026-11-03"}}, "no day": {"swat4", nil, games.Tally{Times: 1, Last: "yesterday"}},
		"tomorrow": {"swat4", nil, games.Tally{Times: 1, Last: "2026-12-01"}}, "long ago": {"swat4", nil, games.Tally{Times: 1, Last: "1999-12-01"}},
	} {
		if n := p.Set([]PeerCount{c}, now); n != 1 {
			t.Errorf("%s: %d left out, want 1", what, n)
		}
		wantSum(t, what, table, nil, games.Reported{})
	}
	p.Set([]PeerCount{{"swat4", []string{"pirated"}, games.Tally{Times: 1 << 40, Last: "2026-11-03", Version: "1\n<b>\x00"}}}, now)
	wantSum(t, "a large count", table, []string{"gog"}, games.Reported{Elsewhere: games.Tally{Times: maxPeerTimes, Last: "2026-11-03", Version: "1<b>"}})
	many := make([]PeerCount, MaxPeerGames+1)
	for i := range many {
		many[i] = PeerCount{fmt.Sprint("game", i), nil, good}
	}
	if n := p.Set(many[:MaxPeerGames], now); n != 0 {
		t.Errorf("%d left out of as many as there may be", n)
	}
	if n := p.Set(many, now); n != 1 {
		t.Errorf("%d left out of one more than there may be", n)
	}
}
