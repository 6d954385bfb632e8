package docs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/page"
)

// handler returns the handler of the documentation on a site below a path, where the pages
// about are those of services, and nouns exist.
func handler(base string, about map[string]bool, nouns noun.Set) http.Handler {
	site := page.New("https://example.org"+base, "1.2.3")
	f := front.New(front.Options{ErrorPage: site.Error})
	return f.Handler(New(f, site, about, nouns).Routes())
}

// get requests a page as a visitor from outside.
func get(h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestServe(t *testing.T) {
	h := handler("/list", nil, nil)
	t.Run("index", func(t *testing.T) {
		if w := get(h, "/docs"); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "/list/docs/" {
			t.Errorf("GET /docs: status %d to %q, want 301 to /list/docs/", w.Code, w.Header().Get("Location"))
		}
		w := get(h, "/docs/")
		for _, want := range []string{"<title>Documentation · respawnd</title>", `<a href="operators/lan">`, `href="/list/docs/" aria-current="page"`} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("GET /docs/: status %d, the page lacks %s:\n%.2000s", w.Code, want, w.Body)
			}
		}
	})
	t.Run("unchanged", func(t *testing.T) {
		tag := get(h, "/docs/players").Header().Get("ETag")
		if w := get(h, "/docs/players", "If-None-Match", tag); tag == "" || w.Code != http.StatusNotModified {
			t.Errorf("the tag is %q, with it the status is %d, want 304", tag, w.Code)
		}
	})
	t.Run("compressed", func(t *testing.T) {
		if got := get(h, "/docs/operators/limits", "Accept-Encoding", "gzip").Header().Get("Content-Encoding"); got != "gzip" {
			t.Errorf("Content-Encoding %q, want gzip", got)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		for _, target := range []string{"/docs/nothing", "/docs/operators", "/docs/operators/", "/docs/operators/lan.md", "/docs/contributing/layout", "/docs/%2e%2e/docs"} {
			if w := get(h, target); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "<h1>") {
				t.Errorf("GET %s: status %d, want the page of 404", target, w.Code)
			}
		}
	})
}

var href = regexp.MustCompile(`href="([^"]*)"`)

// TestLinks requests every page and every page that it links to.
func TestLinks(t *testing.T) {
	h := handler("", nil, nil)
	for name := range sources(t) {
		target := "/docs/" + strings.TrimSuffix(name, ".md")
		w := get(h, target)
		if w.Code != http.StatusOK {
			t.Errorf("GET %s: status %d", target, w.Code)
		}
		_, article, _ := strings.Cut(w.Body.String(), "<article")
		article, _, _ = strings.Cut(article, "</article>")
		for _, m := range href.FindAllStringSubmatch(article, -1) {
			to, anchor, anchored := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			linked := w
			if to != "" {
				at := path.Join(path.Dir(target), to)
				if at == "/docs" {
					at = "/docs/"
				}
				linked = get(h, at)
			}
			if linked.Code != http.StatusOK || anchored && !strings.Contains(linked.Body.String(), ` id="`+anchor+`"`) {
				t.Errorf("%s links to %s: status %d, or no such heading", target, m[1], linked.Code)
			}
		}
	}
}

func TestServicesThatAreOff(t *testing.T) {
	h := handler("", map[string]bool{"protocols/codmaster": false, "protocols/idmaster": true}, nil)
	if w := get(h, "/docs/protocols/codmaster"); w.Code != http.StatusNotFound {
		t.Errorf("the page of a service that is off: status %d, want 404", w.Code)
	}
	body := get(h, "/docs/").Body.String()
	if strings.Contains(body, "codmaster") || strings.Contains(body, "Call of Duty") || !strings.Contains(body, `"protocols/idmaster"`) {
		t.Errorf("the index without Call of Duty's master:\n%s", body)
	}
	h = handler("", map[string]bool{"protocols/idmaster": false, "protocols/zanmaster": true, "operators/zandronum": true}, noun.Set{})
	body = get(h, "/docs/").Body.String()
	if strings.Contains(body, `"operators/lan"`) || strings.Contains(body, `"protocols/idmaster"`) || !strings.Contains(body, `<a href="protocols/zanmaster">Zandronum&#39;s master`) {
		t.Errorf("the short index:\n%s", body)
	}
	if body = get(h, "/docs/operators/zandronum").Body.String(); strings.Contains(body, `href="servers`) || !strings.Contains(body, `href="../protocols/zanmaster"`) {
		t.Errorf("the links of a page:\n%s", body)
	}
}
