package q3master

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/service"
)

// trialTries is how often the self-test requests the list: the answer of its server
// may still be on the way.
const trialTries = 5

var errNotAsked = errors.New("no getinfo came for a heartbeat (respawnd doctor may say why)")

// steps returns the step of the self-test in which a server sends a heartbeat,
// answers the question that follows, and is seen by a browser.
func steps() []service.Step {
	return []service.Step{{Name: "q3master", Needs: []string{"q3master"}, Order: service.OrderAlone, Run: findServer}}
}

func findServer(ctx context.Context, t *service.Trial) error {
	pairs := []string{
		"gamename", t.Game, "protocol", "1", "hostname", "respawnd selftest", "mapname", "selftest",
		"clients", "0", "sv_maxclients", "8", "gametype", "0",
	}
	return Try(ctx, t.Address("q3master"), named, pairs, func(p *netclient.Packets) *Browser { return &Browser{Packets: p} },
		quake3.Request{Game: []byte(t.Game), Protocol: 1, Empty: true}, nil)
}

// Try lets a server send a heartbeat and answer, then calls with if it is not nil, and
// looks for the server in a list.
func Try(ctx context.Context, address, tag string, pairs []string, browser func(*netclient.Packets) *Browser, r quake3.Request, with func(*Host) error) error {
	conn, err := netclient.Listen(ctx, address)
	if err != nil {
		return err
	}
	h := NewHost(conn, tag, pairs...)
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := h.Heartbeat(netclient.Bound(ctx, service.StepTimeout)); err != nil {
		return errors.Join(errNotAsked, err)
	}
	defer func() { _ = h.Leave() }()
	if with != nil {
		if err := with(h); err != nil {
			return err
		}
	}
	dial, err := netclient.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = dial.Close() }()
	b := browser(dial)
	for range trialTries {
		list, err := b.List(netclient.Bound(ctx, service.StepTimeout), r)
		switch {
		case err != nil:
			return fmt.Errorf("no list for a request: %w", err)
		case slices.ContainsFunc(list, func(a netip.AddrPort) bool { return a.Port() == h.Local().Port() }):
			return nil
		}
	}
	return service.ErrNotInList
}
