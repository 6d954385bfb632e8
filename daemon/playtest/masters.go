package playtest

import (
	"context"
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/codmaster"
	"github.com/respawnd/respawnd/idmaster"
	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/nwmaster"
)

// onUDP runs talk with a socket to a server.
func onUDP(ctx context.Context, address string, talk func(*netclient.Packets) (string, error)) (string, error) {
	p, err := netclient.Dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	return talk(p)
}

// browseDoom sends a key, which needs no real one, and requests the list.
func browseDoom(ctx context.Context, t *Target, address string) (string, error) {
	return onUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		var protocol idtech4.Protocol // of all versions
		k := idtech4.Keys{Protocol: protocol, Server: netip.MustParseAddrPort("192.0.2.1:27666"), Key: []byte("TESTTESTTESTTEST")}
		if _, err := idmaster.SendKeys(ctx, p, k); err != nil {
			return "", err
		}
		servers, err := idmaster.List(ctx, p, idtech4.Request{Protocol: protocol}, 1)
		return listed(len(servers)), err
	})
}

// browseCoD requests the list of the game's first protocol.
func browseCoD(ctx context.Context, t *Target, address string) (string, error) {
	return onUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		servers, err := codmaster.NewBrowser(p).List(ctx, quakeRequest(t))
		return listed(len(servers)), err
	})
}

var errNotAccepted = errors.New("a player without an account is not accepted: nwmaster.accounts is strict there, so players need an account")

// signInNWN signs in with a name that has no account.
func signInNWN(ctx context.Context, _ *Target, address string) (string, error) {
	return onUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		result, err := nwmaster.SignIn(ctx, p, "respawnd playtest", "x")
		if err == nil && result != 0 {
			err = errNotAccepted
		}
		return "players are accepted", err
	})
}
