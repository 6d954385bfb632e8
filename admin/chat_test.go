package admin

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// lobby is a chat with Ann in group room 12.
type lobby struct{}

func openLobby() operator.Chat { return lobby{} }

const lobbyChannel = "#GPG!12"

var lobbySince = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (lobby) Rooms() []operator.ChatRoom {
	return []operator.ChatRoom{{
		Channel: lobbyChannel, Kind: operator.ChatGroup, Game: "gmtest", Group: 12, Name: "Twelve", Members: 1, Since: lobbySince,
	}}
}

func (lobby) Who(channel string) ([]operator.ChatMember, error) {
	if !isLobby(channel) {
		return nil, storage.ErrNotFound
	}
	return []operator.ChatMember{{
		Nick: "Ann", Profile: 7, Account: 3, Address: netip.MustParseAddrPort("192.0.2.7:4000"), Game: "gmtest",
		Operator: true, Since: lobbySince, Active: lobbySince,
	}}, nil
}

func (lobby) Said(channel string) ([]operator.ChatLine, error) {
	if !isLobby(channel) {
		return nil, storage.ErrNotFound
	}
	return []operator.ChatLine{{At: lobbySince, Nick: "Ann", Text: "hi"}}, nil
}

func (lobby) Kick(_ context.Context, t operator.ChatTarget, _ string) (int, error) {
	switch {
	case !isLobby(t.Channel):
		return 0, storage.ErrNotFound
	case t.Nick == "Ann", t.Profile == 7, t.Prefix.Contains(netip.MustParseAddr("192.0.2.7")):
		return 1, nil
	}
	return 0, nil
}

func (lobby) Say(channel, _ string) error {
	if !isLobby(channel) {
		return storage.ErrNotFound
	}
	return nil
}

func isLobby(channel string) bool {
	c, err := storage.CanonicalChannel(channel)
	return err == nil && c == "#gpg!12"
}

func TestChat(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Operator) {
		ctx := t.Context()
		l.OpenChat = openLobby
		rooms, err := op.ChatRooms(ctx)
		if diff := cmp.Diff(lobby{}.Rooms(), rooms); err != nil || diff != "" {
			t.Errorf("ChatRooms: %v (-want +got):\n%s", err, diff)
		}
		members, err := op.ChatWho(ctx, "#gpg!12")
		wantMembers, _ := lobby{}.Who(lobbyChannel)
		if diff := cmp.Diff(wantMembers, members, compareAddrs); err != nil || diff != "" {
			t.Errorf("ChatWho: %v (-want +got):\n%s", err, diff)
		}
		said, err := op.ChatSaid(ctx, lobbyChannel)
		if err != nil || len(said) != 1 || said[0].Text != "hi" {
			t.Errorf("ChatSaid: %v, %v", said, err)
		}
		if err := op.ChatSay(ctx, lobbyChannel, "hello"); err != nil {
			t.Errorf("ChatSay: %v", err)
		}
		for _, target := range []operator.ChatTarget{{Nick: "Ann"}, {Profile: 7}, {Prefix: netip.MustParsePrefix("192.0.2.0/24")}} {
			target.Channel = lobbyChannel
			if n, err := op.ChatKick(ctx, target, ""); n != 1 || err != nil {
				t.Errorf("ChatKick(%v) = %d, %v", target, n, err)
			}
		}
		for name, test := range map[string]struct{ got, want error }{
			"kick of a missing player": {kicked(op.ChatKick(ctx, operator.ChatTarget{Nick: "Bob", Channel: lobbyChannel}, "")), storage.ErrNotFound},
			"kick without a target":    {kicked(op.ChatKick(ctx, operator.ChatTarget{Channel: lobbyChannel}, "")), operator.ErrBadRequest},
			"kick with two lines":      {kicked(op.ChatKick(ctx, operator.ChatTarget{Nick: "Ann"}, "a\nb")), operator.ErrBadRequest},
			"say to an empty room":     {op.ChatSay(ctx, "#none", "x"), storage.ErrNotFound},
			"say nothing":              {op.ChatSay(ctx, lobbyChannel, " "), operator.ErrBadRequest},
		} {
			if !errors.Is(test.got, test.want) {
				t.Errorf("%s: %v, want %v", name, test.got, test.want)
			}
		}
		l.OpenChat = func() operator.Chat { return nil }
		if _, err := op.ChatWho(ctx, lobbyChannel); !errors.Is(err, operator.ErrNoChat) {
			t.Errorf("ChatWho while chat is off: %v, want ErrNoChat", err)
		}
	})
}

func kicked(_ int, err error) error { return err }

func TestChatRules(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Operator) {
		ctx := t.Context()
		room, err := op.PutRoom(ctx, storage.Room{Game: "gmtest", Name: "Lobby"})
		if err != nil {
			t.Fatal(err)
		}
		p := create(t, op, bob(nil))
		owner := storage.ChatRuleKey{Kind: storage.ChatModerator, Profile: p.ID, Channel: operator.GroupChannel(room.ID)}
		ban := storage.ChatRuleKey{Kind: storage.ChatBan, Prefix: netip.MustParsePrefix("192.0.2.0/24")}
		for _, k := range []storage.ChatRuleKey{owner, ban} {
			if err := op.PutChatRule(ctx, storage.ChatRule{ChatRuleKey: k, Reason: "because"}); err != nil {
				t.Fatal(err)
			}
		}
		list, err := op.ChatRules(ctx)
		if err != nil || len(list) != 2 || list[0].Added.IsZero() || !l.Rules.Moderates(p.ID, owner.Channel) {
			t.Errorf("ChatRules = %+v, %v", list, err)
		}
		if banned, _ := l.Rules.Check(chatrules.Who{Addr: netip.MustParseAddr("192.0.2.1")}, ""); !banned {
			t.Error("the ban is not in force")
		}
		if err := op.PutChatRule(ctx, storage.ChatRule{ChatRuleKey: storage.ChatRuleKey{Kind: storage.ChatBan, Profile: 99}}); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("rule for an unknown profile: %v, want ErrNotFound", err)
		}

		t.Run("room removed", func(t *testing.T) {
			if err := op.DeleteRoom(ctx, room.ID); err != nil {
				t.Fatal(err)
			}
			if list, err := op.ChatRules(ctx); err != nil || len(list) != 1 || list[0].Kind != storage.ChatBan {
				t.Errorf("rules after the room was removed: %+v, %v; want the ban alone", list, err)
			}
		})
		if err := op.RemoveChatRule(ctx, ban); err != nil {
			t.Error(err)
		}
		if err := op.RemoveChatRule(ctx, ban); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("second RemoveChatRule: %v, want ErrNotFound", err)
		}
	})
}

func TestChatWithoutDaemon(t *testing.T) {
	l := newLocal(t)
	_, rooms := l.ChatRooms(t.Context())
	_, who := l.ChatWho(t.Context(), lobbyChannel)
	_, said := l.ChatSaid(t.Context(), lobbyChannel)
	_, kick := l.ChatKick(t.Context(), operator.ChatTarget{Nick: "Ann"}, "")
	for name, err := range map[string]error{
		"ChatRooms": rooms, "ChatWho": who, "ChatSaid": said, "ChatKick": kick, "ChatSay": l.ChatSay(t.Context(), lobbyChannel, "x"),
	} {
		if !errors.Is(err, operator.ErrNotRunning) {
			t.Errorf("%s: %v, want ErrNotRunning", name, err)
		}
	}
}
