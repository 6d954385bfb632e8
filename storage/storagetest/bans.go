package storagetest

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

func ban(prefix string, scope storage.Scope) storage.Ban {
	return storage.Ban{
		Prefix: netip.MustParsePrefix(prefix), Scope: scope,
		Reason: "aimbot", By: "admin", Added: moment(),
	}
}

func addBan(t *testing.T, s storage.Store, b storage.Ban) {
	t.Helper()
	noErr(t, s.AddBan(t.Context(), b), "AddBan", b)
}

// banKeys returns the keys of all bans.
func banKeys(t *testing.T, s storage.Store) []string {
	t.Helper()
	var keys []string
	for _, b := range collect(t, s.Bans(t.Context())) {
		keys = append(keys, b.Prefix.String()+" "+b.Scope.String())
	}
	return keys
}

func banTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"add, replace, remove":                  testBanLife,
		"prefixes are made canonical":           testBanCanonical,
		"bans are listed in order":              testBanOrder,
		"removing can name one scope or every":  testBanRemove,
		"expired bans are swept":                testBanSweep,
		"records beyond the limits are refused": testBanLimits,
		"adding the same key at once keeps one": testBanRace,
		"a loop over bans may remove them":      testBanRemoveInLoop,
	}
}

func testBanLife(t *testing.T, s storage.Store) {
	want := ban("192.0.2.0/24", storage.ScopeLists)
	addBan(t, s, want)
	differ(t, "bans", collect(t, s.Bans(t.Context())), []storage.Ban{want})
	want.Reason, want.Expires = "changed", moment().Add(time.Hour)
	addBan(t, s, want)
	differ(t, "bans after replacing", collect(t, s.Bans(t.Context())), []storage.Ban{want})
	for _, n := range []int{1, 0} {
		differ(t, "RemoveBan()", must(s.RemoveBan(t.Context(), want.Prefix, want.Scope))(t), n)
	}
	differ(t, "bans after removing", banKeys(t, s), nil)
}

func testBanCanonical(t *testing.T, s storage.Store) {
	addBan(t, s, ban("192.0.2.77/24", storage.ScopeAll))
	addBan(t, s, ban("::ffff:192.0.2.1/120", storage.ScopeAll))
	addBan(t, s, ban("2001:db8::1/32", storage.ScopeAll))
	differ(t, "bans", banKeys(t, s), []string{"192.0.2.0/24 all", "2001:db8::/32 all"})
	n, err := s.RemoveBan(t.Context(), netip.MustParsePrefix("::ffff:192.0.2.9/120"), storage.ScopeAll)
	if n != 1 || err != nil {
		t.Errorf("RemoveBan() of a mapped prefix = %d, %v, want 1", n, err)
	}
}

func testBanOrder(t *testing.T, s storage.Store) {
	want := []string{
		"9.0.0.0/8 all", "10.0.0.0/8 lists", "10.0.0.0/8 zandronum", "10.0.0.0/9 all", "10.0.0.1/32 presence",
		"200.0.0.0/8 all", "2001:db8::/32 all", "2001:db8::/48 all",
	}
	for i := range want {
		prefix, word, _ := strings.Cut(want[len(want)-1-i], " ")
		scope := must(storage.ParseScope(word))(t)
		addBan(t, s, ban(prefix, scope))
	}
	differ(t, "bans", banKeys(t, s), want)
}

func testBanRemove(t *testing.T, s storage.Store) {
	for _, scope := range storage.Scopes() {
		addBan(t, s, ban("192.0.2.0/24", scope))
		addBan(t, s, ban("192.0.2.0/25", scope))
	}
	prefix := netip.MustParsePrefix("192.0.2.0/24")
	differ(t, "RemoveBan(one scope)", must(s.RemoveBan(t.Context(), prefix, storage.ScopePresence))(t), 1)
	differ(t, "RemoveBan(EveryScope)", must(s.RemoveBan(t.Context(), prefix, storage.EveryScope))(t), 3)
	differ(t, "bans", banKeys(t, s),
		[]string{"192.0.2.0/25 all", "192.0.2.0/25 lists", "192.0.2.0/25 presence", "192.0.2.0/25 zandronum"})
	wantErr(t, errOf(s.RemoveBan(t.Context(), netip.Prefix{}, storage.EveryScope)), storage.ErrInvalid, "RemoveBan(no prefix)")
}

func testBanSweep(t *testing.T, s storage.Store) {
	now := moment()
	for prefix, expires := range map[string]time.Time{
		"10.0.0.0/8":    {},
		"11.0.0.0/8":    now.Add(-time.Hour),
		"12.0.0.0/8":    now,
		"13.0.0.0/8":    now.Add(1),
		"2001:db8::/32": now.Add(-1),
	} {
		b := ban(prefix, storage.ScopeAll)
		b.Expires = expires
		addBan(t, s, b)
	}
	for _, want := range []int{3, 0} {
		differ(t, "SweepBans()", must(s.SweepBans(t.Context(), now))(t), want)
	}
	differ(t, "bans", banKeys(t, s), []string{"10.0.0.0/8 all", "13.0.0.0/8 all"})
}

func testBanLimits(t *testing.T, s storage.Store) {
	edge := ban("192.0.2.0/24", storage.ScopeAll)
	edge.Reason, edge.By = strings.Repeat("r", storage.MaxBanReason), strings.Repeat("b", storage.MaxBanBy)
	addBan(t, s, edge)
	tests := map[string]func(*storage.Ban){
		"no prefix":       func(b *storage.Ban) { b.Prefix = netip.Prefix{} },
		"wider than IPv4": func(b *storage.Ban) { b.Prefix = netip.MustParsePrefix("::ffff:0.0.0.0/95") },
		"every scope":     func(b *storage.Ban) { b.Scope = storage.EveryScope },
		"unknown scope":   func(b *storage.Ban) { b.Scope = 200 },
		"long reason":     func(b *storage.Ban) { b.Reason += "r" },
		"long author":     func(b *storage.Ban) { b.By += "b" },
		"newline":         func(b *storage.Ban) { b.Reason = "a\nb" },
	}
	for name, spoil := range tests {
		b := edge
		spoil(&b)
		wantErr(t, s.AddBan(t.Context(), b), storage.ErrInvalid, "%s: AddBan()", name)
	}
	differ(t, "bans", collect(t, s.Bans(t.Context())), []storage.Ban{edge})
}

func testBanRace(t *testing.T, s storage.Store) {
	errs := race(func(int) error { return s.AddBan(t.Context(), ban("192.0.2.0/24", storage.ScopeAll)) })
	noErr(t, errors.Join(errs...))
	differ(t, "bans", banKeys(t, s), []string{"192.0.2.0/24 all"})
}

func testBanRemoveInLoop(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	for i := range 600 {
		b := ban("10.0.0.0/32", storage.ScopeAll)
		b.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)
		addBan(t, s, b)
	}
	removed := 0
	for b, err := range s.Bans(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n := must(s.RemoveBan(t.Context(), b.Prefix, b.Scope))(t)
		removed += n
	}
	if left := banKeys(t, s); removed != 600 || len(left) != 0 {
		t.Errorf("the loop removed %d bans and left %v", removed, left)
	}
}
