package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

// journey follows a page of the documentation as its reader would: in a folder
// with only the sample configurations, with the built program.
type journey struct {
	*testing.T
	program string
	dir     string
	d       *rig.Child // nil until the section, or the test, starts it
	env     []string   // of commands; finds the daemon where it really listens
}

// step is one command line of a page.
type step struct {
	line   string         // as on the page
	before func(*journey) // runs before it
	with   []string       // old, new and so on: replacements of the page's examples
	in     string         // standard input
	want   []string       // parts of its output
}

// oneDaemon are the pages whose commands ask the same daemon, in this order: that of a
// reader who has all of them open. The chat page counts profiles from 1.
var oneDaemon = []string{
	"docs/operators/chat.md", "docs/players.md", "docs/operators/accounts.md", "docs/operators/admin.md", "docs/operators/dns.md",
	"docs/operators/troubleshooting.md", "docs/operators/servers.md", "docs/operators/monitoring.md", "docs/protocols/relay.md",
	"docs/protocols/federation.md", "docs/protocols/utmaster.md", "docs/protocols/webservices.md",
	"docs/operators/recordings.md",
}

// journeys are the pages with commands, and the steps of each.
var journeys = map[string][]step{
	"README.md": {
		{line: `go build -o respawnd ./cmd/respawnd`}, // done already
		{line: `./respawnd serve`},
		{line: `./respawnd selftest`, want: selftestOf("qr2", "serverbrowse list", "legacylist list", "natneg", "zanmaster", "presence", "peerchat")},
		{line: `go test ./...`}, // these are the tests
	},
	"docs/players.md": {
		{line: `sudo respawnd point ut --to 192.168.1.5`, before: func(j *journey) { j.file("hosts", ""); j.serve() }, with: []string{"sudo respawnd point", "respawnd point --yes --file hosts"}, want: []string{"ut leads to 192.168.1.5"}},
		{line: `respawnd point --status`, with: []string{"--status", "--status --file hosts"}, want: []string{"ut", "192.168.1.5"}},
		{line: `sudo respawnd point --undo ut`, with: []string{"sudo respawnd point", "respawnd point --file hosts"}, want: []string{"removed the lines of ut"}},
		{line: `respawnd point test ut --to 192.168.1.5`, with: []string{"192.168.1.5", "127.0.0.1 --no-names"}, want: []string{"legacylist: old server lists", "ok: 0 servers"}},
		{line: `respawnd check-nat 192.168.1.5`, with: []string{"192.168.1.5", "ADDRESS:natneg"}, want: []string{"public address", "hosting", "joining"}},
	},
	"docs/operators/install.md": {
		{line: `go build -o respawnd ./cmd/respawnd`},
		{line: `respawnd version`, want: []string{"respawnd "}},
		{line: `respawnd serve`},
		{line: `respawnd selftest`, want: selftestOf("qr2", "presence", "peerchat")},
	},
	"docs/operators/lan.md": {
		{line: `./respawnd serve --config lan.yaml`},
		{line: `./respawnd hosts --game ut --ip 192.168.1.5`, before: (*journey).guest, want: []string{"192.168.1.5", "gamespy.com"}},
		{line: `./respawnd server list`, want: []string{"The Inn", "127.0.0.1:"}},
		{line: `./respawnd selftest --config lan.yaml`, want: selftestOf("qr2", "serverbrowse list", "legacylist list", "natneg", "dns", "presence", "peerchat")},
		{line: `./respawnd doctor 192.168.1.77`, with: []string{"192.168.1.77", "127.0.0.1"}, want: []string{"gmtest", "listed"}},
	},
	"docs/operators/public-machine.md": {
		{line: `respawnd check --config community.yaml`, want: []string{"fine"}},
		{line: `respawnd serve --config community.yaml`},
		{line: `respawnd selftest --config community.yaml`, want: selftestOf("qr2", "serverbrowse list", "legacylist list", "ssq", "natneg", "zanmaster", "valvemaster", "presence", "peerchat")},
		{line: `respawnd server list`, before: (*journey).guest, want: []string{"The Inn"}},
		{line: `respawnd server hide 192.0.2.1:27015 --reason "fake players"`, want: []string{"192.0.2.1:27015"}},
		{line: `respawnd ban add 198.51.100.0/24 --scope lists --for 24h --reason "fake servers"`, want: []string{"198.51.100.0/24", "lists", "until"}},
		{line: `respawnd ban list`, want: []string{"198.51.100.0/24", "fake servers"}},
		{line: `respawnd ban remove 198.51.100.0/24`, want: []string{"lifted 1"}},
		{line: `respawnd doctor 203.0.113.7`, with: []string{"203.0.113.7", "127.0.0.1"}, want: []string{"gmtest", "listed"}},
		{line: `respawnd account list`, want: []string{"E-MAIL"}},
		{line: `respawnd game room add gmtest "Beginners"`, want: []string{"gmtest"}},
		{line: `respawnd audit`, want: []string{"ban.add", "ban.remove", "server.hide", "room.put", "198.51.100.0/24"}},
	},
	"docs/operators/zandronum.md": {
		{line: `respawnd serve --config zandronum-only.yaml`},
		{line: `respawnd selftest --config zandronum-only.yaml`, want: selftestOf("zanmaster")},
		{line: `respawnd ban add 198.51.100.7 --scope zandronum --reason "aimbot" --for 720h`, before: (*journey).zandronumServer, want: []string{"198.51.100.7/32", "zandronum"}},
		{line: `respawnd server list --game zandronum`, want: []string{"zandronum", "127.0.0.1:"}},
		{line: `respawnd query zandronum 203.0.113.7:10666`, with: []string{"203.0.113.7:10666", theServer + " --timeout 30s"}, want: []string{"Arena of", "Bob the second"}},
		{line: `respawnd doctor 203.0.113.7`, with: []string{"203.0.113.7", "127.0.0.1"}, want: []string{"zandronum", "listed"}},
	},
	"docs/operators/troubleshooting.md": {
		{line: `respawnd doctor 203.0.113.7`, before: (*journey).serveWithGuest, with: []string{"203.0.113.7", "127.0.0.1"}, want: []string{"listed"}},
	},
	"docs/operators/recordings.md": {
		{line: `respawnd record swat4 203.0.113.7`, before: (*journey).serve, with: []string{"203.0.113.7", "127.0.0.1 --for 1s"}, want: []string{"wrote swat4.jsonl", "the time is over"}},
		{line: `respawnd replay swat4.jsonl`, want: []string{"0 differ"}},
		{line: `respawnd replay swat4.jsonl --to 192.0.2.1`, with: []string{"192.0.2.1", "127.0.0.1"}, want: []string{"0 differ"}},
	},
	"docs/operators/configure.md": {
		{line: `respawnd config`, want: []string{"# respawnd: every setting", "qr2:"}},
		{line: `respawnd check --config my.yaml`, before: func(j *journey) { j.file("my.yaml", "qr2: {strict_availability: true}\n") }, want: []string{"fine"}},
		{line: `respawnd serve --config my.yaml`},
	},
	"docs/operators/dns.md": {
		{line: `respawnd hosts --game swat4 --ip 192.168.1.5`, before: (*journey).serve, want: []string{"192.168.1.5 swat4.ms15.gamespy.com"}},
		{line: `respawnd game search 'civ 4'`, want: []string{"Civilization IV", "civ4"}},
		{line: `respawnd game add mygame --title "My Game" --secret AbCdEf --port 6500`, want: []string{"mygame"}},
	},
	"docs/operators/servers.md": {
		{line: `respawnd server add a2s 192.0.2.1:27015`, before: (*journey).serveWithArena, with: []string{"192.0.2.1:27015", theServer}, want: []string{"added " + theServer}},
		{line: `respawnd server remove 192.0.2.1:27015`, before: (*journey).arenaIsListed, with: []string{"192.0.2.1:27015", theServer}, want: []string{"removed " + theServer}},
		{line: `respawnd server list --kept`, want: []string{"PROTOCOL"}},
		{line: `respawnd server hide 192.0.2.1:27015 --reason "fake players"`, want: []string{"hid 192.0.2.1:27015"}},
		{line: `respawnd server unhide 192.0.2.1:27015`, want: []string{"shows 192.0.2.1:27015 again"}},
		{line: `respawnd query a2s 192.0.2.1:27015`, with: []string{"192.0.2.1:27015", theServer + " --timeout 30s"}, want: []string{"Arena of cstrike", "Bob the second"}},
		{line: `quakestat -q3m,68 203.0.113.7:27950`, with: []string{"203.0.113.7:27950", "ADDRESS:q3master"}, want: []string{"Q3M", "0 servers"}},
		{line: `quakestat -q2m 203.0.113.7:27900`, with: []string{"203.0.113.7:27900", "ADDRESS:qr2"}, want: []string{"Q2M", "0 servers"}},
		{line: `quakestat -stma2s,game=cstrike,status=notempty 203.0.113.7:27010`, with: []string{"203.0.113.7:27010", "ADDRESS:valvemaster"}, want: []string{"STMA2S"}},
	},
	"docs/operators/accounts.md": {
		{line: `respawnd account create --email joe@example.com --nick Joe --uniquenick joe --password-stdin`, before: (*journey).serve, in: "horse battery\n", want: []string{"joe"}},
		{line: `respawnd account list`, want: []string{"joe@example.com", "Joe"}},
		{line: `respawnd account passwd joe@example.com --password-stdin`, in: "staple\n", want: []string{"joe@example.com"}},
		{line: `respawnd account reset-link joe@example.com`, want: []string{"/account/reset#"}},
		{line: `respawnd account ban joe@example.com`, want: []string{"joe@example.com"}},
		{line: `respawnd account export accounts.jsonl`, want: []string{"wrote accounts.jsonl"}},
	},
	"docs/operators/admin.md": {
		{line: `ssh -L 8081:127.0.0.1:8081 you@your-server`, before: (*journey).serve}, // another machine: not walked
		{line: `respawnd audit`, before: func(j *journey) { j.run("respawnd ban add 192.0.2.1", "") }, want: []string{"ban.add"}},
		{line: `respawnd audit --json --limit 500`, want: []string{`"action":"ban.add"`}},
		{line: `curl -H "Authorization: Bearer $(cat respawnd-data/admin.token)" "http://127.0.0.1:8081/api/v1/routes"`, want: []string{"/api/v1/bans"}},
		{line: `curl -N -H "Authorization: Bearer $(cat respawnd-data/admin.token)" "http://127.0.0.1:8081/api/v1/log/stream?level=warn"`, want: []string{"\n"}},
	},
	"docs/protocols/relay.md": {
		{line: `respawnd relay`, before: (*journey).serve, want: []string{"LAST PACKET"}},
		{line: `respawnd relay --json`},
	},
	"docs/protocols/federation.md": {
		{line: `respawnd federation status`, before: (*journey).serve, want: []string{"PROTOCOL"}},
		{line: `respawnd federation status --json`},
	},
	"docs/protocols/utmaster.md": {
		{line: `respawnd motd set ut2004 "Welcome"`, before: (*journey).serve, want: []string{"ut2004"}},
		{line: `quakestat -ut2004m,cdkey=AAAAA-BBBBB-CCCCC-DDDDD 203.0.113.7:28902`, with: []string{"203.0.113.7:28902", "ADDRESS:utmaster"}, want: []string{"UT2004M"}},
	},
	"docs/protocols/webservices.md": {
		{line: `respawnd patch add "1.1 patch" --product 10001 --version 1.0 --url http://example.org/patch.exe`, before: (*journey).serve, want: []string{"10001"}},
		{line: `respawnd patch list`, want: []string{"10001", "1.1 patch"}},
		{line: `respawnd motd set swat4 "The server moves on Sunday"`, want: []string{"swat4"}},
	},
	"docs/operators/chat.md": {
		{line: `respawnd chat rooms`, before: (*journey).serveWithChat, want: []string{"#GSP!gmtest", "1"}},
		{line: `respawnd chat who gmtest`, want: []string{"Bob", "127.0.0.1:"}},
		{line: `respawnd chat kick Bob --room gmtest --reason "flood"`, want: []string{"kicked 1 player"}},
		{line: `respawnd chat mute Bob --room gmtest --for 1h`, want: []string{"mute of profile 2 in #GSP!gmtest"}},
		{line: `respawnd chat ban 198.51.100.0/24 --reason "spam"`, want: []string{"ban of 198.51.100.0/24 in all of chat"}},
		{line: `respawnd chat bans`, want: []string{"mute", "profile 2", "198.51.100.0/24", "spam"}},
		{line: `respawnd chat unban 198.51.100.0/24`, want: []string{"lifted"}},
		{line: `respawnd chat ban GoldSeller --nick`, want: []string{"ban of the nick GoldSeller in all of chat"}},
		{line: `respawnd chat say gmtest "Maintenance at noon"`, before: (*journey).chats, want: []string{"sent to #GSP!gmtest"}},
		{line: `respawnd chat moderator add Ann --room gmtest`, want: []string{"profile 1 moderates #GSP!gmtest"}},
		{line: `respawnd chat moderator add Bob --for 24h`, want: []string{"profile 2 moderates all of chat"}},
		{line: `respawnd chat moderator remove Ann --room gmtest`, want: []string{"profile 1 no longer moderates #GSP!gmtest"}},
		{line: `respawnd game room add gmtest "Beginners" --id 9001 --owner Ann`, want: []string{"room 9001"}},
		{line: `respawnd game room owner list 9001`, want: []string{"1 ", "2 "}},
	},
	"docs/operators/monitoring.md": {
		{line: `curl http://127.0.0.1:8081/readyz`, before: (*journey).serve, want: []string{"ready"}},
		{line: `curl http://127.0.0.1:8081/metrics`, want: []string{"respawnd_"}},
	},
	"docs/operators/upgrade.md": {
		{line: `respawnd backup respawnd.tar`, before: (*journey).serve, want: []string{"wrote respawnd.tar"}},
		{line: `respawnd restore respawnd.tar`, before: (*journey).stopAndLose, want: []string{"restored the backup"}},
	},
	"docs/api.md": {
		{line: `curl "http://localhost:8080/api/v1/servers?game=gmtest&sort=players&limit=50"`, before: (*journey).serveWithHooks, want: []string{`"The Inn"`, `"gmtest"`}},
		{line: `curl "http://localhost:8080/api/v1/servers?q=inn&full=1"`, want: []string{`"The Inn"`, `"maxplayers"`}},
		{line: `curl "http://localhost:8080/api/v1/servers?players=2&open=1&country=NZ&fields=name,address,players,map"`, want: []string{`"servers":[]`}},
		{line: `curl "http://localhost:8080/api/v1/games?active=1"`, want: []string{`"gmtest"`}},
		{line: `curl "http://localhost:8080/api/v1/games/gmtest"`, want: []string{`"gmtest"`}},
		{line: `curl "http://localhost:8080/api/v1/stats"`, want: []string{`"servers"`}},
		{line: `curl "http://localhost:8080/api/v1/stats/history?span=30d&game=gmtest"`, want: []string{`"kept"`}},
		{line: `curl "http://localhost:8080/api/v1/openapi.json"`, want: []string{`"openapi"`, `"/events"`}},
		{line: `curl -N "http://localhost:8080/api/v1/events?game=gmtest"`, want: []string{"\n"}},
		{line: `respawnd webhook list`, want: []string{"chat", "bot", "discord", "up, down, players"}},
		{line: `respawnd webhook test chat`, want: []string{"chat: delivered"}},
		{line: `respawnd webhook test --all`, want: []string{"chat: delivered", "bot: delivered"}},
	},
}

