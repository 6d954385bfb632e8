package abuse

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
	"github.com/respawnd/respawnd/test/rig"
)

// crowded are the services that a few addresses must not be able to block.
var crowded = []string{"serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "gstats", "web"}

// crowdLimits let four addresses take all connections of each of them. Those of the pages
// stay while a busy machine counts them.
func crowdLimits(perAddr int) (vars []string) {
	vars = append(vars, rig.Variable("web.request_time", "1m"))
	for _, s := range crowded {
		vars = append(vars, rig.Variable(s+".max_per_addr", strconv.Itoa(perAddr)), rig.Variable(s+".max_conns", strconv.Itoa(4*perAddr)))
	}
	return vars
}

// Four addresses hold all connections of a service, silent or with incomplete
// requests. A newcomer is served, keeps its connection, and the four get none
// back.
func TestFewAddressesDoNotShutAService(t *testing.T) {
	t.Parallel()
	const perAddr = 4
	d := rig.Start(t, t.TempDir(), crowdLimits(perAddr)...)
	for i, a := range rig.AbusedServices(t) {
		if !strings.Contains(strings.Join(crowded, " "), a.Service) {
			continue // its connections have fixed bounds
		}
		for name, said := range map[string][]byte{"silent": nil, "half a request": a.Question[:len(a.Question)/2]} {
			t.Run(a.Service+"/"+name, func(t *testing.T) {
				from := func(n int) netip.Addr {
					return netip.AddrFrom4([4]byte{127, 30 + byte(len(said)), byte(i), byte(1 + n)})
				}
				open := func(n int) *net.TCPConn {
					c, err := dialFrom(t.Context(), from(n), d.Address[a.Service])
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = c.Close() })
					return c
				}
				for n := range 4 * perAddr {
					_, _ = open(n / perAddr).Write(said) // one that is closed meanwhile is found below
				}
				rig.Eventually(t, "the end of all room", func() bool { return rig.Metric(t, d, rig.OpenConnections(a.Service)) == strconv.Itoa(4*perAddr) })
				newcomer := open(4)
				if !a.Answered(newcomer) {
					t.Fatal("a newcomer is not served")
				}
				for n := range 4 {
					_, _ = io.ReadAll(open(n)) // pushes no one out
				}
				if a.Service == "web" || a.Service == "gpsp" {
					if !a.Answered(newcomer) {
						t.Error("the newcomer did not keep its connection")
					}
				}
			})
			rig.Eventually(t, "the end of all connections", func() bool { return rig.Metric(t, d, rig.OpenConnections(a.Service)) == "0" })
		}
	}
	d.Stop()
}

