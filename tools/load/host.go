package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/respawnd/respawnd/internal/gamespy"
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
	groupWeb
	groupDNS
	groupEcho
)

// host is a game server that reports in QR2's binary form.
type host struct {
	socket         *socket
	instance       uint32
	name           string
	game, secret   string
	players, beats int
}

// openHost has a server listed.
func openHost(_ context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupHosts, i), w.daemon.at("qr2"))
	if err != nil {
		return nil, err
	}
	h := &host{socket: &socket{conn: c}, instance: rand.Uint32(), name: fmt.Sprintf("Server %d of the load", i), game: game, secret: secret} //nolint:gosec // needs only to differ
	if err := h.register(); err != nil {
		h.close(true)
		return nil, err
	}
	return h, nil
}

// heartbeat sends what servers say of themselves: about 40 rules, players and
// teams in about 1,000 bytes. Something of it changes each time.
func (h *host) heartbeat(state string) error {
	h.players = (h.players + 1) % 8
	rules := []qr2.Rule{
		{Name: "localip0", Value: h.socket.local().Addr().String()},
		{Name: "localport", Value: strconv.Itoa(int(h.socket.local().Port()))},
		{Name: "natneg", Value: "1"},
		{Name: "statechanged", Value: state},
		{Name: "gamename", Value: h.game},
		{Name: "hostname", Value: h.name},
		{Name: "gamever", Value: "1.1"},
		{Name: "hostport", Value: strconv.Itoa(int(h.socket.local().Port()))},
		{Name: "mapname", Value: "map" + strconv.Itoa(int(h.instance%16))},
		{Name: "gametype", Value: "arena"},
		{Name: "gamevariant", Value: "standard"},
		{Name: "numplayers", Value: strconv.Itoa(h.players)},
		{Name: "maxplayers", Value: "16"},
		{Name: "gamemode", Value: "openplaying"},
		{Name: "timelimit", Value: "40"},
		{Name: "fraglimit", Value: "100"},
		{Name: "password", Value: "0"},
	}
	for i := range 20 {
		rules = append(rules, qr2.Rule{Name: "setting_" + strconv.Itoa(i), Value: strconv.Itoa(i * 100)})
	}
	s := h.socket
	s.out = qr2.AppendHeartbeat(s.out[:0], h.instance, rules...)
	rows := make([][]string, h.players)
	for i := range rows {
		rows[i] = []string{"Player " + strconv.Itoa(i), strconv.Itoa(h.beats % 100), "42", strconv.Itoa(i % 2)}
	}
	var err error
	if s.out, err = gamespy.AppendTable(s.out, []string{"player_", "score_", "ping_", "team_"}, rows); err != nil {
		return err
	}
	if s.out, err = gamespy.AppendTable(s.out, []string{"team_t", "score_t"}, [][]string{{"Red", "10"}, {"Blue", "12"}}); err != nil {
		return err
	}
	h.beats++
	return s.send(s.out)
}

// await waits for a packet of one of two kinds.
func (h *host) await(kind qr2.Kind) (body []byte, err error) {
	err = h.socket.await(func(p []byte) (bool, error) {
		r, ok := qr2.ParseReply(p)
		body = r.Body
		if ok && r.Kind == qr2.KindRefusal {
			return false, fmt.Errorf("registration refused: %q", r.Body)
		}
		return ok && r.Kind == kind && r.Key == h.instance, nil
	})
	return body, err
}

func (h *host) register() error {
	if err := h.heartbeat("3"); err != nil {
		return err
	}
	challenge, err := h.await(qr2.KindChallenge)
	if err != nil {
		return fmt.Errorf("challenge: %w", err)
	}
	h.socket.out = qr2.AppendResponse(h.socket.out[:0], h.instance, h.secret, challenge)
	if err := h.socket.send(h.socket.out); err != nil {
		return err
	}
	if _, err := h.await(qr2.KindRegistered); err != nil {
		return fmt.Errorf("registration: %w", err)
	}
	return nil
}

// keepalive sends a keepalive and waits for its echo.
func (h *host) keepalive() error {
	h.socket.out = qr2.AppendKeepalive(h.socket.out[:0], h.instance)
	if err := h.socket.send(h.socket.out); err != nil {
		return err
	}
	_, err := h.await(qr2.KindKeepalive)
	return err
}

// do is a heartbeat, which has no answer, and a keepalive, whose answer shows
// that the daemon got as far.
func (h *host) do(context.Context) error {
	if err := h.heartbeat("0"); err != nil {
		return err
	}
	return h.keepalive()
}

func (h *host) close(rude bool) {
	if !rude {
		_ = h.heartbeat("2") // it would expire anyway
	}
	_ = h.socket.conn.Close()
}

// keeper is a host that sends keepalives alone.
type keeper struct{ *host }

func (k keeper) do(context.Context) error { return k.keepalive() }

func openKeeper(ctx context.Context, w *world, i int) (user, error) {
	u, err := openHost(ctx, w, i)
	if err != nil {
		return nil, err
	}
	return keeper{u.(*host)}, nil
}

// newcomer registers a server of the other game, and leaves at once.
type newcomer struct {
	w *world
	i int
}

func openNewcomer(_ context.Context, w *world, i int) (user, error) { return &newcomer{w, i}, nil }

func (n *newcomer) do(context.Context) error {
	c, err := n.w.bind(address(groupRegistrations, n.i), n.w.daemon.at("qr2"))
	if err != nil {
		return err
	}
	h := &host{socket: &socket{conn: c}, instance: rand.Uint32(), name: "Newcomer", game: otherGame, secret: otherSecret} //nolint:gosec // needs only to differ
	err = h.register()
	h.close(err != nil)
	return err
}

func (n *newcomer) close(bool) {}

var errListLength = errors.New("the list has another number of servers")
