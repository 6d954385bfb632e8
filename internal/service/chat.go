package service

import (
	"context"

	"github.com/respawnd/respawnd/operator"
)

// Chat is what others see and change of the chat. Its methods may be called
// concurrently, also by a service that holds locks of its own: they wait for no peer
// and no storage.
type Chat interface {
	// Members returns how many members a channel such as #GPG!12 has, 0 if there is
	// no such channel.
	Members(channel string) int
	// Serial changes whenever a number of members changes, or a room comes or goes.
	Serial() uint64
	// Rooms returns the rooms that have members, in the order of their channels.
	Rooms() []operator.ChatRoom
	// Who returns the members of a channel, in the order of their nicks.
	// storage.ErrNotFound: there is no such channel.
	Who(channel string) ([]operator.ChatMember, error)
	// Kick removes members from a room, or closes their connections if the target
	// has none, and returns how many there were.
	Kick(ctx context.Context, t operator.ChatTarget, reason string) (int, error)
	// Say sends a text to a channel in the name of the server. storage.ErrNotFound:
	// there is no such channel.
	Say(channel, text string) error
	// Recheck looks at all members again: bans of addresses or rules of chat have
	// changed.
	Recheck()
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

// Recheck implements Chat.
func (NoChat) Recheck() {}
