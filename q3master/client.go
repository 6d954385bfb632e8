package q3master

import (
	"context"
	"net/netip"
	"slices"

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

	// Parse parses the result of quake3.Cut for a packet of a list; nil: quake3.ParseList.
	Parse func(servers []netip.AddrPort, rest []byte) (list []netip.AddrPort, last bool, err error)
}

// List requests a list and reads its packets up to the end mark. The servers that were read
// are returned with an error too.
func (b *Browser) List(ctx context.Context, r quake3.Request) ([]netip.AddrPort, error) {
	l := netclient.List{Parse: ListPackets(r.Ext, b.Parse)}
	return l.Read(ctx, b.Packets, r.AppendTo(nil))
}

// ListPackets returns how the packets of a list are parsed. parse is as Browser.Parse.
func ListPackets(ext bool, parse func([]netip.AddrPort, []byte) ([]netip.AddrPort, bool, error)) func([]netip.AddrPort, []byte) ([]netip.AddrPort, netclient.Part, error) {
	want := quake3.KindServers
	if ext {
		want = quake3.KindServersExt
	}
	if parse == nil {
		parse = quake3.ParseList
	}
	return func(servers []netip.AddrPort, p []byte) ([]netip.AddrPort, netclient.Part, error) {
		kind, rest, _ := quake3.Cut(p)
		if kind != want {
			return servers, netclient.NoPart, nil
		}
		list, last, err := parse(servers, rest)
		if last {
			return list, netclient.LastPart, err
		}
		return list, netclient.SomePart, err
	}
}
