package main

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// buddyMessage makes two accounts as games do, signs both players in, lets them
// become buddies, and passes a message from one to the other. The accounts are
// deleted again, which takes the admin API: the protocol keeps the last profile
// of an account.
func (t *selfTest) buddyMessage(ctx context.Context) (err error) {
	op, err := remote(t.cfg)
	if err != nil {
		return err
	}
	var players [2]*testPlayer
	for i := range players {
		p := newTestPlayer()
		// Who cannot be reached could not delete the account afterwards.
		if _, err := op.FindAccount(ctx, operator.AccountRef{Email: p.email}); !errors.Is(err, storage.ErrNotFound) {
			return fmt.Errorf("admin: looking for an account that nobody has: %w", err)
		}
		if err := p.register(ctx, t.cfg.GPSP.Listen); err != nil {
			return fmt.Errorf("gpsp: %w", err)
		}
		defer func() { err = errors.Join(err, p.leave(ctx, op)) }()
		if err := p.signIn(ctx, t.cfg.GPCM.Listen); err != nil {
			return fmt.Errorf("gpcm: %w", err)
		}
		players[i] = p
	}
	if err := makeBuddies(players[0], players[1]); err != nil {
		return fmt.Errorf("gpcm: %w", err)
	}
	return nil
}

// testPlayer is a player with an account for the time of the test.
type testPlayer struct {
	email, name, password string

	game    *gameConn // nil: not signed in
	session string
	profile string
}

func newTestPlayer() *testPlayer {
	name := "st" + strings.ToLower(rand.Text()[:14])
	return &testPlayer{email: name + "@selftest.invalid", name: name, password: rand.Text()[:16]}
}

// register makes the account.
func (p *testPlayer) register(ctx context.Context, listen string) error {
	c, err := dialGame(ctx, listen)
	if err != nil {
		return err
	}
	defer func() { _ = c.conn.Close() }()
	answer, err := c.ask("newuser", "", "nick", p.name, "email", p.email, "passenc", gamespy.EncodePassword(p.password),
		"productID", "0", "namespaceid", "1", "uniquenick", p.name, "gamename", testGame)
	if err != nil {
		return fmt.Errorf("no answer to a registration: %w", err)
	}
	if !has(answer, "nur", "0") {
		return unexpected("a registration", answer)
	}
	return nil
}

// signIn opens the session.
func (p *testPlayer) signIn(ctx context.Context, listen string) error {
	c, err := dialGame(ctx, listen)
	if err != nil {
		return err
	}
	p.game = c
	hello, err := c.read()
	if err != nil {
		return fmt.Errorf("no greeting: %w", err)
	}
	challenge, _ := hello.Get("challenge")
	mine := rand.Text()
	answer, err := c.ask("login", "", "challenge", mine, "uniquenick", p.name, "partnerid", "0",
		"response", p.proof(mine, challenge), "port", "0", "productid", "0", "gamename", testGame,
		"namespaceid", "1", "sdkrevision", "3", "id", "1")
	if err != nil {
		return fmt.Errorf("no answer to a login: %w", err)
	}
	if !has(answer, "lc", "2") {
		return unexpected("a login", answer)
	}
	if server := p.proof(challenge, mine); !has(answer, "proof", server) {
		return errors.New("the service does not prove that it knows the password")
	}
	p.session, _ = answer.Get("sesskey")
	p.profile, _ = answer.Get("profileid")
	return nil
}

// proof shows that the player knows the password.
func (p *testPlayer) proof(first, second string) string {
	secret := md5hex(p.password)
	return md5hex(secret + strings.Repeat(" ", 48) + p.name + first + second + secret)
}

func md5hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// makeBuddies has a ask b, b accept, and a write to b.
func makeBuddies(a, b *testPlayer) error {
	if err := a.game.send("addbuddy", "", "sesskey", a.session, "newprofileid", b.profile, "reason", "selftest"); err != nil {
		return err
	}
	request, err := b.message("2", a)
	if err != nil {
		return fmt.Errorf("the request of a buddy did not come: %w", err)
	}
	_, signature, _ := strings.Cut(request, "|signed|")
	if err := b.game.send("authadd", "", "sesskey", b.session, "fromprofileid", a.profile, "sig", signature); err != nil {
		return err
	}
	if _, err := a.message("4", b); err != nil {
		return fmt.Errorf("the answer to the request did not come: %w", err)
	}
	text := "hello " + rand.Text()
	if err := a.game.send("bm", "1", "sesskey", a.session, "t", b.profile, "msg", text); err != nil {
		return err
	}
	got, err := b.message("1", a)
	if err != nil {
		return fmt.Errorf("the message of a buddy did not come: %w", err)
	}
	if got != text {
		return fmt.Errorf("the message of a buddy came as %q, want %q", got, text)
	}
	return nil
}

// message waits for a buddy message of a kind from somebody and returns its text.
// Statuses and the like come in between.
func (p *testPlayer) message(kind string, from *testPlayer) (string, error) {
	for {
		m, err := p.game.read()
		if err != nil {
			return "", err
		}
		if m.Name() == "error" {
			return "", unexpected("a message", m)
		}
		if has(m, "bm", kind) && has(m, "f", from.profile) {
			text, _ := m.Get("msg")
			return text, nil
		}
	}
}

// leave ends the session and deletes the account.
func (p *testPlayer) leave(ctx context.Context, op operator.Operator) error {
	if p.game != nil {
		_ = p.game.conn.Close() // it may have ended
	}
	ctx = operator.WithActor(ctx, actor())
	a, err := op.FindAccount(ctx, operator.AccountRef{Email: p.email})
	if err == nil {
		err = op.DeleteAccount(ctx, a.ID)
	}
	if err != nil {
		return fmt.Errorf("the test account %s is left behind: %w", p.email, err)
	}
	return nil
}
