package natneg

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// steps returns the steps of the self-test in which two players negotiate without a NAT:
// they meet, and they pretend that they cannot and are relayed.
func steps() []service.Step {
	return []service.Step{
		{Name: "natneg", Needs: []string{"natneg"}, Order: service.OrderAlone, Run: meet},
		{Name: "relayed pair", Needs: []string{"natneg", "relay"}, Order: service.OrderAlone, Run: meetRelayed},
	}
}

// trialVersion is the protocol version of the self-test.
const trialVersion = 3

var (
	errWrongPartner = errors.New("the players were sent other addresses than each other's")
	errNotRelayed   = errors.New("players who could not connect were not sent to the relay")
	errNotPassedOn  = errors.New("the relay did not pass packets on in both directions: are relay.ports open?")
)

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
		if err := players[i].Report(netclient.Bound(ctx, service.StepTimeout)); err != nil {
			return fmt.Errorf("the report of player %d was not confirmed: %w", i, err)
		}
	}
	return nil
}

// meetRelayed has two players negotiate who report that they cannot meet, until they are
// relayed, and exchange packets through the relay.
func meetRelayed(ctx context.Context, t *service.Trial) error {
	var players [2]Peer
	for i := range players {
		conn, err := netclient.Listen(ctx, t.Address("natneg"))
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		players[i] = Peer{Packets: conn, Version: trialVersion, Index: byte(i), Game: t.Game}
	}
	for range 2 { // the first time they are sent to each other, unless this was tested before
		told, err := introduce(ctx, &players)
		if err != nil {
			return err
		}
		relayed := told[0].Port() != players[1].Local().Port() && told[1].Port() != players[0].Local().Port()
		if relayed {
			if err := exchange(ctx, &players, told); err != nil {
				return err
			}
		}
		for i := range players {
			if err := players[i].report(netclient.Bound(ctx, service.StepTimeout), relayed); err != nil {
				return fmt.Errorf("the report of player %d was not confirmed: %w", i, err)
			}
		}
		if relayed {
			return nil
		}
	}
	return errNotRelayed
}

// introduce has two players negotiate with a new cookie. It returns the address that each
// of them got.
func introduce(ctx context.Context, players *[2]Peer) (told [2]netip.AddrPort, err error) {
	var cookie [4]byte
	_, _ = rand.Read(cookie[:]) // never returns an error
	for i := range players {
		players[i].Cookie = binary.BigEndian.Uint32(cookie[:])
		if err := players[i].Announce(); err != nil {
			return told, err
		}
	}
	for i := range players {
		if told[i], err = players[i].Partner(netclient.Bound(ctx, service.StepTimeout)); err != nil {
			return told, fmt.Errorf("player %d was sent no partner: %w", i, err)
		}
	}
	return told, nil
}

// Packets that are sent through the relay until one arrives: the first ones come before
// the relay knows both players.
const (
	exchangeSends = 15
	exchangeEvery = 200 * time.Millisecond
)

// exchange sends packets from each player to the other through the relay.
func exchange(ctx context.Context, players *[2]Peer, told [2]netip.AddrPort) error {
	var heard [2]bool
	for range exchangeSends {
		for i := range players {
			if err := players[i].SendTo([]byte("selftest"), told[i]); err != nil {
				return err
			}
		}
		for i := range players {
			err := players[i].Await(netclient.Bound(ctx, exchangeEvery), func(b []byte, from netip.AddrPort) (bool, error) {
				return string(b) == "selftest" && from == told[i], nil
			})
			heard[i] = heard[i] || err == nil
		}
		if heard[0] && heard[1] {
			return nil
		}
	}
	return errNotPassedOn
}
