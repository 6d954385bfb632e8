package presence

import (
	"time"

	"github.com/respawnd/respawnd/storage"
)

// State is the activity that a player's client reports. The numbers are those
// of the protocol.
type State int

// The states. A player who appears offline is signed in nevertheless.
const (
	Offline State = iota
	Online
	Playing
	Staging
	Chatting
	Away
)

// Status is the status of a profile as other players see it. It is a value; the
// target of Rich must not be modified.
type Status struct {
	State    State
	Text     string // what the game shows, such as a map
	Location string // how to join, in the game's own form
	Rich     *Rich  // the newer form; nil if the player's client uses the older one
	Product  int    // product id of the player's game
	Quiet    uint32 // kinds of events that the player does not want
}

// Equal reports whether two statuses look the same to other players.
func (s Status) Equal(o Status) bool {
	if (s.Rich == nil) != (o.Rich == nil) || (s.Rich != nil && *s.Rich != *o.Rich) {
		return false
	}
	s.Rich, o.Rich = nil, nil
	return s == o
}

// Rich is the newer form of a status. Addresses are numbers in host order, as
// the protocol writes them.
type Rich struct {
	HostIP      uint32
	PrivateIP   uint32
	QueryPort   int
	HostPort    int
	Flags       uint32
	Text        string
	GameType    string
	GameVariant string
	GameMap     string
}

// Event is delivered to a session. It is one of the types of this package;
// receivers switch over them. Events are shared between receivers and never
// modified.
type Event interface{ event() }

// StatusChanged reports the present status of a profile.
type StatusChanged struct {
	From   storage.ProfileID
	Status Status // State is Offline if the profile is not signed in
}

// Message is a message from one player to another.
type Message struct {
	From storage.ProfileID
	Kind MessageKind
	Text string
	Sent time.Time // zero: just now
}

// MessageKind is the purpose of a Message. The numbers are those of the
// protocol.
type MessageKind int

// The kinds of messages.
const (
	Text MessageKind = 1   // Text is for a person to read.
	UTM  MessageKind = 5   // UTM is data of a game.
	Ping MessageKind = 102 // Ping asks whether the other client responds.
	Pong MessageKind = 103 // Pong answers a Ping.
)

// BuddyRequest asks whether From may have the receiver as buddy.
type BuddyRequest struct {
	From      storage.ProfileID
	Reason    string
	Signature string
	Sent      time.Time
}

// BuddyAuthorized reports that From accepted the receiver's request.
type BuddyAuthorized struct {
	From storage.ProfileID
	Sent time.Time
}

// BuddyRevoked reports that From removed itself from the receiver's list.
type BuddyRevoked struct {
	From storage.ProfileID
	Sent time.Time
}

// Invite asks the receiver to join a game.
type Invite struct {
	From     storage.ProfileID
	Product  int
	Location string
}

// Ticket is a new login ticket for the receiver.
type Ticket struct {
	Value string
}

// MessagesWaiting reports that there are messages for the receiver in the
// store.
type MessagesWaiting struct{}

func (StatusChanged) event()   {}
func (Message) event()         {}
func (BuddyRequest) event()    {}
func (BuddyAuthorized) event() {}
func (BuddyRevoked) event()    {}
func (Invite) event()          {}
func (Ticket) event()          {}
func (MessagesWaiting) event() {}
