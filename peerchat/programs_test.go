package peerchat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/games"
)

// quickGames is a catalogue with a game whose players are brought together.
func quickGames(t testing.TB) *games.Catalog {
	t.Helper()
	c, err := games.NewCatalog([]games.Game{{
		Name: testGame, Secrets: []string{recordedSecret}, Rooms: []games.Room{{ID: 12, Name: "Quick"}},
		Facts: games.Facts{QuickMatch: games.QuickMatch{Room: "quick", Nick: "Bot", Profile: 17461195, Maps: []string{"a"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// program is the end of a program's connection.
type program struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Scanner
}

func dialProgram(t testing.TB, s *Server) program {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return program{t, conn, bufio.NewScanner(conn)}
}

func (p program) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.conn, strings.Join(lines, "\r\n")+"\r\n"); err != nil {
		p.t.Fatal(err)
	}
}

// until returns the first line that has a text.
func (p program) until(text string) string {
	p.t.Helper()
	for p.in.Scan() {
		if strings.Contains(p.in.Text(), text) {
			return p.in.Text()
		}
	}
	p.t.Fatalf("%q does not come: %v", text, p.in.Err())
	return ""
}

// A program has privileges that players cannot have: its nick, its profile, a room, and
// no limits.
func TestProgram(t *testing.T) {
	f := start(t, func(o *Options) {
		o.Games = quickGames(t)
		o.Pace, o.PaceBurst = 1, 100
		o.Banned = func(a netip.Addr) bool { return a == programAddr.AddrPort().Addr().Next() }
	})
	p := dialProgram(t, f.server)
	var up []string // of calls under the lock of the hall
	f.server.opt.Up = func(channel string) { up = append(up, channel) }
	p.send("USER X1lsaFvqsX|17461195 127.0.0.1 peerchat.gamespy.com :bot", "NICK Bot")
	p.until(" 001 Bot :")
	p.send("JOIN #GPG!12")
	if got := p.until(" 353 "); !strings.HasSuffix(got, ":@Bot") {
		t.Errorf("members %q, want the program as operator", got)
	}

	c, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	player := program{t, c, bufio.NewScanner(c)}
	player.send("USER X1lsaFvqsX|17461195 127.0.0.1 peerchat.gamespy.com :thief", "NICK bot")
	if got := player.until(" 433 "); !strings.Contains(got, "in use") {
		t.Errorf("the nick of the program: %q", got)
	}
	player.send("NICK Ann")
	player.until(" 001 Ann :")
	player.send("JOIN #GPG!12")
	if got := p.until("JOIN :#GPG!12"); got != ":Ann!X1lsaFvqsX|0@127.0.0.1 JOIN :#GPG!12" {
		t.Errorf("the program sees %q, want no profile and the address", got)
	}
	player.until(" 366 ")
	player.send("NICK BOT", "PRIVMSG Bot :"+`\WIDEN`)
	player.until(" 433 ")
	if got := p.until("PRIVMSG"); !strings.HasPrefix(got, ":Ann!") || !strings.HasSuffix(got, ` PRIVMSG Bot :\WIDEN`) {
		t.Errorf("the program gets %q", got)
	}
	// It has no pace.
	for i := range 200 {
		p.send(fmt.Sprint("PRIVMSG Ann :", i))
	}
	player.until("PRIVMSG Ann :199")
	p.send("JOIN #GPG!12") // again
	p.until(" 366 ")
	if len(up) != 1 || up[0] != "#GPG!12" {
		t.Errorf("rooms with a first player: %q, want that of Ann", up)
	}
	if !f.server.Owns("#GPG!12") {
		t.Error("a lone node does not own its rooms")
	}
}

// A client that claims a program's profile has none; other profiles may be claimed.
func TestClaimedProfile(t *testing.T) {
	f := start(t, func(o *Options) { o.Games = quickGames(t) })
	for claimed, want := range map[string]string{"17461195": "0", "17461196": "17461196"} {
		c, err := f.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		x := program{t, c, bufio.NewScanner(c)}
		x.send("USER X1lsaFvqsX|"+claimed+" 127.0.0.1 peerchat.gamespy.com :x", "NICK P"+claimed)
		x.until(" 001 ")
		x.send("WHOIS P" + claimed)
		if got := x.until(" 311 "); !strings.Contains(got, " X1lsaFvqsX|"+want+" ") {
			t.Errorf("who claims %s is %q, want profile %s", claimed, got, want)
		}
	}
}

// Dial waits for the service, and ends with its context or the service.
func TestDialBeforeAndAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := build(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := f.server.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before Serve: %v, want the end of the context", err)
		}
	})
	f := start(t, nil)
	p := dialProgram(t, f.server)
	p.send("PING :x") // it is served
	_ = p.conn.Close()
	f.stop()
	if _, err := f.server.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Serve: %v, want net.ErrClosed", err)
	}
}
