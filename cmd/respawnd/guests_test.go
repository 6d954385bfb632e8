package main

import (
	"bytes"
	"context"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/hostnet"
)

func guestCards(list ...string) (out []hostnet.Address) {
	for i := 0; i < len(list); i += 2 {
		out = append(out, hostnet.Address{Interface: list[i], Prefix: netip.MustParsePrefix(list[i+1])})
	}
	return out
}

func TestAdviceForGuests(t *testing.T) {
	one := guestCards("Ethernet", "192.168.1.5/24")
	all53, all8080 := netip.MustParseAddrPort("0.0.0.0:53"), netip.MustParseAddrPort("0.0.0.0:8080")
	for name, tc := range map[string]struct {
		g           guests
		has, hasNot []string
	}{
		"DNS and page": {
			guests{cards: one, dns: all53, web: all8080},
			[]string{"at 192.168.1.5 (Ethernet)", "DNS server to 192.168.1.5,", "respawnd hosts --game GAME --ip 192.168.1.5", "http://192.168.1.5:8080/", "firewall"},
			[]string{"another network", "of no use"},
		},
		"several cards, the likely one first": {
			guests{cards: guestCards("Wi-Fi", "10.0.0.7/24", "tun0", "10.8.0.2/24"), dns: all53, web: all8080},
			[]string{"at 10.0.0.7 (Wi-Fi)\n      or, on another network, at 10.8.0.2 (tun0)", "DNS server to 10.0.0.7", "http://10.0.0.7:8080/"},
			[]string{"DNS server to 10.8.0.2"},
		},
		"no DNS": {guests{cards: one, web: all8080}, []string{"hosts file of every PC", "\n      respawnd hosts --game GAME --ip 192.168.1.5\n"}, []string{"DNS"}},
		"DNS on another port": {
			guests{cards: one, dns: netip.MustParseAddrPort("0.0.0.0:5353"), web: all8080}, []string{"hosts file of every", "of no use to them on port 5353"}, []string{"either set"},
		},
		"DNS on another card": {
			guests{cards: one, dns: netip.MustParseAddrPort("10.8.0.2:53"), web: all8080}, []string{"hosts file of every"}, []string{"either set"},
		},
		"page on port 80":         {guests{cards: one, web: netip.MustParseAddrPort("0.0.0.0:80")}, []string{"http://192.168.1.5/\n"}, nil},
		"page for this PC alone":  {guests{cards: one, web: netip.MustParseAddrPort("127.0.0.1:8080")}, nil, []string{"http://"}},
		"page with a public name": {guests{cards: one, web: all8080, page: "https://lan.example.org"}, []string{"https://lan.example.org/\n"}, []string{":8080"}},
		"no page":                 {guests{cards: one}, nil, []string{"page"}},
		"no network":              {guests{dns: all53, web: all8080}, []string{"no network found"}, []string{"http://", "\n"}},
		"card with a wild name":   {guests{cards: guestCards("Eth\x1b[31m", "192.168.1.5/24")}, []string{"(Eth?[31m)"}, []string{"\x1b"}},
	} {
		got := tc.g.text()
		for _, part := range tc.has {
			if !strings.Contains(got, part) {
				t.Errorf("%s: no %q in\n%s", name, part, got)
			}
		}
		for _, part := range tc.hasNot {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q in\n%s", name, part, got)
			}
		}
		for line := range strings.Lines(got) {
			if len(line) > 100 {
				t.Errorf("%s: a line of %d characters: %s", name, len(line), line)
			}
		}
	}
}

func TestHostOfALANIsToldInFieldsWhereAProgramReads(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	cards := hostnet.Reachable(addressesOrNone(), hostnet.Route())
	if len(cards) == 0 {
		d.waitFor("that there is no network", 0, func(e entry) bool { return strings.HasPrefix(e.text("message"), "no network found") })
		d.stop()
		return
	}
	d.waitFor("the advice", 0, message("guests reach this machine"))
	lines, _ := d.log.since(0)
	likely := 0
	for _, e := range lines {
		if e.text("message") != "guests reach this machine" {
			continue
		}
		if e["likely"] == true {
			likely++
			if got, want := e.text("address"), cards[0].Addr().String(); got != want {
				t.Errorf("the likely address is %s, want %s", got, want)
			}
		}
		if e.text("interface") == "" || e.text("hosts") == "" || e.text("page") != "" {
			t.Errorf("line %v, want interface and command, and no page on the loopback address", e)
		}
	}
	if likely != 1 {
		t.Errorf("%d likely addresses, want 1", likely)
	}
	d.stop()
}

func TestOthersAreNotToldAboutGuests(t *testing.T) {
	t.Parallel()
	d := startWithout(t, testEnv(t.TempDir(), variable("dns.enabled", "false")))
	d.stop() // and all is written
	if got := d.log.String(); strings.Contains(got, "guests") || strings.Contains(got, "no network found") {
		t.Errorf("the log of a daemon that is not for a LAN:\n%s", got)
	}
}

func TestHostOfALANIsToldInWordsAtTheScreen(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	lines := &watched{want: "ready", seen: make(chan struct{}), to: &errOut}
	go func() {
		defer close(ended)
		run(ctx, []string{"serve"}, testEnv(t.TempDir(), variable("log.format", "console")), strings.NewReader(""), &out, lines)
	}()
	select {
	case <-lines.seen:
	case <-time.After(hang):
		t.Error("not ready")
	}
	cancel()
	<-ended
	text := errOut.String()
	for _, part := range []string{"INF guests reach this machine at ", "\n  if it does not answer: let respawnd through this machine's firewall"} {
		if !strings.Contains(text, part) && !strings.Contains(text, "no network found") {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// watched tells when a text was written.
type watched struct {
	want string
	seen chan struct{}
	to   *bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	if w.want != "" && bytes.Contains(p, []byte(w.want)) {
		w.want = ""
		close(w.seen)
	}
	return w.to.Write(p)
}

func TestSampleForALANServesOne(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), "--config", filepath.Join("..", "..", "configs", "lan.yaml"))
	if got := lookUp(t, d.address["dns"], "udp4", "ut.ms5.gamespy.com"); got != "127.0.0.1" {
		t.Errorf("a guest who looks up the list of a game gets %s, want our address", got)
	}
	if !d.address["lan"].IsValid() {
		t.Error("it does not search the networks")
	}
	register(t, d, "hostname", "of a guest")
	wantListedNames(t, d, "of a guest")
	d.stop()
}

// wantListedNames fails unless servers of exactly these names are listed.
func wantListedNames(t *testing.T, d *running, want ...string) {
	t.Helper()
	var got []string
	for _, row := range list(t, d, "", `\hostname`) {
		got = append(got, row["hostname"])
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("servers %q, want %q", got, want)
	}
}
