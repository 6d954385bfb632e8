package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
)

// errUnexpected reports a message other than the expected one. Any other error
// of a player means that the connection has ended.
var errUnexpected = netclient.ErrUnexpected

// player is a game that signs in to the presence service.
type player struct{ *gpcm.Client }

// unmet returns a player on a connection whose greeting has not been read.
func unmet(c net.Conn) *player { return &player{&gpcm.Client{Text: netclient.NewText(c)}} }

// meet connects to the presence service and reads the greeting.
func meet(ctx context.Context, at netip.AddrPort) (*player, error) {
	ctx = netclient.Bound(ctx, hang)
	c, err := netclient.DialTCP(ctx, at.String())
	if err != nil {
		return nil, err
	}
	p, err := gpcm.Connect(ctx, c)
	return &player{p}, err
}

// knock sends a login: by is the key with the name, uniquenick or user.
func (p *player) knock(by, who, password string) error {
	_, err := p.SendLogin(gpcm.Login{By: by, Name: who, Password: password, Game: testGame})
	return err
}

// enter logs in and reads the answer.
func (p *player) enter(by, who, password string) error {
	return p.Login(netclient.Bound(context.Background(), hang), gpcm.Login{By: by, Name: who, Password: password, Game: testGame})
}

// send writes a message. $K in it stands for the session key.
func (p *player) send(text string) error {
	return p.SendText(strings.ReplaceAll(text, "$K", p.Session))
}

// next returns the next message with its end.
func (p *player) next() (string, error) {
	m, err := p.Next(netclient.Bound(context.Background(), hang))
	if err != nil {
		return "", err
	}
	return m + gamespy.Final, nil
}

// expect returns the next message, which must begin like that.
func (p *player) expect(head string) (string, error) {
	m, err := p.next()
	if err == nil && !strings.HasPrefix(m, head) {
		err = fmt.Errorf("%w: %q, want %q", errUnexpected, m, head)
	}
	return m, err
}

// caughtUp waits until all commands of the player are executed, and returns the
// messages received meanwhile. Commands of one session are executed in order,
// so it sends one that has an answer of its own.
func (p *player) caughtUp() (heard []string, err error) {
	const id = `\id\999\final\`
	if err := p.send(`\getprofile\\sesskey\$K\profileid\2147483647` + id); err != nil {
		return nil, err
	}
	for {
		m, err := p.next()
		if err != nil || strings.HasSuffix(m, id) {
			return heard, err
		}
		heard = append(heard, m)
	}
}

// leave logs out and waits for the server to close the connection, which it
// does when the player is signed out.
func (p *player) leave() error {
	if err := p.send(`\logout\\sesskey\$K\final\`); err != nil {
		return err
	}
	return p.ended()
}

// ended reads up to the end of the connection.
func (p *player) ended() error {
	for {
		_, err := p.next()
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			return fmt.Errorf("the connection is still open: %w", err)
		}
		if err != nil {
			return p.Close()
		}
	}
}

// field returns the value of a key in the way clients look for it.
func field(message, key string) string { return netclient.Field(message, key) }

// seat is a player in a test that fails when something goes wrong.
type seat struct {
	*player
	t testing.TB
}

// greeted returns a player who has read the greeting.
func greeted(t testing.TB, d *running) seat {
	t.Helper()
	p, err := meet(t.Context(), d.address["gpcm"])
	if err != nil {
		t.Fatalf("connect to gpcm: %v", err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return seat{p, t}
}

// signedIn returns a player who has logged in.
func signedIn(t testing.TB, d *running, by, who string) seat {
	t.Helper()
	s := greeted(t, d)
	if err := s.enter(by, who, stormPassword); err != nil {
		t.Fatalf("login with %s %s: %v", by, who, err)
	}
	return s
}

func (s seat) say(format string, args ...any) {
	s.t.Helper()
	text := fmt.Sprintf(format, args...) + gamespy.Final
	if err := s.send(text); err != nil {
		s.t.Fatalf("send %q: %v", text, err)
	}
}

// hears returns the next message, which must begin like that.
func (s seat) hears(format string, args ...any) string {
	s.t.Helper()
	m, err := s.expect(fmt.Sprintf(format, args...))
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// hearsNothing fails if there are unread messages.
func (s seat) hearsNothing() {
	s.t.Helper()
	if heard, err := s.caughtUp(); err != nil || len(heard) > 0 {
		s.t.Fatalf("heard %q, %v; want nothing", heard, err)
	}
}

// isOut fails unless the server closes the connection.
func (s seat) isOut() {
	s.t.Helper()
	if err := s.ended(); err != nil {
		s.t.Fatal(err)
	}
}
