package admin

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/session"
)

// browser is a user of the page. It keeps cookies and follows a redirect only
// on request.
type browser struct {
	t      testing.TB
	base   string
	client *http.Client
	form   string // of the last page
}

// page is a response to a browser.
type page struct {
	code   int
	header http.Header
	body   string
	path   string
}

// site is a server with pages.
type site struct {
	l    *operator.Local
	s    *Server
	http *httptest.Server
	tail *logtail.Ring
	reg  *prometheus.Registry
}

func newSite(t testing.TB, change func(*Options)) *site {
	t.Helper()
	l := newLocal(t)
	opt := options(l, nil)
	l.Sessions = &hub{}
	x := &site{l: l, tail: opt.Tail, reg: prometheus.NewRegistry()}
	opt.Registerer, opt.Log = x.reg, zerolog.New(x.tail)
	if change != nil {
		change(&opt)
	}
	x.s = New(opt)
	x.http = httptest.NewServer(x.s.Handler())
	t.Cleanup(x.http.Close)
	return x
}

func (x *site) browser(t testing.TB) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, base: x.http.URL, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// operator returns a browser that is logged in.
func (x *site) operator(t testing.TB) *browser {
	t.Helper()
	b := x.browser(t)
	b.get("/login")
	if p := b.post("/login", "token", testToken, "by", "Ann"); p.code != http.StatusSeeOther {
		t.Fatalf("login: %d %s", p.code, p.body)
	}
	b.get("/")
	return b
}

var formValue = regexp.MustCompile(`name="form" value="([^"]+)"`)

func (b *browser) do(r *http.Request) page {
	b.t.Helper()
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if m := formValue.FindSubmatch(body); m != nil {
		b.form = string(m[1])
	}
	return page{resp.StatusCode, resp.Header, string(body), resp.Header.Get("Location")}
}

func (b *browser) request(method, path string, body io.Reader) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *browser) get(path string) page {
	b.t.Helper()
	return b.do(b.request(http.MethodGet, path, nil))
}

