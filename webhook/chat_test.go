package webhook

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/storage"
)

// roomOf describes the title room of gmtest and group room 12.
func roomOf(channel string) (Room, bool) {
	switch strings.ToLower(channel) {
	case "#gsp!gmtest":
		return Room{Channel: "#GSP!gmtest", Kind: "title", Game: "gmtest", Title: "Test *game*"}, true
	case "#gpg!12":
		return Room{Channel: "#GPG!12", Kind: "group", Game: "gmtest", Title: "Test", Name: "Twelve @all"}, true
	}
	return Room{}, false
}

func TestRoomUp(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		for range 20 {
			for _, c := range []string{"#GSP!gmtest", "#gpg!12", "#GSP!gmtest!Mabc", "#gpg!13", "#own"} {
				f.d.ChatUp(c)
			}
		}
		f.expect(soon, "room.up #GSP!gmtest, room.up #GPG!12")
		time.Sleep(roomAgain - 2*soon)
		f.d.ChatUp("#gsp!GMTEST")
		f.expect(soon, "")
		time.Sleep(soon)
		f.d.ChatUp("#gsp!GMTEST")
		f.expect(soon, "room.up #GSP!gmtest")
	})
	watching(t, plain(func(h *Hook) { h.Games = []string{"gmother"} }), func(f *fixture) {
		f.d.ChatUp("#GSP!gmtest")
		f.expect(soon, "")
	})
	watching(t, nil, func(f *fixture) {
		for range 2 * heardLen {
			f.d.ChatUp("#GSP!gmtest") // never waits
		}
		f.expect(soon, "")
	})
}

func TestChatBans(t *testing.T) {
	watching(t, plain(func(h *Hook) { h.Kinds = []Kind{ChatBanned} }), func(f *fixture) {
		rule := func(kind storage.ChatKind, prefix, channel string) storage.ChatRule {
			return storage.ChatRule{Added: time.Now(), ChatRuleKey: storage.ChatRuleKey{
				Kind: kind, Prefix: netip.MustParsePrefix(prefix), Channel: channel,
			}}
		}
		change := func(want string, rules ...storage.ChatRule) {
			t.Helper()
			f.rules = rules
			f.d.RulesChanged()
			f.expect(soon, want)
		}
		one := rule(storage.ChatBan, "192.0.2.0/24", "")
		change("chat.ban 192.0.2.0/24", one, rule(storage.ChatMute, "192.0.2.7/32", ""))
		two := rule(storage.ChatBan, "192.0.2.0/24", "#gpg!12")
		over := rule(storage.ChatBan, "192.0.2.9/32", "")
		over.Expires = time.Now()
		change("chat.ban 192.0.2.0/24#gpg!12", one, two, over)
		change("", two)
		longer := two
		longer.Expires = time.Now().Add(time.Hour)
		change("chat.ban 192.0.2.0/24#gpg!12", longer)
	})
}

// chatLines returns the lines that a chat got.
func (f *fixture) chatLines(wait time.Duration) (lines []string) {
	f.t.Helper()
	for _, body := range f.wait(wait).bodies {
		var m message
		if err := json.Unmarshal([]byte(body), &m); err != nil || m.Mentions.Parse == nil || len(m.Mentions.Parse) > 0 {
			f.t.Fatalf("body %q: %v", body, err)
		}
		lines = append(lines, strings.Split(m.Content, "\n")...)
	}
	return lines
}

func TestBridge(t *testing.T) {
	bridge := plain(func(h *Hook) { h.Format, h.Kinds, h.Room = Discord, []Kind{Said}, "#GSP!GMTest" })
	watching(t, bridge, func(f *fixture) {
		f.d.ChatSaid("#gsp!gmtest", "Ann", "hello @everyone <@1>")
		f.d.ChatSaid("#GPG!12", "Ann", "of another room")
		f.d.ChatSaid("#GSP!gmtest", "Bob", "\x01ACTION waves\x01")
		f.d.ChatUp("#GSP!gmtest") // not wanted
		got := f.chatLines(soon)
		want := []string{`**Ann**: hello \@everyone \<\@1\>`, `**Bob**: \* waves`}
		if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("lines %q, want %q", got, want)
		}
	})
	t.Run("rate", func(t *testing.T) {
		watching(t, bridge, func(f *fixture) {
			for i := range 100 {
				f.d.ChatSaid("#GSP!gmtest", "Ann", fmt.Sprint("line ", i))
			}
			if n := len(f.chatLines(soon)); n != saidBurst || f.dropped(dropRate) != 100-saidBurst {
				t.Errorf("%d lines arrived and %v were counted as lost, want %d and %d", n, f.dropped(dropRate), saidBurst, 100-saidBurst)
			}
		})
	})
	t.Run("not wanted", func(t *testing.T) {
		watching(t, plain(), func(f *fixture) {
			f.d.ChatSaid("#GSP!gmtest", "Ann", "hello")
			f.expect(soon, "")
		})
	})
}

func TestChatSaidAllocs(t *testing.T) {
	d := New(Options{Listing: part.Listing{Registry: nil}})
	if n := testing.AllocsPerRun(100, func() { d.ChatSaid("#GSP!gmtest", "Ann", "hello") }); n != 0 {
		t.Errorf("a line that no hook is for allocates %v times", n)
	}
}

func TestDiscordChat(t *testing.T) {
	title, _ := roomOf("#GSP!gmtest")
	group, _ := roomOf("#GPG!12")
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, e := range map[string]Event{
		`Chat: players are in the lobby of Test \*game\*`:                   {Kind: RoomUp, Room: &title},
		`Chat: players are in room **Twelve \@all** of Test`:                {Kind: RoomUp, Room: &group},
		"Banned from chat: `192.0.2.0/24` until 2026-01-02 03:04 UTC: spam": {Kind: ChatBanned, ChatBan: &ChatBan{Prefix: "192.0.2.0/24", Reason: "spam", Expires: &until}},
		`Banned from chat: profile 7 in \#gpg\!12`:                          {Kind: ChatBanned, ChatBan: &ChatBan{Profile: 7, Channel: "#gpg!12"}},
		`**Ann**: \[a\]\(https\:\/\/b\)`:                                    {Kind: Said, Line: &Line{Nick: "Ann", Text: "[a](https://b)"}},
	} {
		if got := discordLine(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
