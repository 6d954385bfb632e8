package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/test/rig"
)

// Chat rules work without a daemon; commands on connected players report that no daemon
// runs.
func TestChatRules(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	rig.Typed(t, env, "secret12\n", "account", "create", "--email", "joe@example.com", "--nick", "Joe", "--password-stdin")
	rig.Typed(t, env, "secret12\n", "account", "create", "--email", "ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	rig.WantIn(t, rig.Cli(t, env, "game", "room", "add", rig.TestGame, "Lobby", "--id", "9001", "--owner", "Ann"), "room 9001")
	rig.WantIn(t, rig.Cli(t, env, "game", "room", "owner", "list", "9001"), "2", "#gpg!9001")
	rig.WantIn(t, rig.Cli(t, env, "chat", "mute", "ann", "--room", rig.TestGame, "--for", "1h", "--reason", "spam"), "mute of profile 2 in #GSP!"+rig.TestGame)
	rig.WantIn(t, rig.Cli(t, env, "chat", "ban", "192.0.2.0/24"), "ban of 192.0.2.0/24 in all of chat until further notice")
	rig.WantIn(t, rig.Cli(t, env, "chat", "ban", "profile:1", "--room", "#GPG!9001"), "ban of profile 1 in #GPG!9001")
	rig.WantIn(t, rig.Cli(t, env, "chat", "moderator", "add", "ann", "--room", rig.TestGame, "--for", "24h"), "profile 2 moderates #GSP!"+rig.TestGame+" until 2")
	rig.WantIn(t, rig.Cli(t, env, "chat", "moderator", "add", "profile:1"), "profile 1 moderates all of chat until further notice")
	rig.WantIn(t, rig.Cli(t, env, "chat", "moderator", "remove", "Ann", "--room", rig.TestGame), "profile 2 no longer moderates #GSP!"+rig.TestGame)
	rig.WantIn(t, rig.Cli(t, env, "game", "room", "owner", "list", "9001"), "all of chat")
	rig.WantIn(t, rig.Cli(t, env, "chat", "moderator", "remove", "profile:1"), "no longer moderates all of chat")
	rig.WantIn(t, rig.Cli(t, env, "chat", "bans"), "moderator", "mute", "192.0.2.0/24", "profile 1", "spam", "all of chat", "#gsp!"+rig.TestGame)
	rig.WantIn(t, rig.Cli(t, env, "chat", "unmute", "Ann", "--room", "#gsp!"+rig.TestGame), "lifted the mute of profile 2")
	rig.WantIn(t, rig.Cli(t, env, "chat", "unban", "192.0.2.0/24"), "lifted the ban of 192.0.2.0/24")
	rig.WantIn(t, rig.Cli(t, env, "game", "room", "owner", "remove", "9001", "Ann"), "no longer moderates #GPG!9001")
	rig.WantIn(t, rig.Cli(t, env, "audit"), "chat.mute", "chat.unmute", "chat.ban", "chat.moderator.add", "chat.moderator.remove")
	rig.Cli(t, env, "game", "room", "remove", "9001")
	if out := rig.Cli(t, env, "chat", "bans"); len(out) != len("RULE  WHO  ROOM  ADDED  UNTIL  REASON\n") {
		t.Errorf("rules of a room that was removed are left:\n%s", out)
	}
	for _, test := range []struct {
		want string
		args []string
	}{
		{"there is no group room 77", []string{"chat", "mute", "Ann", "--room", "77"}},
		{"there is no game none", []string{"chat", "mute", "Ann", "--room", "none"}},
		{"neither in chat nor", []string{"chat", "ban", "Missing"}},
		{"wants a number", []string{"chat", "ban", "profile:x"}},
		{"mute of profile 2", []string{"chat", "unmute", "Ann"}},
		{"no such account", []string{"game", "room", "add", rig.TestGame, "Other", "--owner", "Missing"}},
		{"not the name of a channel", []string{"chat", "ban", "Ann", "--room", "#"}},
		{"a moderator is a profile, not an address", []string{"chat", "moderator", "add", "192.0.2.1"}},
		{"daemon is not running", []string{"chat", "rooms"}},
		{"daemon is not running", []string{"chat", "who", rig.TestGame}},
		{"daemon is not running", []string{"chat", "kick", "Ann"}},
		{"daemon is not running", []string{"chat", "say", "#GSP!" + rig.TestGame, "hi"}},
		{"daemon is not running", []string{"chat", "history", rig.TestGame}},
	} {
		rig.Refused(t, commands.ExitFailure, env, test.args, test.want)
	}
	if out := rig.Cli(t, env, "game", "room", "list"); len(out) > len("ID  GAME  MAX  NAME\n") {
		t.Errorf("a room whose owner is not known was added:\n%s", out)
	}
	rig.Refused(t, commands.ExitUsage, env, []string{"chat", "ban", "Ann", "--for", "-1h"}, "--for")
}

// A member of a group room counts in the list of rooms that games get.
func TestChatCountsInRoomLists(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	d.Cli("game", "room", "add", rig.TestGame, "Lobby", "--id", "9001")
	rig.Chat(t, d, "Ann").MustJoin("#GPG!9001")
	bob := rig.Chat(t, d, "Bob")
	bob.MustJoin("#gpg!9001")
	waiting := func() string {
		reply := rig.Browse(t, d).MustAsk(serverbrowse.SendGroups, "groupid = 9001", `\hostname\numwaiting`)
		if len(reply.Entries) != 1 {
			t.Fatalf("rooms %+v, want 9001 alone", reply.Entries)
		}
		return reply.Entries[0].Values[1]
	}
	if got := waiting(); got != "2" {
		t.Errorf("numwaiting is %s, want 2", got)
	}
	bob.MustSend("QUIT")
	bob.WantClosed()
	rig.Eventually(t, "the list without Bob", func() bool { return waiting() == "1" })
	d.Stop()
}

// Commands reach the players who are in chat.
func TestChatCommands(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	title := "#GSP!" + rig.TestGame
	ann, bob := rig.Chat(t, d, "Ann"), rig.Chat(t, d, "Bob")
	for _, x := range []*rig.Chatter{ann, bob} {
		x.MustJoin(title)
	}
	rig.WantIn(t, d.Cli("chat", "rooms"), title, rig.TestGame, "2")
	rig.WantIn(t, d.Cli("chat", "who", rig.TestGame), "Ann", "Bob", "127.0.0.1:")
	bob.MustJoin("#other", "@Bob")
	rig.WantIn(t, d.Cli("chat", "who", "#other"), "Bob", "operator")
	rig.WantIn(t, d.Cli("chat", "history", rig.TestGame), "peerchat.history")
	ann.MustSend("AWAY :brb")
	ann.Hears("306", "Ann")
	bob.MustSend("PRIVMSG Ann :hi")
	bob.Hears("301", "Bob", "Ann", "brb")
	bob.MustSend("LUSERS")
	bob.Hears("254", "Bob")
	d.Cli("chat", "say", rig.TestGame, "Maintenance at noon")
	rig.WantIn(t, bob.Expect("Maintenance at noon"), "PRIVMSG "+title)
	rig.WantIn(t, d.Cli("chat", "kick", "bob", "--room", rig.TestGame, "--reason", "flood"), "1 player")
	rig.WantIn(t, bob.Expect(" KICK "), "Bob", "flood")
	bob.MustSend("PRIVMSG " + title + " :still here")
	bob.Hears("404", "Bob", title)
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"chat", "who", "#empty"}, "no members")
	rig.WantIn(t, d.Cli("chat", "ban", "Carl", "--nick", "--room", rig.TestGame), "ban of the nick Carl in "+title)
	ann.MustSend("NICK Carl")
	ann.Hears("432", "Ann", "Carl")
	rig.WantIn(t, d.Cli("chat", "bans"), "the nick carl")
	rig.WantIn(t, d.Cli("chat", "unban", "Carl", "--nick", "--room", rig.TestGame), "lifted")
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"chat", "ban", "Ann"},
		"Ann has no account, and the address 127.0.0.1 is also that of ", "Bob", "Go on?", "nothing was changed")
	rig.WantIn(t, d.Cli("chat", "ban", "Ann", "--yes"), "127.0.0.1/32 (Ann)")
	ann.WantClosed()
	rig.WantIn(t, d.Cli("chat", "unban", "127.0.0.1"), "lifted")
	rig.WantIn(t, d.Cli("audit"), "chat.say", "chat.kick", "chat.ban", "chat.unban")
	d.Stop()
}

