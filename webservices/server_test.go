package webservices

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/webservices/soap"
)

// player is the address of the client in tests.
var player = netip.MustParseAddrPort("192.0.2.9:4000")

// echo is a backend with one method, which replies with the fields of its request, and one
// page.
func echo() backend {
	say := func(_ context.Context, q *soap.Request) []byte {
		return soap.Reply(q.Method, "urn:e", func(w *soap.Writer) {
			w.Text("said", strings.Join([]string{q.Host, q.Label, q.Game, q.From.String(), q.Body.Text("a")}, " "))
		})
	}
	return backend{
		services: []soap.Service{{
			Name: "echo", Hosts: []string{"{g}.auth.pubsvs.{d}", "sake.{d}"}, Path: "/Service.asmx", Namespace: "urn:e",
			Methods: map[string]soap.Handler{"Say": say, "Panic": func(context.Context, *soap.Request) []byte { panic("on purpose") }},
			Fault: func(method string) []byte {
				return soap.Reply(method, "urn:e", func(w *soap.Writer) { w.Int("code", 7) })
			},
		}},
		pages: []soap.Page{{
			Name: "page", Hosts: []string{"motd.{d}"}, Path: "/motd.asp",
			Serve: func(w http.ResponseWriter, _ *http.Request, q *soap.Request) {
				_, _ = w.Write([]byte("page " + q.Path))
			},
		}},
	}
}

// newTestServer returns a server with the backend echo and a catalogue of one game.
func newTestServer(t *testing.T, edit func(*Options)) (*Server, *Options) {
	t.Helper()
	catalog, err := games.NewCatalog([]games.Game{{Name: "gmtest", Secrets: []string{"HA6zkS"}}})
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	opt := Options{
		Config: Config{MaxConns: 100, MaxPerAddr: 100}, Games: catalog, Peers: part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		Self: part.Self{Metrics: netserve.NewMetrics(reg, name, reasons...), Registerer: reg, Log: zerolog.Nop()},
	}
	if edit != nil {
		edit(&opt)
	}
	return newServer(opt, []backend{echo()}), &opt
}

// post returns a request with a body for the backend echo.
func post(t *testing.T, body string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://GMTEST.auth.pubsvs.gamespy.com:80/service.ASMX", strings.NewReader(body))
	r.RemoteAddr = player.String()
	return r
}

// envelope puts a method into an Envelope.
func envelope(method string) string { return "<Envelope><Body>" + method + "</Body></Envelope>" }

// do sends a request and returns the status and the body of the reply.
func do(s *Server, r *http.Request) (int, string) {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestSOAP(t *testing.T) {
	s, _ := newTestServer(t, nil)
	for name, test := range map[string]struct {
		edit   func(*http.Request)
		body   string
		status int
		want   string // part of the reply
	}{
		"executed":            {nil, envelope("<Say><a>x</a></Say>"), 200, "<said>gmtest.auth.pubsvs.gamespy.com gmtest gmtest 192.0.2.9:4000 x</said>"},
		"with action":         {func(r *http.Request) { r.Header.Set("SOAPAction", `"http://e/Say"`) }, envelope("<Say/>"), 200, "<said>"},
		"other action":        {func(r *http.Request) { r.Header.Set("SOAPAction", `"http://e/Delete"`) }, envelope("<Say/>"), 200, "<said>"},
		"unknown method":      {nil, envelope("<Other/>"), 200, "<OtherResponse xmlns=\"urn:e\"><code>7</code>"},
		"method with a space": {func(r *http.Request) { r.Header.Set("SOAPAction", "a b") }, "nonsense", 200, "<UnknownResponse"},
		"malformed":           {func(r *http.Request) { r.Header.Set("SOAPAction", "urn/Say") }, "nonsense", 200, "<SayResponse xmlns=\"urn:e\"><code>7</code>"},
		"no body":             {nil, "", 200, "<UnknownResponse"},
		"too large":           {nil, envelope("<Say>" + strings.Repeat("x", soap.MaxBody) + "</Say>"), 200, "<code>7</code>"},
		"of unknown length":   {func(r *http.Request) { r.ContentLength = -1 }, envelope("<Say>" + strings.Repeat("x", soap.MaxBody) + "</Say>"), 200, "<code>7</code>"},
		"GET":                 {func(r *http.Request) { r.Method = http.MethodGet }, "", 405, ""},
		"other host":          {func(r *http.Request) { r.Host = "gmtest.sake.gamespy.com" }, envelope("<Say/>"), 404, ""},
		"host without game":   {func(r *http.Request) { r.Host = "sake.gs.nintendowifi.net." }, envelope("<Say/>"), 200, "<said>sake.gs.nintendowifi.net   192"},
		"unknown game":        {func(r *http.Request) { r.Host = "xyz.auth.pubsvs.x" }, envelope("<Say/>"), 200, "<said>xyz.auth.pubsvs.x xyz  192"},
		"other path":          {func(r *http.Request) { r.URL.Path = "/" }, envelope("<Say/>"), 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := post(t, test.body)
			if test.edit != nil {
				test.edit(r)
			}
			if status, body := do(s, r); status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("%d %s, want %d and %s", status, body, test.status, test.want)
			}
		})
	}
	if n := s.bodies.bytes.Load(); n != 0 {
		t.Errorf("%d bytes of bodies are still counted", n)
	}
	if n := testutil.ToFloat64(s.metrics.mismatched); n != 1 {
		t.Errorf("%v requests with another action were counted, want 1", n)
	}
}

// slowBody is a body that comes in parts, and whose end does not come in time.
type slowBody struct{ parts []string }

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.parts) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, b.parts[0])
	b.parts = b.parts[1:]
	return n, nil
}