// serveWithChat runs the daemon with two accounts, and a guest in chat who has the name
// of the second.
func (j *journey) serveWithChat() {
	j.serve()
	for _, name := range []string{"Ann", "Bob"} {
		j.run("respawnd account create --email "+name+"@example.com --nick "+name+" --uniquenick "+name+" --password-stdin", "secret12\n")
	}
	rig.Chat(j.T, &j.d.Running, "Bob").MustJoin("#GSP!" + rig.TestGame)
}

// chats has a guest enter the title room of the test's game.
func (j *journey) chats() { rig.Chat(j.T, &j.d.Running, "Guest").MustJoin("#GSP!" + rig.TestGame) }

// theServer is a placeholder for the address of the test's game server.
const theServer = "ADDRESS:server"

// selftestOf returns the output of a successful self-test.
func selftestOf(services ...string) (want []string) {
	for _, s := range services {
		want = append(want, fmt.Sprintf("\n%-22s ok\n", s))
	}
	return want
}

func TestDocsAreWalked(t *testing.T) {
	t.Parallel()
	for name, text := range rig.Docs(t) {
		if name == "CONTRIBUTING.md" || strings.HasPrefix(name, "docs/contributing/") {
			continue // these build and test
		}
		var walked []string
		for _, s := range journeys[name] {
			walked = append(walked, s.line)
		}
		if diff := cmp.Diff(fencedLines(text), walked); diff != "" {
			t.Errorf("commands of %s, -page +walked by the test:\n%s", name, diff)
		}
	}
	for name, steps := range journeys {
		if slices.Contains(oneDaemon, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJourney(t)
			j.walk(steps)
			j.End()
		})
	}
	t.Run("one_daemon", func(t *testing.T) {
		t.Parallel()
		j := newJourney(t)
		j.Start()
		for _, name := range oneDaemon {
			t.Run(name, func(t *testing.T) { j.of(t).walk(journeys[name]) })
		}
		j.End()
	})
}

