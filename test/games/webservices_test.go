package games

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
)

// TestWebServices signs in over SOAP with the key that the command prints, and once
// more after a restart.
func TestWebServices(t *testing.T) {
	t.Parallel()
	rig.Quick(t)
	dir := t.TempDir()
	env := rig.OnlyEnv(dir, []string{"webservices", "admin"})
	rig.Refused(t, commands.ExitFailure, env, []string{"webservices", "key"}, "first start")
	rig.Typed(t, env, "pass\n", "account", "create", "--email", "soap@example.com", "--nick", "Soap", "--uniquenick", "SoapPlayer", "--password-stdin")
	var before string
	for range 2 {
		d := rig.StartWithout(t, env)
		modulus := rig.Cli(t, env, "webservices", "key")
		if !regexp.MustCompile(`^[0-9A-F]{256}\n$`).MatchString(modulus) || before != "" && modulus != before {
			t.Errorf("modulus %q, before the restart %q", modulus, before)
		}
		before = modulus
		if text := rig.Cli(t, env, "webservices", "key", "--explain"); !strings.Contains(text, strings.TrimSpace(modulus)) {
			t.Errorf("the explanation does not have the modulus:\n%s", text)
		}
		key, err := auth.ReadKey(filepath.Join(dir, auth.KeyName))
		if err != nil {
			t.Fatal(err)
		}
		c := webservices.Client{Address: d.Address["webservices"].String(), Host: "gmtest.auth.pubsvs.gamespy.com"}
		certificate, _, err := c.SignIn(t.Context(), key.Public(), "SoapPlayer", "pass")
		if err != nil || certificate.Text("profilenick") != "Soap" {
			t.Errorf("SignIn() = %v, %v", certificate, err)
		}
		d.Stop()
	}
}