func TestChatCommandsWhileOff(t *testing.T) {
	t.Parallel()
	d := rig.StartWithout(t, rig.OnlyEnv(t.TempDir(), []string{"admin"}))
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"chat", "rooms"}, "chat is off", "peerchat.listen")
	d.Stop()
}

// The page and the API's description of a game count members and never contain chat
// messages.
func TestChatOnPages(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	ann := rig.Chat(t, d, "Ann")
	ann.MustJoin("#GSP!" + rig.TestGame)
	ann.MustSend("PRIVMSG #GSP!" + rig.TestGame + " :nothing for pages")
	ann.MustSend("PING :1")
	ann.Expect("PONG")
	look := func(path string) string {
		_, body := rig.Get(t, d, "web", "GET", path, "")
		return body
	}
	rig.Eventually(t, "the member in the description of the game", func() bool {
		return strings.Contains(look("/api/v1/games/"+rig.TestGame), `"title_members":1`)
	})
	page := look("/games/" + rig.TestGame)
	if !strings.Contains(page, "1 player in the game’s chat lobby") || strings.Contains(page, "nothing for pages") || strings.Contains(page, "Ann") {
		t.Errorf("the page of the game:\n%s", page)
	}
	d.Stop()
}

// A Discord channel follows one room: nicks and lines of people, and nothing else.
func TestChatBridge(t *testing.T) {
	t.Parallel()
	in := rig.NewInbox(t, false)
	config := rig.WriteFile(t, "own.yaml", fmt.Sprintf(`
webhooks:
  - {name: lobby, url: %q, format: discord, events: [room_up, chat_ban, chat], room: '#GSP!%s', allow: [127.0.0.1]}
`, in.Url, rig.TestGame))
	d := rig.Start(t, t.TempDir(), "--config", config)
	ann := rig.Chat(t, d, "Ann")
	ann.MustJoin("#GSP!" + rig.TestGame)
	in.MustNext("players are in the lobby")
	ann.MustJoin("#other")
	ann.MustSend("PRIVMSG #other :elsewhere")
	ann.MustSend("UTM #GSP!" + rig.TestGame + " :for games")
	ann.MustSend("PRIVMSG #GSP!" + rig.TestGame + " :hello @everyone")
	if body := in.MustNext("hello"); !strings.Contains(body, `**Ann**: hello \\@everyone`) || strings.Contains(body, "127.0.0.1") || strings.Contains(body, "games") || strings.Contains(body, "elsewhere") {
		t.Errorf("message %s, want Ann's line in the room alone", body)
	}
	d.Cli("chat", "ban", "Ann", "--yes", "--room", rig.TestGame, "--reason", "spam")
	in.MustNext("Banned from chat")
	d.Stop()
}
