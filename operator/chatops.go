package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/storage"
)

// maxChatText bounds a message of an operator and the reason of a kick, in bytes.
const maxChatText = 400

// ListChatRules returns the rules of operators about players, in the order of keys.
var ListChatRules = New(Operation{
	Name: "chat bans", Route: "GET /chat/rules", What: "Show bans, mutes and moderators of chat", About: noun.Chat,
}, func(_ context.Context, l *Local, _ None) ([]storage.ChatRule, error) {
	return append([]storage.ChatRule{}, l.Rules.List()...), nil // never null as JSON
})

// NewChatRule is a rule to be put in force: a storage.ChatRule.
type NewChatRule struct {
	Kind    storage.ChatKind  `json:"kind"`
	Profile storage.ProfileID `json:"profile,omitzero" lookup:"WHO"`
	Prefix  netip.Prefix      `json:"prefix,omitzero"`
	Nick    string            `json:"nick,omitzero"`
	Channel string            `json:"channel,omitzero" flag:"room" doc:"only in this chat room (default: in all of chat)"`
	Reason  string            `json:"reason,omitzero" flag:"reason" doc:"reason, shown in the list"`
	By      string            `json:"by,omitzero" default:"cli"`
	Added   time.Time         `json:"added,omitzero"` // by default now
	Expires time.Time         `json:"expires,omitzero" flag:"for" doc:"how long, such as 24h (default: for ever)"`
}

func (r NewChatRule) rule() storage.ChatRule {
	key := storage.ChatRuleKey{Kind: r.Kind, Profile: r.Profile, Prefix: r.Prefix, Nick: r.Nick, Channel: r.Channel}
	return storage.ChatRule{ChatRuleKey: key, Reason: r.Reason, By: r.By, Added: r.Added, Expires: r.Expires}
}

// PutChatRule puts a rule in force at once, in place of one with the same key. A ban also removes
// the player.
var PutChatRule = New(Operation{
	Name: "chat rule", Route: "PUT /chat/rules", What: "Ban or mute a player in chat or make a moderator; takes effect at once", About: noun.Chat,
}, func(ctx context.Context, l *Local, in NewChatRule) (Done, error) {
	r, now := in.rule(), time.Now()
	if r.Added.IsZero() {
		r.Added = now
	}
	if err := checkBanEnd(later(r.Added, now), r.Expires); err != nil {
		return Done{}, err
	}
	key, err := r.ChatRuleKey.Canonical()
	if err != nil {
		return Done{}, err
	}
	if r.Profile != 0 {
		if _, err := l.Store.GetProfile(ctx, r.Profile); err != nil {
			return Done{}, fmt.Errorf("profile %d: %w", r.Profile, err)
		}
	}
	return Done{1}, l.Rules.Put(about(withAction(ctx, ruleActions[r.Kind].put), ruleText(key), banDetail(r.Expires, r.Reason)), r)
})

// ChatRuleRef names a rule: a storage.ChatRuleKey.
type ChatRuleRef struct {
	Kind    storage.ChatKind  `query:"kind,required"`
	Profile storage.ProfileID `query:"profile" lookup:"WHO"`
	Prefix  netip.Prefix      `query:"prefix"`
	Nick    string            `query:"nick"`
	Channel string            `query:"channel" flag:"room" doc:"only in this chat room (default: in all of chat)"`
}

// RemoveChatRule lifts a rule. storage.ErrNotFound: there is none.
var RemoveChatRule = New(Operation{
	Name: "chat lift", Route: "DELETE /chat/rules", What: "Lift a rule of chat", About: noun.Chat,
}, func(ctx context.Context, l *Local, in ChatRuleRef) (Removed, error) {
	key, err := storage.ChatRuleKey(in).Canonical()
	if err != nil {
		return Removed{}, err
	}
	err = l.Rules.Remove(about(withAction(ctx, ruleActions[key.Kind].remove), ruleText(key), ""), key)
	return Removed{1}, subject(err, "%s of %s", key.Kind, ruleText(key))
})

