package daemon

import (
	"testing"

	"github.com/respawnd/respawnd/internal/service"
)

// countedChat counts how often it is asked to look at its members.
type countedChat struct {
	service.NoChat
	rechecked int
}

func (c *countedChat) Recheck() { c.rechecked++ }

func (c *countedChat) Members(string) int { return 3 }

// Services get the chat before the service that is the chat is opened.
func TestLateChat(t *testing.T) {
	t.Parallel()
	d := Daemon{chat: lateChat{service.NoChat{}}}
	var lent service.Chat = &d.chat
	d.recheckChat()
	if n := lent.Members("#gpg!12"); n != 0 || d.chat.open() != nil {
		t.Errorf("%d members of a daemon without chat, or it is on", n)
	}
	chat := new(countedChat)
	d.chat.Chat = chat
	d.recheckChat()
	if n := lent.Members("#gpg!12"); n != 3 || chat.rechecked != 1 || d.chat.open() == nil {
		t.Errorf("%d members, rechecked %d times, want 3 and 1", n, chat.rechecked)
	}
}
