package storagetest

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// chatRule returns a rule for a profile.
func chatRule(kind storage.ChatKind, profile storage.ProfileID, channel string) storage.ChatRule {
	return storage.ChatRule{
		ChatRuleKey: storage.ChatRuleKey{Kind: kind, Profile: profile, Channel: channel},
		Reason:      "spam", By: "admin", Added: moment(),
	}
}

// chatRuleAt returns a ban for a range of addresses.
func chatRuleAt(prefix, channel string) storage.ChatRule {
	r := chatRule(storage.ChatBan, 0, channel)
	r.Prefix = netip.MustParsePrefix(prefix)
	return r
}

// chatRuleOf returns a ban of a nick.
func chatRuleOf(nick, channel string) storage.ChatRule {
	r := chatRule(storage.ChatBan, 0, channel)
	r.Nick = nick
	return r
}

func putChatRule(t *testing.T, s storage.Store, r storage.ChatRule) {
	t.Helper()
	noErr(t, s.PutChatRule(t.Context(), r), "PutChatRule", r)
}

// chatRuleCalls is every method of chat rules.
func chatRuleCalls(s storage.Store) map[string]func(context.Context) error {
	late := chatRule(storage.ChatMute, 77, "")
	return map[string]func(context.Context) error{
		"PutChatRule":    func(ctx context.Context) error { return s.PutChatRule(ctx, late) },
		"RemoveChatRule": func(ctx context.Context) error { return s.RemoveChatRule(ctx, late.ChatRuleKey) },
		"ChatRules":      func(ctx context.Context) error { return firstError(s.ChatRules(ctx)) },
		"SweepChatRules": func(ctx context.Context) error { return errOf(s.SweepChatRules(ctx, moment())) },
	}
}

func chatRuleTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"put, replace, remove":                  testChatRuleLife,
		"keys are made canonical":               testChatRuleCanonical,
		"rules are listed in order":             testChatRuleOrder,
		"expired rules are swept":               testChatRuleSweep,
		"rules are bounded":                     testChatRuleBound,
		"records beyond the limits are refused": testChatRuleLimits,
	}
}

func testChatRuleLife(t *testing.T, s storage.Store) {
	want := chatRule(storage.ChatMute, 7, "#gpg!12")
	putChatRule(t, s, want)
	differ(t, "rules", collect(t, s.ChatRules(t.Context())), []storage.ChatRule{want})
	want.Reason, want.Expires = "changed", moment().Add(time.Hour)
	putChatRule(t, s, want)
	differ(t, "rules after replacing", collect(t, s.ChatRules(t.Context())), []storage.ChatRule{want})
	for _, refusal := range []error{nil, storage.ErrNotFound} {
		if err := s.RemoveChatRule(t.Context(), want.ChatRuleKey); !errors.Is(err, refusal) {
			t.Errorf("RemoveChatRule() = %v, want %v", err, refusal)
		}
	}
	differ(t, "rules after removing", collect(t, s.ChatRules(t.Context())), nil)
}

func testChatRuleCanonical(t *testing.T, s storage.Store) {
	put, want := chatRuleAt("::ffff:192.0.2.77/120", "#GSP!GMTest!M9vK"), chatRuleAt("192.0.2.0/24", "#gsp!gmtest!M9vK")
	putChatRule(t, s, put)
	putChatRule(t, s, want)
	differ(t, "rules", collect(t, s.ChatRules(t.Context())), []storage.ChatRule{want})
	wantErr(t, s.RemoveChatRule(t.Context(), put.ChatRuleKey), nil, "RemoveChatRule() with another spelling")
	edge := strings.Repeat("n", storage.MaxChatNick)
	putChatRule(t, s, chatRuleOf(strings.ToUpper(edge), ""))
	differ(t, "rules of nicks", collect(t, s.ChatRules(t.Context())), []storage.ChatRule{chatRuleOf(edge, "")})
}

