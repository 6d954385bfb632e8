package qr2

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
)

// States of a Host, as its heartbeats report them.
const (
	StateSame    = "0"
	StateChanged = "1"
	StateLeaves  = "2"
	StateStarts  = "3"
)

// Host is a game server: it is listed, stays listed and leaves. While it waits for
// a packet it answers queries and confirms messages, as games do. The fields may be
// changed between calls.
type Host struct {
	*netclient.Packets

	Game, Secret string
	Instance     uint32

	Private netip.AddrPort // reported as its address behind a NAT; zero: none is
	NATNeg  bool           // it can be reached by NAT negotiation
	Rules   []Rule         // reported behind the state and the name of the game
	// Players and Teams are reported if Players has columns.
	Players, Teams Table

	out []byte
}

// Table is the table of players or teams that a Host reports: names of columns,
// and a value for each in every row.
type Table struct {
	Columns []string
	Rows    [][]string
}

// RefusedError reports that the master does not list a Host.
type RefusedError struct {
	Code byte   // for the game
	Text string // text that the game shows
}

func (e *RefusedError) Error() string { return fmt.Sprintf("registration refused: %q", e.Text) }

// Heartbeat reports the host. An empty state is left out. The heartbeat itself has
// no answer, but the master may send a challenge.
func (h *Host) Heartbeat(state string) (err error) {
	if h.out, err = h.AppendHeartbeat(h.out[:0], state); err != nil {
		return err
	}
	return h.Send(h.out)
}

// AppendHeartbeat appends the packet of Heartbeat. NULs in names and values are
// dropped.
func (h *Host) AppendHeartbeat(b []byte, state string) (_ []byte, err error) {
	b = appendHostHeader(b, KindHeartbeat, h.Instance)
	if h.Private.IsValid() {
		b = gamespy.AppendPair(b, "localip0", h.Private.Addr().String())
		b = gamespy.AppendPair(b, "localport", strconv.Itoa(int(h.Private.Port())))
	}
	if h.NATNeg {
		b = gamespy.AppendPair(b, "natneg", "1")
	}
	if state != "" {
		b = gamespy.AppendPair(b, "statechanged", state)
	}
	b = gamespy.AppendPair(b, "gamename", h.Game)
	b = appendRules(b, h.Rules)
	if len(h.Players.Columns) == 0 {
		return b, nil
	}
	if b, err = gamespy.AppendTable(b, h.Players.Columns, h.Players.Rows); err != nil {
		return b, err
	}
	return gamespy.AppendTable(b, h.Teams.Columns, h.Teams.Rows)
}

func appendRules(b []byte, rules []Rule) []byte {
	for _, r := range rules {
		b = gamespy.AppendPair(b, r.Name, r.Value)
	}
	return gamespy.AppendEnd(b)
}

// Register has the host listed. The error is a *RefusedError if the master
// declines.
func (h *Host) Register(ctx context.Context) error {
	if err := h.Heartbeat(StateStarts); err != nil {
		return err
	}
	return h.Prove(ctx)
}

// Prove waits for a challenge, answers it and waits until the host is listed.
func (h *Host) Prove(ctx context.Context) error {
	if err := h.AnswerChallenge(ctx); err != nil {
		return err
	}
	if _, err := h.Await(ctx, KindRegistered); err != nil {
		return fmt.Errorf("no registration for the right answer: %w", err)
	}
	return nil
}

// AnswerChallenge waits for a challenge and answers it.
func (h *Host) AnswerChallenge(ctx context.Context) error {
	r, err := h.Await(ctx, KindChallenge)
	if err != nil {
		return fmt.Errorf("no challenge for a heartbeat: %w", err)
	}
	h.out = AppendResponse(h.out[:0], h.Instance, h.Secret, r.Body)
	return h.Send(h.out)
}

// Keepalive sends a keepalive and waits for its echo.
func (h *Host) Keepalive(ctx context.Context) error {
	h.out = AppendKeepalive(h.out[:0], h.Instance)
	if err := h.Send(h.out); err != nil {
		return err
	}
	_, err := h.Await(ctx, KindKeepalive)
	return err
}

// AwaitMessage waits for a message of a player and returns it. It is valid until
// the next call.
func (h *Host) AwaitMessage(ctx context.Context) ([]byte, error) {
	r, err := h.Await(ctx, KindMessage)
	if err != nil {
		return nil, err
	}
	return r.Body[min(4, len(r.Body)):], nil
}

// Await receives packets until one of a kind arrives. The error is a *RefusedError
// if the master declines meanwhile.
func (h *Host) Await(ctx context.Context, kind Kind) (Reply, error) {
	for {
		r, err := h.Receive(ctx)
		switch {
		case err != nil:
			return Reply{}, err
		case r.Kind == kind:
			return r, nil
		case r.Kind == KindRefusal && len(r.Body) > 0:
			text, _, _ := cutText(r.Body[1:])
			return Reply{}, &RefusedError{r.Body[0], string(text)}
		}
	}
}

// Receive returns the next packet for the host, which is valid until the next call.
// A query has been answered then and a message confirmed. Packets of other
// instances are passed over.
func (h *Host) Receive(ctx context.Context) (r Reply, err error) {
	err = h.Packets.Await(ctx, func(p []byte, from netip.AddrPort) (bool, error) {
		var ok bool
		switch r, ok = ParseReply(p); {
		case !ok:
			return false, nil
		case r.Kind == KindQuery: // its key is that of the asker
			return true, h.Answer(h.appendStatus(r.Key), from)
		case r.Key != h.Instance:
			return false, nil
		case r.Kind == KindMessage:
			h.out = AppendReceipt(h.out[:0], h.Instance, r.Body)
			return true, h.Send(h.out)
		}
		return true, nil
	})
	return r, err
}

// appendStatus makes the answer to a query.
func (h *Host) appendStatus(key uint32) []byte {
	h.out = appendRules(appendHostHeader(h.out[:0], KindQuery, key), h.Rules)
	return h.out
}

// Leave takes the host off the list.
func (h *Host) Leave() error { return h.Heartbeat(StateLeaves) }

// AskAvailable asks whether the online service of a game is available, as games do at
// their start, and returns the bits of the answer: 0 if it is, else gone (1) or down
// for now (2).
func AskAvailable(ctx context.Context, p *netclient.Packets, game string) (bits uint32, err error) {
	request := append([]byte{byte(KindAvailable), 0, 0, 0, 0}, game...)
	if err := p.Send(append(request, 0)); err != nil {
		return 0, err
	}
	err = p.Await(ctx, func(b []byte, _ netip.AddrPort) (bool, error) {
		const length = 3 + 4
		if len(b) < length || !bytes.HasPrefix(b, []byte{0xFE, 0xFD, byte(KindAvailable)}) {
			return false, nil
		}
		bits = binary.BigEndian.Uint32(b[3:])
		return true, nil
	})
	return bits, err
}
