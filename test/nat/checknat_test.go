package nat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
)

// This machine has no router between itself and the daemon.
func TestCheckNAT(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	at := d.Address["natneg"].String()
	env := rig.TestEnv(t.TempDir())
	rig.WantIn(t, rig.Cli(t, env, "check-nat", at), "public address", "127.0.0.1:", "the same for all that were asked, two", "hosting", "joining", "with symmetric")
	var got struct {
		Router, Mapping, Hosting string
		Seen                     []struct{ Server, Seen string } `json:"seen_from"`
		Pairs                    map[string]string
	}
	if err := json.Unmarshal([]byte(rig.Cli(t, env, "check-nat", at, "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Router != "none" && got.Router != "firewall" || got.Mapping != "none" || len(got.Seen) != 2 || got.Hosting == "" || got.Pairs["none"] != "direct" {
		t.Errorf("as JSON: %+v", got)
	}
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no address":     {nil, commands.ExitUsage, "accepts between 1 and 3"},
		"four addresses": {[]string{"1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"}, commands.ExitUsage, "accepts between 1 and 3"},
		"IPv6":           {[]string{"::1"}, commands.ExitFailure, "not an IPv4 address"},
		"no port":        {[]string{"127.0.0.1:0"}, commands.ExitFailure, "not HOST or HOST:PORT"},
		"no natneg":      {[]string{d.Address["qr2"].String()}, commands.ExitFailure, "no answer from UDP 127.0.0.1:"},
	} {
		if code, _, errOut := rig.Command(t, env, append([]string{"check-nat"}, tt.args...)...); code != tt.code || !strings.Contains(errOut, tt.want) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", name, code, errOut, tt.code, tt.want)
		}
	}
	d.Stop()
}