// removeRoomRules lifts the rules of a group room that no longer exists.
func removeRoomRules(ctx context.Context, l *Local, id uint32) error {
	channel, err := storage.CanonicalChannel(GroupChannel(id))
	if err != nil {
		return err
	}
	for _, r := range l.Rules.List() {
		if r.Channel != channel {
			continue
		}
		if err := RemoveChatRule.Exec(ctx, l, ChatRuleRef(r.ChatRuleKey)); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

// ruleText returns the subject of a rule in the audit log.
func ruleText(k storage.ChatRuleKey) string {
	who := k.Prefix.String()
	switch {
	case k.Profile != 0:
		who = fmt.Sprintf("profile %d", k.Profile)
	case k.Nick != "":
		who = "nick " + k.Nick
	}
	if k.Channel == "" {
		return who
	}
	return who + " in " + k.Channel
}

func (l *Local) running() (Chat, error) {
	if l.OpenChat == nil {
		return nil, ErrNotRunning
	}
	if c := l.OpenChat(); c != nil {
		return c, nil
	}
	return nil, ErrNoChat
}

// ListChatRooms returns the rooms that have members, in the order of their channels.
var ListChatRooms = New(Operation{
	Name: "chat rooms", Route: "GET /chat/rooms", What: "Show the chat rooms that have members", About: noun.Chat,
}, func(_ context.Context, l *Local, _ None) ([]ChatRoom, error) {
	c, err := l.running()
	if err != nil {
		return nil, err
	}
	return append([]ChatRoom{}, c.Rooms()...), nil // never null as JSON
})

// ChannelRef names a channel of chat.
type ChannelRef struct {
	Channel string `query:"channel" lookup:"ROOM"`
}

// ListChatMembers returns the members of a room. storage.ErrNotFound: it has none.
var ListChatMembers = New(Operation{
	Name: "chat who", Route: "GET /chat/members", What: "Show the members of a chat room", About: noun.Chat,
}, func(_ context.Context, l *Local, in ChannelRef) ([]ChatMember, error) {
	c, err := l.running()
	if err != nil {
		return nil, err
	}
	list, err := c.Who(in.Channel)
	return append([]ChatMember{}, list...), inChannel(in.Channel, err)
})

// ListChatLines returns the last lines of a room, oldest first. There are none unless
// peerchat.history is set.
var ListChatLines = New(Operation{
	Name: "chat history", Route: "GET /chat/lines", What: "Show the last lines of a chat room, if peerchat.history is set", About: noun.Chat,
}, func(_ context.Context, l *Local, in ChannelRef) ([]ChatLine, error) {
	c, err := l.running()
	if err != nil {
		return nil, err
	}
	list, err := c.Said(in.Channel)
	return append([]ChatLine{}, list...), inChannel(in.Channel, err)
})

// Kicking is whom to remove from chat, and why.
type Kicking struct {
	ChatTarget

	Reason string `json:"reason,omitempty" flag:"reason" doc:"reason, which the room reads"`
}

// ChatKick removes players from a room, or disconnects them if the target names none, and returns
// how many there were. storage.ErrNotFound: there were none.
var ChatKick = New(Operation{
	Name: "chat kick", Route: "POST /chat/kick", What: "Remove a player from a chat room, or disconnect the player", About: noun.Chat,
}, func(ctx context.Context, l *Local, in Kicking) (Removed, error) {
	c, err := l.running()
	if err != nil {
		return Removed{}, err
	}
	if err := in.check(); err != nil {
		return Removed{}, err
	}
	if in.Reason != "" {
		if err := checkChatText("reason", in.Reason); err != nil {
			return Removed{}, err
		}
	}
	n, err := c.Kick(ctx, in.ChatTarget, in.Reason)
	if err != nil {
		return Removed{}, inChannel(in.Channel, err)
	}
	if n == 0 {
		return Removed{}, fmt.Errorf("%s is not in chat: %w", in.ChatTarget, storage.ErrNotFound)
	}
	return Removed{n}, addAudit(ctx, l, 0, in.String(), in.Reason)
})

// Saying is a line for a chat room.
type Saying struct {
	Channel string `json:"channel" lookup:"ROOM"`
	Text    string `json:"text" arg:"TEXT"`
}

// ChatSay sends a line to a room in the name of the server. The audit log has the channel and not
// the text.
var ChatSay = New(Operation{
	Name: "chat say", Route: "POST /chat/say", What: "Send a line to a chat room in the name of the server", About: noun.Chat,
}, func(ctx context.Context, l *Local, in Saying) (Done, error) {
	c, err := l.running()
	if err != nil {
		return Done{}, err
	}
	if err := checkChatText("text", in.Text); err != nil {
		return Done{}, err
	}
	if err := c.Say(in.Channel, in.Text); err != nil {
		return Done{}, inChannel(in.Channel, err)
	}
	return Done{1}, addAudit(ctx, l, 0, in.Channel, "")
})

func inChannel(channel string, err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("%q has no members: %w", channel, err)
	}
	return err
}

// checkChatText rejects a text that is empty, too long or has control characters.
func checkChatText(what, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("%w: the %s is empty", ErrBadRequest, what)
	case len(text) > maxChatText:
		return fmt.Errorf("%w: the %s has %d bytes, and %d are allowed", ErrBadRequest, what, len(text), maxChatText)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return fmt.Errorf("%w: the %s has control characters", ErrBadRequest, what)
	}
	return nil
}

// check rejects a target that does not select players in one way.
func (t ChatTarget) check() error {
	n := 0
	for _, set := range []bool{t.Nick != "", t.Profile != 0, t.Prefix.IsValid()} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("%w: exactly one of nick, profile and prefix is needed", ErrBadRequest)
	}
	return nil
}

// String returns the target for people.
func (t ChatTarget) String() string {
	text := t.Nick
	switch {
	case t.Profile != 0:
		text = fmt.Sprintf("profile %d", t.Profile)
	case t.Prefix.IsValid():
		text = t.Prefix.String()
	}
	if t.Channel == "" {
		return text
	}
	return text + " in " + t.Channel
}
