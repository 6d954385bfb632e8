package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/daemon"
)

// startRefused runs serve, which must fail, and returns the errors that it logs.
func startRefused(t *testing.T, env []string, args ...string) []string {
	t.Helper()
	code, out, errOut := command(t, env, append([]string{"serve"}, args...)...)
	if code != exitFailure || out != "" {
		t.Errorf("serve: exit code %d, want %d; printed %q", code, exitFailure, out)
	}
	log := newLogBook()
	if _, err := log.Write([]byte(errOut)); err != nil {
		t.Fatal(err)
	}
	if len(log.bad) > 0 || len(log.rest) > 0 {
		t.Errorf("not lines of JSON with level and message: %q %q", log.bad, log.rest)
	}
	var texts []string
	lines, _ := log.since(0)
	for _, e := range lines {
		if e.text("message") == "ready" {
			t.Error("a daemon that was refused said that it is ready")
		}
		if e.text("level") == "error" {
			texts = append(texts, e.text("error"))
		}
	}
	return texts
}

// wantOne fails unless exactly one of the texts has all parts.
func wantOne(t *testing.T, texts []string, parts ...string) {
	t.Helper()
	found := 0
	for _, text := range texts {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(text, p)
		}
		if all {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d errors have %q, want 1 of these:\n%s", found, parts, strings.Join(texts, "\n"))
	}
}

func TestTwoServicesOnOneAddressAreNamed(t *testing.T) {
	t.Parallel()
	texts := startRefused(t, testEnv(t.TempDir(), variable("web.listen", "127.0.0.1:28910"), variable("serverbrowse.listen", ":28910")))
	wantOne(t, texts, "web.listen", "serverbrowse.listen")
	if len(texts) != 1 {
		t.Errorf("%d errors, want 1:\n%s", len(texts), strings.Join(texts, "\n"))
	}
}

func TestSecondDaemonOnADataFolderIsRefused(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	texts := startRefused(t, d.env)
	wantOne(t, texts, "data_dir", "in use")
	if len(texts) != 1 {
		t.Errorf("%d errors, want 1:\n%s", len(texts), strings.Join(texts, "\n"))
	}
	d.stop()
}

func TestBusyPortsAreNamed(t *testing.T) {
	t.Parallel()
	tcp, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tcp.Close() }()
	udp, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = udp.Close() }()
	dir := t.TempDir()
	ssl, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ssl.Close() }()
	texts := startRefused(t, testEnv(dir, variable("serverbrowse.listen", tcp.Addr().String()), variable("qr2.listen", udp.LocalAddr().String()),
		variable("webservices.listen", "127.0.0.1:0"), variable("webservices.tls_listen", ssl.Addr().String())))
	wantOne(t, texts, "serverbrowse.listen")
	wantOne(t, texts, "qr2.listen")
	wantOne(t, texts, "webservices.tls_listen")
	if len(texts) != 3 || strings.Contains(strings.Join(texts, "\n"), "webservices.listen") {
		t.Errorf("%d errors, want 3:\n%s", len(texts), strings.Join(texts, "\n"))
	}
	start(t, dir).stop() // the failed start left nothing open
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "wrong.yaml", "qr2:\n  lisen: ':27900'\n  expire: 5s\nmaster:\n  max_servers: many\nlog:\n  format: json\n")
	var env []string // with the variables of testEnv the file would not decide the log's form
	texts := startRefused(t, env, "--config", file, "--data-dir", filepath.Join(t.TempDir(), "data"))
	wantOne(t, texts, "qr2.lisen", "qr2.listen", file)
	wantOne(t, texts, "qr2.expire")
	wantOne(t, texts, "master.max_servers")
	if len(texts) != 3 {
		t.Errorf("%d errors, want 3:\n%s", len(texts), strings.Join(texts, "\n"))
	}
}

func TestUnreadableRecordNamesItsKey(t *testing.T) {
	t.Parallel()
	blocked := writeFile(t, "file", "not a folder")
	tests := map[string]struct {
		variable string
		parts    []string
	}{
		"games file is missing":    {variable("games.file", filepath.Join(t.TempDir(), "none.yaml")), []string{"games.file", "none.yaml"}},
		"games file is wrong":      {variable("games.file", writeFile(t, "games.yaml", "games:\n  - name: 'a b'\n")), []string{"games.file", "a b"}},
		"games file clashes":       {variable("games.file", writeFile(t, "twice.yaml", "games:\n  - name: one\n    rooms: [{id: 5, name: a}]\n  - name: two\n    rooms: [{id: 5, name: b}]\n")), []string{"5"}},
		"country file is missing":  {variable("geoip.file", filepath.Join(t.TempDir(), "none.mmdb")), []string{"geoip.file", "none.mmdb"}},
		"token is short":           {variable("admin.token_file", writeFile(t, "short", "abc\n")), []string{"admin.token_file", "16"}},
		"token cannot be made":     {variable("admin.token_file", filepath.Join(blocked, "token")), []string{"admin.token_file"}},
		"data folder is a file":    {variable("data_dir", blocked), []string{"data_dir"}},
		"configuration is missing": {"", []string{"none.yaml"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			env, args := testEnv(dir), []string(nil)
			if tc.variable == "" {
				args = []string{"--config", filepath.Join(dir, "none.yaml")}
			} else {
				env = append(env, tc.variable)
			}
			texts := startRefused(t, env, args...)
			wantOne(t, texts, tc.parts...)
		})
	}
}

func TestStoreOfSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, daemon.StoreName)
	text := strings.Repeat("This is no store. ", 4096)
	if err := writeAt(path, text); err != nil {
		t.Fatal(err)
	}
	wantOne(t, startRefused(t, testEnv(dir)), "data_dir")
	if readFile(t, path) != text {
		t.Error("the file was changed")
	}
}

func TestExitCodeOfUsageErrors(t *testing.T) {
	t.Parallel()
	env := testEnv(t.TempDir())
	for name, tc := range map[string]struct {
		code int
		args []string
	}{
		"help":             {0, []string{"--help"}},
		"no command":       {0, []string{}}, // nil would be those of the test
		"unknown command":  {exitUsage, []string{"sevre"}},
		"unknown flag":     {exitUsage, []string{"serve", "--prot", "1"}},
		"extra argument":   {exitUsage, []string{"serve", "now"}},
		"missing argument": {exitUsage, []string{"backup"}},
		"required flag":    {exitUsage, []string{"hosts", "--ip", "192.0.2.1"}},
		"bad value":        {exitFailure, []string{"check", "--log-level", "loud"}},
	} {
		if code, out, errOut := command(t, env, tc.args...); code != tc.code {
			t.Errorf("%s: respawnd %s: exit code %d, want %d\n%s%s", name, strings.Join(tc.args, " "), code, tc.code, out, errOut)
		}
	}
}
