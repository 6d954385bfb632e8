package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clans"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// hostileName is a name that does everything to a terminal that a name may do.
var hostileName = "\x1b[31m\u009b2J\u202e\x7f\t\nWide \u5927 a\u0301" + strings.Repeat("long", 100)

// hostileOperator has two entries in each list, full of hostile names.
type hostileOperator struct{ operator.Conn }

var (
	hostileAddress = netip.MustParseAddrPort("[2001:db8::1]:27900")
	hostileTime    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func twice[T any](v T) []T { return []T{v, v} }

// answers are those of hostileOperator by the name of the operation.
func (hostileOperator) answers() map[string]any {
	value, err := storage.ParseSakeValue(storage.SakeASCII, hostileName)
	if err != nil {
		panic(err)
	}
	return map[string]any{
		"server list": twice(operator.Listed{Game: hostileName, Address: hostileAddress, Name: hostileName, Players: hostileName, Hidden: hostileName, Last: hostileTime}),
		"server kept": operator.Kept{
			Added:  []storage.AddedServer{{Address: "a.test:1", Protocol: hostileName, Game: hostileName}},
			Hidden: []storage.HiddenServer{{Address: hostileAddress, Reason: hostileName}},
			Asked:  []operator.AskedServer{{Address: "a.test:1", Why: hostileName}},
		},
		"account list": operator.AccountPage{Accounts: twice(hostileAccount)},
		"account show": hostileAccount,
		"chat rooms":   twice(operator.ChatRoom{Channel: "#" + hostileName, Game: hostileName, Name: hostileName, Topic: hostileName}),
		"chat who":     twice(operator.ChatMember{Nick: hostileName, Address: hostileAddress}),
		"chat history": twice(operator.ChatLine{Nick: hostileName, Text: hostileName}),
		"chat bans":    twice(storage.ChatRule{ChatRuleKey: storage.ChatRuleKey{Kind: storage.ChatModerator, Profile: 1}, Reason: hostileName}),
		"cdkey list":   twice(operator.CDKey{ProductKeyID: storage.ProductKeyID{Hash: strings.Repeat("0", 32)}, Reason: hostileName}),
		"files list":   twice(storage.File{ID: 1, Game: "gmtest", Name: hostileName}),
		"files show":   storage.File{ID: 1, Game: "gmtest", Name: hostileName},
		"motd show":    twice(storage.Motd{Game: "gmtest", Text: hostileName}),
		"patch list": operator.PatchList{
			Patches:  []news.Patch{{Patch: storage.Patch{PatchID: storage.PatchID{Version: hostileName}, Name: hostileName, URL: hostileName}}},
			Versions: []news.Count{{Version: news.Version{Game: hostileName, Version: hostileName}}},
		},
		"played list": twice(storage.PlayReport{
			PlayReportID: storage.PlayReportID{Day: hostileName, Game: hostileName, Reporter: hostileName},
			Version:      hostileName, Step: "signed in", Text: hostileName, Services: []string{hostileName}, Source: hostileName,
		}),
		"stats game":        operator.GameStats{Game: "gmtest", Boards: twice(operator.Board{Title: hostileName, Scores: twice(operator.RankedProfile{Nick: hostileName})})},
		"stats player":      operator.PlayerStats{Nick: hostileName, Blocks: twice(operator.StatBlockInfo{Text: hostileName, Bytes: 1})},
		"matches list":      twice(hostileMatch),
		"matches show":      hostileMatch,
		"clan list":         twice(clans.Member{Profile: 1, Tag: hostileName, Name: hostileName}),
		"sake tables":       twice(storage.SakeTable{SakeTableID: storage.SakeTableID{Name: hostileName}, Columns: twice(storage.SakeColumn{Name: hostileName, Type: storage.SakeASCII})}),
		"audit":             operator.AuditPage{Entries: twice(storage.AuditEntry{By: hostileName, Subject: hostileName, Detail: hostileName})},
		"verdict list":      twice(operator.Verdict{Service: "qr2", Address: hostileAddress, Game: hostileName, Verdict: "listed"}),
		"meetings":          operator.Meetings{Since: hostileTime, Pairs: twice(operator.MeetingCount{Routers: [2]string{"cone", "symmetric"}, Failed: 2})},
		"relay":             twice(operator.RelayedPair{Game: hostileName, Since: hostileTime, Host: operator.RelayedPlayer{Address: hostileAddress, Come: true}}),
		"federation status": twice(operator.OtherMaster{Name: hostileName, Protocol: "q3", Address: hostileName, State: operator.MasterFailing, Error: hostileName}),
		"sake show":         twice(storage.SakeRecord{ID: 1, Fields: twice(storage.SakeField{Name: hostileName, Value: value})}),
		"ban list":          twice(storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeAll, Reason: hostileName}),
		"ban files":         twice(operator.FileBan{Addresses: hostileName, File: hostileName, Reason: hostileName, Line: 1}),
		"game list":         operator.GameList(twice(games.Game{Name: "gmtest", Title: hostileName, Secrets: []string{"secret"}})),
		"game room list":    twice(storage.Room{ID: 7, Game: "gmtest", Name: hostileName}),
	}
}

