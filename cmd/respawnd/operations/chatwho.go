package operations

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// chatRoom is a chat room that an argument names.
type chatRoom struct {
	channel   string // empty: all of chat
	namespace int    // of unique nicks of its game
}

// parseRoom returns the room that an argument names: a channel, the number of a group
// room, or the name of a game. Empty stands for all of chat.
func parseRoom(ctx context.Context, op operator.Conn, name string) (chatRoom, error) {
	room := chatRoom{channel: name, namespace: games.DefaultNamespace}
	if name == "" {
		return room, nil
	}
	game := name
	if strings.HasPrefix(name, "#") {
		if _, err := storage.CanonicalChannel(name); err != nil {
			return room, err
		}
		_, game, _ = operator.ParseChannel(name)
	}
	list, err := operator.ListGames.Call(ctx, op, operator.None{})
	if err != nil {
		return room, err
	}
	if id, ok := groupOf(name); ok {
		room.channel = operator.GroupChannel(id)
		if game, err = gameOfGroup(ctx, op, list, id); err != nil {
			return room, err
		}
	}
	i := slices.IndexFunc(list, func(g games.Game) bool { return ascii.EqualFold(g.Name, game) })
	switch {
	case i >= 0:
		room.namespace = list[i].UniqueNicks()
	case room.channel == name && name[0] != '#':
		return room, fmt.Errorf("there is no game %s; a channel begins with #", cli.Printable(name))
	}
	if room.channel[0] != '#' {
		room.channel = operator.TitleChannel(list[i].Name)
	}
	return room, nil
}

// groupOf returns the number of a group room that is given alone or as a channel.
func groupOf(name string) (uint32, bool) {
	if id, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(id), id > 0
	}
	kind, _, id := operator.ParseChannel(name)
	return id, kind == operator.ChatGroup
}

// gameOfGroup returns the game of a group room, of the catalogue or added.
func gameOfGroup(ctx context.Context, op operator.Conn, list []games.Game, id uint32) (string, error) {
	for i := range list {
		if slices.ContainsFunc(list[i].Rooms, func(r games.Room) bool { return r.ID == id }) {
			return list[i].Name, nil
		}
	}
	added, err := operator.ListRooms.Call(ctx, op, operator.GameQuery{Game: ""})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(added, func(r storage.Room) bool { return r.ID == id })
	if i < 0 {
		return "", fmt.Errorf("there is no group room %d", id)
	}
	return added[i].Game, nil
}

// chatPlayer is a player that an argument names: one of profile and prefix is set, or neither for
// a nick alone.
type chatPlayer struct {
	nick    string // of a player who is in chat
	profile storage.ProfileID
	prefix  netip.Prefix
}

func (w chatPlayer) key(kind storage.ChatKind, room chatRoom) storage.ChatRuleKey {
	key := storage.ChatRuleKey{Kind: kind, Profile: w.profile, Prefix: w.prefix, Channel: room.channel}
	if w.profile == 0 && !w.prefix.IsValid() {
		key.Nick = w.nick
	}
	return key
}

// findInRoom returns the room and the player that arguments name.
func findInRoom(ctx context.Context, op operator.Conn, player, in string) (chatRoom, chatPlayer, error) {
	room, err := parseRoom(ctx, op, in)
	if err != nil {
		return room, chatPlayer{}, err
	}
	who, err := findPlayer(ctx, op, player, room)
	return room, who, err
}

// findPlayer returns the player that an argument names: profile:ID, an address, the
// nick of one who is in the room, or anywhere in chat, or a unique nick.
func findPlayer(ctx context.Context, op operator.Conn, name string, room chatRoom) (chatPlayer, error) {
	if number, ok := strings.CutPrefix(name, "profile:"); ok {
		id, err := strconv.ParseUint(number, 10, 31)
		if err != nil || id == 0 {
			return chatPlayer{}, fmt.Errorf("%s: profile: wants a number above 0", cli.Printable(name))
		}
		return chatPlayer{profile: storage.ProfileID(id)}, nil
	}
	if prefix, err := bans.ParsePrefix(name); err == nil {
		return chatPlayer{prefix: prefix}, nil
	}
	if who, ok, err := findMember(ctx, op, name, room); ok || err != nil {
		return who, err
	}
	who, err := findAccount(ctx, op, name, room.namespace)
	if errors.Is(err, storage.ErrNotFound) {
		return who, fmt.Errorf("%s is neither in chat nor a unique nick: %w", cli.Printable(name), storage.ErrNotFound)
	}
	return who, err
}

// findMember looks for a nick among the members of a room, or of all rooms.
func findMember(ctx context.Context, op operator.Conn, nick string, room chatRoom) (chatPlayer, bool, error) {
	channels := []string{room.channel}
	if room.channel == "" {
		list, err := operator.ListChatRooms.Call(ctx, op, operator.None{})
		if err != nil {
			return chatPlayer{}, false, unlessOff(err)
		}
		channels = nil
		for _, r := range list {
			channels = append(channels, r.Channel)
		}
	}
	for _, c := range channels {
		members, err := operator.ListChatMembers.Call(ctx, op, operator.ChannelRef{Channel: c})
		if errors.Is(err, storage.ErrNotFound) { // its last member left
			continue
		}
		if err != nil {
			return chatPlayer{}, false, unlessOff(err)
		}
		for _, m := range members {
			if !ascii.EqualFold(m.Nick, nick) {
				continue
			}
			who := chatPlayer{nick: m.Nick, profile: m.Profile}
			if who.profile == 0 {
				a := m.Address.Addr().Unmap()
				who.prefix = netip.PrefixFrom(a, a.BitLen())
			}
			return who, true, nil
		}
	}
	return chatPlayer{}, false, nil
}

// unlessOff returns no error where there is no chat, which then has no members.
func unlessOff(err error) error {
	if errors.Is(err, operator.ErrNotRunning) || errors.Is(err, operator.ErrNoChat) {
		return nil
	}
	return err
}

func findAccount(ctx context.Context, op operator.Conn, nick string, namespace int) (chatPlayer, error) {
	a, err := operator.FindAccount.Call(ctx, op, operator.AccountRef{UniqueNick: nick, Namespace: namespace})
	if errors.Is(err, storage.ErrNotFound) {
		return chatPlayer{}, fmt.Errorf("no such account: unique nick %s of namespace %d: %w", cli.Printable(nick), namespace, err)
	}
	if err != nil {
		return chatPlayer{}, err
	}
	for _, p := range a.Profiles {
		for _, u := range p.Profile.UniqueNicks {
			if u.Namespace == namespace && ascii.EqualFold(u.Nick, nick) {
				return chatPlayer{profile: p.Profile.ID}, nil
			}
		}
	}
	return chatPlayer{}, fmt.Errorf("no profile has the unique nick %s: %w", cli.Printable(nick), storage.ErrNotFound)
}
