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
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ctx := t.Context()
		l.OpenChat = openLobby
		rooms, err := operator.ListChatRooms.Call(ctx, op, operator.None{})
		if diff := cmp.Diff(lobby{}.Rooms(), rooms); err != nil || diff != "" {
			t.Errorf("ChatRooms: %v (-want +got):\n%s", err, diff)
		}
		members, err := operator.ListChatMembers.Call(ctx, op, operator.ChannelRef{Channel: "#gpg!12"})
		wantMembers, _ := lobby{}.Who(lobbyChannel)
		if diff := cmp.Diff(wantMembers, members, compareAddrs); err != nil || diff != "" {
			t.Errorf("ChatWho: %v (-want +got):\n%s", err, diff)
		}
		said, err := operator.ListChatLines.Call(ctx, op, operator.ChannelRef{Channel: lobbyChannel})
		if err != nil || len(said) != 1 || said[0].Text != "hi" {
			t.Errorf("ChatSaid: %v, %v", said, err)
		}
		if err := operator.ChatSay.Exec(ctx, op, operator.Saying{Channel: lobbyChannel, Text: "hello"}); err != nil {
			t.Errorf("ChatSay: %v", err)
		}
		for _, target := range []operator.ChatTarget{{Nick: "Ann"}, {Profile: 7}, {Prefix: netip.MustParsePrefix("192.0.2.0/24")}} {
			target.Channel = lobbyChannel
			if n, err := operator.ChatKick.Call(ctx, op, operator.Kicking{ChatTarget: target, Reason: ""}); n.Removed != 1 || err != nil {
				t.Errorf("ChatKick(%v) = %d, %v", target, n, err)
			}
		}
		for name, test := range map[string]struct{ got, want error }{
			"kick of a missing player": {kicked(operator.ChatKick.Call(ctx, op, operator.Kicking{ChatTarget: operator.ChatTarget{Nick: "Bob", Channel: lobbyChannel}, Reason: ""})), storage.ErrNotFound},
			"kick without a target":    {kicked(operator.ChatKick.Call(ctx, op, operator.Kicking{ChatTarget: operator.ChatTarget{Channel: lobbyChannel}, Reason: ""})), operator.ErrBadRequest},
			"kick with two lines":      {kicked(operator.ChatKick.Call(ctx, op, operator.Kicking{ChatTarget: operator.ChatTarget{Nick: "Ann"}, Reason: "a\nb"})), operator.ErrBadRequest},
			"say to an empty room":     {operator.ChatSay.Exec(ctx, op, operator.Saying{Channel: "#none", Text: "x"}), storage.ErrNotFound},
			"say nothing":              {operator.ChatSay.Exec(ctx, op, operator.Saying{Channel: lobbyChannel, Text: " "}), operator.ErrBadRequest},
		} {
			if !errors.Is(test.got, test.want) {
				t.Errorf("%s: %v, want %v", name, test.got, test.want)
			}
		}
		l.OpenChat = func() operator.Chat { return nil }
		if _, err := operator.ListChatMembers.Call(ctx, op, operator.ChannelRef{Channel: lobbyChannel}); !errors.Is(err, operator.ErrNoChat) {
			t.Errorf("ChatWho while chat is off: %v, want ErrNoChat", err)
		}
	})
}

func kicked(_ operator.Removed, err error) error { return err }

func TestChatRules(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ctx := t.Context()
		room, err := operator.PutRoom.Call(ctx, op, operator.NewRoom{Game: "gmtest", Name: "Lobby"})
		if err != nil {
			t.Fatal(err)
		}
		p := create(t, op, bob(nil))
		owner := storage.ChatRuleKey{Kind: storage.ChatModerator, Profile: p.ID, Channel: operator.GroupChannel(room.ID)}
		ban := storage.ChatRuleKey{Kind: storage.ChatBan, Prefix: netip.MustParsePrefix("192.0.2.0/24")}
		for _, k := range []storage.ChatRuleKey{owner, ban} {
			if err := operator.PutChatRule.Exec(ctx, op, operator.NewChatRule{Kind: k.Kind, Profile: k.Profile, Prefix: k.Prefix, Channel: k.Channel, Reason: "because"}); err != nil {
				t.Fatal(err)
			}
		}
		list, err := operator.ListChatRules.Call(ctx, op, operator.None{})
		if err != nil || len(list) != 2 || list[0].Added.IsZero() || !l.Rules.Moderates(p.ID, owner.Channel) {
			t.Errorf("ChatRules = %+v, %v", list, err)
		}
		if banned, _ := l.Rules.Check(chatrules.Who{Addr: netip.MustParseAddr("192.0.2.1")}, ""); !banned {
			t.Error("the ban is not in force")
		}
		if err := operator.PutChatRule.Exec(ctx, op, operator.NewChatRule{Kind: storage.ChatBan, Profile: 99}); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("rule for an unknown profile: %v, want ErrNotFound", err)
		}

		t.Run("room removed", func(t *testing.T) {
			if err := operator.DeleteRoom.Exec(ctx, op, operator.RoomRef{ID: room.ID}); err != nil {
				t.Fatal(err)
			}
			if list, err := operator.ListChatRules.Call(ctx, op, operator.None{}); err != nil || len(list) != 1 || list[0].Kind != storage.ChatBan {
				t.Errorf("rules after the room was removed: %+v, %v; want the ban alone", list, err)
			}
		})
		if err := operator.RemoveChatRule.Exec(ctx, op, operator.ChatRuleRef(ban)); err != nil {
			t.Error(err)
		}
		if err := operator.RemoveChatRule.Exec(ctx, op, operator.ChatRuleRef(ban)); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("second RemoveChatRule: %v, want ErrNotFound", err)
		}
	})
}

func TestChatWithoutDaemon(t *testing.T) {
	l := newLocal(t)
	_, rooms := operator.ListChatRooms.Call(t.Context(), l, operator.None{})
	_, who := operator.ListChatMembers.Call(t.Context(), l, operator.ChannelRef{Channel: lobbyChannel})
	_, said := operator.ListChatLines.Call(t.Context(), l, operator.ChannelRef{Channel: lobbyChannel})
	_, kick := operator.ChatKick.Call(t.Context(), l, operator.Kicking{ChatTarget: operator.ChatTarget{Nick: "Ann"}, Reason: ""})
	for name, err := range map[string]error{
		"ChatRooms": rooms, "ChatWho": who, "ChatSaid": said, "ChatKick": kick, "ChatSay": operator.ChatSay.Exec(t.Context(), l, operator.Saying{Channel: lobbyChannel, Text: "x"}),
	} {
		if !errors.Is(err, operator.ErrNotRunning) {
			t.Errorf("%s: %v, want ErrNotRunning", name, err)
		}
	}
}
