package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
)

// Indexes of buddies in a TakenError.
const (
	IndexBuddy = "buddy" // IndexBuddy is the buddies of one profile.
	IndexBlock = "block" // IndexBlock is the blocks of one profile.
)

// Limits of the data of a profile.
const (
	MaxBuddies             = 1000     // MaxBuddies is the highest number of buddies of one profile.
	MaxBlocks              = 1000     // MaxBlocks is the highest number of profiles that one blocks.
	MaxRequestsTo          = 500      // MaxRequestsTo is the highest number of open requests to one profile.
	MaxRequestsFrom        = 200      // MaxRequestsFrom is the highest number of open requests from one profile.
	MaxRequestsToStrangers = 50       // MaxRequestsToStrangers is the maximum of requests from one profile to profiles that do not have it as buddy.
	MaxReason              = 1024     // MaxReason is the longest reason of a request in bytes.
	SignatureLen           = 32       // SignatureLen is the length of a signature in bytes.
	MaxMessageText         = 4000     // MaxMessageText is the longest text of a message in bytes.
	MaxMessages            = 100      // MaxMessages is the highest number of messages that wait for one profile.
	MaxMessageBytes        = 64 << 10 // MaxMessageBytes is the highest total of their texts in bytes.
	MaxMessagesFrom        = 20       // MaxMessagesFrom is the highest number of those from one sender.

	// MaxReturned and MaxReturnedBytes replace these three for messages that
	// Return puts back.
	MaxReturned      = 1500
	MaxReturnedBytes = 512 << 10
)

// How long requests and messages wait.
const (
	RequestLife = 90 * 24 * time.Hour // RequestLife is how long a request stays open.
	MessageLife = 90 * 24 * time.Hour // MessageLife is how long a message waits.
)

// Request asks a profile whether it may be a buddy of another.
type Request struct {
	From      ProfileID `json:"from"`
	To        ProfileID `json:"to"`
	Reason    string    `json:"reason,omitzero"` // without NUL
	Signature string    `json:"signature"`       // required to accept the request
	Sent      time.Time `json:"sent"`            // expires RequestLife later
}

// Expired reports whether the request has expired at now: RequestLife after
// Sent.
func (r *Request) Expired(now time.Time) bool { return !now.Before(r.Sent.Add(RequestLife)) }

// Check returns an error, which matches ErrInvalid, if r exceeds a limit.
func (r *Request) Check() error {
	if r.From == r.To {
		return invalid("request to oneself")
	}
	if len(r.Signature) != SignatureLen {
		return invalid("signature does not have %d bytes", SignatureLen)
	}
	return cmp.Or(checkWord("signature", r.Signature, SignatureLen), checkBlob("reason", r.Reason, MaxReason))
}

// MessageKind is the kind of a message. The numbers are stored and never
// change.
type MessageKind uint8

// The kinds of messages that wait for their recipient.
const (
	MessageText       MessageKind = 1 // MessageText is text written by a player.
	MessageAuthorized MessageKind = 4 // MessageAuthorized reports that the sender accepted a request.
	MessageRevoked    MessageKind = 6 // MessageRevoked reports that the sender removed itself from the list.
)

// Message waits for a profile that was not signed in.
type Message struct {
	ID   uint64      `json:"id,omitzero"` // set by the engine; see Buddies.Messages
	From ProfileID   `json:"from"`
	Kind MessageKind `json:"kind"`
	Text string      `json:"text,omitzero"` // without NUL
	Sent time.Time   `json:"sent"`          // expires MessageLife later

	// Number is one that the sender's node gave it: copies of it have the same, and of two
	// from one profile the newer one has the higher number. 0: it has none.
	Number uint64 `json:"number,omitzero"`
	// Again reports that it may have been delivered before it was stored.
	Again bool `json:"again,omitzero"`
	// Shown reports that it was sent to a client, and it is not known yet whether it arrived.
	Shown bool `json:"shown,omitzero"`
}

