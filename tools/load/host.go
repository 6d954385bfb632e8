package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/qr2"
)

// The games of the users, both from the catalogue: the first has the servers
// whose lists are asked for, those of the second come and go.
const (
	game        = "gmtest"
	secret      = "HA6zkS"
	otherGame   = "swat4"
	otherSecret = "tG3j8c"
)

// Groups of addresses, 127.GROUP.x.y.
const (
	groupHosts byte = 10 + iota
	groupRegistrations
	groupBrowsers
	groupOldBrowsers
	groupPlayers
	groupSearchers
	groupNegotiators
	groupZandronum
	groupLaunchers
	groupQueries
	groupValve
	groupValveBrowsers
	groupQuake3
	groupQuake3Browsers
	groupEpic
	groupEpicBrowsers
	groupDoom3
	groupDoom3Browsers
	groupCoD
	groupCoDBrowsers
	groupNWN
	groupWeb
	groupDNS
	groupEcho
	groupChat
	groupStats
	groupJoiners
	groupRelayed
	groupMasters
	groupTold
	groupFleet
	groupFresh
	groupLookouts
	groupQuake2
	groupQuake2Browsers
	groupQuakeWorld
	groupQuakeWorldBrowsers
)

// host is a game server that reports in QR2's binary form.
type host struct {
	qr2.Host
	players, beats int
}

// newHost opens the socket of a server.
func newHost(w *world, at netip.Addr, name, game, secret string) (*host, error) {
	c, err := w.bind(at, w.daemon.at("qr2"), true)
	if err != nil {
		return nil, err
	}
	h := &host{Host: qr2.Host{
		Packets: c, Game: game, Secret: secret, Instance: rand.Uint32(), Private: c.Local(), NATNeg: true, // needs only to differ
		Rules: hostRules(int(c.Local().Port())), Players: hostPlayers(), Teams: hostTeams(),
	}}
	h.setRule("hostname", name)
	h.setRule("mapname", "map"+strconv.Itoa(int(h.Instance%16)))
	h.play()
	return h, nil
}

// hostRules are the rules that all servers report, some 40. Those without a value differ.
func hostRules(port int) []qr2.Rule {
	rules := []qr2.Rule{
		{Name: "hostname"},
		{Name: "gamever", Value: "1.1"},
		{Name: "hostport", Value: strconv.Itoa(port)},
		{Name: "mapname"},
		{Name: "gametype", Value: "arena"},
		{Name: "gamevariant", Value: "standard"},
		{Name: "numplayers"},
		{Name: "maxplayers", Value: "16"},
		{Name: "gamemode", Value: "openplaying"},
		{Name: "timelimit", Value: "40"},
		{Name: "fraglimit", Value: "100"},
		{Name: "password", Value: "0"},
	}
	for i := range 20 {
		rules = append(rules, qr2.Rule{Name: "setting_" + strconv.Itoa(i), Value: strconv.Itoa(i * 100)})
	}
	return rules
}

// maxHostPlayers bounds the players of a server: it has fewer.
const maxHostPlayers = 8

// hostPlayers returns the table of players, without rows.
func hostPlayers() qr2.Table {
	return qr2.Table{Columns: []string{"player_", "score_", "ping_", "team_"}}
}

func hostTeams() qr2.Table {
	return qr2.Table{Columns: []string{"team_t", "score_t"}, Rows: [][]string{{"Red", "10"}, {"Blue", "12"}}}
}

// hostRows returns the rows of players with a score.
func hostRows(players, score int) [][]string {
	rows := make([][]string, players)
	for i := range rows {
		rows[i] = []string{"Player " + strconv.Itoa(i), strconv.Itoa(score), "42", strconv.Itoa(i % 2)}
	}
	return rows
}

// setRule sets the value of a rule.
func (h *host) setRule(name, value string) {
	for i := range h.Rules {
		if h.Rules[i].Name == name {
			h.Rules[i].Value = value
		}
	}
}

// openHost has a server listed.
func openHost(_ context.Context, w *world, i int) (user, error) {
	h, err := newHost(w, address(groupHosts, i), fmt.Sprintf("Server %d of the load", i), game, secret)
	if err != nil {
		return nil, err
	}
	if err := h.Register(soon()); err != nil {
		h.close(true)
		return nil, err
	}
	return h, nil
}

// play changes the report of the server: rules, players and teams in about 1,000 bytes.
func (h *host) play() {
	h.players = (h.players + 1) % maxHostPlayers
	h.setRule("numplayers", strconv.Itoa(h.players))
	h.Players.Rows = hostRows(h.players, h.beats%100)
	h.beats++
}

// do is a heartbeat, which has no answer, and a keepalive, whose answer shows
// that the daemon has read both.
func (h *host) do(context.Context) error {
	h.play()
	if err := h.Heartbeat(qr2.StateSame); err != nil {
		return err
	}
	return h.Keepalive(soon())
}

func (h *host) close(rude bool) {
	if !rude {
		_ = h.Leave() // it would expire anyway
	}
	_ = h.Close()
}

// idleHost is a host that sends keepalives alone.
type idleHost struct{ *host }

func (k idleHost) do(context.Context) error { return k.Keepalive(soon()) }

func openIdleHost(ctx context.Context, w *world, i int) (user, error) {
	u, err := openHost(ctx, w, i)
	if err != nil {
		return nil, err
	}
	return idleHost{u.(*host)}, nil
}

// newcomer registers a server of the other game, and leaves at once.
type newcomer struct {
	w *world
	i int
}

func openNewcomer(_ context.Context, w *world, i int) (user, error) { return &newcomer{w, i}, nil }

func (n *newcomer) do(context.Context) error {
	h, err := newHost(n.w, address(groupRegistrations, n.i), "Newcomer", otherGame, otherSecret)
	if err != nil {
		return err
	}
	err = h.Register(soon())
	h.close(err != nil)
	return err
}

func (n *newcomer) close(bool) {}

var errListLength = errors.New("the list has another number of servers")
