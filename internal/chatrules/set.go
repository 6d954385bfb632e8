package chatrules

import (
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/storage"
)

// set is an immutable, searchable set of rules.
type set struct {
	list     []storage.ChatRule // in the order of List
	profiles map[storage.ProfileID][]storage.ChatRule
	prefixes map[netip.Prefix][]storage.ChatRule
	nicks    map[string][]storage.ChatRule
	v4, v6   []int // lengths of prefixes that occur
}

// newSet returns a set of the rules in list, which it takes ownership of.
func newSet(list []storage.ChatRule) *set {
	slices.SortFunc(list, func(a, b storage.ChatRule) int { return a.Compare(b.ChatRuleKey) })
	s := &set{
		list:     list,
		profiles: make(map[storage.ProfileID][]storage.ChatRule),
		prefixes: make(map[netip.Prefix][]storage.ChatRule),
		nicks:    make(map[string][]storage.ChatRule),
	}
	for _, r := range list {
		if r.Profile != 0 {
			s.profiles[r.Profile] = append(s.profiles[r.Profile], r)
			continue
		}
		if r.Nick != "" {
			s.nicks[r.Nick] = append(s.nicks[r.Nick], r)
			continue
		}
		s.prefixes[r.Prefix] = append(s.prefixes[r.Prefix], r)
		lengths := &s.v6
		if r.Prefix.Addr().Is4() {
			lengths = &s.v4
		}
		if !slices.Contains(*lengths, r.Prefix.Bits()) {
			*lengths = append(*lengths, r.Prefix.Bits())
		}
	}
	return s
}

// check is Table.Check.
func (s *set) check(who Who, channel string) (banned, muted bool) {
	f := found{channel: channel}
	if who.Profile != 0 {
		f.look(s.profiles[who.Profile])
	}
	if len(who.Nick) <= storage.MaxChatNick && len(s.nicks) > 0 {
		var folded [storage.MaxChatNick]byte
		f.look(s.nicks[string(ascii.AppendLower(folded[:0], who.Nick))])
	}
	a := who.Addr.Unmap().WithZone("")
	lengths := s.v6
	if a.Is4() {
		lengths = s.v4
	}
	for _, bits := range lengths {
		p, err := a.Prefix(bits)
		if err != nil || !p.IsValid() { // the zero Addr
			break
		}
		f.look(s.prefixes[p])
	}
	return f.banned, f.muted
}

// moderates is Table.Moderates.
func (s *set) moderates(id storage.ProfileID, channel string) bool {
	f := found{channel: channel}
	f.look(s.profiles[id])
	return f.moderates
}

// moderators is Table.Moderators.
func (s *set) moderators(channel string) (ids []storage.ProfileID) {
	for i := range s.list { // sorted by profile, too
		r := &s.list[i]
		if r.Kind == storage.ChatModerator && applies(r.Channel, channel) && !over(r) && !slices.Contains(ids, r.Profile) {
			ids = append(ids, r.Profile)
		}
	}
	return ids
}

// found is the result of the rules for a player in a channel.
type found struct {
	channel string

	banned, muted, moderates bool
}

// look adds the results of some rules.
func (f *found) look(rules []storage.ChatRule) {
	for i := range rules {
		r := &rules[i]
		if !applies(r.Channel, f.channel) || over(r) {
			continue
		}
		switch r.Kind {
		case storage.ChatBan:
			f.banned = true
		case storage.ChatMute:
			f.muted = true
		case storage.ChatModerator:
			f.moderates = true
		}
	}
}

// over reports whether a rule has expired. It reads the clock only for a rule
// that can.
func over(r *storage.ChatRule) bool { return !r.Expires.IsZero() && r.Expired(time.Now()) }

// applies reports whether a rule for a channel, empty for all, applies to one,
// ignoring case.
func applies(rule, channel string) bool {
	if rule == "" {
		return true
	}
	if len(rule) != len(channel) {
		return false
	}
	n := storage.FoldedLen(rule)
	return rule[n:] == channel[n:] && ascii.EqualFold(rule[:n], channel[:n])
}
