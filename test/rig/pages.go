package rig

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/webhook"
)

// visitor is a browser on the pages of a daemon.
type visitor struct {
	t      testing.TB
	Client *http.Client
	base   string
	Page   string // the last one
}

// NewVisitor returns a browser of the daemon's public pages.
func NewVisitor(t testing.TB, d *Running) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: Hang, Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return &visitor{t: t, Client: client, base: "http://" + d.Address["web"].String()}
}

// Do makes a request and returns the status; the page is kept.
func (v *visitor) Do(method, path string, body io.Reader) int {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", v.base)
	}
	resp, err := v.Client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	v.Page = string(page)
	return resp.StatusCode
}

// FormToken finds the token of a form.
var FormToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// MustSend opens a page, fills in one of its forms and follows to the next page.
func (v *visitor) MustSend(page, path string, fields ...string) int {
	v.t.Helper()
	if code := v.Do(http.MethodGet, page, nil); code != http.StatusOK {
		v.t.Fatalf("GET %s: status %d", page, code)
	}
	m := FormToken.FindStringSubmatch(v.Page)
	if m == nil {
		v.t.Fatalf("GET %s: no form", page)
	}
	form := url.Values{"token": {m[1]}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return v.Do(http.MethodPost, path, strings.NewReader(form.Encode()))
}

// Wants fails unless the last page has the parts.
func (v *visitor) Wants(parts ...string) {
	v.t.Helper()
	for _, p := range parts {
		if !strings.Contains(v.Page, p) {
			v.t.Errorf("the page lacks %q:\n%s", p, v.Page)
		}
	}
}

// Repository is the root of the repository.
var Repository = filepath.Join("..", "..")

// Docs returns all pages of the documentation by their path in the repository.
func Docs(t testing.TB) map[string]string {
	t.Helper()
	pages := make(map[string]string)
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"} {
		pages[name] = ReadFile(t, filepath.Join(Repository, name))
	}
	root := os.DirFS(Repository)
	err := fs.WalkDir(root, "docs", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			pages[name] = ReadFile(t, filepath.Join(Repository, filepath.FromSlash(name)))
		}
		return err
	})
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages of documentation: %v", len(pages), err)
	}
	return pages
}

// AskWeb sends a request of a game to the web services and returns the whole answer.
func AskWeb(t *testing.T, d *Running, request string) string {
	t.Helper()
	return askOn(t, DialWeb(t, d), request)
}

// AskWebFrom is AskWeb from another address of this machine.
func AskWebFrom(t *testing.T, d *Running, from, request string) string {
	t.Helper()
	return askOn(t, dialWeb(t, d, net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}), request)
}

func askOn(t *testing.T, conn net.Conn, request string) string {
	t.Helper()
	_, err := io.WriteString(conn, request)
	Must(t, err)
	answer, err := io.ReadAll(conn)
	Must(t, err)
	return string(answer)
}

// DialWeb connects to the web services of a daemon.
func DialWeb(t *testing.T, d *Running) net.Conn {
	t.Helper()
	return dialWeb(t, d, net.Dialer{})
}

func dialWeb(t *testing.T, d *Running, dialer net.Dialer) net.Conn {
	t.Helper()
	conn, err := dialer.DialContext(t.Context(), "tcp4", d.Address["webservices"].String())
	Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	Must(t, conn.SetDeadline(time.Now().Add(Hang)))
	return conn
}

// WebHead returns the head of a request as games write it.
func WebHead(method, host, path string, length int, more string) string {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\n", method, path, host)
	if length >= 0 {
		head += fmt.Sprintf("Content-Length: %d\r\n", length)
	}
	return head + more + "\r\n"
}

// Get asks one of the daemon's HTTP services.
func Get(t testing.TB, d *Running, service, method, path, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+d.Address[service].String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}, Timeout: Hang,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// Metric returns the value of a sample, "" if there is none.
func Metric(t testing.TB, d *Running, sample string) string {
	t.Helper()
	name, _, _ := strings.Cut(sample, "{")
	histogram := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_count"), "_sum"), "_bucket")
	return Metrics(t, d, name, histogram)[sample]
}

// Metrics returns the samples of some metrics. All of them, compressed, take a daemon
// with the race detector as long as a start.
func Metrics(t testing.TB, d *Running, names ...string) map[string]string {
	t.Helper()
	_, body := Get(t, d, "admin", http.MethodGet, "/metrics?"+url.Values{"name[]": names}.Encode(), "")
	samples := make(map[string]string)
	for line := range strings.Lines(body) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			samples[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return samples
}

// Number returns the value of a sample and fails if there is none.
func Number(t testing.TB, d *Running, sample string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(Metric(t, d, sample), 64)
	if err != nil {
		t.Fatalf("sample %s: %v", sample, err)
	}
	return n
}

// WantSamples fails unless each sample has its value.
func WantSamples(t testing.TB, d *Running, want map[string]float64) {
	t.Helper()
	for sample, value := range want {
		if got := Number(t, d, sample); got != value {
			t.Errorf("%s = %v, want %v", sample, got, value)
		}
	}
}

// HookSecret is the secret with which webhooks are signed.
const HookSecret = "a-secret-of-26-characters!"

// inbox is a receiver of webhooks on loopback.
type inbox struct {
	t    testing.TB
	Url  string
	Gots chan string // bodies
}

// NewInbox accepts requests that are signed, or have no signature if signed is
// false.
func NewInbox(t testing.TB, signed bool) *inbox {
	b := &inbox{t: t, Gots: make(chan string, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		sign := r.Header.Get(webhook.HeaderSignature)
		if err != nil || signed != (sign == webhook.Sign(HookSecret, r.Header.Get(webhook.HeaderTimestamp), body)) || (!signed && sign != "") {
			t.Errorf("request with signature %q, %v", sign, err)
		}
		b.Gots <- string(body)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	b.Url = s.URL + "/hidden-token"
	return b
}

// MustNext waits for a request that holds a text.
func (b *inbox) MustNext(text string) string {
	b.t.Helper()
	guard := time.NewTimer(Hang)
	defer guard.Stop()
	for {
		select {
		case body := <-b.Gots:
			if strings.Contains(body, text) {
				return body
			}
		case <-guard.C:
			b.t.Fatalf("no request with %q", text)
		}
	}
}
