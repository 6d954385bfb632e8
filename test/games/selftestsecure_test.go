package games

import (
	"net"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
)

// TestSelftestOfWebServices runs the self-test in both modes of the service key, with SSL
// 3.0 on, and with its key on an address where nothing listens.
func TestSelftestOfWebServices(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"keypair", "identity"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := rig.OnlyEnv(t.TempDir(), []string{"webservices", "admin"}, rig.Variable("webservices.tls_listen", "127.0.0.1:0"), rig.Variable("webservices.rsa_mode", mode))
			d := rig.StartProcess(t, "", env)
			env = append(d.CliEnv(), rig.Variable("webservices.listen", d.Address["webservices"].String()), rig.Variable("webservices.rsa_mode", mode))
			rig.WantIn(t, rig.Cli(t, append(env, rig.Variable("webservices.tls_listen", secureAddress(d))), "selftest"),
				"webservices sign-in    ok\n", "webservices SSL 3.0    ok\n", "match report           ok\n")
			for _, list := range [][]string{{"account", "list"}, {"matches", "list", rig.TestGame}} {
				if out := d.Cli(list...); strings.Count(out, "\n") != 1 {
					t.Errorf("the self-test left something in %q:\n%s", list, out)
				}
			}

			closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := closed.Addr().String()
			if err := closed.Close(); err != nil {
				t.Fatal(err)
			}
			code, out, _ := rig.Command(t, append(env, rig.Variable("webservices.tls_listen", address)), "selftest")
			rig.WantIn(t, out, "webservices SSL 3.0    FAILED", "webservices sign-in    ok\n")
			if code != commands.ExitFailure {
				t.Errorf("exit code %d, want %d", code, commands.ExitFailure)
			}
		})
	}
}
