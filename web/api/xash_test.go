package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/web/webtest"
)

// put lists a server of A2S.
func (f *fixture) putA2S(addr, dir, protocol string, players int) {
	f.Put(webtest.Listed{
		Addr: addr, Game: "other", Rules: []string{"hostname", "x", "gamename", dir, "protocol", protocol, "numplayers", fmt.Sprint(players)},
		Change: func(s *master.Server) { s.Origin = valvemaster.Origin },
	})
}

func TestXash(t *testing.T) {
	f := newFixture(t)
	f.putA2S("192.0.2.1:27015", "valve", "49", 1)
	f.putA2S("192.0.2.2:27016", "Valve", "48", 5)
	f.putA2S("192.0.2.3:27015", "valve", "17", 3) // of Source
	f.putA2S("192.0.2.4:27015", "cstrike", "48", 2)
	f.putA2S("10.0.0.5:27015", "valve", "49", 9)
	f.Put(webtest.Listed{Addr: "192.0.2.6:6500", Rules: []string{"gamename", "valve", "protocol", "49"}}) // not of A2S
	const head = "# %s server list\n# Format: <ip|gs> <address>\n\n"
	for path, want := range map[string]string{
		"/v1/servers/valve":   fmt.Sprintf(head, "valve") + "gs 192.0.2.2:27016\nip 192.0.2.1:27015\n",
		"/v1/servers/CSTRIKE": fmt.Sprintf(head, "cstrike") + "gs 192.0.2.4:27015\n",
		"/v1/servers/gearbox": fmt.Sprintf(head, "gearbox"),
		"/v1/gamedirs":        "# Format: <gamedir> <servers> <live>\ncstrike 1 1\nvalve 2 2\n",
	} {
		w := f.Get(path)
		if w.Code != http.StatusOK || w.Body.String() != want || w.Header().Get("Content-Type") != textType || w.Header().Get("Cache-Control") != xashAge {
			t.Errorf("%s: %d, %v, %q, want %q", path, w.Code, w.Header(), w.Body, want)
		}
		if got := f.Get(path, "If-None-Match", w.Header().Get("ETag")); got.Code != http.StatusNotModified {
			t.Errorf("%s: status %d with the tag", path, got.Code)
		}
	}
	for _, path := range []string{"/v1/servers/" + strings.Repeat("x", maxGameDir+1), "/v1/servers/a%0ab"} {
		if w := f.Get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

func TestXashIsBounded(t *testing.T) {
	f := newFixture(t)
	for i := range maxXash + 10 {
		f.putA2S(netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 27015).String(), "valve", "49", i%30)
	}
	if n := strings.Count(f.Get("/v1/servers/valve").Body.String(), "\nip "); n != maxXash {
		t.Errorf("%d servers, want %d", n, maxXash)
	}
}
