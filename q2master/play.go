package q2master

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

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
		var h *Host
		open := func(p *netclient.Packets) service.TrialHost {
			h = NewHost(p, form, `\hostname\respawnd selftest\mapname\selftest\maxclients\8`+"\n")
			return h
		}
		list := func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) { return List(ctx, p, form) }
		return service.TryHost(ctx, t.Address(name), errNotAsked, open, func(ctx context.Context, p *netclient.Packets) error {
			return awaitListed(ctx, h.Local().Port(), func() ([]netip.AddrPort, error) { return list(ctx, p) })
		}, list)
	}
	return []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: run}}
}

// The first and the longest pause between two lists that are requested until a server is in
// one: its last answer takes another way than the requests.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// awaitListed requests lists until a server with a port is in one, or until the deadline of ctx. The
// error is that of a list.
func awaitListed(ctx context.Context, port uint16, list func() ([]netip.AddrPort, error)) error {
	end, _ := ctx.Deadline()
	for pause := firstPause; time.Now().Before(end); pause = min(2*pause, lastPause) {
		servers, err := list()
		if err != nil || slices.ContainsFunc(servers, func(a netip.AddrPort) bool { return a.Port() == port }) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil // the next list says whether it is there
}
