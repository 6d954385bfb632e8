package valvemaster

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

const (
	// trialTime is how long the test server waits for queries.
	trialTime = 6 * time.Second
	// trialInterval is the time between two looks at the list meanwhile.
	trialInterval = 300 * time.Millisecond
)

var (
	errNoChallenge = errors.New("no challenge came (respawnd doctor may say why)")
	errNotAsked    = errors.New("the heartbeat was sent, but no A2S query came: the challenge was refused, or something drops queries to a port that was not open before (respawnd doctor says which)")
	errNotListed   = errors.New("the A2S query was answered, but the test server is not in the list")
)

func findServer(ctx context.Context, t *service.Trial) error {
	conn, err := netclient.Listen(ctx, t.Address("valvemaster"))
	if err != nil {
		return err
	}
	info := a2s.Info{
		Protocol: 17, Name: "respawnd selftest " + rand.Text(), Map: "selftest", Folder: t.Game, Game: "respawnd selftest",
		MaxPlayers: 8, Type: a2s.Dedicated, System: a2s.Linux, Version: "1",
	}
	h := NewHost(conn, Heartbeat{
		Protocol: 17, MaxPlayers: 8, GameDir: []byte(t.Game), Map: []byte("selftest"),
		Type: []byte("d"), OS: []byte("l"), Region: AnyRegion,
	}, AnswerA2S(info))
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := h.Heartbeat(netclient.Bound(ctx, service.StepTimeout)); err != nil {
		return errors.Join(errNoChallenge, err)
	}
	// A good-bye with a challenge takes it off the list at once.
	defer func() { _ = h.Leave(netclient.Bound(ctx, service.StepTimeout)) }()
	browse, err := netclient.Dial(ctx, t.Address("valvemaster"))
	if err != nil {
		return err
	}
	defer func() { _ = browse.Close() }()
	return h.awaitListed(ctx, &Browser{Packets: browse}, info.Name)
}

// awaitListed looks at the list until the host is in it. Its name is its own, so it
// is the only one there.
func (h *Host) awaitListed(ctx context.Context, b *Browser, name string) error {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	for ctx.Err() == nil {
		next := netclient.Bound(ctx, trialInterval)
		l, err := b.Page(next, `\name_match\`+name, Start)
		switch {
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case slices.ContainsFunc(l.Servers, func(a netip.AddrPort) bool { return a.Port() == h.Local().Port() }):
			return nil
		}
		_, _ = netclient.Wait(next, make(chan struct{})) // the rest of the interval
	}
	if !h.Asked() {
		return errNotAsked
	}
	return errNotListed
}