func newJourney(t *testing.T) *journey {
	t.Helper()
	j := &journey{T: t, program: rig.BuiltProgram(t), dir: t.TempDir()}
	samples, err := filepath.Glob(filepath.Join("..", "..", "configs", "*.yaml"))
	if err != nil || len(samples) == 0 {
		t.Fatalf("samples: %q, %v", samples, err)
	}
	for _, s := range samples {
		j.file(filepath.Base(s), rig.ReadFile(t, s))
	}
	return j
}

// of returns a part of the journey that is another test.
func (j *journey) of(t *testing.T) *journey {
	t.Helper()
	part := *j
	part.T = t
	return &part
}

func (j *journey) file(name, text string) {
	j.Helper()
	path := filepath.Join(j.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		j.Fatal(err)
	}
	if err := rig.WriteAt(path, text); err != nil {
		j.Fatal(err)
	}
}

func (j *journey) walk(steps []step) {
	j.Helper()
	for _, s := range steps {
		if s.before != nil {
			s.before(j)
		}
		line := j.here(strings.NewReplacer(s.with...).Replace(s.line))
		var out string
		switch program, _, _ := strings.Cut(line, " "); program {
		case "go":
			continue
		case "respawnd", "./respawnd":
			if words := strings.Fields(line); words[1] == "serve" {
				j.Start(words[2:]...)
				continue
			}
			out = j.run(line, s.in)
		case "curl":
			out = j.curl(line)
		case "quakestat":
			if !rig.HasPrograms() {
				continue
			}
			out, _ = rig.Quakestat(j.T, s.want, strings.Fields(line)[1:]...)
		case "ssh":
			continue
		default:
			j.Fatalf("%s: how is that walked?", s.line)
		}
		for _, want := range s.want {
			if want = j.here(want); !strings.Contains("\n"+out, want) {
				j.Errorf("%s\nlacks %q in what it prints:\n%.2000s", s.line, want, out)
			}
		}
	}
}