func (h hostileOperator) Do(_ context.Context, o *operator.Operation, _ any) (any, error) {
	return h.answers()[o.Name], nil
}

var hostileAccount = accounts.Account{ID: 1, Email: hostileName, Profiles: []accounts.AccountProfile{{Profile: storage.Profile{ID: 1, Nick: hostileName}}}}

var hostileMatch = storage.Match{
	ID: 1, Game: "gmtest", Sides: twice(storage.MatchSide{Nick: hostileName}), Players: twice(storage.MatchPlayer{Nick: hostileName, Result: "win"}),
}

// showCommands are the commands that show something, with their arguments and how many
// JSON objects they print for hostileOperator.
var showCommands = map[string]struct {
	args    string
	objects int
}{
	"account list":         {"", 2},
	"account show":         {"7", 1},
	"audit":                {"", 2},
	"ban list":             {"", 4},
	"cdkey list":           {"", 2},
	"clan list":            {"", 2},
	"chat bans":            {"", 2},
	"chat history":         {"#room", 2},
	"chat rooms":           {"", 2},
	"chat who":             {"#room", 2},
	"doctor":               {"", 2},
	"federation status":    {"", 2},
	"files list":           {"", 2},
	"files show":           {"1", 1},
	"game list":            {"", 2},
	"game room list":       {"", 2},
	"game room owner list": {"#room", 2},
	"matches list":         {"gmtest", 2},
	"matches show":         {"1", 1},
	"meetings":             {"", 2},
	"motd show":            {"", 2},
	"patch list":           {"", 2},
	"played list":          {"", 2},
	"played questions":     {"", 0},
	"relay":                {"", 2},
	"sake show":            {"gmtest t", 2},
	"sake tables":          {"gmtest", 2},
	"server list":          {"", 2},
	"stats game":           {"gmtest", 1},
	"stats show":           {"1", 1},
	"webhook list":         {"", 2},
}

// notShown are commands whose description begins like that of a list, and which are
// none.
var notShown = []string{
	"server unhide",
	"cluster status", // see TestClusterListsAreComplete
	"game show",      // prints the record as games.file has it
}

