package odamaster

import (
	"context"
	"encoding/binary"
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

	name string
}

// NewHost returns a host with a name.
func NewHost(p *netclient.Packets, name string) *Host {
	return &Host{Reporter: netclient.NewReporter(p), name: name}
}

// Serve answers until the socket is closed.
func (h *Host) Serve() { h.Reporter.Serve(h.take) }

func (h *Host) take(p []byte, from netip.AddrPort) {
	if len(p) != wordSize+keySize || binary.LittleEndian.Uint32(p) != masterWord {
		return
	}
	b := append(binary.LittleEndian.AppendUint32(nil, serverWord), 0, 0, 0, 0)
	b = append(append(b, p[wordSize:]...), h.name+"\x00\x01\x08MAP01\x00\x02ODAMEX.WAD\x00DOOM2.WAD\x00\x01\x03\x00\x00"...)
	_ = h.Answer(b, from) // it may be lost, as elsewhere
	if from == h.Server() {
		h.Asked()
	}
}

// Heartbeat sends a heartbeat and waits until the master has asked for the info.
func (h *Host) Heartbeat(ctx context.Context) error {
	return h.Report(ctx, appendHeartbeat(nil, h.Local().Port()))
}

// Leave answers nothing from now on: the protocol cannot say that a server stops.
func (h *Host) Leave() error { return h.Reporter.Leave(appendHeartbeat(nil, h.Local().Port())) }

// List requests the list.
func List(ctx context.Context, p *netclient.Packets) (servers []netip.AddrPort, err error) {
	if err := p.Send(appendRequest(nil)); err != nil {
		return nil, err
	}
	err = p.Await(ctx, func(b []byte, _ netip.AddrPort) (whole bool, _ error) {
		servers, whole = parseList(b)
		return whole, nil
	})
	return servers, err
}

// try is the step of the self-test: a server is listed and a launcher sees it.
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
