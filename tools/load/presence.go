package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gpsp"
)

// password is that of all accounts of the load.
const password = "of the load"

// account is a player's.
type account struct{ nick, id string }

// makePlayers makes n accounts.
func makePlayers(ctx context.Context, w *world, n int) error {
	for i := range n {
		a := account{nick: fmt.Sprintf("l%s-%d", w.run, i)}
		c, err := dialSearch(ctx, w, i)
		if err == nil {
			a.id, err = c.Register(soon(), gpsp.Account{Email: a.nick + "@example.com", Nick: a.nick, Password: password, Game: game})
			_ = c.Close()
		}
		if err != nil {
			return fmt.Errorf("account %s: %w", a.nick, err)
		}
		w.players = append(w.players, a)
	}
	return nil
}

// makeBuddies makes all accounts buddies in pairs.
func makeBuddies(ctx context.Context, w *world) error {
	for i := 0; i+1 < len(w.players); i += 2 {
		if err := befriend(ctx, w, i); err != nil {
			return fmt.Errorf("buddies %d: %w", i, err)
		}
	}
	return nil
}

// dialSearch connects to the service for search and accounts.
func dialSearch(ctx context.Context, w *world, i int) (gpsp.Client, error) {
	conn, err := dialTCP(ctx, address(groupSearchers, i), w.daemon.at("gpsp"))
	if err != nil {
		return gpsp.Client{}, err
	}
	return gpsp.NewClient(conn), nil
}

// befriend has player i ask the next one, and that one agree.
func befriend(ctx context.Context, w *world, i int) error {
	a, err := signIn(ctx, w, i)
	if err != nil {
		return err
	}
	defer a.close(false)
	b, err := signIn(ctx, w, i+1)
	if err != nil {
		return err
	}
	defer b.close(false)
	if err := a.AskBuddy(b.Profile, "load"); err != nil {
		return err
	}
	if err := b.Accept(soon(), a.Profile); err != nil {
		return err
	}
	_, err = a.AwaitMessage(soon(), gpcm.MessageAccepted, b.Profile)
	return err
}

// session is a player who is signed in.
type session struct{ *gpcm.Client }

// signIn connects and logs in player i.
func signIn(ctx context.Context, w *world, i int) (*session, error) {
	conn, err := dialTCP(ctx, address(groupPlayers, i), w.daemon.at("gpcm"))
	if err != nil {
		return nil, err
	}
	c, err := gpcm.Connect(soon(), conn)
	if err != nil {
		return nil, err
	}
	if err := c.Login(soon(), gpcm.Login{By: "uniquenick", Name: w.players[i].nick, Password: password, Game: game}); err != nil {
		_ = c.Close()
		return nil, err
	}
	return &session{c}, nil
}

// do asks for the player's own profile, and takes whatever has come before.
func (s *session) do(context.Context) error {
	_, err := s.ReadProfile(soon(), s.Profile)
	return err
}

// close logs out, or just hangs up.
func (s *session) close(rude bool) {
	if !rude {
		_ = s.Logout() // the end of the connection says it too
	}
	_ = s.Close()
}

// pair is two buddies who are signed in.
type pair struct{ a, b *session }

// openPair signs in players 2i and 2i+1, who are buddies.
func openPair(ctx context.Context, w *world, i int) (user, error) {
	a, err := signIn(ctx, w, 2*i)
	if err != nil {
		return nil, err
	}
	b, err := signIn(ctx, w, 2*i+1)
	if err != nil {
		a.close(true)
		return nil, err
	}
	return &pair{a, b}, nil
}

// do sends a message to the buddy and waits until it has arrived.
func (p *pair) do(context.Context) error {
	p.a, p.b = p.b, p.a
	if err := p.a.Message(p.b.Profile, "shall we play on the usual server"); err != nil {
		return err
	}
	_, err := p.b.AwaitMessage(soon(), gpcm.MessageText, p.a.Profile)
	return err
}

func (p *pair) close(rude bool) {
	p.a.close(rude)
	p.b.close(rude)
}

// visitor signs in and out again. Players from first on are its kind's.
type visitor struct {
	w *world
	i int
}

func (v *visitor) do(ctx context.Context) error {
	s, err := signIn(ctx, v.w, v.i)
	if err == nil {
		s.close(false)
	}
	return err
}

func (v *visitor) close(bool) {}

// visitors returns an opener of visitors for the players from first on.
func visitors(first int) opener {
	return func(_ context.Context, w *world, i int) (user, error) { return &visitor{w, first + i}, nil }
}

// sessions returns an opener of sessions for the players from first on.
func sessions(first int) opener {
	return func(ctx context.Context, w *world, i int) (user, error) {
		s, err := signIn(ctx, w, first+i)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

var errNoAccount = errors.New("the account is not found")

// searcher asks whether there is an account.
type searcher struct {
	w *world
	i int
}

func openSearcher(_ context.Context, w *world, i int) (user, error) { return &searcher{w, i}, nil }

func (s *searcher) do(ctx context.Context) error {
	c, err := dialSearch(ctx, s.w, s.i)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	exists, err := c.Exists(soon(), s.w.players[s.i%len(s.w.players)].nick+"@example.com", game)
	if err == nil && !exists {
		err = errNoAccount
	}
	return err
}

func (s *searcher) close(bool) {}
