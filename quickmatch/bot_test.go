package quickmatch

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// hall is a chat whose side a test plays.
type hall struct {
	service.NoChat
	dialed chan net.Conn
	ends   atomic.Bool // the context of the service has ended, and those made of it have not yet

	mu   sync.Mutex
	owns bool
}

func (h *hall) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case h.dialed <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h *hall) Owns(channel string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.owns && (channel == "#GPG!7" || channel == "#GSP!zham")
}

func (h *hall) set(owns bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owns = owns
}

// serving is the context of the service on a hall.
type serving struct {
	context.Context
	h *hall
}

func (s serving) Err() error {
	if s.h.ends.Load() {
		return context.Canceled
	}
	return s.Context.Err()
}

// chat is the other end of the connection of a program.
type chat struct {
	t  *testing.T
	c  net.Conn
	in *bufio.Scanner
}

// next returns the next line of the program.
func (c chat) next() string {
	c.t.Helper()
	if !c.in.Scan() {
		c.t.Fatalf("the program is gone: %v", c.in.Err())
	}
	return c.in.Text()
}

func (c chat) want(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		if got := c.next(); got != want {
			c.t.Fatalf("the program says %q, want %q", got, want)
		}
	}
}

func (c chat) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.c, strings.Join(lines, "\r\n")+"\r\n"); err != nil {
		c.t.Fatal(err)
	}
}

// signOn lets the program in, into a room with one player.
func (c chat) signOn() {
	c.t.Helper()
	c.join()
	c.told()
}

// join lets the program in, until it asks who is in the room.
func (c chat) join() {
	c.t.Helper()
	c.want("USER X1lsaFvqsX|17461195 127.0.0.1 peerchat.gamespy.com :quick matches of zh", "NICK Bot")
	c.send(":s 001 Bot :Welcome", ":s 002 Bot :more")
	c.want("JOIN #GPG!7")
	c.send(":Bot!X1lsaFvqsX|17461195@127.0.0.1 JOIN :#GPG!7", ":s 353 Bot = #GPG!7 :@Bot Ann", ":s 366 Bot #GPG!7 :End of NAMES list")
	c.want("WHO #GPG!7")
}

// told answers the question who is in the room.
func (c chat) told() {
	c.t.Helper()
	c.send(":s 352 Bot #GPG!7 X1lsaFvqsX|1 203.0.113.7 s Ann H :0 Ann", ":s 352 Bot #GPG!7 X1lsaFvqsX|2 127.0.0.1 s Bot H@ :0 Bot", ":s 315 Bot #GPG!7 :End")
}

// play runs the service in a bubble, on a chat.
func play(t *testing.T, test func(h *hall, s *server, next func() chat, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		catalog, err := games.NewCatalog([]games.Game{{
			Name: "zh", Rooms: []games.Room{{ID: 7, Name: "QuickMatch"}},
			Facts: games.Facts{QuickMatch: games.QuickMatch{Room: "quickmatch", Nick: "Bot", Profile: 17461195, Maps: []string{"a", "b"}}},
		}, {Name: "other"}})
		if err != nil {
			t.Fatal(err)
		}
		h, log, reg := &hall{dialed: make(chan net.Conn), owns: true}, new(bytes.Buffer), prometheus.NewRegistry()
		s := newServer(h, catalog, zerolog.New(log), reg, verdicts.NewLog(zerolog.Nop(), 0))
		var c Config
		configs.Defaults(&c)
		s.live.Store(&c)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.serve(serving{ctx, h}) }()
		test(h, s, func() chat {
			conn := <-h.dialed
			t.Cleanup(func() { _ = conn.Close() })
			return chat{t, conn, bufio.NewScanner(conn)}
		}, log)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		if n, err := testutil.GatherAndCount(reg, "respawnd_quickmatch_waiting"); err != nil || n != 0 {
			t.Errorf("%d gauges of games are left, %v", n, err)
		}
	})
}

