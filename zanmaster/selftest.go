package zanmaster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/zandronum"
)

const (
	// trialRetry is the time after which the launcher of the self-test repeats
	// its request. An address that requests too soon is answered once in about
	// three seconds.
	trialRetry = time.Second
	trialTries = 5
)

// errTrialBanned is the result for an address that the master declines.
var errTrialBanned = errors.New("refused: this address is banned, blocked or not on the allow list (respawnd doctor says which)")

// steps returns the step of the self-test in which a server registers, takes the
// ban list, and is seen by a launcher.
func (c *Config) findServer(ctx context.Context, t *service.Trial) error {
	conn, err := netclient.Dial(ctx, t.Address("zanmaster"))
	if err != nil {
		return err
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never returns an error
	s := NewGameServer(conn, hex.EncodeToString(random[:]), nil)
	var serving sync.WaitGroup
	serving.Go(s.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := registerTrial(ctx, s); err != nil {
		return err
	}
	// The protocol has no goodbye. But a server that does not enforce the ban
	// list is hidden at once, unless the operator lists such servers.
	defer func() { _ = s.Announce(false) }()

	servers, err := askTrialList(ctx, t.Address("zanmaster"))
	switch answer, _ := errors.AsType[AnswerError](err); {
	case err == nil:
	case answer == AnswerError(zandronum.AnswerTooSoon):
		t.Remark("the list was not looked at: this address had one less than zanmaster.list_window ago")
		return nil
	case answer == AnswerError(zandronum.AnswerBanned):
		return errTrialBanned
	default:
		return err
	}
	if own := s.Local(); !slices.ContainsFunc(servers, func(a netip.AddrPort) bool {
		return a == own || (a.Port() == own.Port() && a.Addr() == c.AdvertiseAs)
	}) {
		return service.ErrNotInList
	}
	return nil
}

func registerTrial(ctx context.Context, s *GameServer) error {
	ctx, cancel := context.WithTimeout(ctx, 2*service.StepTimeout)
	defer cancel()
	_, err := s.Register(ctx, true)
	if errors.Is(err, ErrNotAsked) {
		return errTrialBanned
	}
	return err
}

// askTrialList requests the list until an answer arrives.
func askTrialList(ctx context.Context, server string) (servers []netip.AddrPort, err error) {
	conn, err := netclient.Dial(ctx, server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	l := Launcher{Packets: conn}
	for range trialTries {
		if servers, err = l.List(netclient.Bound(ctx, trialRetry)); !errors.Is(err, os.ErrDeadlineExceeded) {
			return servers, err
		}
	}
	return nil, fmt.Errorf("no list for a request: %w", err)
}
