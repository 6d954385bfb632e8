package web

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

// desk is an operator at the admin page of a daemon.
type desk struct {
	t      testing.TB
	base   string
	client *http.Client
	proof  string // that forms are of the page seen last
}

// atDesk logs in to the page with the token from the data folder.
func atDesk(t testing.TB, d *rig.Running, dir string) *desk {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	k := &desk{t: t, base: "http://" + d.Address["admin"].String(), client: &http.Client{
		Jar: jar, Timeout: rig.Hang, Transport: &http.Transport{DisableKeepAlives: true},
	}}
	k.Get("/login")
	body := k.post("/login", "token", strings.TrimSpace(rig.ReadFile(t, dir+"/admin.token")), "by", "Olga")
	if !strings.Contains(body, "<h1>Overview</h1>") {
		t.Fatalf("the login shows\n%s", body)
	}
	return k
}

var proofInForm = regexp.MustCompile(`name="form" value="([^"]+)"`)

func (k *desk) Do(method, path string, body io.Reader) string {
	k.t.Helper()
	r, err := http.NewRequestWithContext(k.t.Context(), method, k.base+path, body)
	if err != nil {
		k.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := k.client.Do(r)
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		k.t.Fatalf("%s %s: %d, %v\n%s", method, path, resp.StatusCode, err, text)
	}
	if m := proofInForm.FindSubmatch(text); m != nil {
		k.proof = string(m[1])
	}
	return string(text)
}

func (k *desk) Get(path string) string { k.t.Helper(); return k.Do(http.MethodGet, path, nil) }

// post sends a form and returns the page that it leads to.
func (k *desk) post(path string, fields ...string) string {
	k.t.Helper()
	v := url.Values{"form": {k.proof}}
	for i := 0; i+1 < len(fields); i += 2 {
		v.Set(fields[i], fields[i+1])
	}
	return k.Do(http.MethodPost, path, strings.NewReader(v.Encode()))
}

// watchLog opens the live log and returns how to wait for a line with some words.
func (k *desk) watchLog() (waitFor func(words string)) {
	k.t.Helper()
	r, err := http.NewRequestWithContext(k.t.Context(), http.MethodGet, k.base+"/log/stream", nil)
	if err != nil {
		k.t.Fatal(err)
	}
	resp, err := k.client.Do(r)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() {
		k.t.Fatalf("the live log ended: %v", lines.Err())
	}
	return func(words string) {
		k.t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), words) {
				return
			}
		}
		k.t.Fatalf("no line of the live log has %q: %v", words, lines.Err())
	}
}

func TestOperatorRunsTheDaemonFromThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	h := rig.Register(t, d, "hostname", "<b>Seen</b>", "numplayers", "2", "maxplayers", "8")
	k := atDesk(t, d, dir)
	waitFor := k.watchLog()

	for path, want := range map[string]string{
		"/": d.Address["qr2"].String(), "/servers": "&lt;b&gt;Seen&lt;/b&gt;", "/verdicts?addr=127.0.0.1": h.Address().String(), "/log": "ready",
	} {
		if body := k.Get(path); !strings.Contains(body, want) {
			t.Errorf("GET %s lacks %s:\n%s", path, want, body)
		}
	}

	// A ban through the form is in force at once, and is live in the log.
	k.Get("/bans")
	body := k.post("/bans", "address", "127.0.0.1", "scope", "lists", "for", "1", "unit", "hours", "reason", "a test")
	rig.WantIn(t, body, "127.0.0.1/32 is banned (lists).")
	waitFor(`verdict=banned`)
	if rows := k.Get("/servers"); strings.Contains(rows, "Seen") {
		t.Error("a banned server is still listed")
	}
	rig.WantIn(t, d.Cli("ban", "list"), "a test")
	rig.WantIn(t, k.post("/bans/remove", "address", "127.0.0.1/32", "scope", "lists"), "is lifted.")

	// An account through the form can sign in; the form can also end that.
	k.Get("/accounts")
	rig.WantIn(t, k.post("/accounts", "email", "Ann@example.com", "nick", "Ann", "uniquenick", "Ann", "password", rig.StormPassword), "account 1.")
	waitFor("account created")
	ann := rig.SignedIn(t, d, "uniquenick", "Ann")
	rig.WantIn(t, k.Get("/sessions"), "1 session,", rig.TestGame)
	rig.WantIn(t, k.post("/sessions/kick", "profile", "1"), "Profile 1 was signed out.")
	ann.Hears(`\error\\err\6\fatal\`)
	ann.IsOut()

	// Each change is in the audit log, visible to every operator.
	want := []string{"session.kick", "account.create", "ban.remove", "ban.add"}
	entries := rig.AuditEntries(t, d.Cli("audit", "--json"))
	page := k.Get("/audit")
	for i, e := range entries {
		if i >= len(want) || e.Action != want[i] || e.Via != storage.ViaPage || e.By != "Olga" || e.From.String() != "127.0.0.1" {
			t.Errorf("audit entry %d is %+v, want %v by Olga at the page", i, e, want)
		}
		rig.WantIn(t, page, e.Action)
	}
	if len(entries) != len(want) {
		t.Errorf("%d audit entries, want %d", len(entries), len(want))
	}

	// A daemon with a client on its live log stops in time.
	d.Stop()
	lines, _ := d.Log.Since(0)
	token := strings.TrimSpace(rig.ReadFile(t, dir+"/admin.token"))
	for _, e := range lines {
		for field, value := range e {
			if text, ok := value.(string); ok && (strings.Contains(text, token) || strings.Contains(text, rig.StormPassword)) {
				t.Errorf("the log has a secret in field %s of %v", field, e)
			}
		}
	}
	rig.WantNoPassword(t, dir)
}

func TestMaintenanceFromThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	k := atDesk(t, d, dir)
	k.Get("/games/" + rig.TestGame)
	k.post("/games/"+rig.TestGame+"/maintenance", "on", "yes")
	rig.WantIn(t, d.Cli("game", "show", rig.TestGame), "maintenance: on")
	k.post("/games/"+rig.TestGame+"/maintenance", "on", "no")
	if out := d.Cli("game", "show", rig.TestGame); strings.Contains(out, "maintenance: on") {
		t.Errorf("the game is still in maintenance:\n%s", out)
	}
	d.Stop()
}
