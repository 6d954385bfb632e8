package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/zandronum"
)

const (
	// zanSelftestRevision is one that takes the ban list in parts.
	zanSelftestRevision = 1761882777
	// zanMaxList is the size of the largest message of a master.
	zanMaxList = 8192
	// zanPatience is how long a launcher waits until it asks again. A master
	// answers an address that asks too soon once in about three seconds.
	zanPatience = time.Second
	zanTries    = 5
)

var (
	errZanBanned  = errors.New("refused: this address is banned, blocked or not on the allow list (respawnd doctor says which)")
	errZanNoParts = errors.New("something else came than the ban list")
)

// zanmaster has a Zandronum server verify itself, take the ban list, and be
// seen by a launcher.
//
// A launcher's address gets one list per zanmaster.list_window. If ours has had
// its list already, such as in an earlier self-test, the master says so, which
// shows that it answers launchers; the step passes and says what it did not see.
func (t *selfTest) zanmaster(ctx context.Context) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "udp4", dialable(t.cfg.ZanMaster.Listen))
	if err != nil {
		return err
	}
	server := &zanSocket{conn: c}
	defer func() { _ = c.Close() }()
	var random [16]byte
	_, _ = rand.Read(random[:]) // never returns an error
	verification := []byte(hex.EncodeToString(random[:]))
	if err := server.verify(verification); err != nil {
		return err
	}
	// There is no good-bye. But a server that does not enforce the ban list is
	// hidden at once, unless the operator wants to see such.
	defer func() { _ = server.announce(verification, false) }()

	l, err := d.DialContext(ctx, "udp4", dialable(t.cfg.ZanMaster.Listen))
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	list, err := (&zanSocket{conn: l}).list()
	if errors.Is(err, errZanTooSoon) {
		t.remark = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	ours := netip.MustParseAddrPort(c.LocalAddr().String())
	if !slices.ContainsFunc(list, func(a netip.AddrPort) bool {
		return a == ours || (a.Port() == ours.Port() && a.Addr() == t.cfg.ZanMaster.AdvertiseAs)
	}) {
		return errNotInList
	}
	return nil
}

// zanSocket is connected to the master.
type zanSocket struct{ conn net.Conn }

func (s *zanSocket) send(message []byte) error {
	_, err := s.conn.Write(zandronum.Encode(nil, message))
	return err
}

// read returns the next message.
func (s *zanSocket) read(patience time.Duration) ([]byte, error) {
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	buf := make([]byte, 1<<16)
	n, err := s.conn.Read(buf)
	if err != nil {
		return nil, err
	}
	return zandronum.Decode(nil, buf[:n], zanMaxList), nil
}

func (s *zanSocket) announce(verification []byte, enforces bool) error {
	return s.send(zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: verification, Complete: true, Enforces: enforces, Revision: zanSelftestRevision,
	}))
}

// verify goes through the registration of a game server, up to its receipt for
// the ban list.
func (s *zanSocket) verify(verification []byte) error {
	if err := s.announce(verification, true); err != nil {
		return err
	}
	m, err := s.read(stepTimeout)
	if err != nil {
		return fmt.Errorf("no verification request for a challenge (respawnd doctor may say why): %w", err)
	}
	v, ok := zandronum.ParseVerificationRequest(m)
	if !ok || string(v.Verification) != string(verification) {
		return errZanBanned
	}
	if err := s.send(zandronum.AppendVerification(nil, v)); err != nil {
		return err
	}
	for {
		m, err := s.read(stepTimeout)
		if err != nil {
			return fmt.Errorf("no whole ban list for the right answer: %w", err)
		}
		part, err := zandronum.ParseBanPart(m)
		if err != nil {
			return errZanNoParts
		}
		if part.Last {
			return s.send(zandronum.AppendReceipt(nil, verification))
		}
	}
}

var errZanTooSoon = errors.New("the list was not looked at: this address had one less than zanmaster.list_window ago")

// list asks for the list until something comes.
func (s *zanSocket) list() (servers []netip.AddrPort, err error) {
	for range zanTries {
		if err = s.send(zandronum.AppendListRequest(nil, zandronum.ListVersion)); err != nil {
			return nil, err
		}
		if servers, err = s.readList(); !errors.Is(err, os.ErrDeadlineExceeded) {
			return servers, err
		}
	}
	return nil, fmt.Errorf("no list for a request: %w", err)
}

func (s *zanSocket) readList() (servers []netip.AddrPort, err error) {
	for {
		m, err := s.read(zanPatience)
		if err != nil {
			return nil, err
		}
		p, err := zandronum.ParseListPacket(m)
		switch {
		case err != nil:
			return nil, fmt.Errorf("answer to a list request: %w", err)
		case p.Answer == zandronum.AnswerTooSoon:
			return nil, errZanTooSoon
		case p.Answer == zandronum.AnswerBanned:
			return nil, errZanBanned
		case p.Answer != zandronum.AnswerList:
			return nil, fmt.Errorf("answer to a list request: number %d", p.Answer)
		}
		servers = append(servers, p.Servers...)
		if p.Last {
			return servers, nil
		}
	}
}