func testChatRuleOrder(t *testing.T, s storage.Store) {
	want := []storage.ChatRule{
		chatRuleAt("10.0.0.0/8", ""), chatRuleAt("10.0.0.0/8", "#gpg!1"), chatRuleAt("10.0.0.0/9", ""), chatRuleAt("2001:db8::/32", ""),
		chatRuleOf("a", "#gpg!1"), chatRuleOf("b", ""), chatRule(storage.ChatBan, 2, ""), chatRule(storage.ChatBan, 2, "#gpg!1"), chatRule(storage.ChatBan, 300, ""),
		chatRule(storage.ChatMute, 1, ""), chatRule(storage.ChatModerator, 1, "#gsp!gmtest"),
	}
	for i := range want {
		putChatRule(t, s, want[len(want)-1-i])
	}
	differ(t, "rules", collect(t, s.ChatRules(t.Context())), want)
}

func testChatRuleSweep(t *testing.T, s storage.Store) {
	now := moment()
	var left []storage.ChatRule
	for i, end := range []time.Time{{}, now.Add(-time.Hour), now, now.Add(1)} {
		r := chatRule(storage.ChatMute, storage.ProfileID(i+1), "")
		r.Expires = end
		putChatRule(t, s, r)
		if !r.Expired(now) {
			left = append(left, r)
		}
	}
	for _, want := range []int{2, 0} {
		differ(t, "SweepChatRules()", must(s.SweepChatRules(t.Context(), now))(t), want)
	}
	differ(t, "rules", collect(t, s.ChatRules(t.Context())), left)
}

func testChatRuleBound(t *testing.T, s storage.Store) {
	filled(t, s)
	together(t, storage.MaxChatRules, func(i int) error {
		return s.PutChatRule(t.Context(), chatRule(storage.ChatMute, storage.ProfileID(i+1), ""))
	})
	wantErr(t, s.PutChatRule(t.Context(), chatRule(storage.ChatBan, 1, "")), storage.ErrFull, "PutChatRule() on a full store")
	putChatRule(t, s, chatRule(storage.ChatMute, 1, ""))
}

func testChatRuleLimits(t *testing.T, s storage.Store) {
	edge := chatRule(storage.ChatMute, 7, "#"+strings.Repeat("c", storage.MaxChatChannel-1))
	edge.Reason, edge.By = strings.Repeat("r", storage.MaxBanReason), strings.Repeat("b", storage.MaxBanBy)
	putChatRule(t, s, edge)
	address := netip.MustParsePrefix("192.0.2.0/24")
	for name, spoil := range map[string]func(*storage.ChatRule){
		"no kind":             func(r *storage.ChatRule) { r.Kind = 0 },
		"unknown kind":        func(r *storage.ChatRule) { r.Kind = 200 },
		"no subject":          func(r *storage.ChatRule) { r.Profile = 0 },
		"profile and address": func(r *storage.ChatRule) { r.Prefix = address },
		"profile and nick":    func(r *storage.ChatRule) { r.Nick = "ann" },
		"nick moderates":      func(r *storage.ChatRule) { r.Kind, r.Profile, r.Nick = storage.ChatModerator, 0, "ann" },
		"long nick":           func(r *storage.ChatRule) { r.Profile, r.Nick = 0, strings.Repeat("n", 1+storage.MaxChatNick) },
		"broken address":      func(r *storage.ChatRule) { r.Prefix = netip.PrefixFrom(address.Addr(), 33) },
		"all addresses":       func(r *storage.ChatRule) { r.Profile, r.Prefix = 0, netip.MustParsePrefix("0.0.0.0/0") },
		"address moderates":   func(r *storage.ChatRule) { r.Kind, r.Profile, r.Prefix = storage.ChatModerator, 0, address },
		"long channel":        func(r *storage.ChatRule) { r.Channel += "c" },
		"no channel":          func(r *storage.ChatRule) { r.Channel = "gpg!12" },
		"two channels":        func(r *storage.ChatRule) { r.Channel = "#a,#b" },
		"long reason":         func(r *storage.ChatRule) { r.Reason += "r" },
		"long author":         func(r *storage.ChatRule) { r.By += "b" },
		"newline":             func(r *storage.ChatRule) { r.Reason = "a\nb" },
	} {
		r := edge
		spoil(&r)
		wantErr(t, s.PutChatRule(t.Context(), r), storage.ErrInvalid, "%s: PutChatRule()", name)
	}
	differ(t, "rules", collect(t, s.ChatRules(t.Context())), []storage.ChatRule{edge})
}
