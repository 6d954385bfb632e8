package peerchat

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
)

func TestTimeouts(t *testing.T) {
	for _, v := range []struct {
		name string
		do   func(t *testing.T, f *fixture)
	}{
		{"sign-on", func(t *testing.T, f *fixture) {
			c := f.connect()
			began := time.Now()
			c.send("NICK Ann")
			c.nick = "Ann"
			c.wantEnd("Registration timed out")
			if d := time.Since(began); d < f.server.opt.LoginTime || d > f.server.opt.LoginTime+time.Second {
				t.Errorf("after %v", d)
			}
		}},
		{"silent before the sign-on", func(t *testing.T, f *fixture) {
			f.connect().wantEnd("Registration timed out")
		}},
		{"silent", func(t *testing.T, f *fixture) {
			c := f.signOn("Ann")
			began := time.Now()
			if line := c.line(); !strings.HasPrefix(line, "PING :") {
				t.Errorf("received %q", line)
			}
			if d := time.Since(began); d != 2*time.Minute {
				t.Errorf("asked after %v", d)
			}
			c.wantEnd("Ping timeout")
			if d := time.Since(began); d < 5*time.Minute || d > 5*time.Minute+time.Second {
				t.Errorf("ended after %v", d)
			}
		}},
		{"answers", func(t *testing.T, f *fixture) {
			c := f.signOn("Ann")
			for range 10 {
				line := c.line()
				c.send(strings.Replace(line, "PING", "PONG", 1))
			}
			c.quiet()
		}},
		{"empty lines are no answer", func(t *testing.T, f *fixture) {
			c := f.signOn("Ann")
			done := make(chan struct{})
			go func() {
				defer close(done)
				for time.Sleep(30 * time.Second); c.trySend("\r\n\n") == nil; {
					time.Sleep(30 * time.Second)
				}
			}()
			c.line()
			c.wantEnd("Ping timeout")
			<-done
		}},
		{"shutdown", func(t *testing.T, f *fixture) {
			c := f.signOn("Ann")
			go f.stop()
			c.wantEnd("The server is going down")
			synctest.Wait()
		}},
		{"pace", func(t *testing.T, f *fixture) {
			f.reload(func(c *Config) { c.Pace, c.PaceBurst = 10, 20 })
			c := f.signOn("Ann")
			began := time.Now()
			go func() {
				for i := range 100 {
					_, _ = fmt.Fprintf(c.conn, "PRIVMSG Ann :%d\r\n", i)
				}
			}()
			for i := range 100 {
				c.want(c.own() + fmt.Sprintf(" PRIVMSG Ann :%d", i))
			}
			if d := time.Since(began); d < 8*time.Second || d > 9*time.Second {
				t.Errorf("100 messages in %v", d)
			}
		}},
	} {
		t.Run(v.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { v.do(t, startPipe(t, nil)) })
		})
	}
}

func TestBadLines(t *testing.T) {
	f := start(t, nil)
	t.Run("without end", func(t *testing.T) {
		for _, on := range []bool{false, true} {
			c := f.connect()
			if on {
				c.signOn("Ann")
			}
			_ = c.trySend(strings.Repeat("x", maxLine) + "yz")
			c.wantEnd("Line too long")
		}
		if n := f.dropped(endedTooLong); n != 2 {
			t.Errorf("counted %d times", n)
		}
	})
	t.Run("longest", func(t *testing.T) {
		c := f.signOn("Bob")
		const head = "PRIVMSG Bob :"
		text := strings.Repeat("x", maxLine-len(head)-2)
		c.send(head + text)
		c.want(c.own() + " PRIVMSG Bob :" + text)
	})
	t.Run("odd", func(t *testing.T) {
		c := f.signOn("Odd")
		for _, line := range []string{"", " ", ":", ":x", ": :", "\x00", "\r\r", ":x :y", "::"} {
			c.expect(line)
		}
		c.expect("xyz", ":s 421 Odd XYZ :Unknown Command")
	})
	t.Run("long words", func(t *testing.T) {
		c := f.signOn("Long")
		word := strings.Repeat("w", 4000)
		for _, line := range []string{
			"%s", "NICK %s", "JOIN %s", "JOIN #%s", "JOIN #a %s", "PART %s", "MODE %s", "MODE #a %s", "MODE #a +b %s", "MODE #a +k %s",
			"MODE Long %s", "WHO %s", "WHOIS %s", "LIST %s", "NAMES %s", "TOPIC #a :%s", "KICK #a %s", "INVITE %s #a", "USERHOST %s",
			"GETKEY %s 1 0 :x", "GETKEY Long %s 0 :x", "GETCKEY #a %s 1 0 :x", "GETCHANKEY #a %s 0 :*", "SETKEY :\\%s", "CDKEY %s", "PING %s",
			"SETGROUP #a %s", "AWAY %s", "CAP %s", "ISON %s", "PRIVMSG %s :x", "UTM #a :%s", "MOTD %s", "GETUDPRELAY %s",
		} {
			c.ask(fmt.Sprintf(line, word[:4000-len(line)]))
		}
		if topic := c.ask("TOPIC #a"); len(topic) != 1 || len(topic[0]) > maxTopic+40 {
			t.Errorf("topic %.60q", topic)
		}
		c.ask("JOIN #b", "MODE #b +k "+word)
		if got := c.ask("MODE #b"); got[0] != ":s 324 Long #b +k "+word[:maxKey] {
			t.Errorf("received %q", got)
		}
	})
}

