package games

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/competition"
)

// TestMatches signs two players in, one over http and one over https, lets both report a
// match, and kills the daemon between the reports and after them.
func TestMatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.OnlyEnv(dir, []string{"webservices", "admin"}, rig.Variable("webservices.tls_listen", "127.0.0.1:0"))
	for _, nick := range []string{"Ann", "Ben"} {
		rig.Typed(t, env, "pass\n", "account", "create", "--email", nick+"@example.com", "--nick", nick, "--uniquenick", nick, "--password-stdin")
	}
	var clients [2]webservices.Client
	var players [2]webservices.Player
	start := func() *rig.Child {
		d := rig.StartProcess(t, "", env)
		clients = [2]webservices.Client{
			{Address: d.Address["webservices"].String(), Host: "gmtest.comp.pubsvs.gamespy.com"},
			{Address: secureAddress(d), Host: "gmtest.comp.pubsvs.gamespy.com", Secure: true},
		}
		return d
	}
	// call executes a method for a player and returns the ids in the reply.
	call := func(p int, method string, report []byte, fields ...string) (csid, ccid string) {
		t.Helper()
		result, err := clients[p].Match(t.Context(), players[p], method, report, fields...)
		if err != nil {
			t.Fatal(err)
		}
		return result.Text("csid"), result.Text("ccid")
	}

	d := start()
	key, err := auth.ReadKey(filepath.Join(dir, auth.KeyName))
	if err != nil {
		t.Fatal(err)
	}
	for i, nick := range []string{"Ann", "Ben"} {
		c := clients[i]
		c.Host = "gmtest.auth.pubsvs.gamespy.com"
		if players[i].Certificate, players[i].Proof, err = c.SignIn(t.Context(), key.Public(), nick, "pass"); err != nil {
			t.Fatal(err)
		}
	}
	csid, _ := call(0, "CreateSession", nil, "gameid", "1")
	var conns [2]string
	for p := range conns {
		_, conns[p] = call(p, "SetReportIntention", nil, "csid", csid, "ccid", "", "gameid", "1", "authoritative", "0")
	}
	report := reportOf(t, conns[:]...)
	for p, want := range []string{"open", "agreed"} {
		call(p, "SubmitReport", report, "csid", csid, "ccid", conns[p], "gameid", "1", "authoritative", "0")
		d.Kill()
		rig.WantIn(t, rig.Cli(t, env, "matches", "list", "gmtest"), want, "Ann win, Ben loss")
		d = start() // the certificates are valid as before
	}
	rig.WantIn(t, d.Cli("matches", "show", "1"), "match 1 of gmtest: agreed", "7=10", "7=11", csid)

	// A deleted player is no longer named.
	rig.WantIn(t, d.Cli("account", "delete", "--yes", "Ben@example.com"), "deleted")
	if out := d.Cli("matches", "show", "1"); strings.Contains(out, "Ben") {
		t.Errorf("the match names a deleted player:\n%s", out)
	}
	rig.WantIn(t, d.Cli("matches", "delete", "--yes", "1"), "deleted match 1")
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"matches", "show", "1"}, "match 1: not found")
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"matches", "list", "nosuchgame"}, "unknown game")
	rig.Refused(t, commands.ExitUsage, d.CliEnv(), []string{"matches", "show", "x"}, strconv.Quote("x"))
	rig.WantIn(t, d.Cli("audit"), "match.delete")
}

// reportOf returns the report of a match of players with these connections: the first wins,
// the second loses, and their key 7 is 10 and 11.
func reportOf(t *testing.T, conns ...string) []byte {
	t.Helper()
	report := competition.Report{Developer: 1}
	for p, conn := range conns {
		id, ok := competition.ParseGUID(conn)
		if !ok {
			t.Fatalf("connection %q", conn)
		}
		report.Players = append(report.Players, competition.Player{
			Conn: id, Team: uint32(p), Result: competition.Result(p), Values: []competition.Value{{Key: 7, Int: int64(10 + p)}},
		})
	}
	return report.Append(nil)
}

// secureAddress returns the address of the listener for SSL 3.0.
func secureAddress(d *rig.Child) (address string) {
	d.WaitFor("the encrypted listener", 0, func(e rig.Entry) bool {
		if strings.HasPrefix(e.Text("message"), "SSL 3.0") {
			address = e.Text("address")
		}
		return address != ""
	})
	return address
}
