package torquemaster

import (
	"bytes"
	"context"
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// Host is a game server: it sends heartbeats and answers questions. Serve must run while the
// other methods are called.
type Host struct {
	*netclient.Reporter

	gameType string
}

// NewHost returns a host with a type of game.
func NewHost(p *netclient.Packets, gameType string) *Host {
	return &Host{Reporter: netclient.NewReporter(p), gameType: gameType}
}

// Serve answers until the socket is closed.
func (h *Host) Serve() { h.Reporter.Serve(h.take) }

func (h *Host) take(p []byte, from netip.AddrPort) {
	if len(p) != headSize {
		return
	}
	if kind(p[0]) == pingRequest { // of a browser
		b := appendText(appendHead(nil, pingResponse, p[2:]), "VER1")
		_ = h.Answer(appendText(append(b, make([]byte, 12)...), h.gameType), from) // protocols and version, name
		return
	}
	if kind(p[0]) != infoRequest {
		return
	}
	b := appendInfo(appendHead(nil, infoResponse, p[2:]), info{gameType: h.gameType, mission: "CTF", places: 16, players: 1, flags: dedicated})
	_ = h.Answer(b, from) // it may be lost, as elsewhere
	if from == h.Server() {
		h.Asked()
	}
}

// Heartbeat sends a heartbeat and waits until the master has asked for the info.
func (h *Host) Heartbeat(ctx context.Context) error {
	return h.Report(ctx, appendKey(nil, heartbeat, 0))
}

// Leave answers nothing from now on: the protocol cannot say that a server stops.
func (h *Host) Leave() error { return h.Reporter.Leave(appendKey(nil, heartbeat, 0)) }

// session is that of the requests of List.
var session = []byte{1, 2, 3, 4}

// List requests the list.
func List(ctx context.Context, p *netclient.Packets) (servers []netip.AddrPort, err error) {
	if err := p.Send(appendWanted(appendHead(nil, listRequest, session), wanted{index: newList, gameType: anyType, mission: anyType})); err != nil {
		return nil, err
	}
	seen := make(map[int]bool)
	err = p.Await(ctx, func(b []byte, _ netip.AddrPort) (whole bool, _ error) {
		list, index, total, ok := parseList(b)
		if !ok || !bytes.Equal(b[2:headSize], session) || seen[index] {
			return false, nil
		}
		seen[index] = true
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
