package chatrules

import (
	"context"
	"errors"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// store is a store that keeps rules in a map.
type store struct {
	rules map[storage.ChatRuleKey]storage.ChatRule
	err   error // of all changes
}

func newStore() *store { return &store{rules: make(map[storage.ChatRuleKey]storage.ChatRule)} }

func (s *store) PutChatRule(_ context.Context, r storage.ChatRule) error {
	if s.err == nil {
		s.rules[r.ChatRuleKey] = r
	}
	return s.err
}

func (s *store) RemoveChatRule(_ context.Context, k storage.ChatRuleKey) error {
	if _, ok := s.rules[k]; !ok {
		return storage.ErrNotFound
	}
	delete(s.rules, k)
	return nil
}

func (s *store) ChatRules(context.Context) iter.Seq2[storage.ChatRule, error] {
	return func(yield func(storage.ChatRule, error) bool) {
		for _, r := range s.rules {
			if !yield(r, nil) {
				return
			}
		}
		if s.err != nil {
			yield(storage.ChatRule{}, s.err)
		}
	}
}

func (s *store) SweepChatRules(_ context.Context, now time.Time) (n int, err error) {
	for k, r := range s.rules {
		if r.Expired(now) {
			delete(s.rules, k)
			n++
		}
	}
	return n, nil
}

func rule(kind storage.ChatKind, id storage.ProfileID, channel string) storage.ChatRule {
	return storage.ChatRule{ChatRuleKey: storage.ChatRuleKey{Kind: kind, Profile: id, Channel: channel}}
}

func ruleAt(kind storage.ChatKind, prefix, channel string) storage.ChatRule {
	r := rule(kind, 0, channel)
	r.Prefix = netip.MustParsePrefix(prefix)
	return r
}

// tableOf returns a table with some rules.
func tableOf(t *testing.T, rules ...storage.ChatRule) *Table {
	t.Helper()
	table := New(newStore())
	for _, r := range rules {
		if err := table.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

func TestCheck(t *testing.T) {
	table := tableOf(t,
		rule(storage.ChatBan, 1, "#GPG!12"), rule(storage.ChatMute, 2, ""), rule(storage.ChatModerator, 3, ""),
		ruleAt(storage.ChatBan, "192.0.2.0/24", ""), ruleAt(storage.ChatMute, "192.0.2.7/32", "#gsp!GMTest!M9vK"),
		ruleAt(storage.ChatMute, "2001:db8::/32", ""), rule(storage.ChatBan, 5, "#Own!a!B"))
	nick := rule(storage.ChatBan, 0, "#gpg!12")
	nick.Nick = "Cheap-Gold"
	if err := table.Put(t.Context(), nick); err != nil {
		t.Fatal(err)
	}
	for channel, want := range map[string]bool{"#GPG!12": true, "#gpg!1": false} {
		for name, has := range map[string]bool{"cheap-GOLD": true, "cheap": false, strings.Repeat("x", 1+storage.MaxChatNick): false} {
			if banned, _ := table.Check(Who{Nick: name}, channel); banned != (want && has) {
				t.Errorf("Check of the nick %.20s in %s = %v", name, channel, banned)
			}
		}
	}
	for name, test := range map[string]struct {
		profile       storage.ProfileID
		addr, channel string
		banned, muted bool
	}{
		"not known":                {0, "198.51.100.1", "#gpg!12", false, false},
		"no address":               {9, "", "#gpg!12", false, false},
		"profile in its channel":   {1, "198.51.100.1", "#gpg!12", true, false},
		"profile elsewhere":        {1, "198.51.100.1", "#gpg!1", false, false},
		"profile in no channel":    {1, "198.51.100.1", "", false, false},
		"profile everywhere":       {2, "198.51.100.1", "#any", false, true},
		"moderator":                {3, "198.51.100.1", "#any", false, false},
		"address everywhere":       {0, "192.0.2.1", "", true, false},
		"mapped address":           {0, "::ffff:192.0.2.1", "#any", true, false},
		"both lengths":             {0, "192.0.2.7", "#GSP!gmtest!M9vK", true, true},
		"staging room, other case": {0, "192.0.2.7", "#GSP!gmtest!m9vk", true, false},
		"other room, other case":   {5, "", "#oWN!A!b", true, false},
		"IPv6":                     {0, "2001:db8::1", "", false, true},
	} {
		who := Who{Profile: test.profile}
		if test.addr != "" {
			who.Addr = netip.MustParseAddr(test.addr)
		}
		if banned, muted := table.Check(who, test.channel); banned != test.banned || muted != test.muted {
			t.Errorf("%s: Check() = %v, %v, want %v, %v", name, banned, muted, test.banned, test.muted)
		}
	}
	who := Who{Profile: 2, Addr: netip.MustParseAddr("192.0.2.7"), Nick: "Cheap-GOLD"}
	if n := testing.AllocsPerRun(100, func() { table.Check(who, "#GSP!gmtest!M9vK") }); n != 0 {
		t.Errorf("Check allocates %v times", n)
	}
}

func TestCheckExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rule(storage.ChatMute, 1, "")
		r.Expires = time.Now().Add(time.Hour)
		table := tableOf(t, r)
		changes := 0
		table.OnChange(func() { changes++ })
		who := Who{Profile: 1}
		for _, want := range []bool{true, false} {
			table.Recheck(time.Now())
			if _, muted := table.Check(who, "#any"); muted != want {
				t.Errorf("muted = %v after %d changes, want %v", muted, changes, want)
			}
			time.Sleep(time.Hour)
		}
		if changes != 1 {
			t.Errorf("OnChange was called %d times, want once: when the rule ended", changes)
		}
		if n, err := table.Sweep(t.Context(), time.Now()); n != 1 || err != nil || len(table.List()) != 0 || changes != 2 {
			t.Errorf("Sweep() = %d, %v with %v left after %d changes", n, err, table.List(), changes)
		}
	})
}