// IsCopy reports whether m and o are one message, stored twice.
func (m *Message) IsCopy(o *Message) bool {
	return m.Number != 0 && m.Number == o.Number && m.From == o.From
}

// Expired reports whether the message has expired at now: MessageLife after
// Sent.
func (m *Message) Expired(now time.Time) bool { return !now.Before(m.Sent.Add(MessageLife)) }

// Check returns an error, which matches ErrInvalid, if m exceeds a limit.
func (m *Message) Check() error {
	switch m.Kind {
	case MessageText, MessageAuthorized, MessageRevoked:
	default:
		return invalid("messages of kind %d are not stored", m.Kind)
	}
	return checkBlob("message", m.Text, MaxMessageText)
}

// Relation is the relation between two profiles, one and other.
type Relation struct {
	Buddy     bool // one has other as buddy
	BuddyOf   bool // other has one as buddy
	Blocks    bool // one blocks other
	BlockedBy bool // other blocks one
}

// Blocked reports whether one of the two blocks the other.
func (r Relation) Blocked() bool { return r.Blocks || r.BlockedBy }

// Lists are the profiles that a profile has chosen, each list in the order of ids.
type Lists struct {
	Buddies []ProfileID
	Blocks  []ProfileID // whom it blocks
	// Watched are the buddies without those that it blocks or that block it: the profiles
	// whose status it may see.
	Watched []ProfileID
}

