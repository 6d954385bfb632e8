package storage

import (
	"cmp"
	"context"
	"iter"
	"net/netip"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of a ChatRule.
const (
	MaxChatRules   = 4096 // MaxChatRules is how many rules there may be.
	MaxChatChannel = 256  // MaxChatChannel is the longest name of a channel in bytes.
	MaxChatNick    = 64   // MaxChatNick is the longest nick of a rule in bytes.
)

// ChatKind is the effect of a ChatRule. The numbers are part of stored keys and
// never change.
type ChatKind uint8

// The kinds.
const (
	ChatBan       ChatKind = 1 // ChatBan excludes players.
	ChatMute      ChatKind = 2 // ChatMute lets players read only.
	ChatModerator ChatKind = 3 // ChatModerator makes a profile operator of a channel.
)

// ChatKinds returns the kinds that a rule can have.
func ChatKinds() []ChatKind { return []ChatKind{ChatBan, ChatMute, ChatModerator} }

// String returns the word for k.
func (k ChatKind) String() string { return wordOf(k, "kind", "", "ban", "mute", "moderator") }

// ParseChatKind is the inverse of ChatKind.String. The error names the allowed
// words and matches ErrInvalid.
func ParseChatKind(word string) (ChatKind, error) {
	return parseWord("kind of chat rule", word, ChatKinds())
}

// MarshalText returns the word for k.
func (k ChatKind) MarshalText() ([]byte, error) {
	_, err := ParseChatKind(k.String())
	return []byte(k.String()), err
}

// UnmarshalText is ParseChatKind.
func (k *ChatKind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseChatKind(string(text))
	return err
}

// ChatRuleKey identifies a ChatRule. Exactly one of Profile, Prefix and Nick is set, for
// ChatModerator it is Profile.
type ChatRuleKey struct {
	Kind    ChatKind     `json:"kind"`
	Profile ProfileID    `json:"profile,omitzero"`
	Prefix  netip.Prefix `json:"prefix,omitzero"`  // as CanonicalPrefix makes it
	Nick    string       `json:"nick,omitzero"`    // in lower case; of anyone who has it at the time
	Channel string       `json:"channel,omitzero"` // as CanonicalChannel makes it; empty: all of them
}

// ChatRule is an operator's rule for a player in chat: a profile, a range of
// addresses or a nick is banned or muted, or a profile moderates.
type ChatRule struct {
	ChatRuleKey

	Reason  string    `json:"reason,omitzero"`
	By      string    `json:"by,omitzero"` // author of the rule
	Added   time.Time `json:"added,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// Expired reports whether the rule has expired at now, which is so from the
// instant Expires on.
func (r *ChatRule) Expired(now time.Time) bool {
	return !r.Expires.IsZero() && !now.Before(r.Expires)
}

// Canonical returns k as it is stored: checked, with its prefix as CanonicalPrefix
// and its channel as CanonicalChannel makes it. The error matches ErrInvalid.
func (k ChatRuleKey) Canonical() (ChatRuleKey, error) {
	if _, err := ParseChatKind(k.Kind.String()); err != nil {
		return ChatRuleKey{}, err
	}
	if k.Prefix != (netip.Prefix{}) {
		var err error
		if k.Prefix, err = CanonicalPrefix(k.Prefix); err != nil {
			return ChatRuleKey{}, err
		}
		if k.Prefix.Bits() == 0 {
			return ChatRuleKey{}, invalid("chat rule for %v is for all addresses", k.Prefix)
		}
	}
	k.Nick = ascii.ToLower(k.Nick)
	if err := checkText("nick of the chat rule", k.Nick, MaxChatNick); err != nil {
		return ChatRuleKey{}, err
	}
	subjects := 0
	for _, given := range []bool{k.Profile != 0, k.Prefix.IsValid(), k.Nick != ""} {
		if given {
			subjects++
		}
	}
	switch {
	case subjects != 1:
		return ChatRuleKey{}, invalid("chat rule needs one of a profile, an address and a nick")
	case k.Kind == ChatModerator && k.Profile == 0:
		return ChatRuleKey{}, invalid("a moderator is a profile, not an address or a nick")
	case k.Channel == "":
		return k, nil
	}
	var err error
	k.Channel, err = CanonicalChannel(k.Channel)
	return k, err
}

// Compare orders keys by kind, profile, nick, address and channel.
func (k ChatRuleKey) Compare(other ChatRuleKey) int {
	return cmp.Or(cmp.Compare(k.Kind, other.Kind),
		cmp.Compare(k.Profile, other.Profile),
		cmp.Compare(k.Nick, other.Nick),
		k.Prefix.Addr().Compare(other.Prefix.Addr()),
		cmp.Compare(k.Prefix.Bits(), other.Prefix.Bits()),
		cmp.Compare(k.Channel, other.Channel))
}

// Canonical returns r as it is stored: checked, with its key as ChatRuleKey.Canonical
// makes it and its times in UTC. The error matches ErrInvalid.
func (r ChatRule) Canonical() (ChatRule, error) {
	var err error
	if r.ChatRuleKey, err = r.ChatRuleKey.Canonical(); err != nil {
		return ChatRule{}, err
	}
	r.Added, r.Expires = r.Added.Round(0).UTC(), r.Expires.Round(0).UTC()
	return r, cmp.Or(checkText("reason of the chat rule", r.Reason, MaxBanReason), checkText("author of the chat rule", r.By, MaxBanBy))
}

// CanonicalChannel returns the one form in which the name of a channel is a key. Names
// do not depend on case, but for the encoded address of a staging room. The error
// matches ErrInvalid.
func CanonicalChannel(name string) (string, error) {
	if err := checkText("channel", name, MaxChatChannel); err != nil {
		return "", err
	}
	if len(name) < 2 || name[0] != '#' || strings.ContainsAny(name, " ,") {
		return "", invalid("%.40q is not the name of a channel, such as #GPG!12", name)
	}
	n := FoldedLen(name)
	return ascii.ToLower(name[:n]) + name[n:], nil
}

// stagingPrefix is the start of the names of staging rooms, in lower case: the
// game, "!" and an encoded address follow.
const stagingPrefix = "#gsp!"

// FoldedLen returns how many bytes of the name of a channel do not depend on case: all
// of them, or those before the encoded address of a staging room.
func FoldedLen(name string) int {
	const from = len(stagingPrefix)
	if len(name) < from || !ascii.EqualFold(name[:from], stagingPrefix) {
		return len(name)
	}
	end := strings.IndexByte(name[from:], '!')
	if end <= 0 {
		return len(name)
	}
	return from + end + 1
}

// ChatRules keeps the rules of chat.
type ChatRules interface {
	// PutChatRule stores r with its key in canonical form, replacing one with
	// the same key. The error is ErrFull if there are MaxChatRules already.
	PutChatRule(ctx context.Context, r ChatRule) error

	// RemoveChatRule removes the rule with that key, or returns ErrNotFound.
	RemoveChatRule(ctx context.Context, key ChatRuleKey) error

	// ChatRules yields all rules in the order of their keys, expired ones too.
	ChatRules(ctx context.Context) iter.Seq2[ChatRule, error]

	// SweepChatRules removes the rules that have expired at now and returns how
	// many there were. Damaged ones are not removed.
	SweepChatRules(ctx context.Context, now time.Time) (n int, err error)
}
