package operator

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// ChatRoomKind says what a chat room is for.
type ChatRoomKind string

// The kinds of chat rooms.
const (
	ChatTitle   ChatRoomKind = "title"   // of a game: #GSP!game
	ChatGroup   ChatRoomKind = "group"   // a group room of a game: #GPG!id
	ChatStaging ChatRoomKind = "staging" // of one game that players set up: #GSP!game!id
	ChatOther   ChatRoomKind = "other"   // made by a player under a name of his own
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
}

// ChatTarget selects players in chat. Exactly one of Nick, Profile and Prefix is set.
type ChatTarget struct {
	Channel string            `json:"channel,omitempty"` // empty: wherever they are
	Nick    string            `json:"nick,omitempty"`
	Profile storage.ProfileID `json:"profile,omitzero"`
	Prefix  netip.Prefix      `json:"prefix,omitzero"`
}
