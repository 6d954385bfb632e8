package codmaster

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/q3master"
)

// trialTag and trialProtocol are those of the server of the self-test: of Call of Duty 2.
const (
	trialTag      = "COD-2"
	trialProtocol = 118
)

func try(ctx context.Context, t *service.Trial) error {
	h := []string{"protocol", "118", "hostname", "respawnd selftest", "mapname", "selftest", "clients", "0", "sv_maxclients", "8", "gametype", "dm"}
	return q3master.Try(ctx, t.Address(name), trialTag, h, NewBrowser, quake3.Request{Protocol: trialProtocol, Empty: true, Full: true},
		func(host *q3master.Host) error {
			ok, err := Ask(netclient.Bound(ctx, service.StepTimeout), t.Address(name), netip.MustParseAddr("192.0.2.1"))
			if err == nil && !ok {
				err = errors.New("a player was not let in")
			}
			return err
		})
}

// NewBrowser returns a browser of Call of Duty.
func NewBrowser(p *netclient.Packets) *q3master.Browser {
	return &q3master.Browser{Packets: p, Parse: quake3.ParseCodList}
}

// Ask asks, as a game server does, whether a player may join.
func Ask(ctx context.Context, server string, player netip.Addr) (good bool, err error) {
	p, err := netclient.Dial(ctx, server)
	if err != nil {
		return false, err
	}
	defer func() { _ = p.Close() }()
	return AskFrom(ctx, p, player)
}

// AskFrom is Ask from a socket.
func AskFrom(ctx context.Context, p *netclient.Packets, player netip.Addr) (good bool, err error) {
	challenge := []byte("12345")
	if err := p.Send(quake3.AppendAuthQuestion(nil, quake3.AuthQuestion{Challenge: challenge, Player: player}, "main")); err != nil {
		return false, err
	}
	err = p.Await(ctx, func(b []byte, _ netip.AddrPort) (bool, error) {
		got, yes, err := quake3.ParseAuthAnswer(b)
		if err != nil || !slices.Equal(got, challenge) {
			return false, nil
		}
		good = yes
		return true, nil
	})
	return good, err
}
