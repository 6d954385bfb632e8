//go:build !windows

package main

import (
	"strings"
	"syscall"
	"testing"
)

// A stop says so to all clients, signed on or not.
func TestStopEndsChat(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	chats := []*chatter{chat(t, &c.running, "Ann"), chatGame(t, &c.running, "Ben", ""), chatConn(t, &c.running)}
	for _, x := range chats[:2] {
		x.join(lobbyTitle)
	}
	// A connection that the daemon did not accept yet ends without a word.
	chats[2].send("PING there")
	chats[2].hears("PONG")
	c.signal(syscall.SIGTERM)
	for i, x := range chats {
		if why := x.wantClosed(); !strings.Contains(why, "going down") {
			t.Errorf("client %d reads %q at the end, want that the server is going down", i, why)
		}
	}
	if state := c.end(); state.ExitCode() != 0 {
		t.Errorf("the process ended with %v, want exit code 0:\n%s", state, c.log)
	}
	c.log.check(t)
}

// Chat rules survive a kill. Rooms and their members do not.
func TestChatRulesSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	if newUser(t.Context(), c.address["gpsp"], "Ann") == "" {
		t.Fatal("no account")
	}
	ann, ben := chatGame(t, &c.running, "*", "Ann"), chat(t, &c.running, "Ben")
	for _, x := range []*chatter{ann, ben} {
		x.join(lobbyTitle)
	}
	c.cli("chat", "moderator", "add", "profile:1", "--room", testGame)
	ann.hears("MODE", lobbyTitle, "+o", "Ann-gs")
	ann.must(ann.SetTopic(lobbyTitle, "before"))
	ben.hearsFrom(ann, "TOPIC", lobbyTitle)
	c.cli("chat", "mute", "profile:1", "--room", testGame)
	c.cli("chat", "ban", "192.0.2.0/24")
	c.kill()

	c = startChild(t, dir)
	wantIn(t, c.cli("chat", "bans"), "mute", "profile 1", "192.0.2.0/24")
	ben = chat(t, &c.running, "Ben")
	if j := ben.join(lobbyTitle, "Ben"); j.Topic != "" {
		t.Errorf("the topic %q survived", j.Topic)
	}
	ann = chatGame(t, &c.running, "*", "Ann")
	ann.join(lobbyTitle, "@Ann-gs", "Ben") // still a moderator
	ann.must(ann.Say(lobbyTitle, "may I"))
	ann.hears("404")
	c.cli("chat", "unmute", "profile:1", "--room", testGame)
	ann.must(ann.Say(lobbyTitle, "now I may"))
	if l := ben.hears("PRIVMSG"); l.Param(1) != "now I may" {
		t.Errorf("heard %q from the muted player", l)
	}
}

// A reload changes the limits of clients that are signed on.
func TestReloadOfChat(t *testing.T) {
	t.Parallel()
	c := startConfigured(t, "peerchat: {max_joined: 3, word_filter: [spam]}\n")
	ann, ben := chat(t, &c.running, "Ann"), chatGame(t, &c.running, "Ben", "")
	for _, x := range []*chatter{ann, ben} {
		for _, room := range []string{"#a", "#b", "#c"} {
			x.join(room)
		}
	}
	ann.send("JOIN #d")
	ann.hears("405", "Ann", "#d")
	ann.must(ann.Say("#a", "spam and eggs"))
	ben.hears("PRIVMSG", "#a", "**** and eggs")
	c.reload("peerchat: {max_joined: 4, word_filter: [eggs]}\n", reloaded)
	ann.join("#d", "@Ann")
	ann.must(ann.Say("#a", "spam and eggs"))
	ben.hears("PRIVMSG", "#a", "spam and ****")
	c.stop()
}
