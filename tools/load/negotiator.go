package main

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/respawnd/respawnd/natneg"
)

// negotiationVersion is the protocol version that is spoken.
const negotiationVersion = 3

var errWrongPartner = errors.New("the players were sent other addresses than each other's")

// negotiator is two players who are brought together again and again.
type negotiator [2]*socket

func openNegotiator(_ context.Context, w *world, i int) (user, error) {
	n := &negotiator{}
	for k := range n {
		s, err := dialUDP(address(groupNegotiators, 2*i+k), w.daemon.at("natneg"))
		if err != nil {
			n.close(true)
			return nil, err
		}
		n[k] = s
	}
	return n, nil
}

// do is a negotiation: each player sends three inits, which are acknowledged, is
// sent the other's address, acknowledges that, and reports success, which is
// acknowledged. These are 20 datagrams.
func (n *negotiator) do(context.Context) error {
	h := natneg.Header{Version: negotiationVersion, Cookie: rand.Uint32()} //nolint:gosec // needs only to differ
	for k, s := range n {
		h.Type = natneg.TypeInit
		for _, port := range []natneg.PortType{natneg.PortNN1, natneg.PortNN2, natneg.PortNN3} {
			init := natneg.Init{PortType: port, Index: byte(k), Local: s.local(), Game: []byte(game)}
			if err := n.send(k, init.AppendTo(h.AppendTo(s.out[:0]), negotiationVersion)); err != nil {
				return err
			}
		}
	}
	for k := range n {
		if err := n.meet(k, h); err != nil {
			return err
		}
	}
	for k, s := range n {
		h.Type = natneg.TypeReport
		if err := n.send(k, natneg.Report{Index: byte(k), Result: 1}.AppendTo(h.AppendTo(s.out[:0]))); err != nil {
			return err
		}
		if _, err := n.await(k, natneg.TypeReportAck, h.Cookie); err != nil {
			return err
		}
	}
	return nil
}

// meet waits for the address of a player's partner and confirms it.
func (n *negotiator) meet(k int, h natneg.Header) error {
	body, err := n.await(k, natneg.TypeConnect, h.Cookie)
	if err != nil {
		return err
	}
	c, ok := natneg.ParseConnect(body)
	if !ok || c.Finished != natneg.FinishedOK || c.Remote != n[1-k].local() {
		return errWrongPartner
	}
	h.Type = natneg.TypeConnectAck
	return n.send(k, natneg.Ack{Index: byte(k)}.AppendTo(h.AppendTo(n[k].out[:0]), negotiationVersion))
}

func (n *negotiator) send(k int, p []byte) error {
	n[k].out = p
	return n[k].send(p)
}

func (n *negotiator) await(k int, t natneg.Type, cookie uint32) (body []byte, err error) {
	err = n[k].await(func(p []byte) (bool, error) {
		h, b, err := natneg.ParseHeader(p)
		body = b
		return err == nil && h.Type == t && h.Cookie == cookie, nil
	})
	return body, err
}

func (n *negotiator) close(bool) {
	for _, s := range n {
		if s != nil {
			_ = s.conn.Close()
		}
	}
}
