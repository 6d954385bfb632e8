package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/web/webtest"
	"github.com/respawnd/respawnd/zanmaster"
)

// visited is a service that tests servers, of which something is known.
type visited struct {
	*fixture
	tested, asked []netip.AddrPort
	meetings      meeting.Recorder
}

// Status implements Prober.
func (v *visited) Status(_ context.Context, public netip.AddrPort) (query.Status, error) {
	v.asked = append(v.asked, public)
	return query.Status{}, errors.New("no answer")
}

func newVisited(t *testing.T) *visited {
	v := new(visited)
	v.fixture = newFixture(t, func(o *Options) {
		o.Verdicts, o.Players, o.Meetings = verdicts.NewLog(zerolog.Nop(), 0), verdicts.NewLog(zerolog.Nop(), 0), &v.meetings
		o.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}
		o.Prober = v
		o.Recheck = func(s *master.Server) bool {
			if s.Origin != qr2.Origin {
				return false
			}
			v.tested = append(v.tested, s.Public)
			return true
		}
	})
	for _, a := range []string{"198.51.100.1:6500", "198.51.100.2:6500"} {
		v.Put(webtest.Listed{Addr: a, Rules: []string{"hostname", "<b>At " + a}, Change: func(s *master.Server) { s.Findings.Reached = master.ReachedNo }})
		v.server.opt.Verdicts.Note("qr2", addr(a), "gmtest", verdicts.Unreachable)
		v.server.opt.Players.NotePlayer("natneg", addr(a).Addr(), "gmtest", verdicts.NotMet)
	}
	v.Put(webtest.Listed{Addr: "198.51.100.1:10666", Rules: []string{"hostname", "Doom"}, Change: func(s *master.Server) { s.Origin = zanmaster.Origin }})
	return v
}

// post sends the form of the page.
func (v *visited) post(from string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(v.T.Context(), http.MethodPost, checkPath, nil)
	r.RemoteAddr = from
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	v.Handler.ServeHTTP(w, r)
	return w
}

func TestConnectPageAboutTheVisitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVisited(t)
		w := v.Ask("198.51.100.1:1", "/connect")
		page := w.Body.String()
		webtest.WantParts(t, "with servers", page, "Your address here is <code>198.51.100.1</code>", "&lt;b&gt;At 198.51.100.1:6500", "not reached",
			"Found out 0 s ago", "What to do:", "Test them now", "negotiated here within the last hour", "respawnd check-nat", "could not reach the other")
		webtest.WantNoParts(t, "with servers", page, "198.51.100.2", "(you?)", "private network with this site")
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Refresh") != "" {
			t.Errorf("headers %v", w.Header())
		}
		for kind, want := range map[meeting.Kind][]string{
			meeting.Unknown:   {"did not show what router"},
			meeting.Open:      {"no router and no filter", "<strong>none</strong> (you?)", "<strong>firewall</strong> (you?)"},
			meeting.Cone:      {"a router with one port for all partners", "<strong>port restricted</strong> (you?)", "What to change:"},
			meeting.Symmetric: {"another port for each partner (symmetric)", "<strong>symmetric</strong> (you?)", "What to change:"},
		} {
			a := netip.AddrFrom4([4]byte{203, 0, 113, byte(kind)})
			v.meetings.Saw(a, kind)
			webtest.WantParts(t, kind.String(), v.Ask(a.String()+":1", "/connect").Body.String(), want...)
		}
		webtest.WantParts(t, "no servers", v.Ask("203.0.113.9:1", "/connect").Body.String(), "No server at your address is in the list", "<td>no</td>")
		webtest.WantParts(t, "IPv6", v.Ask("[2001:db8::1]:1", "/connect").Body.String(), "connected over IPv6")
		webtest.WantParts(t, "a private network", v.Ask("192.168.1.2:1", "/connect").Body.String(), "private network with this site")
		webtest.WantParts(t, "a proxy that is not trusted", v.Ask("192.168.1.2:1", "/connect", "X-Forwarded-For", "198.51.100.1").Body.String(), "web.trusted_proxies", "<code>192.168.1.2</code>")
		webtest.WantParts(t, "a trusted proxy", v.Ask("10.0.0.1:1", "/connect", "X-Forwarded-For", "198.51.100.2").Body.String(), "<code>198.51.100.2</code>", "At 198.51.100.2:6500")
	})
}

