package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/valvemaster"
)

const (
	// valvePatience is how long the test server waits for the queries.
	valvePatience = 6 * time.Second
	// valveAskEvery is how often it looks for itself in the list meanwhile.
	valveAskEvery = 300 * time.Millisecond
)

var (
	errNoChallenge  = errors.New("no challenge came (respawnd doctor may say why)")
	errNotAsked     = errors.New("the heartbeat was sent, but no A2S query came: the challenge was refused, or something drops queries to a port that was not open before (respawnd doctor says which)")
	errValveNotSeen = errors.New("the A2S query was answered, but the test server is not in the list")
)

// valveMaster has a game server send a heartbeat, answer the A2S queries that
// follow, and be seen by a browser.
func (t *selfTest) valveMaster(ctx context.Context) error {
	to, err := net.ResolveUDPAddr("udp4", dialable(t.cfg.ValveMaster.Listen))
	if err != nil {
		return err
	}
	// Not connected: the queries come from another port than the master's.
	var lc net.ListenConfig
	c, err := lc.ListenPacket(ctx, "udp4", ":0")
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	s := &valveSocket{conn: c, master: to.AddrPort(), info: a2s.Info{
		Protocol: 17, Name: "respawnd selftest " + rand.Text(), Map: "selftest", Folder: testGame, Game: "respawnd selftest",
		MaxPlayers: 8, Type: a2s.Dedicated, System: a2s.Linux, Version: "1",
	}}
	challenge, err := s.challenge()
	if err != nil {
		return err
	}
	heartbeat, err := valvemaster.Heartbeat{
		Challenge: challenge, Protocol: 17, MaxPlayers: 8, GameDir: []byte(testGame), Map: []byte("selftest"),
		Type: []byte("d"), OS: []byte("l"), Region: valvemaster.AnyRegion,
	}.AppendTo(nil)
	if err != nil {
		return err
	}
	if err := s.send(heartbeat); err != nil {
		return err
	}
	// A good-bye with a challenge takes it off the list at once.
	defer func() {
		if challenge, err := s.challenge(); err == nil {
			_ = s.send(valvemaster.Goodbye{Challenge: challenge, HasChallenge: true}.AppendTo(nil))
		}
	}()
	return s.beListed()
}

// valveSocket is a game server, and a browser who looks for it.
type valveSocket struct {
	conn   net.PacketConn
	master netip.AddrPort
	info   a2s.Info
	asked  bool
}

func (s *valveSocket) send(b []byte) error { return s.sendTo(b, s.master) }

func (s *valveSocket) sendTo(b []byte, to netip.AddrPort) error {
	_, err := s.conn.WriteTo(b, net.UDPAddrFromAddrPort(to))
	return err
}

// read returns the next packet before a time.
func (s *valveSocket) read(until time.Time) (p []byte, from netip.AddrPort, err error) {
	if err := s.conn.SetReadDeadline(until); err != nil {
		return nil, from, err
	}
	buf := make([]byte, 1<<16)
	n, a, err := s.conn.ReadFrom(buf)
	if err != nil {
		return nil, from, err
	}
	udp, ok := a.(*net.UDPAddr)
	if !ok {
		return nil, from, fmt.Errorf("packet from %v", a)
	}
	return buf[:n], udp.AddrPort(), nil
}

// challenge asks for a challenge and waits for it. Queries are answered
// meanwhile.
func (s *valveSocket) challenge() (uint32, error) {
	if err := s.send(valvemaster.ChallengeRequest{}.AppendTo(nil)); err != nil {
		return 0, err
	}
	until := time.Now().Add(stepTimeout)
	for {
		p, from, err := s.read(until)
		if err != nil {
			return 0, errors.Join(errNoChallenge, err)
		}
		if c, err := valvemaster.ParseChallenge(p); err == nil {
			return c.Challenge, nil
		}
		if err := s.answer(p, from); err != nil {
			return 0, err
		}
	}
}

// beListed answers queries until the server sees itself in the list.
func (s *valveSocket) beListed() error {
	request := valvemaster.ListRequest{
		Region: valvemaster.AnyRegion, Seed: valvemaster.Start, Filter: []byte(`\name_match\` + s.info.Name),
	}.AppendTo(nil)
	until := time.Now().Add(valvePatience)
	for time.Now().Before(until) {
		if err := s.send(request); err != nil {
			return err
		}
		seen, err := s.look(time.Now().Add(valveAskEvery))
		if seen || err != nil {
			return err
		}
	}
	if !s.asked {
		return errNotAsked
	}
	return errValveNotSeen
}

// look answers queries for a while and reports whether a list came with the
// server in it. Its name is its own, so it is the only one.
func (s *valveSocket) look(until time.Time) (seen bool, err error) {
	for {
		p, from, err := s.read(until)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return false, nil
		case err != nil:
			return false, err
		}
		port := netip.MustParseAddrPort(s.conn.LocalAddr().String()).Port()
		if l, err := valvemaster.ParseList(p); err == nil {
			if slices.ContainsFunc(l.Servers, func(a netip.AddrPort) bool { return a.Port() == port }) {
				return true, nil
			}
			continue
		}
		if err := s.answer(p, from); err != nil {
			return false, err
		}
	}
}

// answer answers an A2S query and passes over everything else.
func (s *valveSocket) answer(p []byte, from netip.AddrPort) error {
	q, err := a2s.ParseRequest(p)
	if err != nil {
		return nil // no query, nothing to answer
	}
	s.asked = true
	switch q.Kind {
	case a2s.InfoRequest:
		return s.sendTo(a2s.AppendInfo(nil, s.info), from)
	case a2s.PlayersRequest:
		return s.sendTo(a2s.AppendPlayers(nil, a2s.Players{}), from)
	case a2s.RulesRequest:
		return s.sendTo(a2s.AppendRules(nil, a2s.Rules{}), from)
	default:
		return nil
	}
}
