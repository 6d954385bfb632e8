package qr2

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
)

// play checks the availability of the game, and sends a heartbeat without
// answering its challenge: nothing is listed.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	p, err := netclient.Dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	bits, err := AskAvailable(ctx, p, g.Name)
	switch {
	case err != nil:
		return "", err
	case bits&1 != 0:
		return "", errors.New("the server says that the online service of this game is gone: its operator has to add the game")
	case bits&2 != 0:
		return "", errors.New("the server says that the online service of this game is down for now")
	case g.Secret() == "":
		return "available", nil
	}
	var instance [4]byte
	_, _ = rand.Read(instance[:]) // never returns an error
	h := Host{Packets: p, Game: g.Name, Secret: g.Secret(), Instance: binary.BigEndian.Uint32(instance[:])}
	if err := h.Heartbeat(StateStarts); err != nil {
		return "", err
	}
	if _, err := h.Await(ctx, KindChallenge); err != nil {
		return "", fmt.Errorf("no challenge for a heartbeat: %w", err)
	}
	return "available, and servers are challenged", nil
}
