package operator

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/test/rig"
)

func TestTwoServicesOnOneAddressAreNamed(t *testing.T) {
	t.Parallel()
	texts := rig.StartRefused(t, rig.TestEnv(t.TempDir(), rig.Variable("web.listen", "127.0.0.1:28910"), rig.Variable("serverbrowse.listen", ":28910")))
	rig.WantOne(t, texts, "web.listen", "serverbrowse.listen")
	if len(texts) != 1 {
		t.Errorf("%d errors, want 1:\n%s", len(texts), strings.Join(texts, "\n"))
	}
}

func TestSecondDaemonOnADataFolderIsRefused(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	texts := rig.StartRefused(t, d.Env)
	rig.WantOne(t, texts, "data_dir", "in use")
	if len(texts) != 1 {
		t.Errorf("%d errors, want 1:\n%s", len(texts), strings.Join(texts, "\n"))
	}
	d.Stop()
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
	texts := rig.StartRefused(t, rig.TestEnv(dir, rig.Variable("serverbrowse.listen", tcp.Addr().String()), rig.Variable("qr2.listen", udp.LocalAddr().String()),
		rig.Variable("webservices.listen", "127.0.0.1:0"), rig.Variable("webservices.tls_listen", ssl.Addr().String())))
	rig.WantOne(t, texts, "serverbrowse.listen")
	rig.WantOne(t, texts, "qr2.listen")
	rig.WantOne(t, texts, "webservices.tls_listen")
	if len(texts) != 3 || strings.Contains(strings.Join(texts, "\n"), "webservices.listen") {
		t.Errorf("%d errors, want 3:\n%s", len(texts), strings.Join(texts, "\n"))
	}
	rig.Start(t, dir).Stop() // the failed start left nothing open
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	file := rig.WriteFile(t, "wrong.yaml", "qr2:\n  lisen: ':27900'\n  expire: 5s\nmaster:\n  max_servers: many\nlog:\n  format: json\n")
	var env []string // with the variables of testEnv the file would not decide the log's form
	texts := rig.StartRefused(t, env, "--config", file, "--data-dir", filepath.Join(t.TempDir(), "data"))
	rig.WantOne(t, texts, "qr2.lisen", "qr2.listen", file)
	rig.WantOne(t, texts, "qr2.expire")
	rig.WantOne(t, texts, "master.max_servers")
	if len(texts) != 3 {
		t.Errorf("%d errors, want 3:\n%s", len(texts), strings.Join(texts, "\n"))
	}
}

func TestUnreadableRecordNamesItsKey(t *testing.T) {
	t.Parallel()
	blocked := rig.WriteFile(t, "file", "not a folder")
	tests := map[string]struct {
		variable string
		parts    []string
	}{
		"games file is missing":    {rig.Variable("games.file", filepath.Join(t.TempDir(), "none.yaml")), []string{"games.file", "none.yaml"}},
		"games file is wrong":      {rig.Variable("games.file", rig.WriteFile(t, "games.yaml", "games:\n  - name: 'a b'\n")), []string{"games.file", "a b"}},
		"games file clashes":       {rig.Variable("games.file", rig.WriteFile(t, "twice.yaml", "games:\n  - name: one\n    rooms: [{id: 5, name: a}]\n  - name: two\n    rooms: [{id: 5, name: b}]\n")), []string{"5"}},
		"country file is missing":  {rig.Variable("geoip.file", filepath.Join(t.TempDir(), "none.mmdb")), []string{"geoip.file", "none.mmdb"}},
		"token is short":           {rig.Variable("admin.token_file", rig.WriteFile(t, "short", "abc\n")), []string{"admin.token_file", "16"}},
		"token cannot be made":     {rig.Variable("admin.token_file", filepath.Join(blocked, "token")), []string{"admin.token_file"}},
		"data folder is a file":    {rig.Variable("data_dir", blocked), []string{"data_dir"}},
		"configuration is missing": {"", []string{"none.yaml"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			env, args := rig.TestEnv(dir), []string(nil)
			if tc.variable == "" {
				args = []string{"--config", filepath.Join(dir, "none.yaml")}
			} else {
				env = append(env, tc.variable)
			}
			texts := rig.StartRefused(t, env, args...)
			rig.WantOne(t, texts, tc.parts...)
		})
	}
}

func TestStoreOfSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, daemon.StoreName)
	text := strings.Repeat("This is no store. ", 4096)
	if err := rig.WriteAt(path, text); err != nil {
		t.Fatal(err)
	}
	rig.WantOne(t, rig.StartRefused(t, rig.TestEnv(dir)), "data_dir")
	if rig.ReadFile(t, path) != text {
		t.Error("the file was changed")
	}
}

func TestExitCodeOfUsageErrors(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	for name, tc := range map[string]struct {
		code int
		args []string
	}{
		"help":             {0, []string{"--help"}},
		"no command":       {0, []string{}}, // nil would be those of the test
		"unknown command":  {commands.ExitUsage, []string{"sevre"}},
		"unknown flag":     {commands.ExitUsage, []string{"serve", "--prot", "1"}},
		"extra argument":   {commands.ExitUsage, []string{"serve", "now"}},
		"missing argument": {commands.ExitUsage, []string{"backup"}},
		"required flag":    {commands.ExitUsage, []string{"hosts", "--ip", "192.0.2.1"}},
		"bad value":        {commands.ExitFailure, []string{"check", "--log-level", "loud"}},
	} {
		if code, out, errOut := rig.Command(t, env, tc.args...); code != tc.code {
			t.Errorf("%s: respawnd %s: exit code %d, want %d\n%s%s", name, strings.Join(tc.args, " "), code, tc.code, out, errOut)
		}
	}
}
