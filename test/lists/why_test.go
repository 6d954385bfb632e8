package lists

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

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

// wantReason fails unless doctor and the page show the verdict on a host.
func wantReason(t *testing.T, d *rig.Running, h netip.AddrPort, service string, v verdicts.Verdict) {
	t.Helper()
	d.WaitFor(v.String(), 0, rig.VerdictOn(h, v.String()))
	x := verdicts.Entry{Service: service, Verdict: v}.Explain()
	parts := []string{h.String(), v.String(), x.What, x.Cause, x.Advice}
	rig.WantIn(t, d.Cli("doctor", h.Addr().String()), parts...)
	rig.WantIn(t, rig.PageText(t, d, "/why"), parts...) // the page is asked from the loopback address, as the host
}

// Doctor shows the verdicts on list requests. The public page does not.
func TestDoctorShowsListReaders(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("legacylist.lenient_filter", "false"), rig.Variable("serverbrowse.keepalive", "5s"))
	for range 2 { // games with another key wait
		b := rig.Browse(t, d)
		r := serverbrowse.NewRequest(rig.TestGame, "", `\hostname`, 0)
		msg, err := r.AppendTo(nil)
		b.Must(err)
		b.Write(msg)
	}
	rig.WantListed(t, d)
	d.WantVisit("serverbrowse", " for game "+rig.TestGame, verdicts.ListSent)
	rig.Browse(t, d).Write([]byte{0, 3, 0xFF})
	d.WantVisit("serverbrowse", "", verdicts.MalformedRequest)
	ask := func(change func(*legacylist.Request)) {
		t.Helper()
		r := legacylist.Request{Engine: rig.TestGame, Secret: rig.TestSecret, Enctype: 2, Mode: legacylist.Compact, Game: rig.TestGame}
		change(&r)
		_, _ = rig.LegacyList(t, d, r) // refused or not
	}
	ask(func(r *legacylist.Request) { r.Secret = "wrong1" })
	d.WantVisit("legacylist", " for game "+rig.TestGame, verdicts.WrongResponse)
	ask(func(r *legacylist.Request) { r.Filter = "numplayers >" })
	d.WantVisit("legacylist", " for game "+rig.TestGame, verdicts.BadFilter)
	ask(func(*legacylist.Request) {})
	d.WantVisit("legacylist", " for game "+rig.TestGame, verdicts.ListSent)
	d.WantVisit("serverbrowse", " for game "+rig.TestGame, verdicts.ListUnread)
	if page := rig.PageText(t, d, "/why"); strings.Contains(page, verdicts.ListSent.String()) {
		t.Errorf("/why tells who asked for lists:\n%s", page)
	}
	d.Stop()
}

func TestEveryReasonOfTheListIsReported(t *testing.T) {
	t.Parallel()
	catalogue := rig.WriteFile(t, "games.yaml", "games:\n  - {name: keyless, title: Keyless, port: 6500}\n")
	dir := t.TempDir()
	d := rig.Start(t, dir, rig.Variable("games.file", catalogue), rig.Variable("master.max_servers", "1"), rig.Variable("qr2.unproved_rate", "1"),
		rig.Variable("qr2.unproved_burst", "12"), rig.Variable("log.level", "debug"))
	at := d.Address["qr2"]

	unknown := rig.NewHost(t, at)
	unknown.Beat("no_such_game")
	wantReason(t, d, unknown.Address(), "qr2", verdicts.UnknownGame)

	keyless := rig.NewHost(t, at)
	keyless.Beat("keyless")
	wantReason(t, d, keyless.Address(), "qr2", verdicts.NoSecret)

	malformed := rig.NewHost(t, at)
	malformed.MustSend(qr2.KindHeartbeat, []byte("gamename"))
	wantReason(t, d, malformed.Address(), "qr2", verdicts.Malformed)

	silent := rig.NewHost(t, at, "hostname", "Silent")
	silent.MustHeartbeat("3")
	wantReason(t, d, silent.Address(), "qr2", verdicts.ChallengeSent)

	wrong := rig.NewHost(t, at, "hostname", "Wrong")
	wrong.MustHeartbeat("3")
	wrong.Expect(qr2.KindChallenge)
	wrong.MustSend(qr2.KindChallenge, append([]byte(strings.Repeat("x", 28)), 0))
	wantReason(t, d, wrong.Address(), "qr2", verdicts.WrongResponse)

	good := rig.Register(t, d, "hostname", "Good")
	wantReason(t, d, good.Address(), "qr2", verdicts.Listed)
	rig.WantIn(t, rig.PageText(t, d, "/why"), "Good")

	late := rig.NewHost(t, at, "hostname", "Late")
	late.MustHeartbeat("3")
	late.MustAnswer()
	wantReason(t, d, late.Address(), "qr2", verdicts.ListFull)

	good.Instance++
	good.MustHeartbeat("3")
	good.MustProve()
	wantReason(t, d, good.Address(), "qr2", verdicts.Restarted)

	good.MustHeartbeat("2")
	wantReason(t, d, good.Address(), "qr2", verdicts.Left)

	d.Cli("ban", "add", "127.0.0.1", "--scope", "lists")
	banned := rig.NewHost(t, at)
	banned.Beat(rig.TestGame)
	wantReason(t, d, banned.Address(), "qr2", verdicts.Banned)
	rig.WantIn(t, rig.PageText(t, d, "/why"), "This address is banned from server lists for good.")
	rig.WantIn(t, d.Cli("doctor", "127.0.0.1"), "a ban of 127.0.0.1/32 covers it")
	d.Cli("ban", "remove", "127.0.0.1")

	flood := rig.NewHost(t, at)
	for range 20 { // shorter than their challenge
		flood.MustSend(qr2.KindHeartbeat, gamespy.AppendPair(nil, "gamename", rig.TestGame))
	}
	wantReason(t, d, flood.Address(), "qr2", verdicts.Limited)
	d.Stop()
}

func TestLimitAndRestartAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir, rig.Variable("master.max_per_addr", "1"))
	first := rig.Register(t, d, "hostname", "First")
	second := rig.NewHost(t, d.Address["qr2"], "hostname", "Second")
	second.MustHeartbeat("3")
	second.MustAnswer()
	wantReason(t, d, second.Address(), "qr2", verdicts.TooManyHere)
	d.Stop()
	e := rig.Start(t, dir, rig.Variable("log.level", "debug"))
	wantReason(t, e, first.Address(), "qr2", verdicts.Restored)
	e.Stop()
}

func TestReachabilityIsReported(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("qr2.probe", "true"))
	h := rig.Register(t, d, "hostname", "Open")
	h.Expect(qr2.KindQuery)
	wantReason(t, d, h.Address(), "qr2", verdicts.PerhapsReachable)
	d.Stop()
}

func TestReasonsOfZandronum(t *testing.T) {
	t.Parallel()
	home := netip.MustParseAddr("127.0.0.1") // where the page is asked from
	t.Run("private list", func(t *testing.T) {
		d := rig.StartZan(t, t.TempDir(), rig.NoWindow, rig.Variable("zanmaster.allow_servers", "192.0.2.0/24"))
		h := rig.NewZanHost(t, d, home, nil)
		h.MustAnnounce()
		wantReason(t, d, h.Address(), "zanmaster", verdicts.NotAllowed)
		d.Stop()
	})
	t.Run("block list", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "blocklist.txt"), []byte("127.0.0.1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := rig.StartZan(t, dir, rig.NoWindow)
		h := rig.NewZanHost(t, d, home, nil)
		h.MustAnnounce()
		wantReason(t, d, h.Address(), "zanmaster", verdicts.Blocked)
		d.Stop()
	})
}

func TestDoctorSaysThatNothingWasHeard(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	out := d.Cli("doctor", "203.0.113.77")
	rig.WantIn(t, out, "No packet of a game server came from 203.0.113.77", "respawnd hosts")
	rig.WantIn(t, rig.PageText(t, d, "/why"), "is known to have reported to this site")
	d.Stop()
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
			d := rig.Start(t, t.TempDir(), rig.Variable("web.trusted_proxies", tc.trusted))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/why?ip=203.0.113.7", d.Address["web"]), nil)
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
			rig.WantIn(t, text.String(), tc.want)
			d.Stop()
		})
	}
}

func TestHomeNamesServices(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	text := rig.PageText(t, d, "/connect")
	for _, e := range daemon.List(new(services.Config)) {
		if _, on := d.Address[e.Name]; on && e.Title != "" {
			rig.WantIn(t, text, e.Title, fmt.Sprint(d.Address[e.Name].Port()))
		}
	}
	rig.WantIn(t, text, "127.0.0.1")
	if slices.Contains(strings.Fields(text), "admin") {
		t.Error("the page tells of the admin API")
	}
	_, hosts := rig.Get(t, d, "web", http.MethodGet, "/games/swat4/hosts.txt?ip=192.168.1.5", "")
	// The page leaves names out whose service does not run.
	all, lines := d.Cli("hosts", "--game", "swat4", "--ip", "192.168.1.5"), 0
	for line := range strings.Lines(hosts) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "192.168.1.5 ") {
			rig.WantIn(t, all, line)
			lines++
		}
	}
	if lines != 4 {
		t.Errorf("%d names for the hosts file, want the 4 of the game:\n%s", lines, hosts)
	}
	d.Stop()
}

// Doctor takes an address with a port, and a name.
func TestDoctorOfPortAndName(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	one, two := rig.NewHost(t, d.Address["qr2"]), rig.NewHost(t, d.Address["qr2"])
	one.Beat("no_such_game")
	two.Beat("no_such_game")
	d.WaitFor("the verdicts", 0, rig.VerdictOn(one.Address(), verdicts.UnknownGame.String()))
	d.WaitFor("the verdicts", 0, rig.VerdictOn(two.Address(), verdicts.UnknownGame.String()))

	out := d.Cli("doctor", one.Address().String())
	if !strings.Contains(out, "from "+one.Address().String()) || strings.Contains(out, two.Address().String()) {
		t.Errorf("doctor of one port:\n%s", out)
	}
	if shown, _, _ := strings.Cut(strings.TrimSpace(out), " "); len(shown) < len(time.RFC3339)-len("07:00") {
		t.Errorf("time %q, want one with a zone", shown)
	} else if _, err := time.Parse(time.RFC3339, shown); err != nil {
		t.Error(err)
	}
	rig.WantIn(t, d.Cli("doctor", "127.0.0.1:9"), "came from 127.0.0.1:9 since", "other ports of that address", fmt.Sprint(one.Address().Port()))
	rig.WantIn(t, d.Cli("doctor", "localhost"), "localhost is 127.0.0.1", one.Address().String(), two.Address().String())
	if lines := strings.Split(strings.TrimSpace(d.Cli("doctor", one.Address().String(), "--json")), "\n"); len(lines) != 1 || !strings.Contains(lines[0], `"times":1`) {
		t.Errorf("doctor --json: %q, want one object", lines)
	}
	d.Stop()
}
