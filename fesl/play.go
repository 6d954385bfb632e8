package fesl

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strconv"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// plays is the step of the trial game.
var plays = []service.Play{
	{Service: name, Network: "TCP", Order: service.PlayMeets, Means: "the game cannot go online", Run: play},
}

// play says Hello at the port that is built into the game, if the service has its usual
// ones.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	own, usual := PortOf(g.Name), strconv.Itoa(int(PortOf(trialGame)))
	if own != 0 && port == usual {
		address = net.JoinHostPort(host, strconv.Itoa(int(own)))
	}
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		if _, err := NewClient(conn).Hello(ctx, clientOf(g.Name)); err != nil {
			return "", err
		}
		return "it answers in plain text at " + address, nil
	})
}

// trialGame is the game whose port is that of the service, and which the self-test plays.
const trialGame = "redalert3pc"

// clientOf returns how a game of the catalogue names itself.
func clientOf(game string) string {
	for _, t := range titles {
		if t.game == game {
			return t.client
		}
	}
	return game
}

// steps are those of the self-test.
func steps() []service.Step {
	return []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}}
}

// try signs in to an account that does not exist. The refusal passes.
func try(ctx context.Context, t *service.Trial) error {
	ctx = netclient.Bound(ctx, service.StepTimeout)
	conn, err := netclient.DialTCP(ctx, t.Address(name))
	if err != nil {
		return err
	}
	c := NewClient(conn)
	defer func() { _ = c.Close() }()
	if _, err := c.Hello(ctx, clientOf(trialGame)); err != nil {
		return err
	}
	_, err = c.Play(ctx, "selftest-"+rand.Text()+"@selftest.invalid", "x", "x")
	why, refused := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return errors.New("a player that does not exist was signed in")
	case refused && (why.Code == int(codeUnknownName) || why.Code == int(codePassword)):
		return nil
	}
	return err
}
