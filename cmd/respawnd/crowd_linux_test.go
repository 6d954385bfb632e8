package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
)

// crowded are the services that a few addresses must not be able to block.
var crowded = []string{"serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "gstats", "web"}

// crowdLimits let four addresses take all connections of each of them.
func crowdLimits(perAddr int) (vars []string) {
	for _, s := range crowded {
		vars = append(vars, variable(s+".max_per_addr", strconv.Itoa(perAddr)), variable(s+".max_conns", strconv.Itoa(4*perAddr)))
	}
	return vars
}

// answered sends a request over c and reports whether a usable answer comes
// back.
func (a abused) answered(c net.Conn) bool {
	if _, err := c.Write(a.question); err != nil {
		return false
	}
	var b [2048]byte
	n, _ := io.ReadAtLeast(c, b[:], 10)
	said := string(b[:n])
	return n > 0 && !strings.Contains(said, "many connections") && !strings.Contains(said, "is full")
}

// Four addresses hold all connections of a service, silent or with incomplete
// requests. A newcomer is served, keeps its connection, and the four get none
// back.
func TestFewAddressesDoNotShutAService(t *testing.T) {
	t.Parallel()
	const perAddr = 4
	d := start(t, t.TempDir(), crowdLimits(perAddr)...)
	for i, a := range abusedServices(t) {
		if !strings.Contains(strings.Join(crowded, " "), a.service) {
			continue // its connections have fixed bounds
		}
		for name, said := range map[string][]byte{"silent": nil, "half a request": a.question[:len(a.question)/2]} {
			t.Run(a.service+"/"+name, func(t *testing.T) {
				from := func(n int) netip.Addr {
					return netip.AddrFrom4([4]byte{127, 30 + byte(len(said)), byte(i), byte(1 + n)})
				}
				open := func(n int) *net.TCPConn {
					c, err := dialFrom(t.Context(), from(n), d.address[a.service])
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = c.Close() })
					return c
				}
				for n := range 4 * perAddr {
					_, _ = open(n / perAddr).Write(said) // one that is closed meanwhile is found below
				}
				eventually(t, "the end of all room", func() bool { return metric(t, d, openConnections(a.service)) == strconv.Itoa(4*perAddr) })
				newcomer := open(4)
				if !a.answered(newcomer) {
					t.Fatal("a newcomer is not served")
				}
				for n := range 4 {
					_, _ = io.ReadAll(open(n)) // pushes no one out
				}
				if a.service == "web" || a.service == "gpsp" {
					if !a.answered(newcomer) {
						t.Error("the newcomer did not keep its connection")
					}
				}
			})
			eventually(t, "the end of all connections", func() bool { return metric(t, d, openConnections(a.service)) == "0" })
		}
	}
	d.stop()
}

// Event streams and idle connections are evicted too, streams last.
func TestFewAddressesDoNotShutThePages(t *testing.T) {
	t.Parallel()
	const perAddr = 4
	d := start(t, t.TempDir(), append(crowdLimits(perAddr), variable("web.max_streams", "16"), variable("web.max_streams_per_addr", "4"))...)
	ask := func(n byte, path string) (*net.TCPConn, int) {
		c, err := dialFrom(t.Context(), netip.AddrFrom4([4]byte{127, 40, 0, n}), d.address["web"])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return c, 0
		}
		return c, resp.StatusCode
	}
	for n := range byte(4 * perAddr) {
		if _, got := ask(1+n/perAddr, "/api/v1/events"); got != http.StatusOK {
			t.Fatalf("stream %d: %d, want 200", n, got)
		}
	}
	if _, got := ask(9, "/api/v1/servers"); got != http.StatusOK {
		t.Errorf("the list, when streams hold all connections: %d, want 200", got)
	}
	if _, got := ask(10, "/api/v1/events"); got != http.StatusOK {
		t.Errorf("a stream, when four addresses have all of them: %d, want 200", got)
	}
	if got := metric(t, d, `respawnd_connections_evicted_total{service="web",state="stream"}`); got != "2" {
		t.Errorf("%s streams made room, want 2", got)
	}
	wantIn(t, d.log.String(), "all connections of the service are in use")
	d.stop()
}

