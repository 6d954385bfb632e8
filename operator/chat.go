package operator

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/storage"
)

// ChatRoomKind is the purpose of a chat room.
type ChatRoomKind string

// The kinds of chat rooms.
const (
	ChatTitle   ChatRoomKind = "title"   // of a game: #GSP!game
	ChatGroup   ChatRoomKind = "group"   // a group room of a game: #GPG!id
	ChatStaging ChatRoomKind = "staging" // of one game that players set up: #GSP!game!id
	ChatOther   ChatRoomKind = "other"   // made by a player under a name of their own
)

// ChatRoom is a chat room that has members, or that always exists.
type ChatRoom struct {
	Channel string       `json:"channel"`
	Kind    ChatRoomKind `json:"kind"`
	Game    string       `json:"game,omitempty"`
	Group   uint32       `json:"group,omitzero"`  // id of the group room
	Name    string       `json:"name,omitempty"`  // of the group room
	Topic   string       `json:"topic,omitempty"` // a stranger's text
	Members int          `json:"members"`
	Since   time.Time    `json:"since,omitzero"` // of its first member
	Node    string       `json:"node,omitempty"` // of a cluster, that carries out changes of the room
}

// ChatMember is a member of a chat room.
type ChatMember struct {
	Nick     string            `json:"nick"`             // a stranger's text
	Account  storage.UserID    `json:"account,omitzero"` // 0: not logged in
	Profile  storage.ProfileID `json:"profile,omitzero"`
	Address  netip.AddrPort    `json:"address"`
	Game     string            `json:"game,omitempty"`
	Operator bool              `json:"operator"`
	Voice    bool              `json:"voice"`
	Muted    bool              `json:"muted"`  // by a rule of an operator
	Since    time.Time         `json:"since"`  // when it joined
	Active   time.Time         `json:"active"` // when it last sent something by itself
	// Node is the node of a cluster that the player is connected to. Then Active is about events
	// that other nodes see: joins and messages.
	Node string `json:"node,omitempty"`
}

// ChatTarget selects players in chat. Exactly one of Nick, Profile and Prefix is set.
type ChatTarget struct {
	Channel string            `json:"channel,omitempty" flag:"room" doc:"only in this chat room (default: in all of chat)"` // empty: all rooms
	Nick    string            `json:"nick,omitempty" lookup:"WHO"`
	Profile storage.ProfileID `json:"profile,omitzero"`
	Prefix  netip.Prefix      `json:"prefix,omitzero"`
}

// ChatLine is a line in a chat room.
type ChatLine struct {
	At   time.Time `json:"at"`
	Nick string    `json:"nick"` // a stranger's text, like Text
	Text string    `json:"text"`
}

// Chat is the chat of this daemon, or of its cluster. Its methods may be called
// concurrently.
type Chat interface {
	// Rooms returns the rooms that have members, in the order of their channels.
	Rooms() []ChatRoom
	// Who returns the members of a channel, in the order of their nicks.
	// storage.ErrNotFound: there is no such channel.
	Who(channel string) ([]ChatMember, error)
	// Kick removes members from a room, or closes their connections if the target
	// has none, and returns how many there were.
	Kick(ctx context.Context, t ChatTarget, reason string) (int, error)
	// Say sends a text to a channel in the name of the server. storage.ErrNotFound:
	// there is no such channel.
	Say(channel, text string) error
	// Said returns the last lines of a channel, oldest first, as many as the
	// configuration keeps. storage.ErrNotFound: there is no such channel.
	Said(channel string) ([]ChatLine, error)
}

// Prefixes of the names of channels; case is not significant.
const (
	gameChannel  = "#GSP!"
	groupChannel = "#GPG!"
)

// GroupChannel returns the channel of a group room.
func GroupChannel(id uint32) string { return groupChannel + strconv.FormatUint(uint64(id), 10) }

// TitleChannel returns the channel of the title room of a game.
func TitleChannel(game string) string { return gameChannel + game }

// ParseChannel splits the name of a channel: its kind, the game of a title
// or staging room as it is written, or the id of a group room.
func ParseChannel(channel string) (kind ChatRoomKind, game string, group uint32) {
	if number, ok := cutFold(channel, groupChannel); ok {
		if id, err := strconv.ParseUint(number, 10, 32); err == nil && id > 0 {
			return ChatGroup, "", uint32(id)
		}
		return ChatOther, "", 0
	}
	rest, ok := cutFold(channel, gameChannel)
	if !ok || rest == "" {
		return ChatOther, "", 0
	}
	game, _, staging := strings.Cut(rest, "!")
	if staging {
		return ChatStaging, game, 0
	}
	return ChatTitle, game, 0
}

// cutFold is strings.CutPrefix without regard to the case of ASCII letters.
func cutFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !ascii.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
