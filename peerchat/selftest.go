package peerchat

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// trialText is the message between the players of the self-test.
const trialText = "hello"

// meet signs two players on, one of them enciphered. They join a room of their own,
// set a key, talk and leave.
func meet(ctx context.Context, t *service.Trial) error {
	host, err := signOnTrial(ctx, t, true)
	if err != nil {
		return fmt.Errorf("enciphered: %w", err)
	}
	defer func() { _ = host.Close() }()
	guest, err := signOnTrial(ctx, t, false)
	if err != nil {
		return fmt.Errorf("plain: %w", err)
	}
	defer func() { _ = guest.Close() }()
	var private [4]byte
	_, _ = rand.Read(private[:]) // never returns an error
	room := StagingName(t.Game, host.Address, netip.AddrFrom4(private), 0)
	return playRoom(netclient.Bound(ctx, service.StepTimeout), host, guest, room)
}

// signOnTrial connects and signs on with a nick that no player has.
func signOnTrial(ctx context.Context, t *service.Trial, encrypted bool) (*Client, error) {
	ctx = netclient.Bound(ctx, service.StepTimeout)
	conn, err := netclient.DialTCP(ctx, t.Address(name))
	if err != nil {
		return nil, err
	}
	c := NewClient(conn)
	if encrypted {
		err = c.Encrypt(ctx, t.Game, t.Secret)
	}
	if err == nil {
		err = c.SignOn(ctx, "selftest-"+strings.ToLower(rand.Text()[:10]))
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// playRoom plays a staging room from its first member to its last.
func playRoom(ctx context.Context, host, guest *Client, room string) error {
	for i, c := range []*Client{host, guest} {
		if j, err := c.Join(ctx, room, ""); err != nil {
			return err
		} else if len(j.Members) != i+1 {
			return fmt.Errorf("member %d of the room sees %d members", i+1, len(j.Members))
		}
	}
	if err := host.SetMemberKeys(room, host.Nick, "b_flags", "sh"); err != nil {
		return err
	}
	if l, err := guest.AwaitCommand(ctx, "702"); err != nil {
		return fmt.Errorf("a key was not sent to the other member: %w", err)
	} else if len(l.Params) != 5 || !l.Is("702", l.Param(0), room, host.Nick, "BCAST", `\b_flags\sh`) {
		return fmt.Errorf("a key was sent to the other member as %q", l)
	}
	if err := host.Say(room, trialText); err != nil {
		return err
	}
	if l, err := guest.AwaitCommand(ctx, "PRIVMSG"); err != nil {
		return fmt.Errorf("a message was not sent to the other member: %w", err)
	} else if len(l.Params) != 2 || !l.Is("PRIVMSG", room, trialText) {
		return fmt.Errorf("a message was sent to the other member as %q", l)
	}
	if err := guest.Part(room, "bye"); err != nil {
		return err
	}
	if _, err := host.Await(ctx, func(l Line) bool { return l.Is("PART", room) && l.Nick() == guest.Nick }); err != nil {
		return fmt.Errorf("a departure was not sent to the other member: %w", err)
	}
	return host.Quit("bye")
}
