package idmaster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// trialTries is how often the self-test requests the list: the answer of its server may
// still be on the way.
const trialTries = 5

// doom3 is the protocol of Doom 3 after its last patch.
const doom3 = 1<<16 + 41

var errNotAsked = errors.New("no getInfo came for a heartbeat (respawnd doctor may say why)")

// steps returns the step of the self-test in which a server is listed and seen by a
// browser, and a player is let in.
func steps() []service.Step {
	return []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}}
}

func try(ctx context.Context, t *service.Trial) error {
	conn, err := netclient.Listen(ctx, t.Address(name))
	if err != nil {
		return err
	}
	h := NewHost(conn, InfoOf(doom3, "si_name", "respawnd selftest", "si_map", "selftest", "si_maxPlayers", "8"))
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := h.Heartbeat(netclient.Bound(ctx, service.StepTimeout)); err != nil {
		return errors.Join(errNotAsked, err)
	}
	defer func() { _ = h.Leave() }()
	dial, err := netclient.Dial(ctx, t.Address(name))
	if err != nil {
		return err
	}
	defer func() { _ = dial.Close() }()
	if err := join(netclient.Bound(ctx, service.StepTimeout), dial); err != nil {
		return err
	}
	for range trialTries {
		list, err := List(netclient.Bound(ctx, service.StepTimeout), dial, idtech4.Request{Protocol: doom3}, 1)
		switch {
		case err != nil:
			return fmt.Errorf("no list for a request: %w", err)
		case slices.ContainsFunc(list, func(a netip.AddrPort) bool { return a.Port() == h.Local().Port() }):
			return nil
		}
	}
	return service.ErrNotInList
}

// join sends a key, then asks about the player that it names.
func join(ctx context.Context, p *netclient.Packets) error {
	server := netip.MustParseAddrPort("192.0.2.1:27666")
	guid, err := SendKeys(ctx, p, idtech4.Keys{Protocol: doom3, Server: server, Key: []byte("SELFTESTSELFTEST")})
	if err != nil {
		return fmt.Errorf("no answer to a key: %w", err)
	}
	v, err := Check(ctx, p, idtech4.Check{Protocol: doom3, Player: server, Client: 1, GUID: []byte(guid)})
	switch {
	case err != nil:
		return fmt.Errorf("no answer about a player: %w", err)
	case v.Reply != idtech4.Accepted || string(v.GUID) != guid:
		return errors.New("a player was not let in")
	}
	return nil
}
