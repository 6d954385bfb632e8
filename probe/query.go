package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/query"
)

// Times and bounds of a question.
const (
	// Timeout is how long a server has for its whole answer.
	Timeout = 3 * time.Second

	askAgain   = time.Second // without a packet of the server
	maxPackets = 64          // of one server, useless ones included
	maxPacket  = 4096        // bytes; answers are smaller
)

// Errors of questions.
var (
	// ErrNoAnswer is returned for a server that did not answer in time.
	ErrNoAnswer = errors.New("probe: no answer")
	// ErrForbidden is returned for an address that is never asked.
	ErrForbidden = errors.New("probe: this address is not asked")
	// ErrTooMuch is returned for a server that sends packets without end.
	ErrTooMuch = errors.New("probe: too many packets")
)

// Status is what a server says about itself.
type Status = query.Status

// Kind says in which protocol a server is asked.
type Kind = query.Kind

// The kinds of questions.
const (
	Text             = query.Text
	TextInfo         = query.TextInfo
	Binary           = query.Binary
	BinaryChallenged = query.BinaryChallenged
)

// Conn is a UDP socket of which Query is the only reader; *net.UDPConn is one.
type Conn interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	SetReadDeadline(t time.Time) error
}

// Query asks one server over conn and waits for the whole answer, for Timeout
// or until ctx ends. Packets of others are skipped. It leaves a read deadline
// on conn. The error is ErrForbidden, ErrNoAnswer, ErrTooMuch, that of ctx or of
// conn.
func Query(ctx context.Context, conn Conn, target netip.AddrPort, kind Kind) (Status, error) {
	if !query.Askable(target) {
		return Status{}, ErrForbidden
	}
	end := time.Now().Add(Timeout)
	ctx, cancel := context.WithDeadlineCause(ctx, end, ErrNoAnswer)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	e := query.NewExchange(kind, rand.Uint32()) //nolint:gosec // it only tells answers apart; the address is checked
	buf := make([]byte, maxPacket)
	for packets, ask := 0, true; ; {
		if ask {
			if _, err := conn.WriteToUDPAddrPort(e.Question(), target); err != nil {
				return Status{}, fmt.Errorf("ask %v: %w", target, err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(askAgain)); err != nil {
				return Status{}, err
			}
		}
		if ctx.Err() != nil {
			return Status{}, context.Cause(ctx)
		}
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		switch {
		case err != nil && isTimeout(err):
			if !time.Now().Before(end) {
				return Status{}, ErrNoAnswer
			}
			ask = true
			continue
		case err != nil:
			return Status{}, err
		case netip.AddrPortFrom(from.Addr().Unmap(), from.Port()) != target:
			ask = false
			continue
		}
		if packets++; packets > maxPackets {
			return Status{}, ErrTooMuch
		}
		step, _ := e.Take(buf[:n]) // a useless packet is not the last one
		if step == query.Done {
			return e.Status(), nil
		}
		ask = step == query.Ask
	}
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
