package main

import (
	"net"
	"strings"
	"testing"
)

// TestSelftestOfWebServices runs the self-test in both modes of the service key, with SSL
// 3.0 on, and with its key on an address where nothing listens.
func TestSelftestOfWebServices(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"keypair", "identity"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := onlyEnv(t.TempDir(), []string{"webservices", "admin"}, variable("webservices.tls_listen", "127.0.0.1:0"), variable("webservices.rsa_mode", mode))
			d := startProcess(t, "", env)
			env = append(d.cliEnv(), variable("webservices.listen", d.address["webservices"].String()), variable("webservices.rsa_mode", mode))
			wantIn(t, cli(t, append(env, variable("webservices.tls_listen", secureAddress(d))), "selftest"),
				"webservices sign-in    ok\n", "webservices SSL 3.0    ok\n", "match report           ok\n")
			for _, list := range [][]string{{"account", "list"}, {"matches", "list", testGame}} {
				if out := d.cli(list...); strings.Count(out, "\n") != 1 {
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
			code, out, _ := command(t, append(env, variable("webservices.tls_listen", address)), "selftest")
			wantIn(t, out, "webservices SSL 3.0    FAILED", "webservices sign-in    ok\n")
			if code != exitFailure {
				t.Errorf("exit code %d, want %d", code, exitFailure)
			}
		})
	}
}
