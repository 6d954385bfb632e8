package operator

import (
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
)

// An operator's news reach games at once, survive a kill of the daemon, and can be
// changed without a daemon.
func TestNews(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	configured := rig.Variable("webservices.patches", `[{product: 7, version: "0.9", name: "1.0", url: "http://example.org/1", lockout: 1}]`)
	d := rig.StartChild(t, dir, configured, rig.Variable("webservices.motd", "To all"))
	ask := func(path string, parts ...string) {
		t.Helper()
		rig.WantIn(t, rig.AskWeb(t, &d.Running, rig.WebHead("GET", "motd.gamespy.com", path, -1, "")), append(parts, "HTTP/1.1 200 OK\r\n")...)
	}
	const check = "/motd/vercheck.asp?productid=10001&versionuniqueid=1.0&distid=3&gamename=gmtest"
	const motd = "/motd/motd.asp?userid=5&productid=10001&versionuniqueid=1.0&distid=3&uniqueid=Kg8APRgNqBb0iyco&gamename=gmtest"
	ask(check, "\r\n\r\n"+`\newver\0`)
	ask(motd, "\r\n\r\nTo all")
	ask("/motd/vercheck.asp?productid=7&versionuniqueid=0.9", `\newver\1\lockout\1\newvername\1.0\fpfileid\0\dlurl\http://example.org/1\`)
	rig.WantIn(t, d.Cli("motd", "set", "GMTEST", "Message", "of the day"), "set the message of the day of gmtest")
	rig.WantIn(t, d.Cli("patch", "add", "1.1 patch", "--product", "10001", "--version", "1.0", "--url", "http://example.invalid/p.exe", "--file", "4242", "--lockout"), "1.1 patch")
	for range 2 {
		ask(check, "\r\n\r\n"+`\newver\1\lockout\1\newvername\1.1 patch\fpfileid\4242\dlurl\http://example.invalid/p.exe\`)
		ask(motd, "\r\n\r\nMessage of the day")
		rig.WantIn(t, d.Cli("patch", "list"), "10001    1.0", "configuration", "gmtest")
		d.Kill()
		d = rig.StartChild(t, dir, configured)
	}
	rig.WantIn(t, rig.AskWeb(t, &d.Running, rig.WebHead("GET", "www.fileplanet.com", "/dlfileraw.asp?file=4242&gamename=gmtest", -1, "")), "Download\thttp://example.invalid/p.exe\r\n")
	d.Kill()

	env := rig.TestEnv(dir, configured)
	rig.WantIn(t, rig.Cli(t, env, "motd", "show"), "gmtest", "Message of the day")
	rig.WantIn(t, rig.Cli(t, env, "motd", "show", "gmtest"), "Message of the day\n")
	rig.WantIn(t, rig.Cli(t, env, "motd", "clear", "gmtest"), "removed")
	rig.WantIn(t, rig.Cli(t, env, "patch", "remove", "--product", "10001", "--version", "1.0"), "withdrew")
	rig.WantIn(t, rig.Cli(t, env, "audit"), "motd.set", "motd.clear", "patch.add", "patch.remove")
	rig.Refused(t, commands.ExitFailure, env, []string{"motd", "set", "nosuchgame", "x"}, "game list")
	rig.Refused(t, commands.ExitFailure, env, []string{"motd", "clear", "gmtest"}, "not found")
	rig.Refused(t, commands.ExitFailure, env, []string{"patch", "remove", "--product", "7", "--version", "0.9"}, "webservices.patches")
	rig.Refused(t, commands.ExitUsage, env, []string{"patch", "add", "1.1"}, "--product")
	rig.Refused(t, commands.ExitFailure, rig.TestEnv(dir, rig.Variable("webservices.patches", `[{product: 7}]`)), []string{"check"}, "webservices.patches")
	rig.Refused(t, commands.ExitFailure, rig.TestEnv(dir, rig.Variable("webservices.motd", `a\b`)), []string{"check"}, "webservices.motd")
}