// End stops the daemon, if one runs.
func (j *journey) End() {
	j.Helper()
	if j.d == nil {
		return
	}
	if err := j.d.Process.Signal(os.Interrupt); err != nil {
		return // Windows cannot; the cleanup ends it
	}
	<-j.d.Ended
	j.d.Log.Check(j)
}

// here replaces the placeholders of addresses.
func (j *journey) here(text string) string {
	if j.d == nil {
		return text
	}
	for name, a := range j.d.Address {
		text = strings.ReplaceAll(text, "ADDRESS:"+name, a.String())
	}
	return text
}

// Start runs the daemon. Each enabled service gets a free port of the loopback
// address; all else is as on the page. Networks are not searched, because of
// other machines there.
func (j *journey) Start(args ...string) {
	j.Helper()
	var options configs.Options
	if len(args) == 2 && args[0] == "--config" {
		options.File = filepath.Join(j.dir, args[1])
	}
	cfg, _, err := services.Load(options)
	if err != nil {
		j.Fatal(err)
	}
	env := []string{rig.UsualCollector, rig.Variable("log.format", "json"), rig.Variable("lan.discover", "false")}
	for _, l := range cfg.Listeners() {
		env = append(env, rig.Variable(l.Key, "127.0.0.1:0"))
	}
	j.d = rig.StartProcess(j.T, j.dir, env, args...)
	j.env = []string{rig.Variable("fesl.extra_listen", "127.0.0.1:0")}
	for _, l := range cfg.Listeners() {
		if a, open := j.d.Address[l.Service]; open && l.Key == l.Service+".listen" {
			j.env = append(j.env, rig.Variable(l.Key, a.String()))
		}
	}
}

