package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/respawnd/respawnd/internal/daemon"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
)

// pageText returns the visible text of a page of the daemon.
func pageText(t testing.TB, d *running, path string) string {
	t.Helper()
	code, body := get(t, d, "web", http.MethodGet, path, "")
	if code != http.StatusOK {
		t.Fatalf("GET %s: status %d\n%s", path, code, body)
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			out.WriteString(n.Data)
		}
	}
	return out.String()
}

// wantReason fails unless doctor and the page show the verdict on a host.
func wantReason(t *testing.T, d *running, h netip.AddrPort, service string, v verdicts.Verdict) {
	t.Helper()
	d.waitFor(v.String(), 0, verdictOn(h, v.String()))
	x := verdicts.Entry{Service: service, Verdict: v}.Explain()
	parts := []string{h.String(), v.String(), x.What, x.Cause, x.Advice}
	wantIn(t, d.cli("doctor", h.Addr().String()), parts...)
	wantIn(t, pageText(t, d, "/why"), parts...) // the page is asked from the loopback address, as the host
}

// wantVisit fails unless doctor shows a verdict on the players of the loopback
// address, at once or soon: an answer may be sent before its verdict is recorded.
func (d *running) wantVisit(service, game string, v verdicts.Verdict) {
	d.t.Helper()
	x := verdicts.Entry{Service: service, Verdict: v}.Explain()
	eventually(d.t, v.String(), func() bool {
		out := d.cli("doctor", "127.0.0.1")
		return strings.Contains(out, x.What+" from 127.0.0.1"+game+": "+v.String()) && strings.Contains(out, x.Cause) && strings.Contains(out, x.Advice)
	})
}

// Doctor shows the verdicts on list requests. The public page does not.
func TestDoctorShowsListReaders(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("legacylist.lenient_filter", "false"), variable("serverbrowse.keepalive", "5s"))
	for range 2 { // games with another key wait
		b := browse(t, d)
		r := serverbrowse.NewRequest(testGame, "", `\hostname`, 0)
		msg, err := r.AppendTo(nil)
		b.must(err)
		b.write(msg)
	}
	wantListed(t, d)
	d.wantVisit("serverbrowse", " for game "+testGame, verdicts.ListSent)
	browse(t, d).write([]byte{0, 3, 0xFF})
	d.wantVisit("serverbrowse", "", verdicts.MalformedRequest)
	ask := func(change func(*legacylist.Request)) {
		t.Helper()
		r := legacylist.Request{Engine: testGame, Secret: testSecret, Enctype: 2, Mode: legacylist.Compact, Game: testGame}
		change(&r)
		_, _ = legacyList(t, d, r) // refused or not
	}
	ask(func(r *legacylist.Request) { r.Secret = "wrong1" })
	d.wantVisit("legacylist", " for game "+testGame, verdicts.WrongResponse)
	ask(func(r *legacylist.Request) { r.Filter = "numplayers >" })
	d.wantVisit("legacylist", " for game "+testGame, verdicts.BadFilter)
	ask(func(*legacylist.Request) {})
	d.wantVisit("legacylist", " for game "+testGame, verdicts.ListSent)
	d.wantVisit("serverbrowse", " for game "+testGame, verdicts.ListUnread)
	if page := pageText(t, d, "/why"); strings.Contains(page, verdicts.ListSent.String()) {
		t.Errorf("/why tells who asked for lists:\n%s", page)
	}
	d.stop()
}

// beat sends a heartbeat of any game.
func (h *host) beat(game string) {
	h.t.Helper()
	b := gamespy.AppendPair(nil, "gamename", game)
	h.send(qr2.KindHeartbeat, append(gamespy.AppendEnd(b), 0, 0, 0, 0, 0, 0))
}

