package main

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// password is that of all accounts of the load.
const password = "of the load"

// account is a player's.
type account struct{ nick, id string }

// talk is a connection that speaks backslash text.
type talk struct {
	conn   net.Conn
	unread []byte
	buf    [4096]byte
}

func (t *talk) send(format string, args ...any) error {
	_, err := fmt.Fprintf(t.conn, format+gamespy.Final, args...)
	return err
}

// await returns the next message that begins like that; others are passed over.
func (t *talk) await(head string) (string, error) {
	if err := t.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	for {
		if body, rest, ok := gamespy.CutFinal(t.unread); ok {
			m := string(body)
			t.unread = append(t.unread[:0], rest...)
			switch {
			case strings.HasPrefix(m, head):
				return m, nil
			case strings.HasPrefix(m, `\error\`):
				return "", fmt.Errorf("refused: %q", field(m, "errmsg"))
			}
			continue
		}
		n, err := t.conn.Read(t.buf[:])
		if err != nil {
			return "", err
		}
		t.unread = append(t.unread, t.buf[:n]...)
	}
}

// field returns the value of a key of a message.
func field(m, key string) string {
	_, value, _ := strings.Cut(m, `\`+key+`\`)
	value, _, _ = strings.Cut(value, `\`)
	return value
}

// makePlayers makes n accounts.
func makePlayers(ctx context.Context, w *world, n int) error {
	for i := range n {
		a := account{nick: fmt.Sprintf("l%s-%d", w.run, i)}
		m, err := askSearch(ctx, w, address(groupSearchers, i), `\nur\`,
			`\newuser\\nick\%[1]s\email\%[1]s@example.com\passenc\%[2]s\productID\1\namespaceid\1\uniquenick\%[1]s\partnerid\0\gamename\%[3]s`,
			a.nick, gamespy.EncodePassword(password), game)
		if err != nil {
			return fmt.Errorf("account %s: %w", a.nick, err)
		}
		a.id = field(m, "pid")
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

// askSearch asks the service for search and accounts one question.
func askSearch(ctx context.Context, w *world, from netip.Addr, head, format string, args ...any) (string, error) {
	conn, err := dialTCP(ctx, from, w.daemon.at("gpsp"))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	t := &talk{conn: conn}
	if err := t.send(format, args...); err != nil {
		return "", err
	}
	return t.await(head)
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
	if err := a.send(`\addbuddy\\sesskey\%s\newprofileid\%s\reason\load`, a.key, b.id); err != nil {
		return err
	}
	request, err := b.await(`\bm\2\`)
	if err != nil {
		return err
	}
	_, signature, _ := strings.Cut(request, "|signed|")
	if err := b.send(`\authadd\\sesskey\%s\fromprofileid\%s\sig\%s`, b.key, a.id, signature); err != nil {
		return err
	}
	_, err = a.await(`\bm\4\`)
	return err
}

// session is a player who is signed in.
type session struct {
	talk
	account
	key string
}

func md5hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// signIn connects and logs in player i.
func signIn(ctx context.Context, w *world, i int) (*session, error) {
	conn, err := dialTCP(ctx, address(groupPlayers, i), w.daemon.at("gpcm"))
	if err != nil {
		return nil, err
	}
	s := &session{talk: talk{conn: conn}, account: w.players[i]}
	if err := s.logIn(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, conn.SetDeadline(time.Time{})
}

func (s *session) logIn() error {
	hello, err := s.await(`\lc\1\`)
	if err != nil {
		return err
	}
	const challenge = "abcdefghijklmnopqrstuvwxyz012345"
	key := md5hex(password)
	proof := md5hex(key + strings.Repeat(" ", 48) + s.nick + challenge + field(hello, "challenge") + key)
	err = s.send(`\login\\challenge\%s\uniquenick\%s\partnerid\0\response\%s\port\0\productid\11\gamename\%s\namespaceid\1\sdkrevision\11\id\1`,
		challenge, s.nick, proof, game)
	if err != nil {
		return err
	}
	answer, err := s.await(`\lc\2\`)
	s.key = field(answer, "sesskey")
	return err
}

// do asks for the player's own profile, and takes whatever has come before.
func (s *session) do(context.Context) error {
	if err := s.send(`\getprofile\\sesskey\%s\profileid\%s\id\7`, s.key, s.id); err != nil {
		return err
	}
	_, err := s.await(`\pi\`)
	return err
}

// close logs out, or just hangs up.
func (s *session) close(rude bool) {
	if !rude {
		_ = s.send(`\logout\\sesskey\%s`, s.key) // the end of the connection says it too
	}
	_ = s.conn.Close()
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
	if err := p.a.send(`\bm\1\sesskey\%s\t\%s\msg\shall we play on the usual server`, p.a.key, p.b.id); err != nil {
		return err
	}
	_, err := p.b.await(`\bm\1\`)
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

// searcher asks whether there is an account.
type searcher struct {
	w *world
	i int
}

func openSearcher(_ context.Context, w *world, i int) (user, error) { return &searcher{w, i}, nil }

func (s *searcher) do(ctx context.Context) error {
	_, err := askSearch(ctx, s.w, address(groupSearchers, s.i), `\vr\1`,
		`\valid\\email\%s@example.com\partnerid\0\gamename\%s`, s.w.players[s.i%len(s.w.players)].nick, game)
	return err
}

func (s *searcher) close(bool) {}
