package foomaster

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
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
	if challenge, asked := bytes.CutPrefix(p, []byte(ask)); asked {
		_ = h.Answer([]byte(info+string(challenge)+"\nhostname="+h.name+"\nmapname=reported"), from) // it may be lost
		if from == h.Server() {
			h.Asked()
		}
	}
	kind, rest, _ := quake3.Cut(p)
	pairs := []string{
		"challenge", string(quake3.Challenge(rest)), "gamename", game, "protocol", "1", "sv_hostname", h.name, "mapname", "queried",
		"clients", "1", "sv_maxclients", "8",
	}
	switch kind {
	case quake3.KindGetInfo:
		_ = h.Answer(quake3.AppendInfo(nil, pairs...), from)
	case quake3.KindGetStatus:
		_ = h.Answer(quake3.AppendStatus(nil, []quake3.Player{{Name: []byte("Fooist")}}, pairs...), from)
	default:
	}
}

// Heartbeat sends a heartbeat and waits until the master has asked for the info.
func (h *Host) Heartbeat(ctx context.Context) error { return h.Report(ctx, heartbeat()) }

// Leave answers nothing from now on: the protocol cannot say that a server stops.
func (h *Host) Leave() error { return h.Reporter.Leave(heartbeat()) }

// heartbeat returns a heartbeat, which is as long as the question.
func heartbeat() []byte {
	return []byte(beat + strings.Repeat(".", len(ask)+uplink.ChallengeSize-len(beat)))
}

// List requests the list, and returns the newest version of the game and the servers in the
// first packet.
func List(ctx context.Context, p *netclient.Packets) (newest string, servers []netip.AddrPort, err error) {
	if err := p.Send([]byte(list)); err != nil {
		return "", nil, err
	}
	err = p.Await(ctx, func(b []byte, _ netip.AddrPort) (bool, error) {
		text, ok := strings.CutPrefix(string(b), head)
		if !ok {
			return false, nil
		}
		newest, text, _ = strings.Cut(text, "\n")
		for _, line := range strings.Fields(text) {
			a, err := netip.ParseAddrPort(line)
			if err != nil {
				return true, err
			}
			servers = append(servers, a)
		}
		return true, nil
	})
	return newest, servers, err
}

// try is the step of the self-test: a server is listed and a browser sees it.
func try(ctx context.Context, t *service.Trial) error {
	open := func(p *netclient.Packets) service.TrialHost { return NewHost(p, t.Name) }
	return service.TryHost(ctx, t.Address(name), errors.New("no question came for a heartbeat"), open,
		func(context.Context, *netclient.Packets) error { return nil },
		func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
			_, servers, err := List(ctx, p)
			return servers, err
		})
}

// play is the step of the trial game: it requests the list.
func play(ctx context.Context, _ games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		_, servers, err := List(ctx, p)
		return service.PlayedList(len(servers)), err
	})
}