// leaves returns the commands without subcommands, by their words after the name of
// the program.
func leaves(root *cobra.Command) map[string]*cobra.Command {
	all := make(map[string]*cobra.Command)
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.HasSubCommands() {
			all[strings.TrimPrefix(c.CommandPath(), root.Name()+" ")] = c
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return all
}

// hostileCommand runs a command on hostileOperator, which must succeed.
func hostileCommand(t *testing.T, env []string, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	con := cli.New(env, strings.NewReader(""), &out, &errOut)
	con.Connect = func(context.Context, *services.Config) (operator.Conn, func() error, error) {
		return hostileOperator{}, func() error { return nil }, nil
	}
	if code := Run(t.Context(), con, args); code != 0 {
		t.Fatalf("respawnd %s: exit code %d: %s", strings.Join(args, " "), code, errOut.String())
	}
	return out.String()
}

// actsOnTerminal reports whether a terminal does more with r than to show it.
func actsOnTerminal(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// TestShownAsJSON finds the commands that show something by itself: a new one must
// have --json and a line in showCommands.
func TestShownAsJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"RESPAWND_DATA_DIR=" + dir, "RESPAWND_WEBHOOKS=" + `[{name: a, format: discord, url: "https://one.test/secret"}, {name: b, format: discord, url: "https://two.test/secret"}]`}
	for path, cmd := range leaves(Root(cli.New(nil, nil, nil, nil))) {
		example, known := showCommands[path]
		word, _, _ := strings.Cut(cmd.Short, " ")
		shows := slices.Contains([]string{"Show", "List", "Explain"}, word) && !slices.Contains(notShown, path)
		if shows != known {
			t.Errorf("%q: %s: a line in the table of this test %v, want %v", path, cmd.Short, known, shows)
		}
		if !known {
			continue
		}
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			args := slices.Concat(strings.Fields(path), strings.Fields(example.args))
			text := hostileCommand(t, env, args...)
			object := hostileCommand(t, env, append(args, "--json")...)
			for _, out := range []string{text, object} {
				if i := strings.IndexFunc(out, actsOnTerminal); i >= 0 {
					t.Errorf("%q is printed:\n%s", out[i:min(len(out), i+20)], out)
				}
				if strings.Contains(out, "secret") {
					t.Errorf("a secret is printed:\n%s", out)
				}
			}
			lines := slices.Collect(strings.Lines(object))
			if len(lines) != example.objects {
				t.Errorf("%d lines with --json, want %d:\n%s", len(lines), example.objects, object)
			}
			for _, line := range lines {
				var o map[string]any
				if err := json.Unmarshal([]byte(line), &o); err != nil || len(o) == 0 {
					t.Errorf("a line is not an object: %v: %s", err, line)
				}
			}
			if strings.Contains(text, strings.Repeat("long", 20)) && path != "chat history" && path != "files show" && path != "stats game" && path != "stats show" {
				t.Errorf("a long name is not cut:\n%s", text)
			}
		})
	}
}

// The text of names is whole in JSON, also where it is cut and cleaned in tables.
func TestJSONHasWholeNames(t *testing.T) {
	t.Parallel()
	env := []string{"RESPAWND_DATA_DIR=" + t.TempDir(), "RESPAWND_ADMIN_LISTEN="}
	var b storage.Ban
	line, _, _ := strings.Cut(hostileCommand(t, env, "ban", "list", "--json"), "\n")
	if err := json.Unmarshal([]byte(line), &b); err != nil || b.Reason != hostileName {
		t.Errorf("reason %q, %v, want %q", b.Reason, err, hostileName)
	}
	for _, args := range [][]string{{"server", "list", "--kept"}, {"motd", "show", "gmtest"}, {"stats", "show", "1"}, {"doctor", "192.0.2.1"}} {
		if out := hostileCommand(t, env, append(args, "--json")...); !strings.Contains(out, strings.Repeat("long", 100)) || !strings.HasPrefix(out, "{") {
			t.Errorf("%q: a name is not whole:\n%s", args, out)
		}
	}
	var out, errOut bytes.Buffer
	if code := Run(t.Context(), cli.New(env, nil, &out, &errOut), []string{"ban", "list", "--json"}); code != 0 || out.Len() > 0 {
		t.Errorf("no bans as JSON: exit code %d, %q, want nothing; %s", code, &out, &errOut)
	}
}
