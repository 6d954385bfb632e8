package rig

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/valvemaster"
)

// Facts of Zero Hour, as the game has them. No game was run: the messages are made from
// its published source.
const (
	ZeroHour       = "ccgenzh"
	ZeroHourSecret = "D6s9k3"
	QuickRoom      = "#GPG!597"
)

// ut2004 is the version and word of Unreal Tournament 2004.
const (
	UtVersion = 3369
	UtWord    = "UT2K4"
)

// ValveHost is a game server of Valve's kind: it sends heartbeats, and answers
// A2S queries from any address.
type ValveHost struct {
	*valvemaster.Host
	t testing.TB
}

// NewValveHost starts a server. A nil game is one whose port is closed to
// strangers: it answers no query.
func NewValveHost(t testing.TB, d *Running, game *probetest.Game) *ValveHost {
	t.Helper()
	return NewValveHostAt(t, Home, d, game)
}

// NewValveHostAt is newValveHost on an address of this machine.
func NewValveHostAt(t testing.TB, at netip.Addr, d *Running, game *probetest.Game) *ValveHost {
	t.Helper()
	return NewValveHostOn(t, PacketsAt(t, netip.AddrPortFrom(at, 0), d.Address["valvemaster"]), game)
}

// NewValveHostOn is newValveHost on a socket, which it closes in the end.
func NewValveHostOn(t testing.TB, c *netclient.Packets, game *probetest.Game) *ValveHost {
	t.Helper()
	var answer func([]byte) [][]byte
	if game != nil {
		answer = game.Speaks("a2s")
	}
	beat := valvemaster.Heartbeat{GameDir: []byte("cstrike"), Region: valvemaster.AnyRegion}
	h := &ValveHost{valvemaster.NewHost(c, beat, answer), t}
	var answering sync.WaitGroup
	answering.Go(h.Serve)
	t.Cleanup(func() { _ = c.Close(); answering.Wait() })
	return h
}

// Address returns the address that the host sends from.
func (h *ValveHost) Address() netip.AddrPort { return h.Local() }

// Must fails the test if err is not nil.
func (h *ValveHost) Must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%v: %v", h.Address(), err)
	}
}

// MustSend sends a packet.
func (h *ValveHost) MustSend(b []byte) {
	h.t.Helper()
	h.Must(h.Send(b))
}

// MustChallenge asks for a challenge.
func (h *ValveHost) MustChallenge() uint32 {
	h.t.Helper()
	c, err := h.Challenge(Wait(h.t))
	h.Must(err)
	return c
}

// MustHeartbeat announces the server with a new challenge.
func (h *ValveHost) MustHeartbeat() {
	h.t.Helper()
	h.Must(h.Heartbeat(Wait(h.t)))
}

// valveRetry is how long a browser waits for a page until it asks again, for the
// tests ask too often.
const valveRetry = 200 * time.Millisecond

// ValveBrowser returns a client that asks for lists.
func ValveBrowser(t testing.TB, d *Running, retry time.Duration) *valvemaster.Browser {
	t.Helper()
	return &valvemaster.Browser{Packets: PacketsAt(t, netip.AddrPortFrom(netip.IPv4Unspecified(), 0), d.Address["valvemaster"]), Retry: retry}
}

// ValveList walks through the list as a browser does.
func ValveList(t testing.TB, d *Running, filter string) (all []string) {
	t.Helper()
	b := ValveBrowser(t, d, valveRetry)
	defer func() { _ = b.Close() }()
	servers, err := b.List(Wait(t), filter, 0)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	for _, s := range servers {
		all = append(all, s.String())
	}
	return all
}
