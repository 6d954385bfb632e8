package commands

import (
	"bytes"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
)

// TestHelpWithoutServices lists only commands that are about services that run.
func TestHelpWithoutServices(t *testing.T) {
	help := func(args ...string) string {
		var out bytes.Buffer
		env := []string{"RESPAWND_DATA_DIR=" + t.TempDir()}
		if code := Run(t.Context(), cli.New(env, strings.NewReader(""), &out, &out), args); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, &out)
		}
		return out.String()
	}
	all, few := help("--help"), help("--help", "--services", "zanmaster,web,admin")
	for _, command := range []string{"account", "chat", "cdkey", "files", "motd", "patch", "stats", "matches", "sake", "relay", "meetings", "hosts", "point", "check-nat", "webservices"} {
		line := "\n  " + command + " "
		if !strings.Contains(all, line) || strings.Contains(few, line) {
			t.Errorf("%s: in the help of all services %t, of a Zandronum master %t", command, strings.Contains(all, line), strings.Contains(few, line))
		}
	}
	var out bytes.Buffer
	args := []string{"hosts", "--game", "halo", "--ip", "192.0.2.1", "--services", "zanmaster,web,admin"}
	if code := Run(t.Context(), cli.New(nil, strings.NewReader(""), &out, &out), args); code != ExitFailure || !strings.Contains(out.String(), "halor looks up no name") {
		t.Errorf("hosts of a game whose services are off: exit code %d: %s", code, &out)
	}
	if strings.Contains(few, "GameSpy") || !strings.Contains(few, "\n  server ") {
		t.Errorf("the help of a Zandronum master:\n%s", few)
	}
}
