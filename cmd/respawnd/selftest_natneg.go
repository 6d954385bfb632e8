package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/natneg"
)

// negotiationVersion is the protocol version that the self-test speaks.
const negotiationVersion = 3

var errWrongPartner = errors.New("the players were sent other addresses than each other's")

// negotiate has two players meet who are behind no NAT.
func (t *selfTest) negotiate(ctx context.Context) error {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never returns an error
	header := natneg.Header{Version: negotiationVersion, Type: natneg.TypeInit, Cookie: binary.BigEndian.Uint32(random[:])}
	var players [2]*net.UDPConn
	for i := range players {
		var d net.Dialer
		c, err := d.DialContext(ctx, "udp4", dialable(t.cfg.NATNeg.Listen))
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		players[i] = c.(*net.UDPConn)
		if err := introduce(players[i], header, byte(i)); err != nil {
			return err
		}
	}
	for i, c := range players {
		remote, err := partner(c, header, byte(i))
		if err != nil {
			return fmt.Errorf("player %d was told no partner: %w", i, err)
		}
		if other := netip.MustParseAddrPort(players[1-i].LocalAddr().String()); remote != other {
			return fmt.Errorf("%w: %v for %v", errWrongPartner, remote, other)
		}
	}
	return nil
}

// introduce sends the inits of one player.
func introduce(c *net.UDPConn, header natneg.Header, index byte) error {
	local := netip.MustParseAddrPort(c.LocalAddr().String())
	for _, port := range []natneg.PortType{natneg.PortNN1, natneg.PortNN2, natneg.PortNN3} {
		init := natneg.Init{PortType: port, Index: index, Local: local, Game: []byte(testGame)}
		if _, err := c.Write(init.AppendTo(header.AppendTo(nil), negotiationVersion)); err != nil {
			return err
		}
	}
	return nil
}

// partner waits for the address of a player's partner and confirms it.
func partner(c *net.UDPConn, header natneg.Header, index byte) (netip.AddrPort, error) {
	if err := c.SetReadDeadline(time.Now().Add(stepTimeout)); err != nil {
		return netip.AddrPort{}, err
	}
	var buf [512]byte
	for {
		n, err := c.Read(buf[:])
		if err != nil {
			return netip.AddrPort{}, err
		}
		h, body, err := natneg.ParseHeader(buf[:n])
		if err != nil || h.Type != natneg.TypeConnect || h.Cookie != header.Cookie {
			continue
		}
		connect, ok := natneg.ParseConnect(body)
		if !ok || connect.Finished != natneg.FinishedOK {
			continue
		}
		h.Type = natneg.TypeConnectAck
		_, err = c.Write(natneg.Ack{Index: index}.AppendTo(h.AppendTo(nil), negotiationVersion))
		return connect.Remote, err
	}
}