// A player may search as soon as it sees the program join.
func TestEarlySearch(t *testing.T) {
	play(t, func(_ *hall, s *server, next func() chat, _ *bytes.Buffer) {
		c := next()
		c.join()
		c.send(":Ann!X1lsaFvqsX|1@masked PRIVMSG Bot :"+cinfoOf(), ":Eve!X1lsaFvqsX|4@masked PRIVMSG Bot :"+cinfoOf())
		c.told()
		c.want("PRIVMSG Ann :MBOT:WORKING 1") // and Eve is not in the room
		c.want("PRIVMSG #GPG!7 :MBOT:POOLSIZE 0 1")
		if n := testutil.ToFloat64(s.metrics.outcomes[outOutside]); n != 1 {
			t.Errorf("%v messages from outside, want that of Eve", n)
		}
	})
}

func TestEarlyMessagesAreBounded(t *testing.T) {
	play(t, func(_ *hall, s *server, next func() chat, _ *bytes.Buffer) {
		c := next()
		c.join()
		for range maxEarly + 3 {
			c.send(":Eve!X1lsaFvqsX|4@masked PRIVMSG Bot :" + cinfoOf())
		}
		for _, want := range []float64{3, maxEarly + 3} {
			synctest.Wait()
			if n := testutil.ToFloat64(s.metrics.outcomes[outOutside]); n != want {
				t.Errorf("%v messages from outside, want %v", n, want)
			}
			c.told()
		}
	})
}

// A quick match, from the sign-on of the program on.
func TestQuickMatch(t *testing.T) {
	play(t, func(_ *hall, s *server, next func() chat, _ *bytes.Buffer) {
		c := next()
		c.signOn()
		c.send(":Bob!X1lsaFvqsX|3@198.51.100.9 JOIN :#GPG!7", "PING :4711")
		c.want("PONG :4711")
		c.send(":Ann!X1lsaFvqsX|1@masked PRIVMSG Bot :" + cinfoOf())
		c.want("PRIVMSG Ann :MBOT:WORKING 1")
		c.send(":Bob!X1lsaFvqsX|3@masked PRIVMSG bot :" + cinfoOf("Widen", "60", "Side", "4", "Maps", "1000"))
		c.want("PRIVMSG Bob :MBOT:WORKING 2")
		c.want("PRIVMSG #GPG!7 :MBOT:POOLSIZE 0 2")
		began := time.Now()
		c.want("PRIVMSG #GPG!7 :MBOT:POOLSIZE 0 2")
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("announced again after %v, want 30s", d)
		}
		c.send(":Ann!X1lsaFvqsX|1@masked PRIVMSG #GPG!7 :" + `\WIDEN`) // to the room, which is no business of the program
		c.want("PRIVMSG Bob :MBOT:WIDENINGSEARCH")
		for _, nick := range []string{"Bob", "Ann"} {
			line, ok := strings.CutPrefix(c.next(), "PRIVMSG "+nick+" :MBOT:MATCHED ")
			var at, seed int
			if n, err := fmt.Sscanf(line, "%d %d Bob 3325256713 4 5 0 Ann 3405803783 3 5 0", &at, &seed); !ok || n != 2 || err != nil || at != 1 && at != 2 {
				t.Errorf("%s was sent %q", nick, line)
			}
		}
		for a, want := range map[string]verdicts.Verdict{annAt.String(): verdicts.QuickMatched, bobAt.String(): verdicts.QuickMatched} {
			found := false
			for _, n := range s.players.Of(mustAddr(a)) {
				found = found || n.Verdict == want && n.Game == "zh"
			}
			if !found {
				t.Errorf("no verdict %v on %s", want, a)
			}
		}
	})
}

