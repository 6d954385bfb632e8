package zandronum

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	wire "github.com/respawnd/respawnd/internal/zandronum"
)

// Errors of a server that answers and does not tell.
var (
	ErrTooSoon = errors.New("the server was asked too soon after another query from here")
	ErrBanned  = errors.New("the server says that this address is banned")
)

// Ask asks one server, HOST:PORT, and waits for its answer until ctx ends. It is
// for tools; it keeps to no schedule.
func Ask(ctx context.Context, address string) (*wire.Info, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp4", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	q := query(newTime())
	if _, err := conn.Write(wire.Encode(nil, wire.AppendQuery(nil, q))); err != nil {
		return nil, err
	}
	a := answer{time: q.Time}
	buf := make([]byte, 1<<16)
	for {
		n, err := conn.Read(buf)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("ask %s: %w", address, ctx.Err())
		}
		if err != nil {
			return nil, err
		}
		info, err := a.take(wire.Decode(nil, buf[:n], wire.MaxInfo+16))
		if info != nil || errors.Is(err, ErrTooSoon) || errors.Is(err, ErrBanned) {
			return info, err
		}
	}
}

// errForged means that a message answers another query than ours.
var errForged = errors.New("answer to another query")

// answer is what came for one query so far.
type answer struct {
	time  uint32         // comes back in the answer; nobody else knows it
	parts *wire.Assembly // nil until a segment comes
}

// take reads a message. With ErrTooSoon and ErrBanned there is no information;
// after any other error the answer may still come. Both results are nil if more
// of it is to come.
func (a *answer) take(message []byte) (*wire.Info, error) {
	kind, body := wire.ParseKind(message)
	switch kind {
	case wire.KindTooSoon, wire.KindBanned:
		return nil, a.denial(kind, body)
	case wire.KindSegment:
		whole, err := a.assemble(body)
		if whole == nil {
			return nil, err
		}
		body = whole
	case wire.KindInfo:
	default:
		return nil, wire.ErrMalformed
	}
	info, err := wire.ParseInfo(body)
	if err == nil && info.Time != a.time {
		return nil, errForged
	}
	return info, err
}

func (a *answer) denial(kind wire.Kind, body []byte) error {
	switch time, ok := wire.ParseDenial(body); {
	case !ok:
		return wire.ErrMalformed
	case time != a.time:
		return errForged
	case kind == wire.KindBanned:
		return ErrBanned
	default:
		return ErrTooSoon
	}
}

func (a *answer) assemble(body []byte) ([]byte, error) {
	s, err := wire.ParseSegment(body)
	if err != nil {
		return nil, err
	}
	if a.parts == nil {
		a.parts = new(wire.Assembly)
	}
	whole, err := a.parts.Add(s)
	if whole != nil || err != nil {
		// Begin anew: what is forged must not keep the real answer out.
		a.parts = nil
	}
	return whole, err
}
