package motd

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/webservices/soap"
)

// newBackend returns a backend of a configuration, and its table.
func newBackend(t *testing.T, c NewsConfig) (*Backend, *news.Table) {
	t.Helper()
	s := storetest.New(t)
	table := news.New(s)
	return New(Options{Config: c, News: table, Game: func(name string) string {
		if name == "gmtest" {
			return name
		}
		return ""
	}}), table
}

// get requests an address from a backend.
func get(t *testing.T, r *Backend, target string) string {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for _, p := range r.Pages() {
		if p.Path == req.URL.Path {
			w := httptest.NewRecorder()
			p.Serve(w, req, &soap.Request{})
			if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
				t.Errorf("GET %s: %d, %v", target, w.Code, w.Header())
			}
			return w.Body.String()
		}
	}
	t.Fatalf("no backend has %s", target)
	return ""
}

// The requests are those of the SDK.
func TestRecorded(t *testing.T) {
	const (
		check   = "/motd/vercheck.asp?productid=10001&versionuniqueid=1.0&distid=3&gamename=gmtest"
		track   = "/motd/motd.asp?userid=5&productid=10001&versionuniqueid=1.0&distid=3&uniqueid=Kg8APRgNqBb0iyco&gamename=gmtest"
		both    = "/motd/vercheck.asp?userid=5&productid=10001&versionuniqueid=1.0&distid=3&uniqueid=nWoSPVoCvIryp6T8&gamename=gmtest"
		mirrors = "/dlfileraw.asp?file=4242&gamename=gmtest"
	)
	c := NewsConfig{Motd: "Message of the day", Patches: []Patch{{10001, "1.0", "1.1 patch", 4242, "http://example.invalid/p.exe", true}}}
	for name, tt := range map[string]struct {
		config NewsConfig
		target string
		want   string
	}{
		"check":                    {c, check, `\newver\1\lockout\1\newvername\1.1 patch\fpfileid\4242\dlurl\http://example.invalid/p.exe\`},
		"check and track":          {c, both, `\newver\1\lockout\1\newvername\1.1 patch\fpfileid\4242\dlurl\http://example.invalid/p.exe\`},
		"track":                    {c, track, "Message of the day"},
		"mirrors":                  {c, mirrors, "1.1 patch\r\nunknown size\r\nDownload\thttp://example.invalid/p.exe\r\n"},
		"check on the defaults":    {NewsConfig{}, check, `\newver\0`},
		"track on the defaults":    {NewsConfig{}, track, ""},
		"mirrors on the defaults":  {NewsConfig{}, mirrors, ""},
		"other version":            {c, strings.Replace(check, "1.0", "1.1", 1), `\newver\0`},
		"other product":            {c, strings.Replace(check, "10001", "1", 1), `\newver\0`},
		"no parameters":            {c, "/motd/vercheck.asp", `\newver\0`},
		"product that is a word":   {c, strings.Replace(check, "10001", "x", 1), `\newver\0`},
		"spaces and percent signs": {NewsConfig{Patches: []Patch{{1, "100% 1.0", "2", 0, "", false}}}, "/motd/vercheck.asp?productid=1&versionuniqueid=100%+1.0&gamename=x", `\newver\1\lockout\0\newvername\2\fpfileid\0\dlurl\\`},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newBackend(t, tt.config)
			if got := get(t, r, tt.target); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	r, table := newBackend(t, NewsConfig{})
	var asked []string
	r.opt.Asked = func(from netip.Addr, game, version string) { asked = append(asked, from.String()+" "+game+" "+version) }
	for _, target := range []string{
		"/motd/vercheck.asp?productid=1&versionuniqueid=1.0&gamename=GMTEST", "/motd/motd.asp?productid=1&versionuniqueid=1.0&gamename=gmtest",
		"/motd/vercheck.asp?productid=1&versionuniqueid=1.0&gamename=none", "/motd/vercheck.asp?productid=1&versionuniqueid=",
	} {
		get(t, r, target)
	}
	want := []news.Count{{Version: news.Version{Product: 1, Version: "1.0"}, Times: 1}, {Version: news.Version{Game: "gmtest", Product: 1, Version: "1.0"}, Times: 2}}
	if got := table.Seen(); !slices.Equal(got, want) {
		t.Errorf("versions %+v, want %+v", got, want)
	}
	if want := "invalid IP gmtest 1.0, invalid IP gmtest 1.0"; strings.Join(asked, ", ") != want {
		t.Errorf("asked: %q, want %q", asked, want)
	}
}

func TestOtherMethods(t *testing.T) {
	r, _ := newBackend(t, NewsConfig{})
	w := httptest.NewRecorder()
	r.Pages()[0].Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/motd/vercheck.asp", nil), &soap.Request{})
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d, want 405", w.Code)
	}
}

func TestConfig(t *testing.T) {
	long := strings.Repeat("x", 2048)
	for name, bad := range map[string]Patch{
		"no version": {1, "", "1.1", 0, "", false}, "no name": {1, "1.0", "", 0, "", false}, "backslash": {1, "1.0", `\`, 0, "", false},
		"name too long": {1, "1.0", long, 0, "", false}, "product below 0": {-1, "1.0", "1.1", 0, "", false}, "other address": {1, "1.0", "1.1", 0, "a.exe", false},
	} {
		if bad.CheckEntry() == nil {
			t.Errorf("%s: CheckEntry() = nil", name)
		}
	}
	for text, ok := range map[string]bool{"": true, long[1:]: true, long: false, `a\b`: false} {
		c := NewsConfig{Motd: text}
		if err := c.CheckNews(); (err == nil) != ok {
			t.Errorf("CheckNews() with %d bytes = %v", len(text), err)
		}
	}
}
