package theater

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/presence"
)

// serve serves connections in memory until the test ends.
func (f *fixture) serve(t *testing.T) *nettest.Pipes {
	t.Helper()
	pipes := nettest.NewPipes()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.serveConns(ctx, pipes) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serveConns: %v", err)
		}
	})
	return pipes
}

// dial returns a client at an address of 127.0.0.0/8.
func dial(t *testing.T, pipes *nettest.Pipes, address string) *Client {
	t.Helper()
	conn, err := pipes.DialFrom(netip.MustParseAddrPort(address))
	if err != nil {
		t.Fatal(err)
	}
	c := NewClient(conn)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// enter returns a client that has signed in.
func enter(t *testing.T, f *fixture, pipes *nettest.Pipes, address string, p lobby.Player) *Client {
	t.Helper()
	f.opt.Lobby.Enter("key of "+p.Name, p)
	c := dial(t, pipes, address)
	_, err := c.Hello(t.Context(), testGame)
	if err == nil {
		err = c.Enter(t.Context(), "key of "+p.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// end waits until the service has closed a connection.
func end(t *testing.T, c *Client) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c.conn); err != nil {
		t.Errorf("the connection ends with %v", err)
	}
}

// TestClients lets two clients of ours play.
func TestClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		pipes := f.serve(t)
		host := enter(t, f, pipes, "127.0.1.1:4000", lobby.Player{Profile: 1, Name: "Ann", Client: testGame, Game: "mercs2"})
		guest := enter(t, f, pipes, "127.0.1.2:4000", lobby.Player{Profile: 2, Name: "Bob", Client: testGame, Game: "mercs2"})
		id, err := host.Host(t.Context(), "Ann's game", 3000, 2, "B-U-Map", "vz")
		if err != nil {
			t.Fatal(err)
		}
		list, err := guest.List(t.Context(), "FILTER-ATTR-U-Map", "vz")
		if err != nil || len(list) != 1 || list[0].Get("N") != "Ann's game" || list[0].Get("GID") != id {
			t.Fatalf("the list is %v, %v", list, err)
		}
		join, err := guest.Send(t.Context(), "EGAM", "LID", "257", "GID", id, "PORT", "3000")
		if err != nil {
			t.Fatal(err)
		}
		asked, err := host.Admit(t.Context(), id)
		if err != nil || asked.Get("NAME") != "Bob" {
			t.Fatalf("the host is asked %v, %v", asked, err)
		}
		at, err := guest.Await(t.Context(), "EGEG", join)
		if err != nil || at.Get("I") != "127.0.1.1" || at.Get("P") != "3000" || at.Get("TICKET") == "" || at.Get("TICKET") != asked.Get("TICKET") {
			t.Fatalf("the guest is sent %v, %v", at, err)
		}
		if err := host.Enters(t.Context(), id, "2"); err != nil {
			t.Fatal(err)
		}
		if _, err := guest.Ask(t.Context(), "GDAT", "GID", "99"); !errors.Is(err, Error(noGame)) {
			t.Errorf("a game that is not there: %v", err)
		}
		_ = host.Close()
		synctest.Wait()
		if n := f.count(); n != 0 {
			t.Errorf("%d games after the host has gone", n)
		}
	})
}

