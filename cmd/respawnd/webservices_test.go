package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
)

// TestWebServices signs in over SOAP with the key that the command prints, and once
// more after a restart.
func TestWebServices(t *testing.T) {
	t.Parallel()
	quick(t)
	dir := t.TempDir()
	env := onlyEnv(dir, []string{"webservices", "admin"})
	refused(t, exitFailure, env, []string{"webservices", "key"}, "first start")
	typed(t, env, "pass\n", "account", "create", "--email", "soap@example.com", "--nick", "Soap", "--uniquenick", "SoapPlayer", "--password-stdin")
	var before string
	for range 2 {
		d := startWithout(t, env)
		modulus := cli(t, env, "webservices", "key")
		if !regexp.MustCompile(`^[0-9A-F]{256}\n$`).MatchString(modulus) || before != "" && modulus != before {
			t.Errorf("modulus %q, before the restart %q", modulus, before)
		}
		before = modulus
		if text := cli(t, env, "webservices", "key", "--explain"); !strings.Contains(text, strings.TrimSpace(modulus)) {
			t.Errorf("the explanation does not have the modulus:\n%s", text)
		}
		key, err := auth.ReadKey(filepath.Join(dir, auth.KeyName))
		if err != nil {
			t.Fatal(err)
		}
		c := webservices.Client{Address: d.address["webservices"].String(), Host: "gmtest.auth.pubsvs.gamespy.com"}
		certificate, _, err := c.SignIn(t.Context(), key.Public(), "SoapPlayer", "pass")
		if err != nil || certificate.Text("profilenick") != "Soap" {
			t.Errorf("SignIn() = %v, %v", certificate, err)
		}
		d.stop()
	}
}
