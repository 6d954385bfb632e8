package main

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/master/legacylist"
)

// maxLegacyList is the longest list that the self-test reads, in bytes.
const maxLegacyList = 16 << 20

// legacyList looks for the test server in the old list, as a game does whose
// list is encrypted with its secret.
func (t *selfTest) legacyList(ctx context.Context) error {
	if t.host == nil || t.secret == "" {
		return errNotRegistered
	}
	servers, err := askLegacyList(ctx, dialable(t.cfg.LegacyList.Listen), legacylist.Request{
		Engine: testGame, Secret: t.secret, Enctype: 2, Mode: legacylist.Compact, Game: testGame, Filter: "hostname='" + t.name + "'",
	})
	if err != nil {
		return err
	}
	// The test server has a name of its own, so it is the only one.
	if !slices.ContainsFunc(servers, func(a netip.AddrPort) bool { return a.Port() == t.port() }) {
		return errNotInList
	}
	return nil
}

// askLegacyList has one conversation with the old list at an address.
func askLegacyList(ctx context.Context, address string, r legacylist.Request) ([]netip.AddrPort, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(stepTimeout)); err != nil {
		return nil, err
	}
	var greeting [legacylist.GreetingLen]byte
	if _, err := io.ReadFull(conn, greeting[:]); err != nil {
		return nil, err
	}
	challenge, err := legacylist.ParseGreeting(greeting[:])
	if err != nil {
		return nil, err
	}
	request, err := r.AppendTo(nil, challenge)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	stream, err := io.ReadAll(io.LimitReader(conn, maxLegacyList))
	if err != nil {
		return nil, err
	}
	list, err := r.Decode(challenge, stream)
	if err != nil {
		return nil, err
	}
	return legacylist.ParseCompact(list)
}
