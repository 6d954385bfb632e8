package master

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// source returns the n-th of many source addresses: 100 hosts on each IPv4
// address, all in different /24 networks.
func source(n int) netip.AddrPort {
	a := n / 100
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(a >> 8), byte(a), 1}), uint16(20000+n%100))
}

// start is an arbitrary time of day for tests that pass times themselves.
var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// at returns a server that is listed under its source address.
func at(game string, src netip.AddrPort, instance uint32) Server {
	return Server{Key: Key{src, instance}, Origin: fromQR2, Game: game, Public: src, Seen: start}
}

func mustPut(t testing.TB, r *Registry, s Server) *Server {
	t.Helper()
	if err := r.Put(s); err != nil {
		t.Fatalf("Put(%v %s): %v", s.Key, s.Game, err)
	}
	got, ok := r.Get(s.Key)
	if !ok {
		t.Fatalf("Get(%v) after Put: not listed", s.Key)
	}
	return got
}

// withRules returns s with rules and, if rows > 0, tables.
func withRules(t testing.TB, r *Registry, s Server, pairs ...string) Server {
	t.Helper()
	var rep Report
	fillRules(r, &rep, pairs...)
	if err := rep.Into(&s); err != nil {
		t.Fatalf("Into: %v", err)
	}
	return s
}

// fillRules fills the rules of a report with names and values in turn.
func fillRules(r *Registry, rep *Report, pairs ...string) {
	var reported []string
	for i := 0; i < len(pairs); i += 2 {
		reported = append(reported, pairs[i])
	}
	names := r.Names(reported)
	for i := range names.Reported() {
		if _, slot := names.ReportedName(i); slot >= 0 {
			rep.Rule([]byte(pairs[2*i+1]))
		}
	}
	rep.SetRules(names)
}

// pairsOf returns names and values in turn.
func pairsOf(f Fields) []string {
	var out []string
	for name, value := range f.All() {
		out = append(out, name, value)
	}
	return out
}

// publicsOf returns the sorted public addresses of a game's list.
func publicsOf(r *Registry, game string) []string {
	var out []string
	for s := range r.List(game) {
		out = append(out, s.Public.String())
	}
	slices.Sort(out)
	return out
}

// heartbeat is the report of a busy server: 40 rules, 8 players, 2 teams, about
// 1,000 bytes on the wire.
type heartbeat struct {
	rules, players, teams []string // names
	values                []string
	playerValues          []string
	teamValues            []string
}

func newHeartbeat() heartbeat {
	h := heartbeat{
		players: []string{"player_", "score_", "ping_", "team_"},
		teams:   []string{"team_t", "score_t"},
	}
	h.rules = append(h.rules, "hostname", "gamename", "gamever", "hostport", "mapname", "gametype", "numplayers", "maxplayers")
	for i := len(h.rules); i < 40; i++ {
		h.rules = append(h.rules, fmt.Sprintf("setting_%02d", i))
	}
	for i := range h.rules {
		h.values = append(h.values, fmt.Sprintf("value %02d", i))
	}
	for i := range 8 {
		h.playerValues = append(h.playerValues, fmt.Sprintf("A player %d", i), "12", "45", "1")
	}
	h.teamValues = []string{"Red", "10", "Blue", "12"}
	return h
}

// size is the length of the heartbeat on the wire.
func (h heartbeat) size() int {
	n := 5 + 1 + 2 + 1 + 2 + 1
	for _, list := range [][]string{h.rules, h.values, h.players, h.playerValues, h.teams, h.teamValues} {
		for _, s := range list {
			n += len(s) + 1
		}
	}
	return n
}

// fill writes the heartbeat into a report.
func (h heartbeat) fill(r *Registry, rep *Report) {
	rep.Reset()
	for _, v := range h.values {
		rep.Rule([]byte(v))
	}
	rep.SetRules(r.Names(h.rules))
	for _, v := range h.playerValues {
		rep.Player([]byte(v))
	}
	rep.SetPlayers(r.Names(h.players), len(h.playerValues)/len(h.players))
	for _, v := range h.teamValues {
		rep.Team([]byte(v))
	}
	rep.SetTeams(r.Names(h.teams), len(h.teamValues)/len(h.teams))
}

// Origins as protocols declare them.
var (
	fromQR2       = &Origin{Name: "qr2", Number: 1, Query: "gs3"}
	fromQR1       = &Origin{Name: "qr1", Number: 2, Query: "gs1"}
	fromZandronum = &Origin{Name: "zandronum", Query: "zandronum"}
)
