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

// negotiator is a pair of players that negotiates again and again.
type negotiator [2]natneg.Peer

func openNegotiator(_ context.Context, w *world, i int) (user, error) {
	n := &negotiator{}
	for k := range n {
		c, err := dialUDP(address(groupNegotiators, 2*i+k), w.daemon.at("natneg"))
		if err != nil {
			n.close(true)
			return nil, err
		}
		n[k] = natneg.Peer{Packets: c, Version: negotiationVersion, Index: byte(k), Game: game}
	}
	return n, nil
}

// do is a negotiation: each player sends three inits, which are acknowledged, is
// sent the other's address, acknowledges that, and reports success, which is
// acknowledged. These are 20 datagrams.
func (n *negotiator) do(context.Context) error {
	cookie := rand.Uint32() // needs only to differ
	for k := range n {
		n[k].Cookie = cookie
		if err := n[k].Announce(); err != nil {
			return err
		}
	}
	for k := range n {
		remote, err := n[k].Partner(soon())
		if err != nil {
			return err
		}
		if remote != n[1-k].Local() {
			return errWrongPartner
		}
	}
	for k := range n {
		if err := n[k].Report(soon()); err != nil {
			return err
		}
	}
	return nil
}

func (n *negotiator) close(bool) {
	for _, p := range n {
		if p.Packets != nil {
			_ = p.Close()
		}
	}
}