// post sends a form with a valid formField.
func (b *browser) post(path string, fields ...string) page {
	b.t.Helper()
	v := url.Values{formField: {b.form}}
	for i := 0; i+1 < len(fields); i += 2 {
		v.Set(fields[i], fields[i+1])
	}
	r := b.request(http.MethodPost, path, strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

// cookie returns the cookie of that name which the browser sends.
func (b *browser) cookie(name string) *http.Cookie {
	b.t.Helper()
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(u) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// setCookie puts a cookie into the browser, as an attacker may.
func (b *browser) setCookie(name, value string) {
	b.t.Helper()
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

// pagePaths are all pages that need a session and no further data.
var pagePaths = []string{"/", "/servers", "/sessions", "/accounts", "/bans", "/games", "/rooms", "/files", "/news", "/federation", "/verdicts", "/log", "/audit"}

func TestPagesNeedALogin(t *testing.T) {
	x := newSite(t, nil)
	b := x.browser(t)
	for _, path := range append([]string{"/accounts/1", "/accounts/1/delete", "/games/gmtest", "/log/stream", "/files/1/content"}, pagePaths...) {
		if p := b.get(path); p.code != http.StatusSeeOther || p.path != "/login" {
			t.Errorf("GET %s without a session: %d to %q, want a redirect to /login", path, p.code, p.path)
		}
	}
	for _, path := range []string{"/bans", "/bans/remove", "/accounts", "/accounts/1/delete", "/games/upload", "/rooms", "/sessions/kick", "/logout"} {
		p := b.post(path, "address", "192.0.2.1", "scope", "all")
		if p.code != http.StatusUnauthorized || !strings.Contains(p.body, "no longer logged in") {
			t.Errorf("POST %s without a session: %d, want 401 and the login form", path, p.code)
		}
	}
	if list := x.l.Table.List(); len(list) > 0 {
		t.Errorf("bans without a session: %v", list)
	}
}

func TestLoginAndLogout(t *testing.T) {
	x := newSite(t, func(o *Options) { o.Version = "1.2.3" })
	b := x.browser(t)
	if p := b.get("/login"); p.code != http.StatusOK || b.form == "" {
		t.Fatalf("GET /login: %d", p.code)
	}
	if p := b.post("/login", "token", "wrong-token-wrong-token", "by", "Ann"); p.code != http.StatusForbidden || b.cookie(sessionCookie) != nil || !strings.Contains(p.body, `value="Ann"`) {
		t.Errorf("login with a wrong token: %d, cookie %v", p.code, b.cookie(sessionCookie))
	}
	p := b.post("/login", "token", " "+testToken+"\n", "by", "Ann <i>")
	if p.code != http.StatusSeeOther || p.path != "/" {
		t.Fatalf("login: %d %s", p.code, p.body)
	}
	set := strings.Join(p.header.Values("Set-Cookie"), "\n")
	for _, want := range []string{sessionCookie + "=", "HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(set, want) {
			t.Errorf("cookies of the login lack %s:\n%s", want, set)
		}
	}
	if strings.Contains(set, testToken) || strings.Contains(set, "Secure") {
		t.Errorf("cookies of the login over plain HTTP: %s", set)
	}
	for _, path := range pagePaths {
		p := b.get(path)
		if p.code != http.StatusOK || !strings.Contains(p.body, "Ann &lt;i&gt;") || strings.Contains(p.body, testToken) || !strings.Contains(p.body, "1.2.3") {
			t.Errorf("GET %s: %d, want the page with the operator's name and without the token", path, p.code)
		}
		if strings.Count(p.body, `aria-current="page"`) != 1 {
			t.Errorf("GET %s: the menu does not say which page it is", path)
		}
	}
	if p := b.get("/login"); p.code != http.StatusSeeOther || p.path != "/" {
		t.Errorf("GET /login with a session: %d to %q", p.code, p.path)
	}
	old := b.cookie(sessionCookie).Value
	b.get("/")
	if p := b.post("/logout"); p.code != http.StatusSeeOther || p.path != "/login" || b.cookie(sessionCookie) != nil {
		t.Errorf("logout: %d to %q, cookie %v", p.code, p.path, b.cookie(sessionCookie))
	}
	b.setCookie(sessionCookie, old)
	if p := b.get("/bans"); p.code != http.StatusSeeOther {
		t.Errorf("a session that was ended: %d, want a redirect", p.code)
	}
	if got := metrictest.Value(t, x.reg, "respawnd_admin_logins_total", loginDone); got != 1 {
		t.Errorf("logins counted: %v, want 1", got)
	}
	for _, line := range x.tail.Last(100, zerolog.TraceLevel) {
		if bytes.Contains(line.Text, []byte(testToken)) || bytes.Contains(line.Text, []byte(old)) || bytes.Contains(line.Text, []byte("wrong-token")) {
			t.Errorf("the log has a secret: %s", line.Text)
		}
	}
}

func TestSessionCookieIsSecureBehindHTTPS(t *testing.T) {
	x := newSite(t, nil)
	b := x.browser(t)
	r := b.request(http.MethodGet, "/login", nil)
	r.Header.Set("X-Forwarded-Proto", "https")
	if p := b.do(r); !strings.Contains(p.header.Get("Set-Cookie"), "; Secure") {
		t.Errorf("cookie over HTTPS: %q, want Secure", p.header.Get("Set-Cookie"))
	}
}

func TestForgedSessions(t *testing.T) {
	x := newSite(t, nil)
	for name, value := range map[string]string{"made up": session.NewToken(), "empty": "", "long": strings.Repeat("x", 4000), "token": testToken} {
		b := x.browser(t)
		b.setCookie(sessionCookie, value)
		if p := b.get("/bans"); p.code != http.StatusSeeOther {
			t.Errorf("%s: %d, want a redirect to the login", name, p.code)
		}
		// An attacker who planted the cookie must not share the new session.
		b.get("/login")
		if p := b.post("/login", "token", testToken); p.code != http.StatusSeeOther {
			t.Fatalf("%s: login: %d", name, p.code)
		}
		if c := b.cookie(sessionCookie); c == nil || c.Value == value {
			t.Errorf("%s: the session took over the cookie that was there", name)
		}
		thief := x.browser(t)
		thief.setCookie(sessionCookie, value)
		if p := thief.get("/bans"); p.code != http.StatusSeeOther {
			t.Errorf("%s: the planted cookie is good for a session: %d", name, p.code)
		}
	}
	b := x.operator(t)
	first := b.cookie(sessionCookie).Value
	b.client.Jar, _ = cookiejar.New(nil)
	b.setCookie(sessionCookie, first)
	b.setCookie(loginCookie, "abc")
	b.form = x.s.forms.Token("abc")
	if p := b.post("/login", "token", testToken); p.code != http.StatusSeeOther {
		t.Fatalf("second login: %d", p.code)
	}
	if c := b.cookie(sessionCookie); c.Value == first {
		t.Error("a second login kept the id of the session")
	}
	thief := x.browser(t)
	thief.setCookie(sessionCookie, first)
	if p := thief.get("/bans"); p.code != http.StatusSeeOther {
		t.Error("a second login left the first session of the same browser open")
	}
}

func TestForeignForms(t *testing.T) {
	x := newSite(t, nil)
	good := x.operator(t)
	other := x.operator(t)
	fields := []string{"address", "192.0.2.1", "scope", "all"}
	body := func(form string) io.Reader {
		return strings.NewReader(url.Values{formField: {form}, "address": {"192.0.2.1"}, "scope": {"all"}}.Encode())
	}
	tests := map[string]func(r *http.Request) *http.Request{
		"without proof": func(r *http.Request) *http.Request { return good.request(r.Method, r.URL.Path, body("")) },
		"with a made up proof": func(r *http.Request) *http.Request {
			return good.request(r.Method, r.URL.Path, body(session.NewToken()))
		},
		"with the proof of other": func(r *http.Request) *http.Request { return good.request(r.Method, r.URL.Path, body(other.form)) },
		"with the proof in the address": func(r *http.Request) *http.Request {
			return good.request(r.Method, r.URL.Path+"?form="+good.form, body(""))
		},
		"from another site": func(r *http.Request) *http.Request {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			return r
		},
		"from another origin": func(r *http.Request) *http.Request {
			r.Header.Set("Origin", "https://evil.example")
			return r
		},
	}
	for name, forge := range tests {
		r := forge(good.request(http.MethodPost, "/bans", body(good.form)))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		keep := good.form
		p := good.do(r)
		good.form = keep
		if p.code != http.StatusForbidden || len(x.l.Table.List()) > 0 {
			t.Errorf("form %s: %d, bans %v; want 403 and nothing", name, p.code, x.l.Table.List())
		}
	}
	if got := metrictest.Value(t, x.reg, "respawnd_admin_refused_total", refusedForgery); got != float64(len(tests)) {
		t.Errorf("forgeries counted: %v, want %d", got, len(tests))
	}
	if p := good.post("/bans", fields...); p.code != http.StatusSeeOther || len(x.l.Table.List()) != 1 {
		t.Errorf("the real form: %d %s", p.code, p.body)
	}
	// A GET never changes anything.
	if p := good.get("/bans/remove?form=" + good.form + "&address=192.0.2.1&scope=all"); p.code != http.StatusNotFound || len(x.l.Table.List()) != 1 {
		t.Errorf("GET of a form: %d", p.code)
	}
}

func TestLoginFormCookie(t *testing.T) {
	x := newSite(t, nil)
	mine, theirs := x.browser(t), x.browser(t)
	mine.get("/login")
	theirs.get("/login")
	theirs.form = mine.form
	if p := theirs.post("/login", "token", testToken); p.code != http.StatusForbidden || theirs.cookie(sessionCookie) != nil {
		t.Errorf("login with the form of another browser: %d", p.code)
	}
	bare := x.browser(t)
	bare.form = mine.form
	if p := bare.post("/login", "token", testToken); p.code != http.StatusForbidden {
		t.Errorf("login without the cookie of the form: %d", p.code)
	}
}

// attempt logs in with a token from an address, and returns the status.
func attempt(t *testing.T, s *Server, from, token string) int {
	t.Helper()
	cookie := session.NewToken()
	v := url.Values{formField: {s.forms.Token(cookie)}, "token": {token}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/login", strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: loginCookie, Value: cookie})
	r.Host, r.RemoteAddr = testHost, netip.AddrPortFrom(netip.MustParseAddr(from), 4000).String()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if (w.Code == http.StatusTooManyRequests) != (w.Header().Get("Retry-After") != "") {
		t.Errorf("%d with Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	return w.Code
}

func TestLoginLimitPerAddress(t *testing.T) {
	x := newSite(t, nil)
	for i := range loginBurst {
		if got := attempt(t, x.s, "192.0.2.1", "wrong"); got != http.StatusForbidden {
			t.Fatalf("attempt %d: %d, want 403", i, got)
		}
	}
	if got := attempt(t, x.s, "192.0.2.1", "wrong"); got != http.StatusTooManyRequests {
		t.Errorf("one attempt too many: %d, want 429", got)
	}
	if got := attempt(t, x.s, "192.0.2.2", "wrong"); got != http.StatusForbidden {
		t.Errorf("an attempt from the next address: %d, want 403", got)
	}
	if got := metrictest.Value(t, x.reg, "respawnd_admin_logins_total", loginThrottled); got != 1 {
		t.Errorf("throttled logins counted: %v, want 1", got)
	}
	if got := metrictest.Value(t, x.reg, "respawnd_admin_logins_total", loginWrong); got != loginBurst+1 {
		t.Errorf("wrong logins counted: %v, want %d", got, loginBurst+1)
	}
}

func TestLoginLimitInAll(t *testing.T) {
	racetest.Skip(t, "logs in many times")
	s := New(options(newLocal(t), nil))
	codes := map[int]int{}
	for i := range 3 * wrongBurst {
		codes[attempt(t, s, fmt.Sprintf("10.0.%d.%d", i/256, i%256), "wrong")]++
	}
	if codes[http.StatusForbidden] < wrongBurst || codes[http.StatusTooManyRequests] < wrongBurst {
		t.Errorf("answers to wrong logins from many addresses: %v", codes)
	}
}

// After any number of wrong tokens, from any addresses, the operator gets in.
func TestLoginLimitRightToken(t *testing.T) {
	racetest.Skip(t, "logs in many times")
	s := New(options(newLocal(t), nil))
	for i := range 120 {
		attempt(t, s, fmt.Sprintf("192.0.2.%d", 1+i%12), "wrong")
	}
	for _, from := range []string{"198.51.100.1", "192.0.2.1"} { // the second one sent wrong ones too, as a proxy does
		if got := attempt(t, s, from, testToken); got != http.StatusSeeOther {
			t.Errorf("the right token from %s: %d, want 303", from, got)
		}
	}
}

func TestPageSessions(t *testing.T) {
	table, begin := newPageSessions(), time.Now()
	for range maxPageSessions {
		table.Open("Ann", begin, nil)
	}
	last := table.Open("Ann", begin, nil)
	if table.Len() != maxPageSessions {
		t.Errorf("%d sessions, want %d", table.Len(), maxPageSessions)
	}
	for at := time.Duration(0); at < sessionLife; at += sessionIdle - 1 {
		if table.Find(last, begin.Add(at)) == nil {
			t.Fatalf("the session ended after %v", at)
		}
	}
	if table.Find(last, begin.Add(sessionLife)) != nil {
		t.Errorf("the session is open after %v", sessionLife)
	}
	if idle := table.Open("Ann", begin, nil); table.Find(idle, begin.Add(sessionIdle)) != nil {
		t.Errorf("an idle session is open after %v", sessionIdle)
	}
}

func TestForeignHostNames(t *testing.T) {
	x := newSite(t, func(o *Options) { o.Config.Names = []string{"admin.example.org"} })
	h := x.s.Handler()
	for host, want := range map[string]int{
		"127.0.0.1:8081": 200, "127.0.0.1": 200, "[::1]:8081": 200, "[::1]": 200, "localhost:8081": 200, "LOCALHOST.": 200,
		"192.0.2.1:8081": 200, "admin.example.org": 200, "Admin.Example.org:443": 200,
		"evil.example:8081": 421, "evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "": 421, "127.0.0.1 evil": 421,
	} {
		for _, path := range []string{"/login", "/assets/admin.css", "/metrics"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("GET %s of host %q: %d, want %d", path, host, w.Code, want)
			}
			if want != 200 && !strings.Contains(w.Body.String(), "admin.names") {
				t.Errorf("GET %s of host %q: %q does not say what to do", path, host, w.Body)
			}
		}
	}
	// Paths that need the token, or are not secret, work under any host name: health
	// checks of containers use names.
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/api/v1/status": 401} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host = "respawnd:8081"
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("GET %s: %d, want %d", path, w.Code, want)
		}
	}
}

func TestTokenInQuery(t *testing.T) {
	x := newSite(t, nil)
	h := x.s.Handler()
	b := x.operator(t)
	for _, query := range []string{"token=x", "access_token=" + testToken, "q=" + testToken, "API_KEY=1", "a=b&Authorization=Bearer+" + testToken} {
		w := request(t, h, http.MethodGet, "/api/v1/status?"+query, "Bearer "+testToken, "")
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "address") {
			t.Errorf("GET /api/v1/status?%s: %d %s", query, w.Code, w.Body)
		}
		if p := b.get("/bans?" + query); p.code != http.StatusBadRequest || !strings.Contains(p.body, "Authorization: Bearer") || strings.Contains(p.body, testToken) {
			t.Errorf("GET /bans?%s: %d %s", query, p.code, p.body)
		}
	}
	if w := request(t, h, http.MethodGet, "/api/v1/accounts?match=token", "Bearer "+testToken, ""); w.Code != http.StatusOK {
		t.Errorf("a search for the word token: %d %s", w.Code, w.Body)
	}
}

func TestPageHeaders(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	for _, path := range append([]string{"/login", "/none", "/assets/admin.css"}, pagePaths...) {
		p := b.get(path)
		csp := p.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'", "script-src 'self'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("GET %s: policy %q lacks %s", path, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || p.header.Get("X-Frame-Options") != "DENY" || p.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("GET %s: headers %v", path, p.header)
		}
		if regexp.MustCompile(`(?i)(src|href|action)="?(https?:)?//|\son[a-z]+=|<script>|<style|style=|javascript:`).MatchString(p.body) {
			t.Errorf("GET %s has inline code or loads from elsewhere:\n%s", path, p.body)
		}
	}
	for name, kind := range map[string]string{"admin.css": "text/css", "admin.js": "text/javascript", "icon.svg": "image/svg+xml"} {
		if p := x.browser(t).get("/assets/" + name); p.code != 200 || !strings.HasPrefix(p.header.Get("Content-Type"), kind) {
			t.Errorf("GET /assets/%s: %d %s", name, p.code, p.header.Get("Content-Type"))
		}
	}
}

func TestFormLimits(t *testing.T) {
	racetest.Skip(t, "sends megabytes")
	x := newSite(t, nil)
	b := x.operator(t)
	long := strings.Repeat("x", maxUpload+1)
	for path, limit := range map[string]int{"/bans": maxForm, "/login": maxLogin, "/games/upload": maxUpload} {
		long := long[:limit+1]
		if p := b.post(path, "address", long); p.code != http.StatusRequestEntityTooLarge {
			t.Errorf("POST %s with %d bytes: %d, want 413", path, len(long), p.code)
		}
	}
	if p := b.upload("list.yaml", long); p.code != http.StatusRequestEntityTooLarge {
		t.Errorf("upload of %d bytes: %d, want 413", len(long), p.code)
	}
	r := b.request(http.MethodPost, "/bans", strings.NewReader("%zz"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p := b.do(r); p.code != http.StatusBadRequest {
		t.Errorf("a form that is none: %d, want 400", p.code)
	}
	// A client that is not logged in is refused.
	stranger := x.browser(t)
	if p := stranger.post("/bans", "address", long[:1<<20]); p.code != http.StatusUnauthorized {
		t.Errorf("POST /bans without a session: %d, want 401", p.code)
	}
}

// upload sends a file through the form.
func (b *browser) upload(name, content string) page {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.WriteField(formField, b.form); err != nil {
		b.t.Fatal(err)
	}
	f, err := w.CreateFormFile("file", name)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := io.WriteString(f, content); err != nil {
		b.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	r := b.request(http.MethodPost, "/games/upload", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return b.do(r)
}

// evil is a hostile text in a name.
const evil = "<script>alert(1)</script>\"'&\u202eevil\u200b\u2066\x1b[31mred\x00\x7f\xff\ufeff\u00ad"

// wantShown fails if something in a page is hidden or could run.
func wantShown(t *testing.T, path, body string) {
	t.Helper()
	if !utf8.ValidString(body) {
		t.Errorf("%s is not UTF-8", path)
	}
	for i, r := range body {
		if r != '\n' && (unicode.IsControl(r) || isHidden(r)) {
			t.Errorf("%s has a hidden character %U: …%q", path, r, body[max(0, i-60):i+10])
			return
		}
	}
	if strings.Contains(body, "<script>alert") {
		t.Errorf("%s has a script of a stranger", path)
	}
}

func TestHostileTexts(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	put(t, x.l, "gmtest", "192.0.2.1:7777", "hostname", evil, "numplayers", evil, "maxplayers", "8")
	x.l.ServerLog.Note("qr2", netip.MustParseAddrPort("192.0.2.1:7777"), evil, verdicts.UnknownGame)
	clean := "<script>alert(1)</script>\"'&\u202eevil\u200b\u2066" // in a form that the store accepts
	if err := operator.AddBan.Exec(t.Context(), x.l, operator.NewBan(storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopePresence, Reason: clean, By: clean})); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.PutRoom.Call(t.Context(), x.l, operator.NewRoom{Game: "gmtest", Name: clean}); err != nil {
		t.Fatal(err)
	}
	if err := operator.PutGames.Exec(t.Context(), x.l, []games.Game{{Name: "odd", Title: "<script>alert(1)</script>"}}); err != nil {
		t.Fatal(err)
	}
	u, p, err := x.l.Store.CreateUser(t.Context(), storage.User{Email: "a" + clean[:20] + "@b.c"}, storage.Profile{Nick: clean[len(clean)-20:]})
	if err != nil {
		t.Fatal(err)
	}
	x.l.Sessions = &hub{list: []presence.SignedIn{{
		Profile: p.ID, User: u.ID, Status: presence.Status{Text: evil}, Client: presence.Client{Game: evil, Peer: netip.MustParseAddrPort("192.0.2.1:1")},
	}}}
	log := zerolog.New(x.tail)
	log.Info().Str("nick", evil).Str(evil, "x").Msg("a line " + evil)
	_, _ = x.tail.Write([]byte(`{"level":"info","cut":"` + evil)) // a line that was cut

	account := fmt.Sprintf("/accounts/%d", u.ID)
	paths := append([]string{account, account + "/delete", "/games/odd", "/verdicts?addr=192.0.2.1"}, pagePaths...)
	for _, q := range []string{"/servers?q=", "/servers?game=", "/accounts?q=", "/games?q=", "/bans?address="} {
		paths = append(paths, q+url.QueryEscape(evil))
	}
	seen := ""
	for _, path := range paths {
		p := b.get(path)
		if p.code != http.StatusOK {
			t.Errorf("GET %s: %d", path, p.code)
		}
		wantShown(t, path, p.body)
		seen += p.body
	}
	for _, want := range []string{`\u202e`, `\u200b`, `\u001b[31m`, "\u00ff", `\ufeff`, `\u00ad`, "&lt;script&gt;alert(1)"} {
		if !strings.Contains(seen, want) {
			t.Errorf("no page shows %s", want)
		}
	}
	for _, path := range []string{"/verdicts?addr=" + url.QueryEscape(evil), "/games/" + url.PathEscape(evil), "/log?level=" + url.QueryEscape(evil), "/accounts/" + url.PathEscape(evil)} {
		p := b.get(path)
		if p.code != http.StatusBadRequest && p.code != http.StatusNotFound {
			t.Errorf("GET %s: %d, want a refusal", path, p.code)
		}
		wantShown(t, path, p.body)
	}
	if p := b.post("/bans", "address", evil, "scope", evil); p.code != http.StatusBadRequest {
		t.Errorf("ban of %q: %d", evil, p.code)
	} else {
		wantShown(t, "POST /bans", p.body)
	}
	open := x.s.sessions.Find(b.cookie(sessionCookie).Value, time.Now())
	open.Owner = evil
	open.Data.set(evil)
	wantShown(t, "the notice", b.get("/").body)
}

func TestShow(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"plain text":                       "plain text",
		"Ünï 日本 \U0001F600":                "Ünï 日本 \U0001F600",
		"a\x1b[0m":                         `a\u001b[0m`,
		"a\u202eb":                         `a\u202eb`,
		"\xffa":                            "\u00ffa",
		"\x9ba":                            `\u009ba`,
		"\ufffd":                           "\ufffd",
		"a\u3000b":                         `a\u3000b`,
		"\U000E0041":                       `\U000e0041`,
		"a" + strings.Repeat("\u0301", 20): "a\u0301\u0301\u0301",
		strings.Repeat("x", 401):           strings.Repeat("x", 400) + "…",
		strings.Repeat("x", 400):           strings.Repeat("x", 400),
	} {
		if got := show(in); got != want {
			t.Errorf("show(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzShow(f *testing.F) {
	f.Add(evil)
	f.Add("plain")
	f.Fuzz(func(t *testing.T, s string) {
		got := show(s)
		if !utf8.ValidString(got) {
			t.Errorf("show(%q) = %q: not UTF-8", s, got)
		}
		for _, r := range got {
			if isHidden(r) {
				t.Errorf("show(%q) = %q: %U is hidden", s, got, r)
			}
		}
	})
}

func TestPagesWithoutDaemon(t *testing.T) {
	x := newSite(t, nil)
	x.l.Registry, x.l.ServerLog = nil, nil
	b := x.operator(t)
	if p := b.get("/"); p.code != http.StatusOK {
		t.Errorf("GET /: %d %s", p.code, p.body)
	}
	if p := b.get("/servers"); p.code != http.StatusServiceUnavailable || !strings.Contains(p.body, operator.ErrNotRunning.Error()) {
		t.Errorf("GET /servers: %d", p.code)
	}
}