// TestEnds has connections that the service ends: for a frame that is too long or none, for silence, for
// no sign-in, and by order of the operator.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		pipes := f.serve(t)
		for _, b := range []string{"CONN\x40\x00\x00\x00\x00\x01\x00\x00", "CONN\x40\x00\x00\x00\x00\x00\x00\x0b", "CONN\x80\x00\x00\x00\x00\x00\x00\x0c", "GET / HTTP/1.1\r\n\r\n"} {
			c := dial(t, pipes, "127.0.1.1:4000")
			_, _ = c.conn.Write([]byte(b)) // it may be ended while there is more
			end(t, c)
		}
		began := time.Now()
		c := dial(t, pipes, "127.0.1.1:4000")
		if _, err := c.Hello(t.Context(), testGame); err != nil {
			t.Fatal(err)
		}
		if end(t, c); time.Since(began) != signInTime {
			t.Errorf("a client without a sign-in was ended after %v", time.Since(began))
		}
		began = time.Now()
		silent := enter(t, f, pipes, "127.0.1.1:4000", lobby.Player{Profile: 1, Name: "Ann", Client: testGame})
		if end(t, silent); time.Since(began) < silentPings*f.opt.Ping || time.Since(began) > silentPings*f.opt.Ping+2*tick {
			t.Errorf("a silent player was ended after %v", time.Since(began))
		}
		kicked := enter(t, f, pipes, "127.0.1.1:4000", lobby.Player{Profile: 1, Name: "Ann", Client: testGame})
		f.mu.Lock()
		f.players[1].Kick(presence.ErrBanned)
		f.mu.Unlock()
		end(t, kicked)
		if synctest.Wait(); len(f.players) != 0 || f.attached != 0 {
			t.Errorf("%d players and %d attached ones are left", len(f.players), f.attached)
		}
	})
}

// A client that does not read is ended, and no other one waits for it.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		pipes := f.serve(t)
		slow := enter(t, f, pipes, "127.0.1.1:4000", lobby.Player{Profile: 1, Name: "Ann", Client: testGame})
		f.mu.Lock()
		x := f.players[1]
		for range maxWaiting / 1000 {
			x.tell("KICK", "X", strings.Repeat("x", 1000))
		}
		f.mu.Unlock()
		time.Sleep(f.opt.Write + closeGrace)
		synctest.Wait()
		if f.mu.Lock(); len(f.players) != 0 {
			t.Error("a player who does not read is still there")
		}
		f.mu.Unlock()
		_ = slow.Close()
	})
}

// TestPace sends more messages than a client may.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		c := enter(t, f, f.serve(t), "127.0.1.1:4000", lobby.Player{Profile: 1, Name: "Ann", Client: testGame})
		began := time.Now()
		for range paceBurst + paceRate {
			if _, err := c.Ask(t.Context(), "PCNT", "LID", "257"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Errorf("%d messages took %v", paceBurst+paceRate, took)
		}
		if got := testutil.ToFloat64(f.metrics.paced); got < paceRate || got > paceRate+3 {
			t.Errorf("%v messages that waited were counted, want %d", got, paceRate)
		}
	})
}

// sent takes the datagrams of the service.
type sent struct {
	last []byte
	to   netip.AddrPort
}

func (s *sent) WritePacket(b []byte, _ netip.Addr, to netip.AddrPort) error {
	s.last, s.to = append([]byte(nil), b...), to
	return nil
}