// Buddies keeps buddies, blocks, open requests and messages that wait.
// Relations have a direction: having a profile as buddy does not imply the
// reverse. For a profile that does not exist the error is ErrNotFound, for a
// relation of a profile to itself ErrInvalid.
type Buddies interface {
	// AddBuddy adds buddy to the list of owner and removes the open request, if
	// there is one. The error is ErrTaken if it is there already, ErrFull if
	// the list has MaxBuddies.
	AddBuddy(ctx context.Context, owner, buddy ProfileID) error

	// RemoveBuddy removes buddy from the list of owner. The error is
	// ErrNotFound if it is not on it.
	RemoveBuddy(ctx context.Context, owner, buddy ProfileID) error

	// Lists returns the lists of owner, as they are at one moment.
	Lists(ctx context.Context, owner ProfileID) (Lists, error)

	// Watchers yields the profiles that have id on their lists, without those that id
	// blocks or that block id, in the order of ids: they may see the status of id.
	Watchers(ctx context.Context, id ProfileID) iter.Seq2[ProfileID, error]

	// Relation returns the relation between the two.
	Relation(ctx context.Context, one, other ProfileID) (Relation, error)

	// AddBlock makes owner block other. The error is ErrTaken if it does
	// already, ErrFull if it blocks MaxBlocks. Buddies and requests are not
	// changed.
	AddBlock(ctx context.Context, owner, other ProfileID) error

	// RemoveBlock removes the block. The error is ErrNotFound if there is none.
	RemoveBlock(ctx context.Context, owner, other ProfileID) error

	// ImportRelations gives owner buddies and blocks in one step. The error is
	// ErrTaken if it has any already. Profiles that do not exist, owner itself
	// and entries beyond MaxBuddies and MaxBlocks are skipped.
	ImportRelations(ctx context.Context, owner ProfileID, buddies, blocks []ProfileID) error

	// Ask stores an open request, replacing an older one between the same two.
	// The error is ErrTaken if r.To is already a buddy of r.From, ErrFull if
	// one of the two has reached a limit: MaxRequestsTo, MaxRequestsFrom, or
	// MaxRequestsToStrangers.
	Ask(ctx context.Context, r Request) error

	// Request returns the open request between the two, even if expired, or
	// ErrNotFound.
	Request(ctx context.Context, from, to ProfileID) (Request, error)

	// Requests yields the open requests to a profile, expired ones too, in the
	// order of the ids of the requesters.
	Requests(ctx context.Context, to ProfileID) iter.Seq2[Request, error]

	// Accept closes the open request and makes to a buddy of from, in one step.
	// The error is ErrNotFound if there is no such request, if it has expired
	// at now or if it has another signature; ErrFull if from has MaxBuddies.
	Accept(ctx context.Context, from, to ProfileID, signature string, now time.Time) error

	// SweepRequests removes the requests that have expired at now and returns
	// how many there were. It works in many small steps; after an error some
	// may be removed. Damaged requests are not removed.
	SweepRequests(ctx context.Context, now time.Time) (n int, err error)

	// Leave appends a message to those that wait for a profile, unless a copy of it
	// does. The error is ErrFull if one of the limits is reached. Messages that have
	// expired at m.Sent do not count and are dropped; those with Again or Shown do not
	// count. The limits of a message with Again are those of Return.
	Leave(ctx context.Context, to ProfileID, m Message) error

	// Return adds undelivered messages of a profile's session to those that wait for
	// it, in one step: before newer ones of their senders, if they have numbers, else
	// behind all. Only MaxReturned and MaxReturnedBytes bound them, because they were
	// acknowledged to their senders. It returns how many were stored, the first ones,
	// copies of ones that wait included; fewer than all is not an error.
	Return(ctx context.Context, to ProfileID, messages []Message) (n int, err error)

	// Messages returns the messages that wait for a profile in the order in
	// which they are to be read. They stay until RemoveMessages. Those that have
	// expired at now are left out, but not removed. It is not an error if there
	// are none.
	Messages(ctx context.Context, to ProfileID, now time.Time) ([]Message, error)

	// ShowMessages sets Shown of messages of a profile by their IDs, in one step.
	// Unknown IDs are ignored.
	ShowMessages(ctx context.Context, to ProfileID, ids []uint64) error

	// RemoveMessages removes messages of a profile by their IDs, in one step.
	// Unknown IDs are ignored. An ID is never reused for another message of the
	// same profile while the store is open.
	RemoveMessages(ctx context.Context, to ProfileID, ids []uint64) error

	// CountMessages returns how many messages wait, and for how many profiles.
	// Expired ones count until they are swept; a damaged mailbox does not count.
	CountMessages(ctx context.Context) (messages, profiles int, err error)

	// SweepMessages removes the messages that have expired at now and returns
	// how many there were; see SweepRequests.
	SweepMessages(ctx context.Context, now time.Time) (n int, err error)
}

// checkBlob returns an error for a text that is too long or has a NUL.
func checkBlob(what, s string, limit int) error {
	if len(s) > limit {
		return invalid("%s is longer than %d bytes", what, limit)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return invalid("%s has a NUL", what)
	}
	return nil
}

type plainRequest Request

// MarshalJSON writes a reason that is not UTF-8 like the texts of a Profile.
func (r Request) MarshalJSON() ([]byte, error) {
	raw := widen([]*string{&r.Reason})
	return json.Marshal(struct {
		plainRequest
		Raw bool `json:"raw,omitzero"`
	}{plainRequest(r), raw})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (r *Request) UnmarshalJSON(b []byte) error {
	var v struct {
		plainRequest
		Raw bool `json:"raw"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*r = Request(v.plainRequest)
	return narrow(v.Raw, []*string{&r.Reason})
}

type plainMessage Message

// MarshalJSON writes a text that is not UTF-8 like the texts of a Profile.
func (m Message) MarshalJSON() ([]byte, error) {
	raw := widen([]*string{&m.Text})
	return json.Marshal(struct {
		plainMessage
		Raw bool `json:"raw,omitzero"`
	}{plainMessage(m), raw})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (m *Message) UnmarshalJSON(b []byte) error {
	var v struct {
		plainMessage
		Raw bool `json:"raw"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*m = Message(v.plainMessage)
	return narrow(v.Raw, []*string{&m.Text})
}
