package probe

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/query"
)

// Conn is a UDP socket of which Ask is the only reader; *net.UDPConn is one.
type Conn interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	SetReadDeadline(t time.Time) error
}

// maxPacket is the size of the largest datagram, in bytes.
const maxPacket = 1 << 16

// Ask queries one server over conn and waits for all of its answers, or until
// ctx ends: the data received until then is the result, if that is enough. It
// is for tools and follows no schedule. Packets from other addresses are
// skipped. It leaves a read deadline on conn. A protocol over TCP uses no conn. The error is ErrForbidden,
// ErrNoAnswer, ErrTooMuch, ErrTooSoon, ErrBanned, ErrManyServers, that of ctx
// or of conn, or wraps ssq.ErrRefused.
func Ask(ctx context.Context, conn Conn, target netip.AddrPort, protocol Protocol) (Status, error) {
	t := newTalk(protocol, true)
	switch {
	case !query.Askable(target):
		return Status{}, ErrForbidden
	case t == nil:
		return Status{}, ErrUnknownProtocol
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	v := newVisit(t, protocol, time.Now())
	if protocol.stream() {
		return askStream(ctx, target, v)
	}
	data, over, err := v.ask(time.Now()), false, error(nil)
	buf := make([]byte, maxPacket)
	for !over {
		if data != nil {
			if _, err := conn.WriteToUDPAddrPort(data, target); err != nil {
				return Status{}, fmt.Errorf("ask %v: %w", target, err)
			}
		}
		if err := conn.SetReadDeadline(v.again); err != nil {
			return Status{}, err
		}
		if ctx.Err() != nil {
			err = enough(t, context.Cause(ctx))
			break
		}
		n, from, readErr := conn.ReadFromUDPAddrPort(buf)
		data = nil
		switch {
		case readErr != nil && ctx.Err() != nil:
			over, err = true, enough(t, context.Cause(ctx))
		case readErr != nil && isTimeout(readErr):
			data, over, err = v.look(time.Now())
		case readErr != nil:
			return Status{}, readErr
		case netip.AddrPortFrom(from.Addr().Unmap(), from.Port()) == target:
			data, over, _, err = v.take(buf[:n], time.Now())
		}
	}
	if err != nil {
		return Status{}, err
	}
	return t.status(), nil
}

func isTimeout(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}
