package natneg

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// steps returns the step of the self-test in which two players negotiate without
// a NAT.
func steps() []service.Step {
	return []service.Step{{Name: "natneg", Needs: []string{"natneg"}, Order: service.OrderAlone, Run: meet}}
}

// trialVersion is the protocol version of the self-test.
const trialVersion = 3

var errWrongPartner = errors.New("the players were sent other addresses than each other's")

func meet(ctx context.Context, t *service.Trial) error {
	var cookie [4]byte
	_, _ = rand.Read(cookie[:]) // never returns an error
	var players [2]Peer
	for i := range players {
		conn, err := netclient.Dial(ctx, t.Address("natneg"))
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		players[i] = Peer{Packets: conn, Version: trialVersion, Cookie: binary.BigEndian.Uint32(cookie[:]), Index: byte(i), Game: t.Game}
		if err := players[i].Announce(); err != nil {
			return err
		}
	}
	for i := range players {
		remote, err := players[i].Partner(netclient.Bound(ctx, service.StepTimeout))
		if err != nil {
			return fmt.Errorf("player %d was sent no partner: %w", i, err)
		}
		if other := players[1-i].Local(); remote != other {
			return fmt.Errorf("%w: %v for %v", errWrongPartner, remote, other)
		}
	}
	return nil
}
