package qr2

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

func register(ctx context.Context, t *service.Trial) error {
	conn, err := netclient.Dial(ctx, t.Address("qr2"))
	if err != nil {
		return err
	}
	var instance [4]byte
	_, _ = rand.Read(instance[:]) // never returns an error
	h := &trialHost{Host{
		Packets: conn, Game: t.Game, Secret: t.Secret, Instance: binary.BigEndian.Uint32(instance[:]), NATNeg: true,
		Rules: []Rule{{"hostname", t.Name}, {"numplayers", "0"}, {"maxplayers", "8"}},
	}}
	t.Server = h
	ctx, cancel := context.WithTimeout(ctx, 2*service.StepTimeout)
	defer cancel()
	return h.Register(ctx)
}

// trialHost is the game server of the self-test.
type trialHost struct{ Host }

func (h *trialHost) Port() uint16 { return h.Local().Port() }

func (h *trialHost) AwaitMessage(ctx context.Context) error {
	_, err := h.Host.AwaitMessage(ctx)
	return err
}

func (h *trialHost) Close() error {
	_ = h.Leave() // it would expire anyway
	return h.Host.Close()
}