// TestEcho sends datagrams: those of the description, foreign ones, and those of players.
func TestEcho(t *testing.T) {
	f := start(t, nil)
	host, guest := f.host(5), f.player(6, testGame)
	var w sent
	packet := func(b []byte, from string) ended {
		w = sent{}
		return f.packet(&w, netserve.Packet{Data: b, From: netip.MustParseAddrPort(from)}, f.now)
	}
	all := examples(t)
	const want = "ECHO\x00\x00\x00\x00\x00\x00\x00\x46TXN=ECHO\nIP=192.0.2.99\nPORT=7000\nERR=0\nTYPE=1\nTID=1\nUID=5\x00"
	if why := packet(all["C ECHO"], "192.0.2.99:7000"); why != (ended{}) || string(w.last) != want || w.to.Port() != 7000 {
		t.Errorf("ECHO is answered with %q to %v, %v", w.last, w.to, why)
	}
	if why := packet(all["C ECHO of Battlefield Heroes"], "192.0.2.99:7000"); why != (ended{}) || string(masked(w.last)) != want {
		t.Errorf("ECHO of Battlefield Heroes is answered with %q, %v", w.last, why)
	}
	if at := host.x.at("3000"); at.Port() != 3000 {
		t.Errorf("a datagram of another address has changed the game's to %v", at)
	}
	for _, b := range []string{
		"", "E", "\x22", string(all["C CONN"]), string(all["C ECHO"][:40]), string(all["C ECHO"]) + "x", strings.Repeat("x", maxDatagram+1),
		"ECHO\x40\x00\x00\x00\x00\x00\x00\x0c",
	} {
		if why := packet([]byte(b), "192.0.2.98:7000"); (why == ended{}) != (len(w.last) > 0) || len(w.last) > len(b)+maxGrowth {
			t.Errorf("%q is answered with %q, %v", b, w.last, why)
		}
	}
	if why := packet(all["C ECHO"], "192.0.2.5:7777"); why != (ended{}) {
		t.Fatal(why)
	}
	if got := guest.ask("GDAT", "UID", "5"); !strings.Contains(got[0], " I=192.0.2.5 P=7777 ") {
		t.Errorf("after its datagram the game is %q", got)
	}
	if _, ok := f.opt.Registry.Find(netip.MustParseAddrPort("192.0.2.5:7777")); !ok || f.opt.Registry.Len() != 1 {
		t.Errorf("the list of servers has %v", f.opt.Registry.All())
	}
	answered := 0
	for range 100 {
		if packet(all["C ECHO"], "192.0.2.97:7000") == (ended{}) {
			answered++
		}
	}
	if answered != echoBurst {
		t.Errorf("%d datagrams of an address were answered at once, want %d", answered, echoBurst)
	}
}

// TestOnSockets serves TCP and UDP.
func TestOnSockets(t *testing.T) {
	f := start(t, nil)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx, conn, ln) }()
	_, err = play(t.Context(), f.opt.Games.All()[0], ln.Addr().String())
	if err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	_ = conn.Close()
}

// FuzzSession sends anything to a host and a guest, who are in one game, and reads what both are sent.
func FuzzSession(f *testing.F) {
	for word := range commands {
		f.Add(word, "GID=1\nPID=1\nALLOWED=1\nUID=1\nSTART=1\nPORT=3000\nMAX-PLAYERS=2\nTID=7\nB-U-x=\"a b\"", true)
		f.Add(word, "GID=0\nUSER=Player1\nTID=%0aX%3d", false)
	}
	f.Fuzz(func(t *testing.T, word, payload string, hosts bool) {
		asks := wire.Frame{Header: wire.Header{Service: word, Kind: wire.TheaterRequest}, Payload: []byte(payload)}
		if _, err := wire.ParseFrame(asks.Append(nil)); err != nil || len(payload) > maxFrame {
			return // it does not arrive
		}
		s := start(t, nil)
		host, guest := s.host(1), s.player(2, testGame)
		guest.ask("EGAM", "GID", "1", "PORT", "4000")
		host.ask("EGRS", "GID", "1", "PID", "2", "ALLOWED", "1")
		host.ask("PENT", "GID", "1", "PID", "2")
		who := guest
		if hosts {
			who = host
		}
		s.mu.Lock()
		_ = who.x.handle(asks, s.now)
		s.mu.Unlock()
		host.hears()
		guest.hears()
		s.packet(new(sent), netserve.Packet{Data: []byte(word + payload), From: netip.MustParseAddrPort("192.0.2.1:1")}, s.now)
		s.mu.Lock()
		s.leave(guest.x)
		s.leave(host.x)
		s.mu.Unlock()
		if len(s.games)+len(s.players)+len(s.sources)+s.attached+s.opt.Registry.Len() != 0 {
			t.Errorf("%d games, %d players, %d addresses, %d attached, %d records are left", len(s.games), len(s.players), len(s.sources), s.attached, s.opt.Registry.Len())
		}
	})
}
