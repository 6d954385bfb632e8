package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// maxChatText bounds a message of an operator and the reason of a kick, in bytes.
const maxChatText = 400

// ChatRules implements Operator.
func (l *Local) ChatRules(context.Context) ([]storage.ChatRule, error) {
	return append([]storage.ChatRule{}, l.Rules.List()...), nil // never null as JSON
}

// PutChatRule implements Operator.
func (l *Local) PutChatRule(ctx context.Context, r storage.ChatRule) error {
	now := time.Now()
	if r.Added.IsZero() {
		r.Added = now
	}
	if err := checkBanEnd(later(r.Added, now), r.Expires); err != nil {
		return err
	}
	key, err := r.ChatRuleKey.Canonical()
	if err != nil {
		return err
	}
	if r.Profile != 0 {
		if _, err := l.Store.GetProfile(ctx, r.Profile); err != nil {
			return fmt.Errorf("profile %d: %w", r.Profile, err)
		}
	}
	return l.Rules.Put(noted(ctx, ruleActions[r.Kind].put, ruleText(key), banDetail(r.Expires, r.Reason)), r)
}

// RemoveChatRule implements Operator.
func (l *Local) RemoveChatRule(ctx context.Context, key storage.ChatRuleKey) error {
	key, err := key.Canonical()
	if err != nil {
		return err
	}
	if err := l.Rules.Remove(noted(ctx, ruleActions[key.Kind].remove, ruleText(key), ""), key); err != nil {
		return fmt.Errorf("%s of %s: %w", key.Kind, ruleText(key), err)
	}
	return nil
}

// removeRoomRules lifts the rules of a group room that no longer exists.
func (l *Local) removeRoomRules(ctx context.Context, id uint32) error {
	channel, err := storage.CanonicalChannel(GroupChannel(id))
	if err != nil {
		return err
	}
	for _, r := range l.Rules.List() {
		if r.Channel != channel {
			continue
		}
		if err := l.RemoveChatRule(ctx, r.ChatRuleKey); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

// ruleText returns the subject of a rule in the audit log.
func ruleText(k storage.ChatRuleKey) string {
	who := k.Prefix.String()
	if k.Profile != 0 {
		who = fmt.Sprintf("profile %d", k.Profile)
	}
	if k.Channel == "" {
		return who
	}
	return who + " in " + k.Channel
}

// running returns the chat of the daemon.
func (l *Local) running() (Chat, error) {
	if l.OpenChat == nil {
		return nil, ErrNotRunning
	}
	if c := l.OpenChat(); c != nil {
		return c, nil
	}
	return nil, ErrNoChat
}

// ChatRooms implements Operator.
func (l *Local) ChatRooms(context.Context) ([]ChatRoom, error) {
	c, err := l.running()
	if err != nil {
		return nil, err
	}
	return append([]ChatRoom{}, c.Rooms()...), nil // never null as JSON
}

// ChatWho implements Operator.
func (l *Local) ChatWho(_ context.Context, channel string) ([]ChatMember, error) {
	c, err := l.running()
	if err != nil {
		return nil, err
	}
	list, err := c.Who(channel)
	return append([]ChatMember{}, list...), inChannel(channel, err)
}

// ChatSaid implements Operator.
func (l *Local) ChatSaid(_ context.Context, channel string) ([]ChatLine, error) {
	c, err := l.running()
	if err != nil {
		return nil, err
	}
	list, err := c.Said(channel)
	return append([]ChatLine{}, list...), inChannel(channel, err)
}

// ChatKick implements Operator.
func (l *Local) ChatKick(ctx context.Context, t ChatTarget, reason string) (int, error) {
	c, err := l.running()
	if err != nil {
		return 0, err
	}
	if err := t.check(); err != nil {
		return 0, err
	}
	if reason != "" {
		if err := checkChatText("reason", reason); err != nil {
			return 0, err
		}
	}
	n, err := c.Kick(ctx, t, reason)
	if err != nil {
		return 0, inChannel(t.Channel, err)
	}
	if n == 0 {
		return 0, fmt.Errorf("%s is not in chat: %w", t, storage.ErrNotFound)
	}
	_, err = l.Store.AddAudit(ctx, entry(ctx, actChatKick, t.String(), reason))
	return n, err
}

// ChatSay implements Operator. The audit log has the channel and not the text.
func (l *Local) ChatSay(ctx context.Context, channel, text string) error {
	c, err := l.running()
	if err != nil {
		return err
	}
	if err := checkChatText("text", text); err != nil {
		return err
	}
	if err := c.Say(channel, text); err != nil {
		return inChannel(channel, err)
	}
	_, err = l.Store.AddAudit(ctx, entry(ctx, actChatSay, channel, ""))
	return err
}

// inChannel adds the channel to an error.
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
