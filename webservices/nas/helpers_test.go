package nas

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage/records"
	"github.com/respawnd/respawnd/webservices/soap"
)

// home is the address of the console in tests.
var home = netip.MustParseAddrPort("192.0.2.9:4000")

// fixture is a backend with its accounts.
type fixture struct {
	t        *testing.T
	backend  *Backend
	store    *records.Store
	accounts *accounts.Service
	log      *verdicts.Log
}

// build returns a backend on the defaults.
func build(t *testing.T, edit func(*Options)) *fixture {
	t.Helper()
	dir := t.TempDir()
	store := storetest.New(t)
	service, err := accounts.Open(t.Context(), store, accounts.Options{KeyFile: filepath.Join(dir, "account.key")})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, store: store, accounts: service, log: verdicts.NewLog(zerolog.Nop(), 0)}
	opt := Options{
		Config: ConsoleConfig{NAS: true, NASNewConsoles: true, NASHardware: true}, Users: service.Users, Grants: service.Grants,
		Peers: part.Peers{Verdicts: f.log}, Self: part.Self{Name: "webservices", Registerer: prometheus.NewRegistry()},
	}
	if edit != nil {
		edit(&opt)
	}
	f.backend = New(opt)
	return f
}

// send sends a request as the router of web services does.
func (f *fixture) send(method, host, path, body string) *httptest.ResponseRecorder {
	f.t.Helper()
	req := httptest.NewRequestWithContext(f.t.Context(), method, "http://"+host+path, strings.NewReader(body))
	w, q := httptest.NewRecorder(), &soap.Request{Host: host, Path: path, From: home}
	page, _, ok := f.backend.Find(host, path)
	for _, p := range f.backend.Pages() {
		for _, pattern := range p.Hosts {
			if path == p.Path && strings.HasPrefix(host, strings.TrimSuffix(pattern, "{d}")) {
				page, ok = &p, true
			}
		}
	}
	if !ok {
		f.t.Fatalf("no page for %s%s", host, path)
	}
	req.Body = http.MaxBytesReader(w, req.Body, page.MaxBody)
	page.Serve(w, req, q)
	return w
}

// ask sends a form to /ac and returns the reply.
func (f *fixture) ask(form Form) Form {
	f.t.Helper()
	w := f.send("POST", "nas.nintendowifi.net", "/ac", string(form.Append(nil)))
	reply, err := ParseForm(w.Body.Bytes())
	if w.Code != http.StatusOK || err != nil {
		f.t.Fatalf("status %d, %q, %v", w.Code, w.Body, err)
	}
	return reply
}

// noted returns the verdicts on the console with their details.
func (f *fixture) noted() (out []string) {
	for _, e := range f.log.Of(home.Addr()) {
		out = append(out, e.Verdict.String()+": "+e.Detail)
	}
	return out
}

// counted returns how many requests had a result.
func (f *fixture) counted(request, result string) float64 {
	return testutil.ToFloat64(f.backend.metrics.requests.WithLabelValues(request, result))
}

// login is the sign-in of a Wii, with other values of some fields in pairs.
func login(changes ...string) Form {
	f := Form{
		{"action", []byte("login")},
		{"userid", []byte("1234567890123")},
		{"gamecd", []byte("RMCP")},
		{"gsbrcd", []byte("RMCJ")},
		{"unitcd", []byte("1")},
		{"macadr", []byte("0017ab123456")},
		{"lang", []byte("01")},
		{"region", []byte("02")},
		{"cfc", []byte("1234567890123456")},
		{"ingamesn", []byte("\x00A\x00n\x00n\x00\x00")},
	}
	for i := 0; i < len(changes); i += 2 {
		at := len(f)
		for j := range f {
			if f[j].Name == changes[i] {
				at = j
			}
		}
		if at == len(f) {
			f = append(f, Field{Name: changes[i]})
		}
		f[at].Value = []byte(changes[i+1])
	}
	return f
}

// without returns a form without a field.
func without(f Form, name string) (out Form) {
	for _, v := range f {
		if v.Name != name {
			out = append(out, v)
		}
	}
	return out
}

// code returns the return code of a reply.
func code(f Form) string { return string(f.Value("returncd")) }

// shelf makes a folder with files of two games: ABCE without a list, IRAO with one.
func shelf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ABCE/a.bin": "1", "ABCE/b.bin": "22", "ABCE/c.bin": "333", "ABCE/_hidden": "x", "ABCE/.dot": "x", "ABCE/sub/d.bin": "x", "ABCE/umläut.bin": "x",
		"IRAO/_list.txt": "\xEF\xBB\xBFg1.myg\tA gift\tMYSTERY\t2\t\t4\r\n\r\ng2.myg\tNone\tMYSTERY\t3\t\t4\ng3.myg\tNews\tNEWS\n",
		"IRAO/g1.myg":    "gift", "secret.txt": "outside",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