func TestCrypt(t *testing.T) {
	for _, v := range []struct {
		name, text string
		reason     ended
		do         func(c *client)
	}{
		{"twice", "CRYPT is not possible now", endedCrypt, func(c *client) { c.encrypt(); c.send("CRYPT des 1 gmtest") }},
		{"after USER", "CRYPT is not possible now", endedCrypt, func(c *client) { c.send(userLine, "CRYPT des 1 gmtest") }},
		{"after LOGIN", "CRYPT is not possible now", endedCrypt, func(c *client) {
			c.f.register("Ann", testNamespace)
			c.send("LOGIN 1 Ann "+md5hex(testPassword), "CRYPT des 1 gmtest")
			c.want(":s 707 Ann 1 1")
		}},
		{"unknown game", "Unknown game", endedUnknownGame, func(c *client) { c.send("CRYPT des 1 none") }},
		{"game without a key", "Unknown game", endedUnknownGame, func(c *client) { c.send("CRYPT des 1 nokey") }},
		{"long name", "Unknown game", endedUnknownGame, func(c *client) { c.send("CRYPT des 1 " + strings.Repeat("x", 4000)) }},
	} {
		t.Run(v.name, func(t *testing.T) {
			f := start(t, nil)
			c := f.connect()
			v.do(c)
			c.wantEnd(v.text)
			if n := f.dropped(v.reason); n != 1 {
				t.Errorf("counted %d times", n)
			}
		})
	}
	t.Run("too few parameters", func(t *testing.T) {
		c := start(t, nil).connect()
		c.expect("CRYPT des 1", ":s 461 * CRYPT :Not enough parameters")
		c.send("crypt DES 1 GMTEST")
		if line := c.line(); !strings.HasPrefix(line, ":s 705 * ") {
			t.Errorf("received %q", line)
		}
	})
}

// TestCiphertext_split sends a whole session in one piece, and cut at every byte.
func TestCiphertext_split(t *testing.T) {
	f := start(t, nil)
	lines := strings.Join([]string{"USRIP", "USER u 1 1 :r", "NICK Ann", "JOIN #a", "PRIVMSG Ann :x", "QUIT :bye", ""}, "\r\n")
	for cut := range len(lines) + 1 {
		c := f.connect()
		c.encrypt()
		if cut < len(lines) {
			_ = c.trySend(lines[:cut])
			_ = c.trySend(lines[cut:])
		} else {
			for i := range len(lines) {
				_ = c.trySend(lines[i : i+1])
			}
		}
		c.want(":s 302  :=+@127.0.0.1")
		c.welcomed("Ann")
		c.want(":Ann!u@127.0.0.1 JOIN :#a", ":s 353 Ann = #a :@Ann", ":s 366 Ann #a :End of /NAMES list.", ":Ann!u@127.0.0.1 PRIVMSG Ann :x")
		c.want("ERROR :Closing Link: Ann (bye)")
		_ = c.conn.Close() // the service waits for a pause before it closes
	}
}

// TestNeverReads: a client that reads nothing is closed, and no other one notices.
func TestNeverReads(t *testing.T) {
	t.Run("before the sign-on", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := startPipe(t, nil)
			deaf := f.connect()
			deaf.send("XYZ") // the answer waits in the pipe
			synctest.Wait()
			began := time.Now()
			op, plain, _ := f.room("#room")
			op.send("PRIVMSG #room :x")
			plain.want(op.masked() + " PRIVMSG #room :x")
			if d := time.Since(began); d != 0 {
				t.Errorf("others waited %v", d)
			}
			time.Sleep(2 * time.Minute)
			if deaf.trySend("PONG\r\n") == nil {
				t.Error("still open")
			}
		})
	})
	t.Run("in a room", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := startPipe(t, nil)
			op, deaf, outside := f.room("#room")
			outside.join("#room")
			op.line()
			deafOwn := deaf.own()
			text := strings.Repeat("x", 4000)
			for range 2 * maxQueueBytes / len(text) {
				op.send("UTM #room :" + text)
				if line := outside.line(); !strings.HasSuffix(line, text) {
					if line != deafOwn { // its QUIT comes between
						outside.line()
					}
				}
			}
			op.want(deafOwn + " QUIT :Too much is waiting for you")
			if n := f.dropped(endedSlow); n != 1 {
				t.Errorf("counted %d times", n)
			}
			if n := f.server.Members("#room"); n != 2 {
				t.Errorf("%d members", n)
			}
		})
	})
	t.Run("its own answers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := startPipe(t, nil)
			c := f.signOn("Ann")
			c.join("#" + strings.Repeat("x", 200))
			for c.trySend("LIST\r\nNAMES #x\r\nWHOIS Ann\r\n") == nil { // until it is closed
			}
			time.Sleep(time.Minute)
			if n := f.server.hall.users.Load(); n != 0 {
				t.Errorf("%d users", n)
			}
		})
	})
}

