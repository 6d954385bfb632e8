package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Chat rules work without a daemon; commands on connected players report that no daemon
// runs.
func TestChatRules(t *testing.T) {
	t.Parallel()
	env := testEnv(t.TempDir())
	typed(t, env, "secret12\n", "account", "create", "--email", "joe@example.com", "--nick", "Joe", "--password-stdin")
	typed(t, env, "secret12\n", "account", "create", "--email", "ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	wantIn(t, cli(t, env, "game", "room", "add", testGame, "Lobby", "--id", "9001", "--owner", "Ann"), "room 9001")
	wantIn(t, cli(t, env, "game", "room", "owner", "list", "9001"), "2", "#gpg!9001")
	wantIn(t, cli(t, env, "chat", "mute", "ann", "--room", testGame, "--for", "1h", "--reason", "spam"), "mute of profile 2 in #GSP!"+testGame)
	wantIn(t, cli(t, env, "chat", "ban", "192.0.2.0/24"), "ban of 192.0.2.0/24 in all of chat until further notice")
	wantIn(t, cli(t, env, "chat", "ban", "profile:1", "--room", "#GPG!9001"), "ban of profile 1 in #GPG!9001")
	wantIn(t, cli(t, env, "chat", "moderator", "add", "ann", "--room", testGame, "--for", "24h"), "profile 2 moderates #GSP!"+testGame+" until 2")
	wantIn(t, cli(t, env, "chat", "moderator", "add", "profile:1"), "profile 1 moderates all of chat until further notice")
	wantIn(t, cli(t, env, "chat", "moderator", "remove", "Ann", "--room", testGame), "profile 2 no longer moderates #GSP!"+testGame)
	wantIn(t, cli(t, env, "game", "room", "owner", "list", "9001"), "all of chat")
	wantIn(t, cli(t, env, "chat", "moderator", "remove", "profile:1"), "no longer moderates all of chat")
	wantIn(t, cli(t, env, "chat", "bans"), "moderator", "mute", "192.0.2.0/24", "profile 1", "spam", "all of chat", "#gsp!"+testGame)
	wantIn(t, cli(t, env, "chat", "unmute", "Ann", "--room", "#gsp!"+testGame), "lifted the mute of profile 2")
	wantIn(t, cli(t, env, "chat", "unban", "192.0.2.0/24"), "lifted the ban of 192.0.2.0/24")
	wantIn(t, cli(t, env, "game", "room", "owner", "remove", "9001", "Ann"), "no longer moderates #GPG!9001")
	wantIn(t, cli(t, env, "audit"), "chat.mute", "chat.unmute", "chat.ban", "chat.moderator.add", "chat.moderator.remove")
	cli(t, env, "game", "room", "remove", "9001")
	if out := cli(t, env, "chat", "bans"); len(out) != len("RULE  WHO  ROOM  ADDED  UNTIL  REASON\n") {
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
		{"no such account", []string{"game", "room", "add", testGame, "Other", "--owner", "Missing"}},
		{"not the name of a channel", []string{"chat", "ban", "Ann", "--room", "#"}},
		{"a moderator is a profile, not an address", []string{"chat", "moderator", "add", "192.0.2.1"}},
		{"daemon is not running", []string{"chat", "rooms"}},
		{"daemon is not running", []string{"chat", "who", testGame}},
		{"daemon is not running", []string{"chat", "kick", "Ann"}},
		{"daemon is not running", []string{"chat", "say", "#GSP!" + testGame, "hi"}},
		{"daemon is not running", []string{"chat", "history", testGame}},
	} {
		refused(t, exitFailure, env, test.args, test.want)
	}
	if out := cli(t, env, "game", "room", "list"); len(out) > len("ID  GAME  MAX  NAME\n") {
		t.Errorf("a room whose owner is not known was added:\n%s", out)
	}
	refused(t, exitUsage, env, []string{"chat", "ban", "Ann", "--for", "-1h"}, "--for")
}

// lobby is an operator whose chat has members in one room.
type lobby struct {
	operator.Operator
	err error // of chat
}

func (l lobby) ChatRooms(context.Context) ([]operator.ChatRoom, error) {
	return []operator.ChatRoom{{Channel: "#Gone"}, {Channel: "#GSP!ours"}}, l.err
}

func (l lobby) ChatWho(_ context.Context, channel string) ([]operator.ChatMember, error) {
	switch {
	case l.err != nil:
		return nil, l.err
	case channel != "#GSP!ours":
		return nil, storage.ErrNotFound
	}
	return []operator.ChatMember{
		{Nick: "Guest", Address: netip.MustParseAddrPort("192.0.2.7:4000")},
		{Nick: "Ann-gs", Profile: 7, Address: netip.MustParseAddrPort("192.0.2.8:4000")},
	}, nil
}

func (lobby) Games(context.Context) ([]games.Game, error) {
	ours := games.Game{Name: "ours", Rooms: []games.Room{{ID: 12}}}
	ours.Namespace = 15
	return []games.Game{ours}, nil
}

func (lobby) FindAccount(_ context.Context, ref operator.AccountRef) (accounts.Account, error) {
	if ref.UniqueNick != "Ann" || ref.Namespace != 1 {
		return accounts.Account{}, storage.ErrNotFound
	}
	ann := storage.Profile{ID: 8, UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "Ann"}}}
	return accounts.Account{Profiles: []accounts.AccountProfile{{Profile: ann}}}, nil
}

