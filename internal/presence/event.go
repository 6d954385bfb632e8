package presence

import (
	"sync"
	"sync/atomic"
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
	Text     string // shown by the game, such as a map
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
	From    storage.ProfileID
	Kind    MessageKind
	Text    string
	Sent    time.Time // zero: just now
	Number  uint64    // see NextNumber; 0: it has none
	Receipt *Receipt  // nil: the sender does not wait
}

// lastNumber is the last number of NextNumber.
var lastNumber atomic.Uint64

// NextNumber returns a number for a message. It is stored with it, so that a session that gets
// two copies of a message shows one, and messages that come back are before newer ones.
// Numbers are in the order of time also after a restart, and on other nodes if their clocks
// agree.
func NextNumber() uint64 {
	for {
		last := lastNumber.Load()
		next := max(last+1, uint64(time.Now().UnixNano()))
		if lastNumber.CompareAndSwap(last, next) {
			return next
		}
	}
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
	From    storage.ProfileID
	Sent    time.Time
	Number  uint64   // see NextNumber; 0: it has none
	Receipt *Receipt // nil: the sender does not wait
}

// BuddyRevoked reports that From removed itself from the receiver's list.
type BuddyRevoked struct {
	From    storage.ProfileID
	Sent    time.Time
	Number  uint64   // see NextNumber; 0: it has none
	Receipt *Receipt // nil: the sender does not wait
}

// Receipt belongs to an event whose sender, another node, keeps it until it has
// arrived or is stored.
type Receipt struct {
	once    sync.Once
	settled func()
}

// Settle reports that the event has arrived at the client or is in the store. A
// session calls it for each event that it took, at the latest when it ends. Further
// calls do nothing, and so do those of a nil Receipt.
func (r *Receipt) Settle() {
	if r != nil {
		r.once.Do(r.settled)
	}
}

// ReceiptOf returns the receipt of an event, nil if it has none.
func ReceiptOf(e Event) *Receipt {
	switch e := e.(type) {
	case Message:
		return e.Receipt
	case BuddyAuthorized:
		return e.Receipt
	case BuddyRevoked:
		return e.Receipt
	}
	return nil
}

// withReceipt returns e with a receipt, if it can have one.
func withReceipt(e Event, r *Receipt) Event {
	switch e := e.(type) {
	case Message:
		e.Receipt = r
		return e
	case BuddyAuthorized:
		e.Receipt = r
		return e
	case BuddyRevoked:
		e.Receipt = r
		return e
	}
	return e
}

// Stored returns an event as a message for the store. ok is false if events of its
// kind are not stored.
func Stored(e Event) (m storage.Message, ok bool) {
	switch e := e.(type) {
	case Message:
		if e.Kind == Text {
			return storage.Message{From: e.From, Kind: storage.MessageText, Text: e.Text, Sent: e.Sent, Number: e.Number}, true
		}
	case BuddyAuthorized:
		return storage.Message{From: e.From, Kind: storage.MessageAuthorized, Sent: e.Sent, Number: e.Number}, true
	case BuddyRevoked:
		return storage.Message{From: e.From, Kind: storage.MessageRevoked, Sent: e.Sent, Number: e.Number}, true
	}
	return storage.Message{}, false
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
