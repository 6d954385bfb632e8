package natneg

import (
	"context"
	"fmt"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
)

// play asks for the address of this computer.
func play(ctx context.Context, _ games.Game, address string) (string, error) {
	p, err := netclient.Dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	at, err := AskAddress(ctx, p)
	if err != nil {
		return "", err
	}
	remark := fmt.Sprintf("it sees this computer at %s", at)
	if local := p.Local(); at.Port() != local.Port() {
		remark += fmt.Sprintf(" (port %d here: a router in between)", local.Port())
	}
	return remark, nil
}
