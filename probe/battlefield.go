package probe

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/query"
)

// battlefieldTalk asks the console of a server of Battlefield for everything. The info alone is
// enough.
type battlefieldTalk struct {
	oneQuestion
	answer query.Battlefield
}

func (*battlefieldTalk) question() []byte { return query.AppendBattlefield(nil) }

func (t *battlefieldTalk) take(packet []byte) (query.Step, error) {
	if err := t.answer.Add(packet); err != nil {
		return query.Wait, err
	}
	if t.answer.Whole() {
		return query.Done, nil
	}
	return query.Wait, nil
}

func (t *battlefieldTalk) silence() query.Step {
	if t.answer.Enough() {
		return query.Done
	}
	return query.Wait
}

func (t *battlefieldTalk) held() bool { return t.answer.Enough() }

func (t *battlefieldTalk) status() query.Status { return t.answer.Status() }

// streams sends questions over TCP, each in a connection of its own, and passes the messages of
// the answer on as if they were datagrams.
type streams struct {
	ctx  context.Context // its end closes the connections
	take func(p netserve.Packet) (more bool)
}

// WritePacket implements netserve.PacketWriter. Errors of the connection are those of a server
// that does not answer.
func (s *streams) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	data = slices.Clone(data)
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, QuestionTime)
		defer cancel()
		_ = exchange(ctx, from, to, data, func(message []byte) bool {
			return s.take(netserve.Packet{Data: message, From: to})
		})
	}()
	return nil
}

// exchange sends a question over TCP and passes the messages of the answer to take until it
// wants no more.
func exchange(ctx context.Context, from netip.Addr, to netip.AddrPort, question []byte, take func(message []byte) (more bool)) error {
	var d net.Dialer
	if from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	conn, err := d.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return netclient.During(ctx, conn, func() error {
		if _, err := conn.Write(question); err != nil {
			return err
		}
		for more := true; more; {
			message, err := query.ReadBattlefield(conn)
			if err != nil {
				return err
			}
			more = take(message)
		}
		return nil
	})
}

// askStream is Ask for a protocol over TCP.
func askStream(ctx context.Context, target netip.AddrPort, v *visit) (Status, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, QuestionTime, ErrNoAnswer)
	defer cancel()
	over, err := false, error(nil)
	broken := exchange(bounded, netip.Addr{}, target, v.ask(time.Now()), func(message []byte) bool {
		_, over, _, err = v.take(message, time.Now())
		return !over
	})
	if isTimeout(broken) { // the end of bounded is its deadline
		<-bounded.Done()
	}
	switch {
	case bounded.Err() != nil && !over:
		err = enough(v.talk, context.Cause(bounded))
	case !over:
		err = enough(v.talk, broken)
	}
	if err != nil {
		return Status{}, err
	}
	return v.talk.status(), nil
}
