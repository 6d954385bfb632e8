package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func request(t testing.TB, h http.Handler, method, path, auth, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Host = testHost
	if auth != "" {
		r.Header.Set("Authorization", auth)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAuthorization(t *testing.T) {
	h := New(options(newLocal(t), nil)).Handler()
	tests := map[string]struct {
		auth string
		want int
	}{
		"right":              {"Bearer " + testToken, 200},
		"scheme in lower":    {"bearer " + testToken, 200},
		"scheme in capitals": {"BEARER " + testToken, 200},
		"more blanks":        {"Bearer   " + testToken, 200},
		"none":               {"", 401},
		"scheme alone":       {"Bearer", 401},
		"empty":              {"Bearer ", 401},
		"wrong":              {"Bearer " + strings.Repeat("x", len(testToken)), 401},
		"longer":             {"Bearer " + testToken + "0", 401},
		"shorter":            {"Bearer " + testToken[1:], 401},
		"other scheme":       {"Basic " + testToken, 401},
		"token alone":        {testToken, 401},
		"capitals":           {"Bearer " + strings.ToUpper(testToken), 401},
	}
	for name, tc := range tests {
		for path, found := range map[string]int{"/api/v1/status": 200, "/api/v1/none": 404, "/api/v1/": 404} {
			want := tc.want
			if want == 200 {
				want = found
			}
			w := request(t, h, http.MethodGet, path, tc.auth, "")
			if w.Code != want {
				t.Errorf("%s: GET %s: status %d, want %d", name, path, w.Code, want)
			}
			if w.Code == 401 && w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s: GET %s: 401 without WWW-Authenticate", name, path)
			}
			if w.Code != 200 {
				var p problem
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Error == "" {
					t.Errorf("%s: GET %s: body %q, want an error as JSON", name, path, w.Body)
				}
			}
		}
	}
}

// Wrong tokens are counted, logged once per address, and limited together with those of
// the login page. A request without a token is none of that, and the right token is
// always accepted.
func TestWrongTokens(t *testing.T) {
	var log bytes.Buffer
	x := newSite(t, func(o *Options) { o.Log = zerolog.New(&log) })
	h := x.s.Handler()
	ask := func(from, auth string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/status", nil)
		r.Host, r.RemoteAddr = testHost, from+":4000"
		if auth != "" {
			r.Header.Set("Authorization", auth)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const wrong = "Bearer wrong-wrong-wrong"
	for range 30 {
		if w := ask("192.0.2.1", ""); w.Code != http.StatusUnauthorized || w.Header().Get("Retry-After") != "" {
			t.Fatalf("without a token: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
	}
	for i := range loginBurst + 5 {
		w := ask("192.0.2.1", []string{wrong, "Basic " + testToken, "wrong"}[i%3])
		limited := i >= loginBurst
		if w.Code != http.StatusUnauthorized || (w.Header().Get("Retry-After") != "") != limited || (w.Header().Get("Connection") == "close") != limited {
			t.Errorf("wrong token %d: %d, %v", i, w.Code, w.Header())
		}
	}
	if got := attempt(t, x.s, "192.0.2.1", "wrong"); got != http.StatusTooManyRequests {
		t.Errorf("a login with a wrong token after those: %d, want 429", got)
	}
	if w := ask("192.0.2.1", "Bearer "+testToken); w.Code != http.StatusOK {
		t.Errorf("the right token: %d, want 200", w.Code)
	}
	ask("192.0.2.2", wrong)
	for reason, want := range map[string]float64{refusedNoToken: 30, refusedToken: loginBurst + 1, refusedTokenRate: 5} {
		if got := metrictest.Value(t, x.reg, "respawnd_admin_refused_total", reason); got != want {
			t.Errorf("%s: %v counted, want %v", reason, got, want)
		}
	}
	for from, want := range map[string]int{"192.0.2.1": 1, "192.0.2.2": 1} {
		if n := strings.Count(log.String(), `"peer":"`+from+`"`); n != want {
			t.Errorf("%d lines about %s, want %d:\n%s", n, from, want, &log)
		}
	}
	if strings.Contains(log.String(), "wrong-wrong") {
		t.Errorf("the log has the token that was sent:\n%s", &log)
	}
}

func TestEmptyToken(t *testing.T) {
	opt := options(newLocal(t), nil)
	opt.Token = ""
	h := New(opt).Handler()
	for _, auth := range []string{"", "Bearer", "Bearer ", "Bearer x"} {
		if w := request(t, h, http.MethodGet, "/api/v1/status", auth, ""); w.Code != 401 {
			t.Errorf("authorization %q for an empty token: status %d, want 401", auth, w.Code)
		}
	}
}

// The comparison must not leak through its time, so only one function uses the
// token, and it compares in constant time.
func TestTokenComparison(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil || len(paths) < 10 {
		t.Fatalf("files: %v, %v", paths, err)
	}
	looks := map[string]bool{} // functions that use the token of the options
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			calls := map[string]int{}
			ast.Inspect(fn, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					calls[s.Sel.Name]++
					if inner, ok := s.X.(*ast.SelectorExpr); ok && inner.Sel.Name == "opt" && s.Sel.Name == "Token" {
						looks[fn.Name.Name] = true
					}
				}
				return true
			})
			if fn.Name.Name == "rightToken" && (calls["ConstantTimeCompare"] != 1 || calls["Token"] > 1 || calls["Equal"] > 0) {
				t.Errorf("rightToken uses %v, want one ConstantTimeCompare", calls)
			}
		}
	}
	if len(looks) != 1 || !looks["rightToken"] {
		t.Errorf("functions that look at the token: %v, want rightToken alone", looks)
	}
}

func TestReadyz(t *testing.T) {
	opt := options(newLocal(t), nil)
	missing := errors.New("no list yet")
	opt.Ready = func() error { return missing }
	h := New(opt).Handler()
	if w := request(t, h, http.MethodGet, "/readyz", "", ""); w.Code != 503 || !strings.Contains(w.Body.String(), "no list yet") {
		t.Errorf("GET /readyz: status %d, %q; want 503 and the reason", w.Code, w.Body)
	}
	if w := request(t, h, http.MethodGet, "/healthz", "", ""); w.Code != 200 {
		t.Errorf("GET /healthz: status %d, want 200", w.Code)
	}
	missing = nil
	if w := request(t, h, http.MethodGet, "/readyz", "", ""); w.Code != 200 {
		t.Errorf("GET /readyz: status %d, want 200", w.Code)
	}
	for _, path := range []string{"/api", "/metricsx", "/index.html"} {
		if w := request(t, h, http.MethodGet, path, "", ""); w.Code != 404 {
			t.Errorf("GET %s: status %d, want 404", path, w.Code)
		}
	}
}

// fake is an operator whose backups and lists of bans fail.
type fake struct {
	operator.Conn
	backup func(w io.Writer) error
}

func (f fake) Write(_ context.Context, _ *operator.Operation, _ any, w io.Writer) (int, error) {
	return 0, f.backup(w)
}
func (fake) Do(context.Context, *operator.Operation, any) (any, error) { panic("a bug") }

var errDisk = errors.New("disk on fire")

func TestClientBackupCut(t *testing.T) {
	piece := bytes.Repeat([]byte("x"), 64<<10)
	tests := map[string]func(w io.Writer) error{
		"before anything": func(io.Writer) error { return errDisk },
		"after one byte":  func(w io.Writer) error { _, _ = w.Write(piece[:1]); return errDisk },
		"in the middle":   func(w io.Writer) error { _, _ = w.Write(piece); _, _ = w.Write(piece); return errDisk },
	}
	for name, broken := range tests {
		var got bytes.Buffer
		if _, err := operator.Backup.Call(t.Context(), serve(t, fake{backup: broken}, testToken), operator.None{}, &got); err == nil {
			t.Errorf("%s: Backup returned nil after %d bytes, want an error", name, got.Len())
		}
	}
	var got bytes.Buffer
	whole := func(w io.Writer) error { _, err := w.Write(piece); return err }
	if _, err := operator.Backup.Call(t.Context(), serve(t, fake{backup: whole}, testToken), operator.None{}, &got); err != nil || !bytes.Equal(got.Bytes(), piece) {
		t.Errorf("Backup: %d bytes, %v; want %d", got.Len(), err, len(piece))
	}
}

// Errors of net/http go to the same log.
func TestHandlerPanic(t *testing.T) {
	var log nettest.Log
	opt := options(fake{}, nil)
	opt.Log = opt.Log.Output(&log).Level(0)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- New(opt).Serve(ctx, ln) }()
	c, err := newClient(ln.Addr().String(), testToken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.ListBans.Call(t.Context(), c, operator.None{}); err == nil {
		t.Error("Bans of an operator that panics returned no error")
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if text := log.String(); !strings.Contains(text, "a bug") {
		t.Errorf("the log says nothing of the panic: %q", text)
	}
	for line := range strings.Lines(log.String()) {
		var e struct{ Level, Message string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Level == "" || e.Message == "" {
			t.Errorf("line %q of the log, want JSON with level and message", line)
		}
	}
}

func TestServe(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(options(newLocal(t), nil)).Serve(ctx, ln); err != nil {
		t.Errorf("Serve: %v, want nil", err)
	}
	broken, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = broken.Close()
	if err := New(options(newLocal(t), nil)).Serve(t.Context(), broken); err == nil {
		t.Error("Serve on a closed listener returned nil")
	}
}

func TestClientWrongToken(t *testing.T) {
	c := serve(t, newLocal(t), "not the token of this daemon")
	list, err := operator.ListGames.Call(t.Context(), c, operator.None{})
	if !errors.Is(err, operator.ErrUnauthorized) || list != nil {
		t.Errorf("Games with a wrong token: %v, want ErrUnauthorized", err)
	}
	if _, err := operator.Backup.Call(t.Context(), c, operator.None{}, io.Discard); !errors.Is(err, operator.ErrUnauthorized) {
		t.Errorf("Backup with a wrong token: %v, want ErrUnauthorized", err)
	}
	ban := storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeAll}
	if err := operator.AddBan.Exec(t.Context(), c, operator.NewBan(ban)); !errors.Is(err, operator.ErrUnauthorized) {
		t.Errorf("AddBan with a wrong token: %v, want ErrUnauthorized", err)
	}
}

func TestNewClient(t *testing.T) {
	for listen, want := range map[string]string{
		":8081":            "http://127.0.0.1:8081",
		"0.0.0.0:8081":     "http://127.0.0.1:8081",
		"[::]:8081":        "http://127.0.0.1:8081",
		"[::1]:8081":       "http://[::1]:8081",
		"localhost:8081":   "http://localhost:8081",
		"192.0.2.1:8081":   "http://192.0.2.1:8081",
		"127.0.0.1":        "",
		"127.0.0.1:1:8081": "",
	} {
		c, err := newClient(listen, testToken)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "admin.listen") {
				t.Errorf("newClient(%q): %v, want an error that names admin.listen", listen, err)
			}
			continue
		}
		if err != nil || c.base != want {
			t.Errorf("newClient(%q) asks %q, %v; want %q", listen, c.base, err, want)
		}
	}
}

// The token is for the daemon only: no proxy of the environment gets it.
func TestClientProxy(t *testing.T) {
	c, err := newClient("192.0.2.1:8081", testToken)
	if err != nil {
		t.Fatal(err)
	}
	tr, ok := c.http.Transport.(*http.Transport)
	if !ok || tr.Proxy != nil {
		t.Errorf("the client's transport is %T, want one without proxies", c.http.Transport)
	}
}

func TestClientWithoutDaemon(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	c, err := newClient(ln.Addr().String(), testToken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.ListVerdicts.Call(t.Context(), c, operator.Address{Addr: netip.Addr{}}); err == nil || !strings.Contains(err.Error(), "admin.listen") || strings.Contains(err.Error(), testToken) {
		t.Errorf("Verdicts without a daemon: %v, want an error that names admin.listen", err)
	}
}
