package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

func TestPublicPagesShowTheListAndNoSecrets(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.Register(t, d, "hostname", "Seen on the page", "numplayers", "2", "maxplayers", "8")
	for path, part := range map[string]string{"/": "Seen on the page", "/api/v1/servers": h.Address().String(), "/api/v1/games": rig.TestGame} {
		code, body := rig.Get(t, d, "web", http.MethodGet, path, "")
		if code != http.StatusOK || !strings.Contains(body, part) {
			t.Errorf("GET %s: status %d, want 200 and %q in:\n%.500s", path, code, part, body)
		}
	}
	_, servers := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers?game="+rig.TestGame, "")
	var answer struct{ Count, Total int }
	if err := json.Unmarshal([]byte(servers), &answer); err != nil || answer.Count != 1 || answer.Total != 1 {
		t.Errorf("GET /api/v1/servers: %+v, %v; want one server", answer, err)
	}
	_, catalogue := rig.Get(t, d, "web", http.MethodGet, "/api/v1/games", "")
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
	d.Stop()
}

func TestAdminApiWantsTheToken(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	token := strings.TrimSpace(rig.ReadFile(t, dir+"/admin.token"))
	paths := []string{
		"/api/v1/", "/api/v1/status", "/api/v1/bans", "/api/v1/games", "/api/v1/games/gmtest", "/api/v1/rooms", "/api/v1/rooms/1",
		"/api/v1/servers", "/api/v1/verdicts", "/api/v1/backup", "/api/v1/no/such/path", "/api/v1//bans", "/api/v1/../v1/bans", "/api/v1/a/%2e%2e/bans",
	}
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions} {
			for _, auth := range []string{"", "Bearer wrong", "Bearer ", "Basic " + token, "Bearer " + token + "x"} {
				if code, _ := rig.Get(t, d, "admin", method, path, auth); code != http.StatusUnauthorized {
					t.Errorf("%s %s with authorization of %d characters: status %d, want 401", method, path, len(auth), code)
				}
			}
		}
	}
	for path, want := range map[string]int{"/api/v1/status": 200, "/api/v1/no/such/path": 404, "/healthz": 200, "/readyz": 200, "/metrics": 200} {
		if code, body := rig.Get(t, d, "admin", http.MethodGet, path, "Bearer "+token); code != want {
			t.Errorf("GET %s with the token: status %d, want %d: %s", path, code, want, body)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if code, _ := rig.Get(t, d, "admin", http.MethodGet, path, ""); code != http.StatusOK {
			t.Errorf("GET %s without a token: status %d, want 200", path, code)
		}
	}
	if strings.Contains(d.Log.String(), token) {
		t.Error("the log holds the admin token")
	}
	d.Stop()
}

func TestStatusCountsServersAndBans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	rig.Register(t, d, "hostname", "One")
	d.Cli("ban", "add", "192.0.2.0/24")
	_, body := rig.Get(t, d, "admin", http.MethodGet, "/api/v1/status", "Bearer "+strings.TrimSpace(rig.ReadFile(t, dir+"/admin.token")))
	var s operator.Status
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		t.Fatal(err)
	}
	if s.Servers[rig.TestGame] != 1 || s.Bans != 1 || s.Services["qr2"] != d.Address["qr2"].String() || s.Version != cli.New(nil, nil, nil, nil).Version() {
		t.Errorf("status %+v, want 1 server of %s, 1 ban and qr2 on %v", s, rig.TestGame, d.Address["qr2"])
	}
	d.Stop()
}

func TestDroppedPacketsAreCounted(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.Register(t, d, "hostname", "Good")
	h.Raw([]byte{0x77, 1, 2, 3, 4}) // no packet of any kind
	h.MustSend(qr2.KindKeepalive, nil)
	h.Expect(qr2.KindKeepalive)
	_, body := rig.Get(t, d, "admin", http.MethodGet, "/metrics", "")
	found := false
	for line := range strings.Lines(body) {
		found = found || strings.HasPrefix(line, "respawnd_dropped_total{") && strings.Contains(line, `service="qr2"`) && strings.HasSuffix(line, " 1\n")
	}
	if !found {
		t.Errorf("no sample of respawnd_dropped_total says service=\"qr2\" and 1:\n%s", body)
	}
	d.Stop()
}