func TestParseRoom(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]chatRoom{
		"":                     {"", 1},
		"OURS":                 {"#GSP!ours", 15},
		"12":                   {"#GPG!12", 15},
		"#gpg!12":              {"#GPG!12", 15},
		"#gsp!ours":            {"#gsp!ours", 15},
		"#GSP!ours!Mabcdefghk": {"#GSP!ours!Mabcdefghk", 15},
		"#other":               {"#other", 1},
	} {
		if got, err := parseRoom(t.Context(), lobby{}, name); got != want || err != nil {
			t.Errorf("parseRoom(%q) = %+v, %v; want %+v", name, got, err, want)
		}
	}
}

func TestFindPlayer(t *testing.T) {
	t.Parallel()
	errOther := errors.New("another error")
	for name, test := range map[string]struct {
		who, room string
		chat      error
		want      chatPlayer
		err       error
	}{
		"profile":        {"profile:9", "", nil, chatPlayer{profile: 9}, nil},
		"address":        {"192.0.2.9", "", nil, chatPlayer{prefix: netip.MustParsePrefix("192.0.2.9/32")}, nil},
		"guest":          {"guest", "", nil, chatPlayer{nick: "Guest", prefix: netip.MustParsePrefix("192.0.2.7/32")}, nil},
		"guest in room":  {"guest", "#GSP!ours", nil, chatPlayer{nick: "Guest", prefix: netip.MustParsePrefix("192.0.2.7/32")}, nil},
		"player":         {"ann-GS", "", nil, chatPlayer{nick: "Ann-gs", profile: 7}, nil},
		"unique nick":    {"Ann", "", nil, chatPlayer{profile: 8}, nil},
		"other room":     {"Ann-gs", "#other", nil, chatPlayer{}, storage.ErrNotFound},
		"chat off":       {"Ann", "", operator.ErrNoChat, chatPlayer{profile: 8}, nil},
		"chat not known": {"Ann", "", errOther, chatPlayer{}, errOther},
	} {
		got, err := findPlayer(t.Context(), lobby{err: test.chat}, test.who, chatRoom{channel: test.room, namespace: 1})
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: findPlayer() = %+v, %v; want %+v, %v", name, got, err, test.want, test.err)
		}
	}
}

// A member of a group room counts in the list of rooms that games get.
func TestChatCountsInRoomLists(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	d.cli("game", "room", "add", testGame, "Lobby", "--id", "9001")
	chat(t, d, "Ann").join("#GPG!9001")
	bob := chat(t, d, "Bob")
	bob.join("#gpg!9001")
	waiting := func() string {
		reply := browse(t, d).ask(serverbrowse.SendGroups, "groupid = 9001", `\hostname\numwaiting`)
		if len(reply.Entries) != 1 {
			t.Fatalf("rooms %+v, want 9001 alone", reply.Entries)
		}
		return reply.Entries[0].Values[1]
	}
	if got := waiting(); got != "2" {
		t.Errorf("numwaiting is %s, want 2", got)
	}
	bob.send("QUIT")
	bob.wantClosed()
	eventually(t, "the list without Bob", func() bool { return waiting() == "1" })
	d.stop()
}

