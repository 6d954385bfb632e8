package tribesmaster

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// Host is a game server: it sends heartbeats and answers questions. Serve must run while the
// other methods are called.
type Host struct {
	*netclient.Reporter

	title    string
	answered atomic.Int32 // questions of the master since the last heartbeat
}

// NewHost returns a host with the name that browsers show.
func NewHost(p *netclient.Packets, title string) *Host {
	return &Host{Reporter: netclient.NewReporter(p), title: title}
}

// Serve answers until the socket is closed.
func (h *Host) Serve() { h.Reporter.Serve(h.take) }

func (h *Host) take(p []byte, from netip.AddrPort) {
	if len(p) == 3 && p[0] == 'b' { // of a browser
		_ = h.Answer(appendStatus([]byte{'c', p[1], p[2], 'b'}, h.title), from) // it may be lost, as elsewhere
		return
	}
	key, ok := keyIn(p)
	if !ok || kindOf(p) != request {
		return
	}
	_ = h.Answer(appendAnswer(nil, key), from)
	if from == h.Server() && h.answered.Add(1) == questions {
		h.Asked()
	}
}

// appendStatus appends the status of a server without players.
func appendStatus(b []byte, title string) []byte {
	b = appendText(appendText(appendText(b, "Tribes"), "1.11"), title)
	b = append(b, 1, 0, 0, 16, 0, 0) // dedicated, password, players, places, speed of the processor
	for _, text := range []string{"base", "Capture the Flag", "Raindance", ""} {
		b = appendText(b, text)
	}
	return appendText(appendText(append(b, 0), "Team Name\t%t\tScore"), "Player Name\t%n") // teams, fields
}

// Heartbeat sends a heartbeat and waits until the last question of the master was answered.
func (h *Host) Heartbeat(ctx context.Context) error {
	h.answered.Store(0)
	return h.Report(ctx, appendHeartbeat(nil))
}

// Leave answers nothing from now on: the protocol cannot say that a server stops.
func (h *Host) Leave() error { return h.Reporter.Leave(appendHeartbeat(nil)) }

// id is that of the requests of List.
const id = 0x0201

// List requests the list.
func List(ctx context.Context, p *netclient.Packets) (servers []netip.AddrPort, err error) {
	if err := p.Send(appendRequest(nil, newList, id)); err != nil {
		return nil, err
	}
	seen := make(map[int]bool)
	err = p.Await(ctx, func(b []byte, _ netip.AddrPort) (whole bool, _ error) {
		list, number, total, ok := parseList(b)
		if key, _ := keyIn(b); !ok || key != id || seen[number] {
			return false, nil
		}
		seen[number] = true
		servers = append(servers, list...)
		return len(seen) == total, nil
	})
	return servers, err
}

// try is the step of the self-test: a server is listed and a browser sees it.
func try(ctx context.Context, t *service.Trial) error {
	open := func(p *netclient.Packets) service.TrialHost { return NewHost(p, t.Name) }
	return service.TryHost(ctx, t.Address(name), errors.New("no question came for a heartbeat"), open,
		func(context.Context, *netclient.Packets) error { return nil }, List)
}

// play is the step of the trial game: it requests the list.
func play(ctx context.Context, _ games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		servers, err := List(ctx, p)
		return service.PlayedList(len(servers)), err
	})
}
