package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/respawnd/respawnd/internal/zandronum"
)

// zanRevision is one that takes the ban list in parts.
const zanRevision = 1761882777

var errNotVerified = errors.New("no verification and ban list")

// zanServer is a game server of Zandronum. It answers the master's questions
// until it is closed.
type zanServer struct {
	socket       *socket
	verification []byte
	verified     chan struct{}
	ended        chan struct{}
}

// openZanServer has a server listed.
func openZanServer(_ context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupZandronum, i), w.daemon.at("zanmaster"))
	if err != nil {
		return nil, err
	}
	z := &zanServer{socket: &socket{conn: c}, verification: []byte(rand.Text()), verified: make(chan struct{}, 1), ended: make(chan struct{})}
	go z.answer()
	err = z.announce(true)
	if err == nil {
		select {
		case <-z.verified:
			return z, nil
		case <-time.After(patience):
			err = errNotVerified
		}
	}
	z.close(true)
	return nil, err
}

// answer answers the master until the socket is closed. It alone reads.
func (z *zanServer) answer() {
	defer close(z.ended)
	var m, out []byte
	for {
		n, err := z.socket.conn.Read(z.socket.in[:])
		if err != nil {
			return
		}
		m = zandronum.Decode(m[:0], z.socket.in[:n], len(z.socket.in))
		if out = z.reply(out[:0], m); len(out) > 0 {
			_ = z.socket.send(zandronum.Encode(nil, out)) // a lost answer, as elsewhere
		}
	}
}

// reply appends the answer to a message of the master.
func (z *zanServer) reply(out, m []byte) []byte {
	if v, ok := zandronum.ParseVerificationRequest(m); ok {
		return zandronum.AppendVerification(out, v)
	}
	if part, err := zandronum.ParseBanPart(m); err == nil {
		if !part.Last {
			return out
		}
		select {
		case z.verified <- struct{}{}:
		default:
		}
		return zandronum.AppendReceipt(out, z.verification)
	}
	if kind, body := zandronum.ParseKind(m); kind == zandronum.KindQuery {
		q := zandronum.ParseQuery(body)
		return zandronum.AppendInfo(out, &zandronum.Info{
			Time: q.Time, Version: "3.2", Flags: zandronum.FlagName | zandronum.FlagMap | zandronum.FlagMaxClients,
			Name: "Server of the load", Map: "MAP01", MaxClients: 16,
		})
	}
	return out
}

func (z *zanServer) announce(enforces bool) error {
	return z.socket.send(zandronum.Encode(nil, zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: z.verification, Complete: true, Enforces: enforces, Revision: zanRevision,
	})))
}

// do sends a heartbeat, which has no answer.
func (z *zanServer) do(context.Context) error { return z.announce(true) }

func (z *zanServer) close(bool) {
	_ = z.socket.conn.Close()
	<-z.ended
}

// launcher asks for the list of Zandronum servers.
type launcher struct {
	socket *socket
	want   int // servers; below 0: any number
}

func openLauncher(_ context.Context, w *world, i int) (user, error) {
	s, err := dialUDP(address(groupLaunchers, i), w.daemon.at("zanmaster"))
	if err != nil {
		return nil, err
	}
	return &launcher{s, -1}, nil
}

func (l *launcher) do(context.Context) error {
	if err := l.socket.send(zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion))); err != nil {
		return err
	}
	servers := 0
	err := l.socket.await(func(p []byte) (bool, error) {
		part, err := zandronum.ParseListPacket(zandronum.Decode(nil, p, len(l.socket.in)))
		switch {
		case err != nil:
			return false, err
		case part.Answer != zandronum.AnswerList:
			return false, fmt.Errorf("list refused: number %d", part.Answer)
		}
		servers += len(part.Servers)
		return part.Last, nil
	})
	if err == nil && l.want >= 0 && servers != l.want {
		err = errListLength
	}
	return err
}

func (l *launcher) close(bool) { _ = l.socket.conn.Close() }
