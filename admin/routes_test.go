package admin

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	s := New(options(newLocal(t), nil))
	h := s.Handler()
	w := request(t, h, http.MethodGet, "/api/v1/routes", "Bearer "+testToken, "")
	var v struct{ Routes []Route }
	if err := json.Unmarshal(w.Body.Bytes(), &v); w.Code != http.StatusOK || err != nil {
		t.Fatalf("GET /api/v1/routes: %d %s", w.Code, w.Body)
	}
	if len(v.Routes) < 30 {
		t.Errorf("%d routes are listed", len(v.Routes))
	}
	seen := map[string]bool{}
	for _, r := range v.Routes {
		if len(r.What) < 10 || !strings.HasPrefix(r.Path, "/api/v1/") || seen[r.Method+r.Path] {
			t.Errorf("route %+v", r)
		}
		seen[r.Method+r.Path] = true
		path := strings.NewReplacer("{id}", "1", "{name}", "gmtest").Replace(strings.TrimSuffix(r.Path, "/{$}"))
		if w := request(t, h, r.Method, path, "", ""); w.Code != http.StatusUnauthorized {
			t.Errorf("%s %s without a token: %d, want 401", r.Method, path, w.Code)
		}
	}
}
