package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
)

// PlayTimeout bounds each step of the trial game.
const PlayTimeout = 4 * time.Second

// ErrPlayNoKey is why a step of the trial game cannot read a list.
var ErrPlayNoKey = errors.New("the game has no secret key in the catalogue, so its list cannot be read")

// Play is a step of the trial game: what a player's game does first with a service. It registers no
// server and changes nothing.
type Play struct {
	Service games.Service
	Network string // of its port, for messages: "UDP"
	Order   PlayOrder
	Family  bool   // only games that name the service use it
	HTTPS   bool   // only games that ask web services over https use it, on the port for that
	Means   string // for the player if it fails
	Run     func(ctx context.Context, g games.Game, address string) (remark string, err error)
}

// PlayOrder is when a step is played: lower first, equal ones in the order of the services.
type PlayOrder int

// The order of steps.
const (
	PlayReports PlayOrder = iota // reports a server
	PlayLists                    // requests a list
	PlayMeets                    // signs in, chats, negotiates
	PlayKeeps                    // keeps data, loads files
)

// PlayTCP connects, talks, and closes the connection.
func PlayTCP(ctx context.Context, address string, talk func(net.Conn) (string, error)) (string, error) {
	conn, err := netclient.DialTCP(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	return talk(conn)
}

// PlayUDP talks with a socket to a server.
func PlayUDP(ctx context.Context, address string, talk func(*netclient.Packets) (string, error)) (string, error) {
	p, err := netclient.Dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	return talk(p)
}

// PlayedList returns how many servers a list has, in words.
func PlayedList(n int) string {
	if n == 1 {
		return "1 server"
	}
	return fmt.Sprintf("%d servers", n)
}