func TestManyJoins(t *testing.T) {
	f := start(t, nil)
	c := f.signOn("Ann")
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("#c%d", i)
	}
	got := strings.Join(c.ask("JOIN "+strings.Join(names[:maxJoinTargets+1], ",")), "\n")
	if n := strings.Count(got, " 366 "); n != 16 || !strings.HasSuffix(got, ":s 405 Ann * :Too many channels") {
		t.Errorf("%d joined: %q", n, got)
	}
	for _, name := range names[maxJoinTargets:] {
		c.expect("JOIN "+name, ":s 405 Ann "+name+" :You have joined too many channels")
	}
	c.ask("PART " + strings.Join(names[:maxJoinTargets], ","))
	if n := len(f.server.Rooms()); n != 0 {
		t.Errorf("%d rooms", n)
	}
	c.ask("JOIN " + names[0])
	f.reload(func(c *Config) { c.MaxChannels, c.MaxMembers = 1, 2 })
	c.expect("JOIN #new", ":s 405 Ann #new :There are too many channels")
	f.signOn("Bob").join(names[0])
	f.signOn("Eve").expect("JOIN #c0", ":s 471 Eve #c0 :Cannot join channel (+l)")
}

// TestDefaults: one address may sign 200 connections on and send 60 lines at once.
func TestDefaults(t *testing.T) {
	d := defaults()
	f := start(t, func(o *Options) { o.Config = d })
	burst := strings.Repeat("PRIVMSG c0 :hello\r\n", 60)
	clients := make([]*client, 200)
	if racetest.RaceDetector {
		clients = clients[:40]
	}
	for i := range clients {
		clients[i] = f.connect()
		clients[i].signOn(fmt.Sprintf("c%d", i))
	}
	began := time.Now()
	for _, c := range clients[1:] {
		if err := c.trySend(burst); err != nil {
			t.Fatal(err)
		}
		for range 60 { // one that does not read all the while would be a slow reader
			clients[0].line()
		}
	}
	for _, c := range clients {
		c.quiet()
	}
	t.Logf("%v", time.Since(began))
}

// TestFlood: an address that spends more than all of its clients may is disconnected,
// a profile too; others are not.
func TestFlood(t *testing.T) {
	t.Run("address", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := startPipe(t, func(o *Options) { o.PacePerAddr, o.PacePerAddrBurst = 1, 50 })
			c := f.signOn("Ann")
			f.dial = fromAddr(f, "192.0.2.1:7")
			other := f.signOn("Bob")
			for range 100 {
				if c.trySend("UTM Ann :x\r\n") != nil {
					break
				}
				if line, err := c.tryLine(); err != nil || strings.HasPrefix(line, "ERROR :Closing Link: Ann (Excess flood)") {
					break
				}
			}
			if n := f.dropped(endedFlood); n != 1 {
				t.Errorf("counted %d times", n)
			}
			other.quiet()
		})
	})
	t.Run("profile", func(t *testing.T) {
		f := start(t, func(o *Options) { o.Pace, o.PaceBurst = 10, 10 })
		profiles, n := f.server.live.Load().profiles, 0
		for n < 1000 && profiles.Take(7, time.Unix(0, 0)) {
			n++
		}
		if n != 100 {
			t.Errorf("%d at once, want 100", n)
		}
	})
	t.Run("5,000 addresses", func(t *testing.T) {
		racetest.Skip(t, "connects often")
		f := startPipe(t, func(o *Options) { o.PacePerAddr, o.PacePerAddrBurst = 1, 10 })
		f.timeout = timeout
		kept := f.signOn("Kept")
		for i := range 5000 {
			addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 7)
			conn, err := f.dialFrom(addr)
			if err != nil {
				t.Fatal(err)
			}
			c := f.client(conn)
			c.send("NICK n" + fmt.Sprint(i))
			_ = conn.Close()
		}
		kept.quiet()
	})
}

// fromAddr returns a function that connects from an address.
func fromAddr(f *fixture, addr string) func() (net.Conn, error) {
	from := netip.MustParseAddrPort(addr)
	return func() (net.Conn, error) { return f.dialFrom(from) }
}

// TestRefused: a connection over the limits reads why.
func TestRefused(t *testing.T) {
	f := start(t, func(o *Options) { o.MaxPerAddr = 1 })
	f.signOn("Ann")
	f.connect().wantEnd("Too many connections from your address. Try again in a moment")
	f.reload(func(c *Config) { c.MaxPerAddr = 2 })
	f.signOn("Bob")
}

// TestBanned: a banned address is served no more.
func TestBanned(t *testing.T) {
	f := start(t, func(o *Options) { o.Banned = func(netip.Addr) bool { return true } })
	f.connect().wantEnd("You are banned")
	if f.dropped(endedBanned) != 1 {
		t.Error("not counted")
	}
}