// serve runs the daemon, unless it runs already.
func (j *journey) serve() {
	if j.Helper(); j.d == nil {
		j.Start()
	}
}

// guest has a game server report.
func (j *journey) guest() { rig.Register(j.T, &j.d.Running, "hostname", "The Inn", "maxplayers", "8") }

func (j *journey) serveWithGuest() { j.serve(); j.guest() }

func (j *journey) zandronumServer() {
	h := rig.NewZanHost(j.T, &j.d.Running, rig.Home, nil)
	h.MustRegister()
	j.d.Address["server"] = probetest.Listen(j.T, probetest.Arena("zandronum").Speaks("zandronum")).Address()
}

func (j *journey) serveWithArena() {
	j.serve()
	j.d.Address["server"] = probetest.Listen(j.T, probetest.Arena("cstrike").Speaks("a2s")).Address()
}

func (j *journey) arenaIsListed() { rig.Appears(j.T, &j.d.Running, j.d.Address["server"].String()) }

// serveWithHooks runs the daemon with the webhooks of the page, which this
// test receives. A receiver on loopback has to be allowed.
func (j *journey) serveWithHooks() {
	block := fencedYAML.FindStringSubmatch(rig.Docs(j.T)["docs/api.md"])
	if block == nil {
		j.Fatal("no configuration of webhooks")
	}
	chat, bot := rig.NewInbox(j.T, false), rig.NewInbox(j.T, true)
	j.file("discord-url", chat.Url+"\n")
	j.file("bot-secret", rig.HookSecret+"\n")
	j.file("hooks.yaml", strings.NewReplacer(
		"/etc/respawnd/", filepath.ToSlash(j.dir)+"/", "https://bot.example.org/respawnd", bot.Url,
		"\n  - name: ", "\n  - allow: [127.0.0.1]\n    name: ",
	).Replace(block[1]))
	j.Start("--config", "hooks.yaml")
	j.env = append(j.env, rig.Variable("webhooks", j.webhooksLine("hooks.yaml")))
	j.guest()
}

