package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestPagesInLanguages(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Rules: []string{"hostname", "Ann & Ben"}})
	for _, target := range []string{"/", "/servers", "/players", "/connect", "/games", "/games/gmtest", "/why", "/charts", "/servers/qr2-192.0.2.1-6500", "/nothing"} {
		tags := make(map[string]bool)
		for _, l := range lang.All() {
			w := f.Get(target, "Accept-Language", l.Tag)
			body := w.Body.String()
			webtest.WantParts(t, target+" in "+l.Tag, body, `<html lang="`+l.Tag+`">`, l.T("Not listed?"), `<option value="`+l.Tag+`" lang="`+l.Tag+`" selected>`+l.Name)
			if got := strings.Join(w.Header().Values("Vary"), ", "); !strings.Contains(got, "Accept-Language, Cookie") {
				t.Errorf("%s in %s: Vary %q", target, l.Tag, got)
			}
			if tag := w.Header().Get("ETag"); tag != "" {
				if tags[tag] {
					t.Errorf("%s in %s: the tag is that of another language", target, l.Tag)
				}
				tags[tag] = true
			}
		}
	}
	webtest.WantParts(t, "the chosen language", f.Get("/", "Accept-Language", "fr", "Cookie", "respawnd-language=de").Body.String(), `<html lang="de">`)
	webtest.WantNoParts(t, "the documentation", f.Get("/docs/", "Accept-Language", "de").Body.String(), `lang="de"`, `name="language"`)
	webtest.WantNoParts(t, "the API", f.Get("/api/v1/servers", "Accept-Language", "de").Header().Get("Vary"), "Accept-Language")
}

func TestChooseLanguage(t *testing.T) {
	send := func(f *fixture, target, body, site string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", site)
		w := httptest.NewRecorder()
		f.Handler.ServeHTTP(w, r)
		return w
	}
	f := newFixture(t)
	for target, want := range map[string]string{
		"/": "/", "/servers?q=a%20b&page=2": "/servers?q=a%20b&page=2", "/nothing": "/nothing", "//elsewhere.example/x": "/elsewhere.example/x",
	} {
		w := send(f, target, "language=de", "same-origin")
		if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != want {
			t.Errorf("%s: got %d to %q, want 303 to %q", target, w.Code, got, want)
		}
		if got, want := w.Header().Get("Set-Cookie"), "respawnd-language=de; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax"; got != want {
			t.Errorf("%s: cookie %q, want %q", target, got, want)
		}
	}
	for name, c := range map[string]struct{ target, body, site string }{
		"another site":        {"/", "language=de", "cross-site"},
		"no language of ours": {"/", "language=xx", "same-origin"},
		"another form":        {"/", "token=de", "same-origin"},
		"too long":            {"/", "language=de&more=" + strings.Repeat("x", 20), "same-origin"},
		"the API":             {"/api/v1/servers", "language=de", "same-origin"},
	} {
		if w := send(f, c.target, c.body, c.site); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: got %d, cookie %q, want 405", name, w.Code, w.Header().Get("Set-Cookie"))
		}
	}
}
