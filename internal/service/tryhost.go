package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/netclient"
)

// TrialHost is a game server of the self-test.
type TrialHost interface {
	Serve()                              // answers until its socket is closed
	Heartbeat(ctx context.Context) error // reports, and waits until the master asks
	Leave() error
	Local() netip.AddrPort
}

// The first and the longest pause between two lists that the self-test requests, for StepTimeout in all,
// until its server is in one: the last answer of that takes another way than the requests.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// TryHost lets a game server report to the master at an address, calls with, and looks for
// the server in lists; nil: there are none. with and list get a socket of another client.
// notAsked says that the master did not ask.
func TryHost(ctx context.Context, address string, notAsked error, open func(*netclient.Packets) TrialHost,
	with func(ctx context.Context, client *netclient.Packets) error,
	list func(ctx context.Context, client *netclient.Packets) ([]netip.AddrPort, error),
) error {
	conn, err := netclient.Listen(ctx, address)
	if err != nil {
		return err
	}
	h := open(conn)
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := h.Heartbeat(netclient.Bound(ctx, StepTimeout)); err != nil {
		return errors.Join(notAsked, err)
	}
	defer func() { _ = h.Leave() }()
	client, err := netclient.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if err := with(netclient.Bound(ctx, StepTimeout), client); err != nil || list == nil {
		return err
	}
	end := time.Now().Add(StepTimeout)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		servers, err := list(netclient.Bound(ctx, StepTimeout), client)
		switch {
		case err != nil:
			return fmt.Errorf("no list for a request: %w", err)
		case slices.ContainsFunc(servers, func(a netip.AddrPort) bool { return a.Port() == h.Local().Port() }):
			return nil
		case time.Now().After(end):
			return ErrNotInList
		case !clock.Pause(ctx, pause):
			return ctx.Err()
		}
	}
}
