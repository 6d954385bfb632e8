package idmaster

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"time"

	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
)

// Host is a game server: it sends heartbeats and answers questions from any address.
// Serve must run while the other methods are called.
type Host struct {
	*netclient.Reporter

	info idtech4.Info
}

// NewHost returns a host that answers with an info, whose challenge is replaced.
func NewHost(p *netclient.Packets, info idtech4.Info) *Host {
	return &Host{Reporter: netclient.NewReporter(p), info: info}
}

// InfoOf returns the info of a server with a protocol and pairs, key and value in turn.
func InfoOf(protocol idtech4.Protocol, pairs ...string) idtech4.Info {
	i := idtech4.Info{Protocol: protocol}
	for n := 0; n+1 < len(pairs); n += 2 {
		i.Pairs = append(i.Pairs, idtech4.Pair{Key: []byte(pairs[n]), Value: []byte(pairs[n+1])})
	}
	return i
}

// Serve answers until the socket is closed.
func (h *Host) Serve() { h.Reporter.Serve(h.take) }

func (h *Host) take(p []byte, from netip.AddrPort) {
	kind, rest, _ := idtech4.Cut(p)
	challenge, err := idtech4.Challenge(rest)
	if kind != idtech4.KindGetInfo || err != nil {
		return
	}
	i := h.info
	i.Challenge = challenge
	_ = h.Answer(i.AppendTo(nil), from) // it may be lost, as elsewhere
	if from == h.Server() {
		h.Asked()
	}
}

// Heartbeat sends a heartbeat and waits until the master has asked for the info.
func (h *Host) Heartbeat(ctx context.Context) error {
	return h.Report(ctx, idtech4.AppendHeartbeat(nil))
}

// Leave sends a last heartbeat and answers nothing from now on.
func (h *Host) Leave() error { return h.Reporter.Leave(idtech4.AppendHeartbeat(nil)) }

// linger is how long List waits for further packets: they have no end mark.
const linger = 300 * time.Millisecond

// List requests a list. most bounds its packets; with 1 there is no wait for further
// ones.
func List(ctx context.Context, p *netclient.Packets, r idtech4.Request, most int) (servers []netip.AddrPort, err error) {
	if err := p.Send(r.AppendTo(nil)); err != nil {
		return nil, err
	}
	for n := range most {
		until := ctx
		if n > 0 {
			until = netclient.Bound(ctx, linger)
		}
		err = await(until, p, idtech4.KindServers, func(rest []byte) error {
			var err error
			servers, err = idtech4.ParseList(servers, rest)
			return err
		})
		if n > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			return servers, nil
		}
		if err != nil {
			return servers, err
		}
	}
	return servers, nil
}

// await waits for a message of a kind and passes its data on.
func await(ctx context.Context, p *netclient.Packets, want idtech4.Kind, take func(rest []byte) error) error {
	return p.Await(ctx, func(b []byte, _ netip.AddrPort) (bool, error) {
		kind, rest, _ := idtech4.Cut(b)
		if kind != want {
			return false, nil
		}
		return true, take(rest)
	})
}

// SendKeys sends the keys of a player and returns the name of the player for servers.
func SendKeys(ctx context.Context, p *netclient.Packets, k idtech4.Keys) (guid string, err error) {
	if err := p.Send(k.AppendTo(nil)); err != nil {
		return "", err
	}
	err = await(ctx, p, idtech4.KindAuthKey, func(rest []byte) error {
		g, ok, err := idtech4.ParseAuthKey(rest)
		if err == nil && !ok {
			err = errBadKey
		}
		guid = string(g)
		return err
	})
	return guid, err
}

var errBadKey = errors.New("the key was called bad")

// Check asks, as a server does, whether a player may join.
func Check(ctx context.Context, p *netclient.Packets, c idtech4.Check) (v idtech4.Verdict, err error) {
	if err := p.Send(c.AppendTo(nil)); err != nil {
		return v, err
	}
	err = await(ctx, p, idtech4.KindAuth, func(rest []byte) error {
		v, err = idtech4.ParseVerdict(rest)
		v.GUID = append([]byte(nil), v.GUID...)
		return err
	})
	return v, err
}