func TestSlowBody(t *testing.T) {
	s, _ := newTestServer(t, nil)
	whole := envelope("<Say/>")
	for name, test := range map[string]struct {
		parts []string
		want  string
	}{
		"complete, more announced": {[]string{whole[:10], whole[10:]}, "<said>"},
		"incomplete":               {[]string{whole[:10], whole[10:20]}, "<code>7</code>"},
		"nothing":                  {nil, "<code>7</code>"},
	} {
		r := post(t, "")
		r.Body, r.ContentLength = io.NopCloser(&slowBody{test.parts}), 10_000
		if status, body := do(s, r); status != 200 || !strings.Contains(body, test.want) {
			t.Errorf("%s: %d %s, want %s", name, status, body, test.want)
		}
	}
	if n := s.bodies.bytes.Load(); n != 0 {
		t.Errorf("%d bytes of bodies are still counted", n)
	}
}

func TestPage(t *testing.T) {
	s, _ := newTestServer(t, nil)
	if status, body := do(s, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://motd.gamespy.com/MOTD.asp?a=b+c%zz", nil)); status != 200 || body != "page /MOTD.asp" {
		t.Errorf("%d %q", status, body)
	}
}

func TestRefusals(t *testing.T) {
	banned := true
	s, _ := newTestServer(t, func(o *Options) {
		o.Config.Rate, o.Config.Burst = 1, 2
		o.Banned = func(netip.Addr) bool { return banned }
	})
	if status, _ := do(s, post(t, envelope("<Say/>"))); status != http.StatusForbidden {
		t.Errorf("a banned address gets %d", status)
	}
	banned = false
	_, _ = do(s, post(t, envelope("<Say/>")))
	if status, _ := do(s, post(t, envelope("<Say/>"))); status != http.StatusTooManyRequests {
		t.Errorf("over the rate: %d", status)
	}
}

func TestPanic(t *testing.T) {
	s, _ := newTestServer(t, nil)
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("panic %v, want one that breaks the connection", err)
		}
	}()
	_, _ = do(s, post(t, envelope("<Panic/>")))
}

func TestUnknownRequests(t *testing.T) {
	s, opt := newTestServer(t, nil)
	for _, url := range []string{"http://x.race.gs.nintendowifi.net/RaceService.asmx", "http://192.0.2.1/evil\u202e", "http://x.race.gs.nintendowifi.net/RaceService.asmx", "http://motd.gamespy.com/ads"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		r.RemoteAddr = player.String()
		_, _ = do(s, r)
	}
	_, _ = do(s, post(t, envelope("<Other/>")))
	var got []string
	for _, e := range opt.Verdicts.Of(player.Addr()) {
		got = append(got, e.Detail)
	}
	slices.Sort(got)
	want := []string{
		"GET 192.0.2.1/evil", "GET motd.gamespy.com/ads", "GET x.race.gs.nintendowifi.net/RaceService.asmx",
		"gmtest.auth.pubsvs.gamespy.com/service.ASMX Other",
	}
	if !slices.Equal(got, want) {
		t.Errorf("details %q, want %q", got, want)
	}
}

func TestLoggedRequests(t *testing.T) {
	var out bytes.Buffer
	s, _ := newTestServer(t, func(o *Options) { o.Log = zerolog.New(&out).Level(zerolog.DebugLevel) })
	_, _ = do(s, post(t, "nonsense"))
	other := post(t, envelope("<Say/>"))
	other.URL.Path = "/other"
	_, _ = do(s, other)
	for _, part := range []string{`"reason":"malformed"`, `gmtest.auth.pubsvs.gamespy.com/other`, `"peer":"192.0.2.9:4000"`} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the log has no %s:\n%s", part, &out)
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines for two refused requests:\n%s", n, &out)
	}
}

func TestMatchHost(t *testing.T) {
	for _, test := range []struct {
		pattern, host, label string
		ok                   bool
	}{
		{"{g}.sake.{d}", "gmtest.sake.gamespy.com", "gmtest", true},
		{"{g}.sake.{d}", "gmtest.sake.gs.nintendowifi.net", "gmtest", true},
		{"{g}.sake.{d}", "gmtest.sake", "", false},
		{"{g}.sake.{d}", "sake.gamespy.com", "", false},
		{"{g}.sake.{d}", "", "", false},
		{"{g}.auth.pubsvs.{d}", "g.auth.pubsvs.example.org", "g", true},
		{"{g}.auth.pubsvs.{d}", "g.auth.example.org", "", false},
		{"sake.{d}", "sake.gamespy.com", "", true},
		{"www.fileplanet.com", "www.fileplanet.com", "", true},
		{"www.fileplanet.com", "www.fileplanet.com.evil", "", false},
		{"www.fileplanet.com", "fileplanet.com", "", false},
	} {
		label, ok := matchHost(test.pattern, test.host)
		if ok != test.ok || ok && label != test.label {
			t.Errorf("matchHost(%s, %s) = %q, %t", test.pattern, test.host, label, ok)
		}
	}
}

// TestAPIHost finds the methods of every backend at the host of the client library of 2012.
func TestAPIHost(t *testing.T) {
	s := serve(t, Keypair)
	for _, backend := range s.backends {
		for _, service := range backend.services {
			for _, host := range []string{"gmtest.api.gamespy.com", "gmtest.api.gamespy.net"} {
				if r, label, ok := s.router.find(host, service.Path); !ok || label != "gmtest" || r.service.Name != service.Name {
					t.Errorf("%s%s leads to %v of %q", host, service.Path, r, label)
				}
			}
		}
	}
}

func TestRouterPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two backends with one path")
		}
	}()
	newRouter([]backend{echo(), echo()})
}