func TestEveryReasonOfTheListIsReported(t *testing.T) {
	t.Parallel()
	catalogue := writeFile(t, "games.yaml", "games:\n  - {name: keyless, title: Keyless, port: 6500}\n")
	dir := t.TempDir()
	d := start(t, dir, variable("games.file", catalogue), variable("master.max_servers", "1"), variable("qr2.unproved_rate", "1"),
		variable("qr2.unproved_burst", "12"), variable("log.level", "debug"))
	at := d.address["qr2"]

	unknown := newHost(t, at)
	unknown.beat("no_such_game")
	wantReason(t, d, unknown.address(), "qr2", verdicts.UnknownGame)

	keyless := newHost(t, at)
	keyless.beat("keyless")
	wantReason(t, d, keyless.address(), "qr2", verdicts.NoSecret)

	malformed := newHost(t, at)
	malformed.send(qr2.KindHeartbeat, []byte("gamename"))
	wantReason(t, d, malformed.address(), "qr2", verdicts.Malformed)

	silent := newHost(t, at, "hostname", "Silent")
	silent.heartbeat("3")
	wantReason(t, d, silent.address(), "qr2", verdicts.ChallengeSent)

	wrong := newHost(t, at, "hostname", "Wrong")
	wrong.heartbeat("3")
	wrong.expect(qr2.KindChallenge)
	wrong.send(qr2.KindChallenge, append([]byte(strings.Repeat("x", 28)), 0))
	wantReason(t, d, wrong.address(), "qr2", verdicts.WrongResponse)

	good := register(t, d, "hostname", "Good")
	wantReason(t, d, good.address(), "qr2", verdicts.Listed)
	wantIn(t, pageText(t, d, "/why"), "Good")

	late := newHost(t, at, "hostname", "Late")
	late.heartbeat("3")
	late.answer()
	wantReason(t, d, late.address(), "qr2", verdicts.ListFull)

	good.Instance++
	good.heartbeat("3")
	good.prove()
	wantReason(t, d, good.address(), "qr2", verdicts.Restarted)

	good.heartbeat("2")
	wantReason(t, d, good.address(), "qr2", verdicts.Left)

	d.cli("ban", "add", "127.0.0.1", "--scope", "lists")
	banned := newHost(t, at)
	banned.beat(testGame)
	wantReason(t, d, banned.address(), "qr2", verdicts.Banned)
	wantIn(t, pageText(t, d, "/why"), "This address is banned from server lists for good.")
	wantIn(t, d.cli("doctor", "127.0.0.1"), "a ban of 127.0.0.1/32 covers it")
	d.cli("ban", "remove", "127.0.0.1")

	flood := newHost(t, at)
	for range 20 { // shorter than their challenge
		flood.send(qr2.KindHeartbeat, gamespy.AppendPair(nil, "gamename", testGame))
	}
	wantReason(t, d, flood.address(), "qr2", verdicts.Limited)
	d.stop()
}

func TestLimitAndRestartAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir, variable("master.max_per_addr", "1"))
	first := register(t, d, "hostname", "First")
	second := newHost(t, d.address["qr2"], "hostname", "Second")
	second.heartbeat("3")
	second.answer()
	wantReason(t, d, second.address(), "qr2", verdicts.TooManyHere)
	d.stop()
	e := start(t, dir, variable("log.level", "debug"))
	wantReason(t, e, first.address(), "qr2", verdicts.Restored)
	e.stop()
}

func TestReachabilityIsReported(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("qr2.probe", "true"))
	h := register(t, d, "hostname", "Open")
	h.expect(qr2.KindQuery)
	wantReason(t, d, h.address(), "qr2", verdicts.PerhapsReachable)
	d.stop()
}

func TestReasonsOfZandronum(t *testing.T) {
	t.Parallel()
	home := netip.MustParseAddr("127.0.0.1") // where the page is asked from
	t.Run("private list", func(t *testing.T) {
		d := startZan(t, t.TempDir(), noWindow, variable("zanmaster.allow_servers", "192.0.2.0/24"))
		h := newZanHost(t, d, home, nil)
		h.announce()
		wantReason(t, d, h.address(), "zanmaster", verdicts.NotAllowed)
		d.stop()
	})
	t.Run("block list", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "blocklist.txt"), []byte("127.0.0.1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := startZan(t, dir, noWindow)
		h := newZanHost(t, d, home, nil)
		h.announce()
		wantReason(t, d, h.address(), "zanmaster", verdicts.Blocked)
		d.stop()
	})
}

