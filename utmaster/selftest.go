package utmaster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// The version and word of the game of the self-test, which its record in the catalogue
// has.
const (
	trialVersion = 1_000_000
	trialWord    = "GMTEST"
)

// trialTries is how often the self-test requests the list: the state of its server may
// still be on the way.
const (
	trialTries = 20
	trialPause = 20 * time.Millisecond
)

func findServer(ctx context.Context, t *service.Trial) error {
	h, err := openTrial(ctx, t.Address(serviceName))
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	ports, err := h.Ports(netclient.Bound(ctx, service.StepTimeout))
	if err != nil {
		return fmt.Errorf("the ports did not arrive: %w", err)
	}
	port := h.Sockets[GameSocket].Local().Port()
	if ports.Game != port {
		return fmt.Errorf("the master reported port %d for the game, want %d", ports.Game, port)
	}
	err = h.Report(&State{Port: int32(port), Name: "respawnd selftest", Map: "selftest", GameType: "xDeathMatch", Max: 8})
	if err != nil {
		return err
	}
	for range trialTries {
		found, err := seesTrial(ctx, t.Address(serviceName), port)
		if err != nil {
			return fmt.Errorf("no list for a request: %w", err)
		}
		if found {
			return nil
		}
		if !clock.Pause(ctx, trialPause) {
			return ctx.Err()
		}
	}
	return service.ErrNotInList
}

// openTrial opens the server of the self-test.
func openTrial(ctx context.Context, address string) (*Host, error) {
	conn, err := netclient.DialTCP(ctx, address)
	if err != nil {
		return nil, err
	}
	h := &Host{Version: trialVersion, Word: trialWord}
	for _, i := range []int{QuerySocket, GameSocket} {
		if h.Sockets[i], err = netclient.Listen(ctx, address); err != nil {
			h.closeSockets()
			_ = conn.Close()
			return nil, err
		}
	}
	if err := h.Open(netclient.Bound(ctx, service.StepTimeout), conn); err != nil {
		h.closeSockets()
		_ = conn.Close()
		return nil, err
	}
	return h, nil
}

func (h *Host) closeSockets() {
	for _, s := range h.Sockets {
		if s != nil {
			_ = s.Close()
		}
	}
}

// seesTrial requests the list and looks for a server by its port.
func seesTrial(ctx context.Context, address string, port uint16) (bool, error) {
	conn, err := netclient.DialTCP(ctx, address)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	b := Browser{Version: trialVersion, Word: trialWord}
	list, err := b.List(netclient.Bound(ctx, service.StepTimeout), conn, Filter{Key: "currentplayers", Value: "0"})
	return slices.ContainsFunc(list, func(e Entry) bool { return e.GamePort == port }), err
}