// webhooksLine returns the webhooks of a file as one line, for commands that are
// not given the file.
func (j *journey) webhooksLine(name string) string {
	var doc struct{ Webhooks []map[string]any }
	if err := yaml.Unmarshal([]byte(rig.ReadFile(j.T, filepath.Join(j.dir, name))), &doc); err != nil {
		j.Fatal(err)
	}
	line, err := json.Marshal(doc.Webhooks)
	if err != nil {
		j.Fatal(err)
	}
	return string(line)
}

// stopAndLose ends the daemon and continues in a folder that has only the
// backup.
func (j *journey) stopAndLose() {
	j.d.Kill()
	j.d = nil
	if err := os.RemoveAll(filepath.Join(j.dir, "respawnd-data")); err != nil {
		j.Fatal(err)
	}
}

// run runs a command of respawnd, which must succeed without complaint.
func (j *journey) run(line, in string) string {
	j.Helper()
	words, ok := shellWords(line)
	if !ok {
		j.Fatalf("%s: a quote is not closed", line)
	}
	ctx, cancel := context.WithTimeout(j.Context(), rig.Hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, j.program, words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = j.dir, append(os.Environ(), j.env...), strings.NewReader(in)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	complaints := strings.Join(slices.DeleteFunc(slices.Collect(strings.Lines(errOut.String())), func(l string) bool {
		return strings.Contains(l, "is a value for documentation") // the samples have such
	}), "")
	if err != nil || complaints != "" {
		j.Fatalf("%s: %v\n%s%s", line, err, out.Bytes(), complaints)
	}
	return out.String()
}

var catFile = regexp.MustCompile(`\$\(cat ([^)]*)\)`)

// curl sends a request as curl would, and returns the body; of a stream (-N)
// the first data.
func (j *journey) curl(line string) string {
	j.Helper()
	line = catFile.ReplaceAllStringFunc(line, func(m string) string {
		return strings.TrimSpace(rig.ReadFile(j, filepath.Join(j.dir, catFile.FindStringSubmatch(m)[1])))
	})
	words, ok := shellWords(line)
	if !ok {
		j.Fatalf("%s: a quote is not closed", line)
	}
	ctx, cancel := context.WithTimeout(j.Context(), rig.Hang)
	defer cancel()
	address := strings.NewReplacer("localhost:8080", "ADDRESS:web", "127.0.0.1:8081", "ADDRESS:admin").Replace(words[len(words)-1])
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, j.here(address), nil)
	if err != nil {
		j.Fatal(err)
	}
	stream := false
	for i, w := range words[1 : len(words)-1] {
		switch w {
		case "-N":
			stream = true
		case "-H":
			name, value, _ := strings.Cut(words[i+2], ": ")
			r.Header.Set(name, value)
		}
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		j.Fatalf("%s: %v", line, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var from io.Reader = resp.Body
	if stream {
		from = io.LimitReader(resp.Body, 1)
	}
	body, err := io.ReadAll(from)
	if err != nil || resp.StatusCode != http.StatusOK {
		j.Errorf("%s: status %d, %v:\n%.500s", line, resp.StatusCode, err, body)
	}
	if stream && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return string(body) + "\n"
	}
	return string(body)
}