func TestDoctorSaysThatNothingWasHeard(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	out := d.cli("doctor", "203.0.113.77")
	wantIn(t, out, "No packet of a game server came from 203.0.113.77", "respawnd hosts")
	wantIn(t, pageText(t, d, "/why"), "is known to have reported to this site")
	d.stop()
}

// TestWhyIgnoresProxyHeaders requests the page with another address in every
// header that proxies use.
func TestWhyIgnoresProxyHeaders(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		trusted string
		want    string
	}{
		"no proxy trusted":           {"", "Your address is 127.0.0.1."},
		"another network is trusted": {"10.0.0.0/8", "Your address is 127.0.0.1."},
		"the proxy is trusted":       {"127.0.0.0/8", "Your address is 203.0.113.7."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, t.TempDir(), variable("web.trusted_proxies", tc.trusted))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/why?ip=203.0.113.7", d.address["web"]), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"X-Forwarded-For", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "Client-IP"} {
				req.Header.Set(name, "198.51.100.1, 203.0.113.7")
			}
			req.Header.Set("Forwarded", "for=203.0.113.7")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			doc, err := html.Parse(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for n := range doc.Descendants() {
				if n.Type == html.TextNode {
					text.WriteString(n.Data)
				}
			}
			wantIn(t, text.String(), tc.want)
			d.stop()
		})
	}
}

func TestHomeNamesServices(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	text := pageText(t, d, "/connect")
	for _, e := range daemon.List(new(services.Config)) {
		if _, on := d.address[e.Name]; on && e.Title != "" {
			wantIn(t, text, e.Title, fmt.Sprint(d.address[e.Name].Port()))
		}
	}
	wantIn(t, text, "127.0.0.1")
	if slices.Contains(strings.Fields(text), "admin") {
		t.Error("the page tells of the admin API")
	}
	_, hosts := get(t, d, "web", http.MethodGet, "/games/swat4/hosts.txt?ip=192.168.1.5", "")
	// The page leaves names out whose service does not run.
	all, lines := d.cli("hosts", "--game", "swat4", "--ip", "192.168.1.5"), 0
	for line := range strings.Lines(hosts) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "192.168.1.5 ") {
			wantIn(t, all, line)
			lines++
		}
	}
	if lines < 10 {
		t.Errorf("%d names for the hosts file, want 10 or more:\n%s", lines, hosts)
	}
	d.stop()
}

// Doctor takes an address with a port, and a name.
func TestDoctorOfPortAndName(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	one, two := newHost(t, d.address["qr2"]), newHost(t, d.address["qr2"])
	one.beat("no_such_game")
	two.beat("no_such_game")
	d.waitFor("the verdicts", 0, verdictOn(one.address(), verdicts.UnknownGame.String()))
	d.waitFor("the verdicts", 0, verdictOn(two.address(), verdicts.UnknownGame.String()))

	out := d.cli("doctor", one.address().String())
	if !strings.Contains(out, "from "+one.address().String()) || strings.Contains(out, two.address().String()) {
		t.Errorf("doctor of one port:\n%s", out)
	}
	if shown, _, _ := strings.Cut(strings.TrimSpace(out), " "); len(shown) < len(time.RFC3339)-len("07:00") {
		t.Errorf("time %q, want one with a zone", shown)
	} else if _, err := time.Parse(time.RFC3339, shown); err != nil {
		t.Error(err)
	}
	wantIn(t, d.cli("doctor", "127.0.0.1:9"), "came from 127.0.0.1:9 since", "other ports of that address", fmt.Sprint(one.address().Port()))
	wantIn(t, d.cli("doctor", "localhost"), "localhost is 127.0.0.1", one.address().String(), two.address().String())
	if lines := strings.Split(strings.TrimSpace(d.cli("doctor", one.address().String(), "--json")), "\n"); len(lines) != 1 || !strings.Contains(lines[0], `"times":1`) {
		t.Errorf("doctor --json: %q, want one object", lines)
	}
	d.stop()
}
