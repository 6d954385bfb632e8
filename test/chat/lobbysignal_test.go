//go:build !windows

package chat

import (
	"strings"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

// A stop says so to all clients, signed on or not.
func TestStopEndsChat(t *testing.T) {
	t.Parallel()
	c := rig.StartChild(t, t.TempDir())
	chats := []*rig.Chatter{rig.Chat(t, &c.Running, "Ann"), chatGame(t, &c.Running, "Ben", ""), rig.ChatConn(t, &c.Running)}
	for _, x := range chats[:2] {
		x.MustJoin(lobbyTitle)
	}
	// A connection that the daemon did not accept yet ends without a word.
	chats[2].MustSend("PING there")
	chats[2].Hears("PONG")
	c.Signal(syscall.SIGTERM)
	for i, x := range chats {
		if why := x.WantClosed(); !strings.Contains(why, "going down") {
			t.Errorf("client %d reads %q at the end, want that the server is going down", i, why)
		}
	}
	if state := c.End(); state.ExitCode() != 0 {
		t.Errorf("the process ended with %v, want exit code 0:\n%s", state, c.Log)
	}
	c.Log.Check(t)
}

// Chat rules survive a kill. Rooms and their members do not.
func TestChatRulesSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := rig.StartChild(t, dir)
	if rig.NewUser(t.Context(), c.Address["gpsp"], "Ann") == "" {
		t.Fatal("no account")
	}
	ann, ben := chatGame(t, &c.Running, "*", "Ann"), rig.Chat(t, &c.Running, "Ben")
	for _, x := range []*rig.Chatter{ann, ben} {
		x.MustJoin(lobbyTitle)
	}
	c.Cli("chat", "moderator", "add", "profile:1", "--room", rig.TestGame)
	ann.Hears("MODE", lobbyTitle, "+o", "Ann-gs")
	ann.Must(ann.SetTopic(lobbyTitle, "before"))
	ben.HearsFrom(ann, "TOPIC", lobbyTitle)
	c.Cli("chat", "mute", "profile:1", "--room", rig.TestGame)
	c.Cli("chat", "ban", "192.0.2.0/24")
	c.Kill()

	c = rig.StartChild(t, dir)
	rig.WantIn(t, c.Cli("chat", "bans"), "mute", "profile 1", "192.0.2.0/24")
	ben = rig.Chat(t, &c.Running, "Ben")
	if j := ben.MustJoin(lobbyTitle, "Ben"); j.Topic != "" {
		t.Errorf("the topic %q survived", j.Topic)
	}
	ann = chatGame(t, &c.Running, "*", "Ann")
	ann.MustJoin(lobbyTitle, "@Ann-gs", "Ben") // still a moderator
	ann.Must(ann.Say(lobbyTitle, "may I"))
	ann.Hears("404")
	c.Cli("chat", "unmute", "profile:1", "--room", rig.TestGame)
	ann.Must(ann.Say(lobbyTitle, "now I may"))
	if l := ben.Hears("PRIVMSG"); l.Param(1) != "now I may" {
		t.Errorf("heard %q from the muted player", l)
	}
}

// A reload changes the limits of clients that are signed on.
func TestReloadOfChat(t *testing.T) {
	t.Parallel()
	c := rig.StartConfigured(t, "peerchat: {max_joined: 3, word_filter: [spam]}\n")
	ann, ben := rig.Chat(t, &c.Running, "Ann"), chatGame(t, &c.Running, "Ben", "")
	for _, x := range []*rig.Chatter{ann, ben} {
		for _, room := range []string{"#a", "#b", "#c"} {
			x.MustJoin(room)
		}
	}
	ann.MustSend("JOIN #d")
	ann.Hears("405", "Ann", "#d")
	ann.Must(ann.Say("#a", "spam and eggs"))
	ben.Hears("PRIVMSG", "#a", "**** and eggs")
	c.Reload("peerchat: {max_joined: 4, word_filter: [eggs]}\n", rig.Reloaded)
	ann.MustJoin("#d", "@Ann")
	ann.Must(ann.Say("#a", "spam and eggs"))
	ben.Hears("PRIVMSG", "#a", "spam and ****")
	c.Stop()
}