// Event streams and idle connections are evicted too, streams last.
func TestFewAddressesDoNotShutThePages(t *testing.T) {
	t.Parallel()
	const perAddr = 4
	d := rig.Start(t, t.TempDir(), append(crowdLimits(perAddr), rig.Variable("web.max_streams", "16"), rig.Variable("web.max_streams_per_addr", "4"))...)
	ask := func(n byte, path string) (*net.TCPConn, int) {
		c, err := dialFrom(t.Context(), netip.AddrFrom4([4]byte{127, 40, 0, n}), d.Address["web"])
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
	if got := rig.Metric(t, d, `respawnd_connections_evicted_total{service="web",state="stream"}`); got != "2" {
		t.Errorf("%s streams made room, want 2", got)
	}
	rig.WantIn(t, d.Log.String(), "all connections of the service are in use")
	d.Stop()
}

// Players who are signed in stay, even if many have one address.
func TestSignedInPlayersNeverMakeRoom(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), append(crowdLimits(2), rig.Variable("gpcm.second_login", "allow"), rig.Variable("gpcm.max_per_addr", "8"))...)
	rig.NewUser(t.Context(), d.Address["gpsp"], "Ann")
	var players []rig.Seat
	for range 7 {
		players = append(players, rig.SignedIn(t, d, "uniquenick", "Ann"))
	}
	connect := func(n byte) *rig.Player {
		c, err := dialFrom(t.Context(), netip.AddrFrom4([4]byte{127, 50, n, 1}), d.Address["gpcm"])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return rig.Unmet(c)
	}
	if _, err := connect(1).Expect(`\lc\1\`); err != nil {
		t.Errorf("the last one that has room: %v", err)
	}
	if _, err := connect(2).Expect(`\error\\err\256\fatal\\errmsg\The server is full.\id\1\final\`); err != nil {
		t.Errorf("one too many: %v", err)
	}
	for _, p := range players {
		p.HearsNothing()
	}
	rig.WantIn(t, d.Cli("doctor", "127.50.2.1"), verdicts.ServiceFull.String())
	d.Stop()
}

// A LAN party signs in after a restart of its router: those over the rate wait,
// and those over the limit get an error.
func TestPartyOfOneAddressSignsIn(t *testing.T) {
	t.Parallel()
	const most = 60
	d := rig.Start(t, t.TempDir(), rig.Variable("gpcm.max_per_addr", strconv.Itoa(most)), rig.Variable("gpcm.second_login", "allow"))
	rig.NewUser(t.Context(), d.Address["gpsp"], "Ann")
	in := make(chan *rig.Player, most)
	var party sync.WaitGroup
	for range most {
		party.Go(func() {
			p, err := rig.Meet(t.Context(), d.Address["gpcm"])
			if err != nil {
				t.Errorf("connect: %v", err)
				return
			}
			if err := p.Enter("uniquenick", "Ann", rig.StormPassword); err != nil {
				t.Errorf("sign in: %v", err)
			}
			in <- p
		})
	}
	party.Wait()
	close(in)
	// The last sign-in is noted after its answer; if it came later, it would overwrite
	// the next note.
	rig.Eventually(t, "a note of all sign-ins", func() bool {
		return strings.Contains(d.Cli("doctor", "127.0.0.1"), fmt.Sprintf("%s (%d times", verdicts.SignedIn, most))
	})
	for range 3 {
		c, err := dialFrom(t.Context(), rig.Home, d.Address["gpcm"])
		if err != nil {
			t.Fatal(err)
		}
		p := rig.Unmet(c)
		want := `\error\\err\256\fatal\\errmsg\Too many connections from your address. Try again in a moment.\id\1\final\`
		if _, err := p.Expect(want); err != nil {
			t.Errorf("one too many: %v", err)
		}
		if err := p.Ended(); err != nil {
			t.Error(err)
		}
	}
	d.WantVisit("gpcm", "", verdicts.Limited)
	for p := range in {
		if err := p.MustLeave(); err != nil {
			t.Error(err)
		}
	}
	d.Stop()
}

// Clients of the other services get an error in their own protocol, or the end.
func TestRefusalsInEachProtocol(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), crowdLimits(1)...)
	for service, want := range map[string]string{
		"serverbrowse": "", "legacylist": "",
		"gpsp": `\error\\err\3328\errmsg\too many connections from your address, try again in a moment\final\`,
		"web":  "HTTP/1.1 429 Too Many Requests\r\n",
	} {
		t.Run(service, func(t *testing.T) {
			open := func() *net.TCPConn {
				c, err := dialFrom(t.Context(), rig.Home, d.Address[service])
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			open()
			rig.Eventually(t, "the first connection", func() bool { return rig.Metric(t, d, rig.OpenConnections(service)) == "1" })
			got, err := io.ReadAll(open())
			if err != nil || !strings.HasPrefix(string(got), want) || want == "" && len(got) > 0 {
				t.Errorf("one too many read %q, %v, want %q", got, err, want)
			}
			if service != "web" {
				d.WantVisit(service, "", verdicts.Limited)
			}
			if got := rig.Metric(t, d, `respawnd_connections_refused_total{reason="per_address",service="`+service+`"}`); got != "1" {
				t.Errorf("%s are counted as refused, want 1", got)
			}
		})
	}
	d.Stop()
}