// Players who are signed in stay, even if many have one address.
func TestSignedInPlayersNeverMakeRoom(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), append(crowdLimits(2), variable("gpcm.second_login", "allow"), variable("gpcm.max_per_addr", "8"))...)
	newUser(t.Context(), d.address["gpsp"], "Ann")
	var players []seat
	for range 7 {
		players = append(players, signedIn(t, d, "uniquenick", "Ann"))
	}
	connect := func(n byte) *player {
		c, err := dialFrom(t.Context(), netip.AddrFrom4([4]byte{127, 50, n, 1}), d.address["gpcm"])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return unmet(c)
	}
	if _, err := connect(1).expect(`\lc\1\`); err != nil {
		t.Errorf("the last one that has room: %v", err)
	}
	if _, err := connect(2).expect(`\error\\err\256\fatal\\errmsg\The server is full.\id\1\final\`); err != nil {
		t.Errorf("one too many: %v", err)
	}
	for _, p := range players {
		p.hearsNothing()
	}
	wantIn(t, d.cli("doctor", "127.50.2.1"), verdicts.ServiceFull.String())
	d.stop()
}

// A LAN party signs in after a restart of its router: those over the rate wait,
// and those over the limit get an error.
func TestPartyOfOneAddressSignsIn(t *testing.T) {
	t.Parallel()
	const most = 60
	d := start(t, t.TempDir(), variable("gpcm.max_per_addr", strconv.Itoa(most)), variable("gpcm.second_login", "allow"))
	newUser(t.Context(), d.address["gpsp"], "Ann")
	in := make(chan *player, most)
	var party sync.WaitGroup
	for range most {
		party.Go(func() {
			p, err := meet(t.Context(), d.address["gpcm"])
			if err != nil {
				t.Errorf("connect: %v", err)
				return
			}
			if err := p.enter("uniquenick", "Ann", stormPassword); err != nil {
				t.Errorf("sign in: %v", err)
			}
			in <- p
		})
	}
	party.Wait()
	close(in)
	// The last sign-in is noted after its answer; if it came later, it would overwrite
	// the next note.
	eventually(t, "a note of all sign-ins", func() bool {
		return strings.Contains(d.cli("doctor", "127.0.0.1"), fmt.Sprintf("%s (%d times", verdicts.SignedIn, most))
	})
	for range 3 {
		c, err := dialFrom(t.Context(), home, d.address["gpcm"])
		if err != nil {
			t.Fatal(err)
		}
		p := unmet(c)
		want := `\error\\err\256\fatal\\errmsg\Too many connections from your address. Try again in a moment.\id\1\final\`
		if _, err := p.expect(want); err != nil {
			t.Errorf("one too many: %v", err)
		}
		if err := p.ended(); err != nil {
			t.Error(err)
		}
	}
	d.wantVisit("gpcm", "", verdicts.Limited)
	for p := range in {
		if err := p.leave(); err != nil {
			t.Error(err)
		}
	}
	d.stop()
}

// Clients of the other services get an error in their own protocol, or the end.
func TestRefusalsInEachProtocol(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), crowdLimits(1)...)
	for service, want := range map[string]string{
		"serverbrowse": "", "legacylist": "",
		"gpsp": `\error\\err\3328\errmsg\too many connections from your address, try again in a moment\final\`,
		"web":  "HTTP/1.1 429 Too Many Requests\r\n",
	} {
		t.Run(service, func(t *testing.T) {
			open := func() *net.TCPConn {
				c, err := dialFrom(t.Context(), home, d.address[service])
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			open()
			eventually(t, "the first connection", func() bool { return metric(t, d, openConnections(service)) == "1" })
			got, err := io.ReadAll(open())
			if err != nil || !strings.HasPrefix(string(got), want) || want == "" && len(got) > 0 {
				t.Errorf("one too many read %q, %v, want %q", got, err, want)
			}
			if service != "web" {
				d.wantVisit(service, "", verdicts.Limited)
			}
			if got := metric(t, d, `respawnd_connections_refused_total{reason="per_address",service="`+service+`"}`); got != "1" {
				t.Errorf("%s are counted as refused, want 1", got)
			}
		})
	}
	d.stop()
}
