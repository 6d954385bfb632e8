package web

import (
	"html"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/test/rig"
)

var (
	link = regexp.MustCompile(`href="(/[^"#]*)`)
	// given matches names of protocols, in which any server can be queried, members of the
	// description of a server, and the warning that names the settings of services that are off.
	given   = regexp.MustCompile(`\b(quake3|quake2|quakeworld|battlefield|callofduty|nat_negotiation)\b|services: not in the list, so these are off and their settings have no effect: [\w, ]+`)
	foreign = regexp.MustCompile(`(?i)gamespy|quick ?match|sign[- ]?in\b|signs? players in|signing in|log in|buddies|negotiat|check-nat|router|chat|hosts file|2,?4\d\d games|quake|half-life|neverwinter|call of duty|battlefield`)
)

// What services does not name is on no page, in no answer and in no metric.
func TestServicesThatAreOffAreOnNoPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sample, err := filepath.Abs("../../configs/zandronum-only.yaml")
	rig.Must(t, err)
	d := rig.StartWithout(t, rig.TestEnv(dir, rig.Variable("web.accounts", "true")), "--config", sample)
	if len(d.Address) != 4 { // and the socket from which servers are queried
		t.Errorf("listening: %v, want zanmaster, web, admin and probe", d.Address)
	}
	clear := func(what, text string) {
		t.Helper()
		if found := foreign.FindAllString(given.ReplaceAllString(text, ""), -1); found != nil {
			t.Errorf("%s speaks of %q", what, found)
		}
	}
	stray, err := new(net.Dialer).DialContext(t.Context(), "udp4", d.Address["zanmaster"].String())
	rig.Must(t, err)
	defer func() { _ = stray.Close() }()
	_, err = stray.Write([]byte(`\heartbeat\6500\gamename\gmtest`))
	rig.Must(t, err)
	d.WaitFor("a verdict on a stray heartbeat", 0, rig.VerdictOn(netip.MustParseAddrPort(stray.LocalAddr().String()), verdicts.SpeaksOther.String()))
	seen, rest := map[string]bool{}, []string{"/api/v1/openapi.json", "/api/v1/connection", "/", "/api/v1/games", "/api/v1/servers", "/api/v1/stats", "/games?q=halo", "/servers?q=a", "/players?q=a"}
	for len(rest) > 0 {
		path := rest[0]
		if rest = rest[1:]; seen[path] {
			continue
		}
		seen[path] = true
		code, body := rig.Get(t, d, "web", http.MethodGet, path, "")
		if code != http.StatusOK {
			t.Errorf("GET %s: status %d", path, code)
		}
		clear("GET "+path, body)
		for _, l := range link.FindAllStringSubmatch(body, -1) {
			rest = append(rest, html.UnescapeString(l[1]))
		}
	}
	for _, path := range []string{"/", "/servers", "/players", "/games", "/games/zandronum", "/connect", "/why", "/docs/"} {
		if !seen[path] {
			t.Errorf("no page has a link to %s", path)
		}
	}
	for _, path := range []string{"/account", "/account/login", "/games/gmtest", "/games/gmtest/hosts.txt?ip=192.0.2.1", "/docs/protocols/gpcm", "/api/v1/games/gmtest"} {
		if code, body := rig.Get(t, d, "web", http.MethodGet, path, ""); code != http.StatusNotFound {
			t.Errorf("GET %s: status %d, want 404: %.200s", path, code, body)
		}
	}
	desk := atDesk(t, d, dir)
	visited, pages := map[string]bool{}, []string{"/", "/games?q=halo"}
	for len(pages) > 0 {
		path := pages[0]
		if pages = pages[1:]; visited[path] || strings.HasPrefix(path, "/assets/") {
			continue
		}
		visited[path] = true
		body := desk.Get(path)
		clear("the operator's page "+path, body)
		for _, l := range link.FindAllStringSubmatch(body, -1) {
			pages = append(pages, html.UnescapeString(l[1]))
		}
	}
	for _, path := range []string{"/servers", "/bans", "/games", "/games/zandronum", "/verdicts", "/audit"} {
		if !visited[path] {
			t.Errorf("no page of the operator has a link to %s", path)
		}
	}
	for _, path := range []string{"/sessions", "/accounts", "/rooms", "/files", "/news"} {
		if visited[path] {
			t.Errorf("a page of the operator has a link to %s", path)
		}
	}
	_, routes := rig.Get(t, d, "admin", http.MethodGet, "/api/v1/routes", "Bearer "+strings.TrimSpace(rig.ReadFile(t, dir+"/admin.token")))
	clear("the list of routes", routes)
	if !strings.Contains(routes, "/api/v1/servers") || strings.Contains(routes, "/api/v1/accounts") {
		t.Errorf("the list of routes: %s", routes)
	}
	_, metrics := rig.Get(t, d, "admin", http.MethodGet, "/metrics", "")
	clear("a metric", metrics)
	for _, service := range []string{"accounts", "presence", "sessions", "stats", "web_account", "web_reset", "webhook", "qr2", "gpcm", "gpsp", "peerchat", "natneg", "relay", "quickmatch", "webservices", "q3master", "utmaster", "nwmaster", "codmaster"} {
		if strings.Contains(metrics, "respawnd_"+service) || strings.Contains(metrics, `service="`+service+`"`) {
			t.Errorf("there are metrics of %s", service)
		}
	}
	env := d.CliEnv()
	for _, name := range []string{"zanmaster", "web"} {
		env = append(env, rig.Variable(name+".listen", d.Address[name].String()))
	}
	for _, command := range []string{"selftest", "doctor", "check", "help"} {
		code, out, errOut := rig.Command(t, env, command, "--config", sample)
		if code != 0 {
			t.Errorf("%s: exit code %d:\n%s%s", command, code, out, errOut)
		}
		clear(command, out+errOut)
	}
	d.Stop()
	clear("the log", d.Log.String())
}

// A relay that is switched off is promised nowhere.
func TestDisabledRelayIsNotPromised(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.StartWithout(t, rig.TestEnv(dir, rig.Variable("relay.enabled", "false")))
	_, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/connection", "")
	if !strings.Contains(body, `"relay":false`) {
		t.Errorf("/api/v1/connection: %s", body)
	}
	_, body = rig.Get(t, d, "web", http.MethodGet, "/servers", "")
	if strings.Contains(body, `value="relayed"`) {
		t.Error("the list can be narrowed to servers that are joined through the relay")
	}
	d.Stop()
}
