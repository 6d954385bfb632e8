package service

import (
	"context"
	"net"

	"github.com/respawnd/respawnd/operator"
)

// Chat is the interface of the chat to other services. Its methods may be called
// concurrently, also by a service that holds locks of its own: they wait for no peer
// and no storage.
type Chat interface {
	operator.Chat

	// Members returns how many members a channel such as #GPG!12 has, 0 if there is
	// no such channel.
	Members(channel string) int
	// Serial changes whenever a number of members changes, or a room comes or goes.
	Serial() uint64
	// Recheck looks at all members again: bans of addresses or rules of chat have
	// changed.
	Recheck()
	// Dial connects a program of this daemon that is a client of chat. It signs on in
	// clear text as other clients do, but no limits apply to it, it can have the nick
	// and the profile of a games.QuickMatch, and it is an operator of each channel.
	// It must always read, and waits until chat serves.
	Dial(context.Context) (net.Conn, error)
	// Owns reports whether a program for a channel belongs on this node, see Dial. In a
	// cluster that is the node that the channel belongs to.
	Owns(channel string) bool
}

// NoChat is the Chat of a daemon without chat.
type NoChat struct{}

// Members implements Chat.
func (NoChat) Members(string) int { return 0 }

// Serial implements Chat.
func (NoChat) Serial() uint64 { return 0 }

// Rooms implements Chat.
func (NoChat) Rooms() []operator.ChatRoom { return nil }

// Who implements Chat.
func (NoChat) Who(string) ([]operator.ChatMember, error) { return nil, operator.ErrNoChat }

// Kick implements Chat.
func (NoChat) Kick(context.Context, operator.ChatTarget, string) (int, error) {
	return 0, operator.ErrNoChat
}

// Say implements Chat.
func (NoChat) Say(string, string) error { return operator.ErrNoChat }

// Said implements Chat.
func (NoChat) Said(string) ([]operator.ChatLine, error) { return nil, operator.ErrNoChat }

// Recheck implements Chat.
func (NoChat) Recheck() {}

// Dial implements Chat.
func (NoChat) Dial(context.Context) (net.Conn, error) { return nil, operator.ErrNoChat }

// Owns implements Chat.
func (NoChat) Owns(string) bool { return false }
