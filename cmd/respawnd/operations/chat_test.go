package operations

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// lobby is an operator whose chat has members in one room.
type lobby struct {
	operator.Conn
	err error // of chat
}

func (l lobby) Do(_ context.Context, o *operator.Operation, in any) (any, error) {
	switch in := in.(type) {
	case operator.ChannelRef:
		switch {
		case l.err != nil:
			return nil, l.err
		case in.Channel != "#GSP!ours":
			return nil, storage.ErrNotFound
		}
		return []operator.ChatMember{
			{Nick: "Guest", Address: netip.MustParseAddrPort("192.0.2.7:4000")},
			{Nick: "Ann-gs", Profile: 7, Address: netip.MustParseAddrPort("192.0.2.8:4000")},
		}, nil
	case operator.AccountRef:
		if in.UniqueNick != "Ann" || in.Namespace != 1 {
			return nil, storage.ErrNotFound
		}
		ann := storage.Profile{ID: 8, UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "Ann"}}}
		return accounts.Account{Profiles: []accounts.AccountProfile{{Profile: ann}}}, nil
	}
	if o.Name == "chat rooms" {
		return []operator.ChatRoom{{Channel: "#Gone"}, {Channel: "#GSP!ours"}}, l.err
	}
	ours := games.Game{Name: "ours", Rooms: []games.Room{{ID: 12}}}
	ours.Namespace = 15
	return operator.GameList{ours}, nil
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