// A visitor has his own servers tested, no others, and not too often.
func TestCheckOfServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVisited(t)
		for i := range checkBurst {
			if w := v.post("198.51.100.1:1"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/connect?checked=now#you" {
				t.Errorf("form %d: %d to %q", i+1, w.Code, w.Header().Get("Location"))
			}
		}
		if len(v.tested) != checkBurst || v.tested[0] != addr("198.51.100.1:6500") || len(v.asked) != checkBurst || v.asked[0] != addr("198.51.100.1:10666") {
			t.Errorf("tested %v, asked %v", v.tested, v.asked)
		}
		if w := v.post("198.51.100.1:1"); w.Header().Get("Location") != "/connect?checked=later#you" || len(v.tested) != checkBurst {
			t.Errorf("one too many: to %q, tested %v", w.Header().Get("Location"), v.tested)
		}
		if got := v.Count("respawnd_dropped_total", "service", "web", "reason", dropCheck); got != 1 {
			t.Errorf("%v counted, want 1", got)
		}
		webtest.WantParts(t, "one too many", v.Ask("198.51.100.1:1", "/connect?checked=later").Body.String(), "asked too often")
		if v.post("198.51.100.2:1"); len(v.tested) != checkBurst+1 {
			t.Errorf("of another address: tested %v", v.tested)
		}
		time.Sleep(checkEvery)
		if v.post("198.51.100.1:1"); len(v.tested) != checkBurst+2 {
			t.Errorf("after %v: tested %v", checkEvery, v.tested)
		}
		w := v.Ask("198.51.100.1:1", "/connect?checked=now")
		if !strings.Contains(w.Body.String(), "are being tested") || w.Header().Get("Refresh") != "8; url=/connect#you" {
			t.Errorf("while they are tested: headers %v", w.Header())
		}
		if w := v.Ask("203.0.113.9:1", "/connect?checked=now"); w.Header().Get("Refresh") != "" {
			t.Error("a visitor without servers waits for nothing")
		}
	})
}

func TestRefusedChecks(t *testing.T) {
	v := newVisited(t)
	for name, tt := range map[string]struct {
		from   string
		header []string
		code   int
	}{
		"no servers":      {"203.0.113.9:1", nil, http.StatusSeeOther},
		"another site":    {"198.51.100.1:1", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"another origin":  {"198.51.100.1:1", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		"a claimed proxy": {"203.0.113.9:1", []string{"X-Forwarded-For", "198.51.100.1"}, http.StatusSeeOther},
	} {
		if w := v.post(tt.from, tt.header...); w.Code != tt.code || len(v.tested)+len(v.asked) != 0 {
			t.Errorf("%s: %d, tested %v; want %d and none", name, w.Code, v.tested, tt.code)
		}
	}
	if w := v.Ask("198.51.100.1:1", checkPath); w.Code != http.StatusSeeOther || len(v.tested) != 0 {
		t.Errorf("GET: %d, tested %v", w.Code, v.tested)
	}
}

// All visitors together have bounded tests, too.
func TestChecksOfAllAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVisited(t)
		for i := range checkAtOnce + 1 {
			a := netip.AddrFrom4([4]byte{203, 0, byte(i), 1})
			v.Put(webtest.Listed{Addr: a.String() + ":1"})
			v.post(a.String() + ":1")
		}
		if len(v.tested) != checkAtOnce {
			t.Errorf("%d tested, want %d", len(v.tested), checkAtOnce)
		}
	})
}