// Commands reach the players who are in chat.
func TestChatCommands(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	title := "#GSP!" + testGame
	ann, bob := chat(t, d, "Ann"), chat(t, d, "Bob")
	for _, x := range []*chatter{ann, bob} {
		x.join(title)
	}
	wantIn(t, d.cli("chat", "rooms"), title, testGame, "2")
	wantIn(t, d.cli("chat", "who", testGame), "Ann", "Bob", "127.0.0.1:")
	bob.join("#other", "@Bob")
	wantIn(t, d.cli("chat", "who", "#other"), "Bob", "operator")
	wantIn(t, d.cli("chat", "history", testGame), "peerchat.history")
	ann.send("AWAY :brb")
	ann.hears("306", "Ann")
	bob.send("PRIVMSG Ann :hi")
	bob.hears("301", "Bob", "Ann", "brb")
	bob.send("LUSERS")
	bob.hears("254", "Bob")
	d.cli("chat", "say", testGame, "Maintenance at noon")
	wantIn(t, bob.expect("Maintenance at noon"), "PRIVMSG "+title)
	wantIn(t, d.cli("chat", "kick", "bob", "--room", testGame, "--reason", "flood"), "1 player")
	wantIn(t, bob.expect(" KICK "), "Bob", "flood")
	bob.send("PRIVMSG " + title + " :still here")
	bob.hears("404", "Bob", title)
	refused(t, exitFailure, d.cliEnv(), []string{"chat", "who", "#empty"}, "no members")
	wantIn(t, d.cli("chat", "ban", "Ann"), "127.0.0.1/32 (Ann)")
	ann.wantClosed()
	wantIn(t, d.cli("chat", "unban", "127.0.0.1"), "lifted")
	wantIn(t, d.cli("audit"), "chat.say", "chat.kick", "chat.ban", "chat.unban")
	d.stop()
}

func TestChatCommandsWhileOff(t *testing.T) {
	t.Parallel()
	d := startWithout(t, onlyEnv(t.TempDir(), []string{"admin"}))
	refused(t, exitFailure, d.cliEnv(), []string{"chat", "rooms"}, "chat is off", "peerchat.listen")
	d.stop()
}

// The page and the API's description of a game count members and never contain chat
// messages.
func TestChatOnPages(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	ann := chat(t, d, "Ann")
	ann.join("#GSP!" + testGame)
	ann.send("PRIVMSG #GSP!" + testGame + " :nothing for pages")
	ann.send("PING :1")
	ann.expect("PONG")
	look := func(path string) string {
		_, body := get(t, d, "web", "GET", path, "")
		return body
	}
	eventually(t, "the member in the description of the game", func() bool {
		return strings.Contains(look("/api/v1/games/"+testGame), `"title_members":1`)
	})
	page := look("/games/" + testGame)
	if !strings.Contains(page, "1 player in the game’s chat lobby") || strings.Contains(page, "nothing for pages") || strings.Contains(page, "Ann") {
		t.Errorf("the page of the game:\n%s", page)
	}
	d.stop()
}

// A Discord channel follows one room: nicks and lines of people, and nothing else.
func TestChatBridge(t *testing.T) {
	t.Parallel()
	in := newInbox(t, false)
	config := writeFile(t, "own.yaml", fmt.Sprintf(`
webhooks:
  - {name: lobby, url: %q, format: discord, events: [room_up, chat_ban, chat], room: '#GSP!%s', allow: [127.0.0.1]}
`, in.url, testGame))
	d := start(t, t.TempDir(), "--config", config)
	ann := chat(t, d, "Ann")
	ann.join("#GSP!" + testGame)
	in.next("players are in the lobby")
	ann.join("#other")
	ann.send("PRIVMSG #other :elsewhere")
	ann.send("UTM #GSP!" + testGame + " :for games")
	ann.send("PRIVMSG #GSP!" + testGame + " :hello @everyone")
	if body := in.next("hello"); !strings.Contains(body, `**Ann**: hello \\@everyone`) || strings.Contains(body, "127.0.0.1") || strings.Contains(body, "games") || strings.Contains(body, "elsewhere") {
		t.Errorf("message %s, want Ann's line in the room alone", body)
	}
	d.cli("chat", "ban", "Ann", "--room", testGame, "--reason", "spam")
	in.next("Banned from chat")
	d.stop()
}
