package zanmaster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// Errors of the client's side.
var (
	// ErrNotAsked reports another message than a verification request.
	ErrNotAsked = errors.New("a message other than a verification request arrived")
	// ErrNotBanList reports another message than the next part of the ban list.
	ErrNotBanList = errors.New("a message other than the ban list arrived")
)

// AnswerError is an answer of the master in place of the list.
type AnswerError zandronum.Answer

func (e AnswerError) Error() string { return fmt.Sprintf("answer to a list request: number %d", e) }

// ClientRevision is a revision of game servers that take the ban list in parts.
const ClientRevision = 1761882777

// maxWaiting is the number of unread messages of the master that a GameServer
// keeps.
const maxWaiting = 256

// GameServer is a Zandronum server. Serve must run while the other methods are
// called. The fields are set before.
type GameServer struct {
	*netclient.Packets

	Verification []byte // made up by the server when it starts
	Revision     uint32

	tell     func(zandronum.Query) [][]byte
	messages chan []byte
}

// NewGameServer returns a game server of revision ClientRevision. tell returns
// the messages that answer a query; nil: queries are not answered.
func NewGameServer(p *netclient.Packets, verification string, tell func(zandronum.Query) [][]byte) *GameServer {
	return &GameServer{
		Packets: p, Verification: []byte(verification), Revision: ClientRevision,
		tell: tell, messages: make(chan []byte, maxWaiting),
	}
}

// Serve answers queries, and keeps the master's messages, until the socket is
// closed.
func (s *GameServer) Serve() {
	var m []byte
	s.Packets.Serve(func(p []byte, from netip.AddrPort) {
		m = zandronum.Decode(m[:0], p, netclient.MaxPacket)
		kind, body := zandronum.ParseKind(m)
		if kind != zandronum.KindQuery {
			select {
			case s.messages <- slices.Clone(m):
			default: // no one reads them
			}
			return
		}
		if s.tell == nil {
			return
		}
		for _, answer := range s.tell(zandronum.ParseQuery(body)) {
			_ = s.Answer(zandronum.Encode(nil, answer), from) // it may be lost, as elsewhere
		}
	})
}

// SendMessage encodes a message and sends it.
func (s *GameServer) SendMessage(message []byte) error {
	return s.Send(zandronum.Encode(nil, message))
}

// Next waits for the next message of the master.
func (s *GameServer) Next(ctx context.Context) ([]byte, error) {
	return netclient.Wait(ctx, s.messages)
}

// Announce sends the challenge, which is the heartbeat too. A server that does not
// enforce the ban list is hidden, unless the operator lists such.
func (s *GameServer) Announce(enforces bool) error {
	return s.SendMessage(zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: s.Verification, Complete: true, Enforces: enforces, Revision: s.Revision,
	}))
}

// AwaitRequest waits for the verification request.
func (s *GameServer) AwaitRequest(ctx context.Context) (zandronum.Verification, error) {
	m, err := s.Next(ctx)
	if err != nil {
		return zandronum.Verification{}, err
	}
	v, ok := zandronum.ParseVerificationRequest(m)
	if !ok || string(v.Verification) != string(s.Verification) {
		return v, ErrNotAsked
	}
	return v, nil
}

// Verify answers a verification request.
func (s *GameServer) Verify(v zandronum.Verification) error {
	return s.SendMessage(zandronum.AppendVerification(nil, v))
}

// AwaitBanList takes all parts of a ban list, in their order, and confirms it.
func (s *GameServer) AwaitBanList(ctx context.Context) (l zandronum.BanList, parts int, err error) {
	for {
		m, err := s.Next(ctx)
		if err != nil {
			return l, parts, fmt.Errorf("no whole ban list for the right answer: %w", err)
		}
		part, err := zandronum.ParseBanPart(m)
		if err != nil || int(part.Number) != parts || string(part.Verification) != string(s.Verification) {
			return l, parts, ErrNotBanList
		}
		parts++
		l.Bans, l.Exempt = append(l.Bans, part.Bans...), append(l.Exempt, part.Exempt...)
		if part.Last {
			return l, parts, s.SendMessage(zandronum.AppendReceipt(nil, s.Verification))
		}
	}
}

// Register has the server verified and takes the ban list.
func (s *GameServer) Register(ctx context.Context, enforces bool) (zandronum.BanList, error) {
	if err := s.Announce(enforces); err != nil {
		return zandronum.BanList{}, err
	}
	v, err := s.AwaitRequest(ctx)
	if err != nil {
		return zandronum.BanList{}, fmt.Errorf("no verification request for a challenge (respawnd doctor may say why): %w", err)
	}
	if err := s.Verify(v); err != nil {
		return zandronum.BanList{}, err
	}
	l, _, err := s.AwaitBanList(ctx)
	return l, err
}

// Launcher requests the list.
type Launcher struct {
	*netclient.Packets

	// Max bounds the entries and packets of a list; 0: no bound.
	Max int

	in []byte
}

// List requests the list once and reads it.
func (l *Launcher) List(ctx context.Context) ([]netip.AddrPort, error) {
	if err := l.Ask(zandronum.ListVersion); err != nil {
		return nil, err
	}
	return l.Read(ctx)
}

// Read waits for all parts of a list and returns its servers in the order in which they
// came; a part that comes twice counts once. The error is an AnswerError if the master
// answers something else, and netclient.ErrTooLong for a list beyond Max. The servers
// that were read are returned with an error too.
func (l *Launcher) Read(ctx context.Context) (servers []netip.AddrPort, err error) {
	var have [256]bool
	left, parts, last := l.Max, 0, -1
	err = l.Await(ctx, func(p []byte, _ netip.AddrPort) (done bool, err error) {
		l.in = zandronum.Decode(l.in[:0], p, netclient.MaxPacket)
		part, err := zandronum.ParseListPacket(l.in)
		switch {
		case err != nil:
			return false, fmt.Errorf("answer to a list request: %w", err)
		case part.Answer != zandronum.AnswerList:
			return false, AnswerError(part.Answer)
		}
		left -= max(len(part.Servers), 1)
		if !have[part.Number] {
			have[part.Number] = true
			parts++
			servers = append(servers, part.Servers...)
		}
		if l.Max > 0 && left < 0 {
			servers = servers[:min(len(servers), l.Max)]
			return false, netclient.ErrTooLong
		}
		if part.Last {
			last = int(part.Number)
		}
		return parts == last+1, nil
	})
	return servers, err
}

// Ask requests the list in a version and does not wait for it.
func (l *Launcher) Ask(version uint16) error {
	return l.Send(zandronum.Encode(nil, zandronum.AppendListRequest(nil, version)))
}
