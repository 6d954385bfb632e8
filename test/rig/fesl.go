package rig

import (
	"net"
	"testing"

	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/theater"
)

// FESLGame returns the connection of a game of EA that has said Hello.
func FESLGame(t testing.TB, d *Running, game string) *fesl.Client {
	t.Helper()
	conn, err := netclient.DialTCP(Wait(t), d.Address["fesl"].String())
	Must(t, err)
	c := fesl.NewClient(conn)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Hello(Wait(t), game)
	Must(t, err)
	return c
}

// TheaterPlayer makes an account with a persona as Mercenaries 2 does, and enters the list of games.
func TheaterPlayer(t testing.TB, d *Running, persona string) (*fesl.Client, *theater.Client) {
	t.Helper()
	game := FESLGame(t, d, "mercs2-pc")
	Must(t, game.Register(Wait(t), persona+"@example.com", StormPassword, persona))
	return game, EntersTheater(t, game, persona)
}

// EntersTheater signs a player in who has an account. The address of the list comes from the sign-in.
func EntersTheater(t testing.TB, game *fesl.Client, persona string) *theater.Client {
	t.Helper()
	hello, err := game.Hello(Wait(t), "mercs2-pc")
	Must(t, err)
	_, err = game.Ask(Wait(t), "acct", "Login", "name", persona, "password", StormPassword, "returnEncryptedInfo", "0")
	Must(t, err)
	entered, err := game.Ask(Wait(t), "acct", "LoginSubAccount", "name", persona)
	Must(t, err)
	conn, err := netclient.DialTCP(Wait(t), net.JoinHostPort(hello.Get("theaterIp"), hello.Get("theaterPort")))
	Must(t, err)
	c := theater.NewClient(conn)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Hello(Wait(t), "mercs2-pc")
	Must(t, err)
	Must(t, c.Enter(Wait(t), entered.Get("lkey")))
	return c
}
