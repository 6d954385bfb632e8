package main

import (
	"testing"
)

// An operator's news reach games at once, survive a kill of the daemon, and can be
// changed without a daemon.
func TestNews(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	configured := variable("webservices.patches", `[{product: 7, version: "0.9", name: "1.0", url: "http://example.org/1", lockout: 1}]`)
	d := startChild(t, dir, configured, variable("webservices.motd", "To all"))
	ask := func(path string, parts ...string) {
		t.Helper()
		wantIn(t, askWeb(t, &d.running, webHead("GET", "motd.gamespy.com", path, -1, "")), append(parts, "HTTP/1.1 200 OK\r\n")...)
	}
	const check = "/motd/vercheck.asp?productid=10001&versionuniqueid=1.0&distid=3&gamename=gmtest"
	const motd = "/motd/motd.asp?userid=5&productid=10001&versionuniqueid=1.0&distid=3&uniqueid=Kg8APRgNqBb0iyco&gamename=gmtest"
	ask(check, "\r\n\r\n"+`\newver\0`)
	ask(motd, "\r\n\r\nTo all")
	ask("/motd/vercheck.asp?productid=7&versionuniqueid=0.9", `\newver\1\lockout\1\newvername\1.0\fpfileid\0\dlurl\http://example.org/1\`)
	wantIn(t, d.cli("motd", "set", "GMTEST", "Message", "of the day"), "set the message of the day of gmtest")
	wantIn(t, d.cli("patch", "add", "1.1 patch", "--product", "10001", "--version", "1.0", "--url", "http://example.invalid/p.exe", "--file", "4242", "--lockout"), "1.1 patch")
	for range 2 {
		ask(check, "\r\n\r\n"+`\newver\1\lockout\1\newvername\1.1 patch\fpfileid\4242\dlurl\http://example.invalid/p.exe\`)
		ask(motd, "\r\n\r\nMessage of the day")
		wantIn(t, d.cli("patch", "list"), "10001    1.0", "configuration", "gmtest")
		d.kill()
		d = startChild(t, dir, configured)
	}
	wantIn(t, askWeb(t, &d.running, webHead("GET", "www.fileplanet.com", "/dlfileraw.asp?file=4242&gamename=gmtest", -1, "")), "Download\thttp://example.invalid/p.exe\r\n")
	d.kill()

	env := testEnv(dir, configured)
	wantIn(t, cli(t, env, "motd", "show"), "gmtest", "Message of the day")
	wantIn(t, cli(t, env, "motd", "show", "gmtest"), "Message of the day\n")
	wantIn(t, cli(t, env, "motd", "clear", "gmtest"), "removed")
	wantIn(t, cli(t, env, "patch", "remove", "--product", "10001", "--version", "1.0"), "withdrew")
	wantIn(t, cli(t, env, "audit"), "motd.set", "motd.clear", "patch.add", "patch.remove")
	refused(t, exitFailure, env, []string{"motd", "set", "nosuchgame", "x"}, "game list")
	refused(t, exitFailure, env, []string{"motd", "clear", "gmtest"}, "not found")
	refused(t, exitFailure, env, []string{"patch", "remove", "--product", "7", "--version", "0.9"}, "webservices.patches")
	refused(t, exitUsage, env, []string{"patch", "add", "1.1"}, "--product")
	refused(t, exitFailure, testEnv(dir, variable("webservices.patches", `[{product: 7}]`)), []string{"check"}, "webservices.patches")
	refused(t, exitFailure, testEnv(dir, variable("webservices.motd", `a\b`)), []string{"check"}, "webservices.motd")
}