// Departed players are not matched.
func TestPlayersLeave(t *testing.T) {
	play(t, func(_ *hall, _ *server, next func() chat, log *bytes.Buffer) {
		c := next()
		c.signOn()
		for i, goodbye := range []string{":%s!u@masked PART #GPG!7 :", ":%s!u@masked QUIT :Later", ":Op!u@masked KICK #GPG!7 %s :out", ":Op!u@h KILL %s :gone"} {
			nick := fmt.Sprint("P", i)
			c.send(":"+nick+"!u@192.0.2.9 JOIN :#GPG!7", ":"+nick+"!u@masked PRIVMSG Bot :"+cinfoOf())
			c.want("PRIVMSG " + nick + " :MBOT:WORKING 1")
			c.send(fmt.Sprintf(goodbye, nick), ":"+nick+"!u@masked PRIVMSG Bot :"+cinfoOf())
		}
		c.send(":Ann!u@masked NICK :Anna", ":Anna!u@masked PRIVMSG Bot :"+cinfoOf(), "PING :1")
		c.want("PRIVMSG Anna :MBOT:WORKING 1", "PONG :1")
		_ = log
	})
}

// A program that is thrown out or whose nick is taken comes again.
func TestProgramComesAgain(t *testing.T) {
	play(t, func(_ *hall, _ *server, next func() chat, log *bytes.Buffer) {
		c := next()
		c.want("USER X1lsaFvqsX|17461195 127.0.0.1 peerchat.gamespy.com :quick matches of zh", "NICK Bot")
		c.send(":s 433 * Bot :Nickname is already in use")
		c = next()
		c.signOn()
		c.send(":Op!u@h KICK #GPG!7 Bot :out")
		c = next()
		c.signOn()
		_ = c.c.Close()
		next().signOn()
		if n := strings.Count(log.String(), "left chat and joins it again"); n != 3 {
			t.Errorf("%d lines in the log, want 3: %s", n, log)
		}
	})
}

// When the daemon stops, chat may have ended before the context of a program does.
func TestChatEndsFirst(t *testing.T) {
	play(t, func(h *hall, _ *server, next func() chat, log *bytes.Buffer) {
		c := next()
		c.signOn()
		h.ends.Store(true)
		c.send("ERROR :Closing Link: Bot (The server is going down)")
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("the log says %s", log)
		}
	})
}

// In a cluster the program is where its room is.
func TestOwner(t *testing.T) {
	play(t, func(h *hall, _ *server, next func() chat, _ *bytes.Buffer) {
		c := next()
		c.signOn()
		h.set(false)
		if c.in.Scan() {
			t.Errorf("the program says %q, want that it leaves", c.in.Text())
		}
		time.Sleep(10 * lookEvery)
		select {
		case <-h.dialed:
			t.Error("the program came to a room of another node")
		default:
		}
		h.set(true)
		next().signOn()
	})
}

// The catalogue may change: another nick is another program.
func TestCatalogueChanges(t *testing.T) {
	play(t, func(_ *hall, s *server, next func() chat, _ *bytes.Buffer) {
		c := next()
		c.signOn()
		g, _ := s.games.Lookup("zh")
		g.QuickMatch.Nick = "Robot"
		if err := s.games.Replace([]games.Game{g}); err != nil {
			t.Fatal(err)
		}
		if c.in.Scan() {
			t.Errorf("the program says %q, want that it leaves", c.in.Text())
		}
		c = next()
		if c.next(); c.next() != "NICK Robot" {
			t.Error("the program has its old nick")
		}
		g.QuickMatch = games.QuickMatch{Style: games.QuickRedAlert, Title: "zham", Nick: "Robot", Profile: 17461195}
		if err := s.games.Replace([]games.Game{g}); err != nil {
			t.Fatal(err)
		}
		if c.in.Scan() {
			t.Errorf("the program says %q, want that it leaves its room", c.in.Text())
		}
		c = next()
		c.next() // USER
		c.next() // NICK
		c.send(":s 001 Robot :Welcome")
		c.want("JOIN #GSP!zham")
		if err := s.games.Replace(); err != nil {
			t.Fatal(err)
		}
		if c.in.Scan() {
			t.Errorf("the program of no game says %q", c.in.Text())
		}
	})
}

// mustAddr parses an address.
func mustAddr(s string) netip.Addr { return netip.MustParseAddr(s) }
