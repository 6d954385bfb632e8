package q3master

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
)

// Host is a game server: it sends heartbeats and answers questions from any
// address. Serve must run while the other methods are called.
type Host struct {
	*netclient.Reporter

	// Players are those that it reports.
	Players []quake3.Player

	tag   string
	pairs []string
}

// NewHost returns a host that sends a tag and reports pairs, key and value in turn,
// without the challenge.
func NewHost(p *netclient.Packets, tag string, pairs ...string) *Host {
	return &Host{Reporter: netclient.NewReporter(p), tag: tag, pairs: pairs}
}

// Serve answers until the socket is closed.
func (h *Host) Serve() { h.Reporter.Serve(h.take) }

func (h *Host) take(p []byte, from netip.AddrPort) {
	kind, rest, _ := quake3.Cut(p)
	pairs := slices.Concat([]string{"challenge", string(quake3.Challenge(rest))}, h.pairs)
	switch kind {
	case quake3.KindGetInfo:
		_ = h.Answer(quake3.AppendInfo(nil, pairs...), from) // it may be lost, as elsewhere
		if from == h.Server() {
			h.Asked()
		}
	case quake3.KindGetStatus:
		_ = h.Answer(quake3.AppendStatus(nil, h.Players, pairs...), from)
	default:
	}
}

// Heartbeat sends a heartbeat and waits until the master has asked for the info.
func (h *Host) Heartbeat(ctx context.Context) error {
	return h.Report(ctx, quake3.AppendHeartbeat(nil, h.tag))
}

// Leave sends a last heartbeat and answers nothing from now on, as a server does that
// stops. The master removes it within half a minute.
func (h *Host) Leave() error { return h.Reporter.Leave(quake3.AppendHeartbeat(nil, h.tag)) }

// Browser requests lists.
type Browser struct {
	*netclient.Packets

	// Max bounds the entries and packets of a list; 0: no bound.
	Max int
	// Parse parses the result of quake3.Cut for a packet of a list; nil: quake3.ParseList.
	Parse func(servers []netip.AddrPort, rest []byte) (list []netip.AddrPort, last bool, err error)
	// Linger is how long List waits for further packets after one with the end mark:
	// packets may overtake each other, and old masters send the mark in each. 0: the
	// first one ends the list.
	Linger time.Duration
}

// List requests a list and reads its packets up to the end mark. The error is
// netclient.ErrTooLong for a list beyond Max. The servers that were read are returned
// with an error too.
func (b *Browser) List(ctx context.Context, r quake3.Request) (servers []netip.AddrPort, err error) {
	if err := b.Send(r.AppendTo(nil)); err != nil {
		return nil, err
	}
	want := quake3.KindServers
	if r.Ext {
		want = quake3.KindServersExt
	}
	parse := b.Parse
	if parse == nil {
		parse = quake3.ParseList
	}
	left, ended := b.Max, false
	accept := func(p []byte, _ netip.AddrPort) (bool, error) {
		kind, rest, _ := quake3.Cut(p)
		before, last := len(servers), false
		if kind == want {
			if servers, last, err = parse(servers, rest); err != nil {
				return false, err
			}
		}
		if left -= max(len(servers)-before, 1); b.Max > 0 && left < 0 {
			servers = servers[:min(len(servers), b.Max)]
			return false, netclient.ErrTooLong
		}
		ended = ended || last
		return last, nil
	}
	if err = b.Await(ctx, accept); err != nil || b.Linger == 0 {
		return servers, err
	}
	for err == nil {
		err = b.Await(netclient.Bound(ctx, b.Linger), accept)
	}
	if ended && errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	return servers, err
}
