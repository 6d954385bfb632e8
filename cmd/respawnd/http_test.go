package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/qr2"
)

// get asks one of the daemon's HTTP services.
func get(t testing.TB, d *running, service, method, path, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+d.address[service].String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}, Timeout: hang,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// metric returns the value of a sample, "" if there is none.
func metric(t testing.TB, d *running, sample string) string {
	t.Helper()
	name, _, _ := strings.Cut(sample, "{")
	histogram := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_count"), "_sum"), "_bucket")
	return metrics(t, d, name, histogram)[sample]
}

// metrics returns the samples of some metrics. All of them, compressed, take a daemon
// with the race detector as long as a start.
func metrics(t testing.TB, d *running, names ...string) map[string]string {
	t.Helper()
	_, body := get(t, d, "admin", http.MethodGet, "/metrics?"+url.Values{"name[]": names}.Encode(), "")
	samples := make(map[string]string)
	for line := range strings.Lines(body) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			samples[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return samples
}

func TestPublicPagesShowTheListAndNoSecrets(t *testing.T) {
	quick(t)
	t.Parallel()
	d := start(t, t.TempDir())
	h := register(t, d, "hostname", "Seen on the page", "numplayers", "2", "maxplayers", "8")
	for path, part := range map[string]string{"/": "Seen on the page", "/api/v1/servers": h.address().String(), "/api/v1/games": testGame} {
		code, body := get(t, d, "web", http.MethodGet, path, "")
		if code != http.StatusOK || !strings.Contains(body, part) {
			t.Errorf("GET %s: status %d, want 200 and %q in:\n%.500s", path, code, part, body)
		}
	}
	_, servers := get(t, d, "web", http.MethodGet, "/api/v1/servers?game="+testGame, "")
	var answer struct{ Count, Total int }
	if err := json.Unmarshal([]byte(servers), &answer); err != nil || answer.Count != 1 || answer.Total != 1 {
		t.Errorf("GET /api/v1/servers: %+v, %v; want one server", answer, err)
	}
	_, catalogue := get(t, d, "web", http.MethodGet, "/api/v1/games", "")
	known, err := games.ParseYAML(strings.NewReader(string(configs.Games)), games.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range known {
		for _, secret := range g.Secrets {
			if strings.Contains(catalogue, `"`+secret+`"`) {
				t.Errorf("GET /api/v1/games shows the secret of %s", g.Name)
			}
		}
	}
	d.stop()
}

func TestAdminApiWantsTheToken(t *testing.T) {
	quick(t)
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	token := strings.TrimSpace(readFile(t, dir+"/admin.token"))
	paths := []string{
		"/api/v1/", "/api/v1/status", "/api/v1/bans", "/api/v1/games", "/api/v1/games/gmtest", "/api/v1/rooms", "/api/v1/rooms/1",
		"/api/v1/servers", "/api/v1/verdicts", "/api/v1/backup", "/api/v1/no/such/path", "/api/v1//bans", "/api/v1/../v1/bans", "/api/v1/a/%2e%2e/bans",
	}
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions} {
			for _, auth := range []string{"", "Bearer wrong", "Bearer ", "Basic " + token, "Bearer " + token + "x"} {
				if code, _ := get(t, d, "admin", method, path, auth); code != http.StatusUnauthorized {
					t.Errorf("%s %s with authorization of %d characters: status %d, want 401", method, path, len(auth), code)
				}
			}
		}
	}
	for path, want := range map[string]int{"/api/v1/status": 200, "/api/v1/no/such/path": 404, "/healthz": 200, "/readyz": 200, "/metrics": 200} {
		if code, body := get(t, d, "admin", http.MethodGet, path, "Bearer "+token); code != want {
			t.Errorf("GET %s with the token: status %d, want %d: %s", path, code, want, body)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if code, _ := get(t, d, "admin", http.MethodGet, path, ""); code != http.StatusOK {
			t.Errorf("GET %s without a token: status %d, want 200", path, code)
		}
	}
	if strings.Contains(d.log.String(), token) {
		t.Error("the log holds the admin token")
	}
	d.stop()
}

func TestStatusCountsServersAndBans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	register(t, d, "hostname", "One")
	d.cli("ban", "add", "192.0.2.0/24")
	_, body := get(t, d, "admin", http.MethodGet, "/api/v1/status", "Bearer "+strings.TrimSpace(readFile(t, dir+"/admin.token")))
	var s operator.Status
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		t.Fatal(err)
	}
	if s.Servers[testGame] != 1 || s.Bans != 1 || s.Services["qr2"] != d.address["qr2"].String() || s.Version != version() {
		t.Errorf("status %+v, want 1 server of %s, 1 ban and qr2 on %v", s, testGame, d.address["qr2"])
	}
	d.stop()
}

func TestMetricsFollowTheRules(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	register(t, d, "hostname", "Counted")
	list(t, d, "", `\hostname`)
	_, body := get(t, d, "admin", http.MethodGet, "/metrics", "")
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("metric %s: %s", p.Metric, p.Text)
	}
	for line := range strings.Lines(body) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok && !strings.HasPrefix(name, "respawnd_") &&
			!strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("metric %q, want a name that starts with respawnd_", strings.TrimSpace(name))
		}
	}
	d.stop()
}

func TestDroppedPacketsAreCounted(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := register(t, d, "hostname", "Good")
	h.raw([]byte{0x77, 1, 2, 3, 4}) // no packet of any kind
	h.send(qr2.KindKeepalive, nil)
	h.expect(qr2.KindKeepalive)
	_, body := get(t, d, "admin", http.MethodGet, "/metrics", "")
	found := false
	for line := range strings.Lines(body) {
		found = found || strings.HasPrefix(line, "respawnd_dropped_total{") && strings.Contains(line, `service="qr2"`) && strings.HasSuffix(line, " 1\n")
	}
	if !found {
		t.Errorf("no sample of respawnd_dropped_total says service=\"qr2\" and 1:\n%s", body)
	}
	d.stop()
}
