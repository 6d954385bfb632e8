package q2master

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/uplink"
)

// Host is a game server: it sends heartbeats and answers requests for its status from any
// address. Serve must run while the other methods are called.
type Host struct {
	*netclient.Reporter

	form   quake2.Form
	status []byte
	asked  int
}

// NewHost returns a host that answers with a status: its rules, and the lines of players.
func NewHost(p *netclient.Packets, form quake2.Form, status string) *Host {
	return &Host{Reporter: netclient.NewReporter(p), form: form, status: []byte(status)}
}

// Serve answers until the socket is closed.
func (h *Host) Serve() { h.Reporter.Serve(h.take) }

func (h *Host) take(p []byte, from netip.AddrPort) {
	if !h.form.AsksStatus(p) {
		return
	}
	_ = h.Answer(h.form.AppendStatus(nil, h.status), from) // it may be lost, as elsewhere
	if h.asked++; h.asked%uplink.PostSteps == 0 {
		h.Asked()
	}
}

// Heartbeat sends a heartbeat and waits until the master has asked as often as it does.
func (h *Host) Heartbeat(ctx context.Context) error {
	return h.Report(ctx, h.form.AppendHeartbeat(nil, h.status))
}

// Leave says that the server stops, and answers nothing from now on.
func (h *Host) Leave() error { return h.Reporter.Leave(h.form.AppendShutdown(nil)) }

// List requests a list and reads its first packet, which is the whole unless it is long.
func List(ctx context.Context, p *netclient.Packets, form quake2.Form) ([]netip.AddrPort, error) {
	l := netclient.List{Parse: func(list []netip.AddrPort, b []byte) ([]netip.AddrPort, netclient.Part, error) {
		list, ok, err := form.ParseList(list, b)
		if !ok {
			return list, netclient.NoPart, nil
		}
		return list, netclient.LastPart, err
	}}
	return l.Read(ctx, p, form.AppendQuery(nil))
}