func TestModerators(t *testing.T) {
	table := tableOf(t,
		rule(storage.ChatModerator, 9, "#gpg!12"), rule(storage.ChatModerator, 2, ""), rule(storage.ChatModerator, 2, "#gpg!12"),
		rule(storage.ChatModerator, 3, "#gpg!13"), rule(storage.ChatBan, 4, "#gpg!12"))
	for channel, want := range map[string][]storage.ProfileID{"#GPG!12": {2, 9}, "#gpg!1": {2}, "#GPG!13": {2, 3}} {
		got := table.Moderators(channel)
		if !slices.Equal(got, want) {
			t.Errorf("Moderators(%s) = %v, want %v", channel, got, want)
		}
		for id := range storage.ProfileID(10) {
			if table.Moderates(id, channel) != slices.Contains(want, id) {
				t.Errorf("Moderates(%d, %s) = %v", id, channel, !slices.Contains(want, id))
			}
		}
	}
}

func TestPut(t *testing.T) {
	s := newStore()
	table := New(s)
	changes := 0
	table.OnChange(func() { changes++ })
	r := rule(storage.ChatBan, 1, "#GPG!12")
	r.Reason = "spam"
	again := r
	again.Reason = "more spam"
	for _, r := range []storage.ChatRule{r, again} {
		if err := table.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if list := table.List(); len(list) != 1 || list[0].Reason != "more spam" || list[0].Channel != "#gpg!12" || changes != 2 {
		t.Errorf("rules after %d changes = %+v", changes, list)
	}

	t.Run("refused", func(t *testing.T) {
		s.err = errors.New("disk full")
		defer func() { s.err = nil }()
		err := table.Put(t.Context(), rule(storage.ChatMute, 2, ""))
		if !errors.Is(err, s.err) || len(table.List()) != 1 || changes != 2 {
			t.Errorf("Put() = %v, rules %v after %d changes", err, table.List(), changes)
		}
		if err := table.Load(t.Context()); !errors.Is(err, s.err) || len(table.List()) != 1 {
			t.Errorf("Load() = %v, rules %v", err, table.List())
		}
		if err := table.Put(t.Context(), rule(storage.ChatMute, 0, "")); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("Put() of a rule for no player = %v, want ErrInvalid", err)
		}
	})

	t.Run("loaded", func(t *testing.T) {
		loaded := New(s)
		if err := loaded.Load(t.Context()); err != nil || len(loaded.List()) != 1 {
			t.Errorf("Load() = %v, rules %v", err, loaded.List())
		}
	})

	t.Run("removed", func(t *testing.T) {
		for _, want := range []error{nil, storage.ErrNotFound} {
			if err := table.Remove(t.Context(), r.ChatRuleKey); !errors.Is(err, want) {
				t.Errorf("Remove() = %v, want %v", err, want)
			}
		}
		if len(table.List()) != 0 || changes != 3 {
			t.Errorf("rules %v after %d changes", table.List(), changes)
		}
	})
}
