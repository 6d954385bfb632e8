package presence

import (
	"time"

	"github.com/respawnd/respawnd/storage"
)

// State is what a player says to be doing. The numbers are those of the
// protocol.
type State int

// The states. A player who appears offline is signed in all the same.
const (
	Offline State = iota
	Online
	Playing
	Staging
	Chatting
	Away
)

// Status is what others see of a profile. It is a value; no caller changes what
// Rich points to.
type Status struct {
	State    State
	Text     string // what the game shows, such as a map
	Location string // how to get there, in the game's own form
	Rich     *Rich  // the newer form; nil if the player's client uses the older one
	Product  int    // product id of the player's game
	Quiet    uint32 // what the player does not want to be bothered with
}

// Equal reports whether two statuses look the same to everybody.
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

// Event is something that a session is sent. It is one of the types of this
// package; receivers switch over them. Events are shared between receivers and
// never changed.
type Event interface{ event() }

// StatusChanged tells the present status of a profile.
type StatusChanged struct {
	From   storage.ProfileID
	Status Status // State is Offline if the profile is not signed in
}

// Message is what a player sends to another.
type Message struct {
	From storage.ProfileID
	Kind MessageKind
	Text string
	Sent time.Time // zero: just now
}

// MessageKind says how a Message is meant. The numbers are those of the
// protocol.
type MessageKind int

// The kinds of messages.
const (
	Text MessageKind = 1   // Text is for a person to read.
	UTM  MessageKind = 5   // UTM is data of a game.
	Ping MessageKind = 102 // Ping asks whether the other's client is there.
	Pong MessageKind = 103 // Pong answers a Ping.
)

// BuddyRequest asks whether From may have the receiver as buddy.
type BuddyRequest struct {
	From      storage.ProfileID
	Reason    string
	Signature string
	Sent      time.Time
}

// BuddyAuthorized says that From accepted the receiver's request.
type BuddyAuthorized struct {
	From storage.ProfileID
	Sent time.Time
}

// BuddyRevoked says that From took itself off the receiver's list.
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

// MessagesWaiting says that there are messages for the receiver in the store.
type MessagesWaiting struct{}

func (StatusChanged) event()   {}
func (Message) event()         {}
func (BuddyRequest) event()    {}
func (BuddyAuthorized) event() {}
func (BuddyRevoked) event()    {}
func (Invite) event()          {}
func (Ticket) event()          {}
func (MessagesWaiting) event() {}
