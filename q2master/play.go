package q2master

import (
	"context"
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/service"
)

// Plays returns the step of the trial game of a service: it requests the list.
func Plays(name games.Service, form quake2.Form) []service.Play {
	return []service.Play{{
		Service: name, Network: "UDP", Order: service.PlayLists, Family: true, Means: "the server browser stays empty",
		Run: func(ctx context.Context, _ games.Game, address string) (string, error) {
			return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
				servers, err := List(ctx, p, form)
				return service.PlayedList(len(servers)), err
			})
		},
	}}
}

var errNotAsked = errors.New("no question for the status came for a heartbeat (respawnd doctor may say why)")

// Steps returns the step of the self-test of a service, in which a server reports, answers
// the questions, and is seen by a browser.
func Steps(name string, form quake2.Form) []service.Step {
	run := func(ctx context.Context, t *service.Trial) error {
		open := func(p *netclient.Packets) service.TrialHost {
			return NewHost(p, form, `\hostname\respawnd selftest\mapname\selftest\maxclients\8`+"\n")
		}
		list := func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) { return List(ctx, p, form) }
		return service.TryHost(ctx, t.Address(name), errNotAsked, open, func(context.Context, *netclient.Packets) error { return nil }, list)
	}
	return []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: run}}
}
