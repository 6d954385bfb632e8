package fesl

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// playing returns a client that plays as a persona of an account of its own, and the number of the persona.
func (f *fixture) playing(client, persona string) (peer, string) {
	f.t.Helper()
	email := strings.ToLower(persona) + "@c.example"
	_, err := f.accounts.Users.Register(f.t.Context(), accounts.Registration{
		Namespace: 1, Email: email, Nick: persona, UniqueNick: persona, Password: testPassword, From: netip.MustParseAddr("127.0.0.1"),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	p := f.greeted(client)
	p.want("acct", "Login", "name", email, "password", testPassword)
	return p, p.want("acct", "LoginSubAccount", "name", persona).Get("profileId")
}

// update returns the fields of an UpdateStats: of each statistic the key, how it changes and its value.
func update(owner string, stats ...[3]string) []string {
	fields := []string{"u.[]", "1", "u.0.o", owner, "u.0.ot", "1", "u.0.s.[]", strconv.Itoa(len(stats))}
	for i, s := range stats {
		entry := wire.Member("u.0.s", i)
		fields = append(fields, entry+".k", s[0], entry+".ut", s[1], entry+".v", s[2], entry+".t", "", entry+".pt", "0")
	}
	return fields
}

// value asks for a statistic, by the number of its owner; empty: the client's own.
func (p peer) value(owner, key string) string {
	p.t.Helper()
	return p.want("rank", "GetStats", "owner", owner, "ownerType", "1", "keys.[]", "1", "keys.0", key).Get("stats.0.value")
}

func TestStats(t *testing.T) {
	f := start(t, nil)
	tanya, one := f.playing("mercs2-pc", "Tanya")
	boris, two := f.playing("mercs2-pc", "Boris")
	tanya.want("rank", "UpdateStats", update(one, [3]string{"vz", updateAbsolute, "100.5"}, [3]string{"kills", updateRelative, "2"}, [3]string{"oil", updateRounded, "3.6"})...)
	tanya.want("rank", "UpdateStats", update(one, [3]string{"kills", updateRelative, "3"}, [3]string{"KILLS", updateAbsolute, "9"})...)
	boris.want("rank", "UpdateStats", append(update(two, [3]string{"vz", updateAbsolute, "200"}), "u.0.s.0.t", "rich")...)
	for _, tt := range []struct{ owner, key, want string }{
		{"", "vz", "100.5000"},
		{one, "kills", "5.0000"},
		{one, "KILLS", "9.0000"},
		{one, "oil", "4.0000"},
		{one, "never", "0.0000"},
		{two, "vz", "200.0000"},
		{two, "kills", "0.0000"},
		{"4000000000", "vz", "0.0000"},
	} {
		if got := tanya.value(tt.owner, tt.key); got != tt.want {
			t.Errorf("%s of %q: %s, want %s", tt.key, tt.owner, got, tt.want)
		}
	}
	got := tanya.want("rank", "GetRankedStats", "keys.[]", "2", "keys.0", "vz", "keys.1", "kills")
	if got.Get("stats.0.rank") != "2" || got.Get("stats.1.rank") != "0" {
		t.Errorf("ranks %v", got)
	}
	got = boris.want("rank", "GetRankedStatsForOwners", "owners.[]", "2", "owners.0.ownerId", one, "owners.0.ownerType", "1", "owners.1.ownerId", two,
		"keys.[]", "1", "keys.0", "vz")
	if got.Get("rankedStats.[]") != "2" || got.Get("rankedStats.0.rankedStats.0.rank") != "2" || got.Get("rankedStats.1.rankedStats.0.value") != "200.0000" {
		t.Errorf("of several players: %v", got)
	}
	got = boris.want("rank", "GetStatsForOwners", "owners.[]", "1", "owners.0.ownerId", two, "keys.[]", "1", "keys.0", "vz")
	if got.Get("stats.0.ownerId") != two || got.Get("stats.0.stats.0.text") != "rich" {
		t.Errorf("of another: %v", got)
	}
	got = tanya.want("rank", "GetTopNAndMe", "key", "vz", "minRank", "1", "maxRank", "1", "keys.[]", "1", "keys.0", "kills")
	if got.Get("stats.[]") != "2" || got.Get("stats.0.name") != "Boris" || got.Get("stats.1.name") != "Tanya" || got.Get("stats.1.rank") != "2" ||
		got.Get("stats.1.addStats.0.value") != "5.0000" {
		t.Errorf("ranking: %v", got)
	}
	if got := tanya.want("rank", "GetTopNAndMe", "key", "vz", "minRank", "1", "maxRank", "2"); got.Get("stats.[]") != "2" {
		t.Errorf("one of the first is listed twice: %v", got)
	}
	if got := tanya.want("rank", "GetTopN", "key", "kills", "minRank", "1", "maxRank", "10"); got.Get("stats.[]") != "0" {
		t.Errorf("a ranking that the game does not have: %v", got)
	}
}

// TestStatsOfOthers changes statistics of other players, and of games whose statistics come from servers.
func TestStatsOfOthers(t *testing.T) {
	f := start(t, nil)
	tanya, one := f.playing("mercs2-pc", "Tanya")
	boris, two := f.playing(testGame, "Boris")
	mine := [3]string{"vz", updateAbsolute, "1"}
	tanya.want("rank", "UpdateStats", update(two, mine)...)
	tanya.want("rank", "UpdateStats", update("", mine)...)
	boris.want("rank", "UpdateStats", update(two, mine)...)
	if a, b := tanya.value(one, "vz"), boris.value(two, "vz"); a != "0.0000" || b != "0.0000" {
		t.Errorf("kept: %s, %s", a, b)
	}
	if list, err := f.server.opt.Stats.Ranking(t.Context(), "redalert3pc", "vz", 0, 1); err != nil || len(list) != 0 {
		t.Errorf("ranking of the other game: %v, %v", list, err)
	}
}

// TestStatsThatCannotBe sends values that cannot be stored; nothing of such a request is.
func TestStatsThatCannotBe(t *testing.T) {
	f := start(t, nil)
	p, id := f.playing("mercs2-pc", "Tanya")
	good := [3]string{"vz", updateAbsolute, "1"}
	for _, bad := range [][3]string{
		{"", updateAbsolute, "1"},
		{strings.Repeat("k", maxStatKey+1), updateAbsolute, "1"},
		{`a\b`, updateAbsolute, "1"},
		{"a:text", updateAbsolute, "1"},
		{"a", updateAbsolute, "NaN"},
		{"a", updateAbsolute, "-Inf"},
		{"a", updateAbsolute, "1e300"},
		{"a", updateAbsolute, "one"},
	} {
		p.wantError(codeFields, "rank", "UpdateStats", update(id, good, bad)...)
	}
	if got := p.value("", "vz"); got != "0.0000" {
		t.Errorf("part of a refused request is kept: %s", got)
	}
	p.want("rank", "UpdateStats", update(id, [3]string{strings.Repeat("k", maxStatKey), updateAbsolute, strconv.Itoa(storage.MaxScore)})...)
	p.want("rank", "UpdateStats", update(id, [3]string{strings.Repeat("k", maxStatKey), updateRelative, "1"})...)
	if got := p.value("", strings.Repeat("k", maxStatKey)); got != strconv.Itoa(storage.MaxScore)+".0000" {
		t.Errorf("beyond the greatest value: %s", got)
	}
}

// TestStatsHaveBounds asks for more than an answer has room for, and stores more than a player may.
func TestStatsHaveBounds(t *testing.T) {
	f := start(t, func(o *Options) {
		o.Stats = stats.New(o.Store.(storage.Stats), stats.Options{Limits: stats.Limits{MaxBlock: 1024}, Boards: func(string) []games.Board { return nil }})
	})
	p, id := f.playing("mercs2-pc", "Tanya")
	fields := []string{"owners.[]", "1000", "keys.[]", "100"}
	for i := range 100 {
		fields = append(fields, wire.Member("keys", i), strconv.Itoa(i))
	}
	got := p.want("rank", "GetStatsForOwners", fields...)
	if got.Get("stats.[]") != strconv.Itoa(maxOwners) || got.Get("stats.63.stats.[]") != strconv.Itoa(maxStats/maxOwners) {
		t.Errorf("%s players with %s statistics", got.Get("stats.[]"), got.Get("stats.63.stats.[]"))
	}
	full := false
	for i := range 40 {
		_, err := p.Ask(t.Context(), "rank", "UpdateStats", update(id, [3]string{strings.Repeat("k", 40) + strconv.Itoa(i), updateAbsolute, "1"})...)
		full = full || err != nil
	}
	if !full {
		t.Error("a block over its limit was stored")
	}
}
