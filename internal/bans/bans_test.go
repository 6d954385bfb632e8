package bans

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// memory is a store of bans that can fail. It replaces the engine, which this
// package must not import.
type memory struct {
	mu   sync.Mutex // guards the fields below
	bans map[string]storage.Ban
	fail error
	bad  error // Bans yields it as its first item
}

func newMemory() *memory { return &memory{bans: map[string]storage.Ban{}} }

func key(p netip.Prefix, s storage.Scope) string { return fmt.Sprint(p, " ", s) }

func (m *memory) AddBan(_ context.Context, b storage.Ban) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.bans[key(b.Prefix, b.Scope)] = b
	}
	return m.fail
}

func (m *memory) RemoveBan(_ context.Context, p netip.Prefix, scope storage.Scope) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return 0, m.fail
	}
	for k, b := range m.bans {
		if b.Prefix == p && (scope == storage.EveryScope || scope == b.Scope) {
			delete(m.bans, k)
			n++
		}
	}
	return n, nil
}

func (m *memory) SweepBans(_ context.Context, now time.Time) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, b := range m.bans {
		if b.Expired(now) {
			delete(m.bans, k)
			n++
		}
	}
	return n, m.fail
}

func (m *memory) Bans(context.Context) iter.Seq2[storage.Ban, error] {
	return func(yield func(storage.Ban, error) bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.bad != nil && !yield(storage.Ban{}, m.bad) {
			return
		}
		for _, b := range m.bans {
			if !yield(b, nil) {
				return
			}
		}
	}
}

func ban(prefix string, scope storage.Scope) storage.Ban {
	return storage.Ban{Prefix: netip.MustParsePrefix(prefix), Scope: scope, Reason: prefix + " " + scope.String()}
}

// table returns a table in which these bans are in force.
func table(t testing.TB, list ...storage.Ban) (*Table, *memory) {
	t.Helper()
	m := newMemory()
	table := New(m)
	for _, b := range list {
		if err := table.Add(t.Context(), b); err != nil {
			t.Fatalf("Add(%+v) = %v", b, err)
		}
	}
	return table, m
}

// listed returns the keys of List.
func listed(table *Table) string {
	var keys []string
	for _, b := range table.List() {
		keys = append(keys, key(b.Prefix, b.Scope))
	}
	return strings.Join(keys, ", ")
}

func TestCheck(t *testing.T) {
	now := time.Now()
	expired := ban("10.9.9.0/24", storage.ScopeAll)
	expired.Expires = now
	running := ban("10.8.0.0/16", storage.ScopeAll)
	running.Expires = now.Add(1)
	table, _ := table(t,
		ban("10.0.0.0/8", storage.ScopeLists),
		ban("10.1.0.0/16", storage.ScopeAll),
		ban("10.1.1.1/32", storage.ScopePresence),
		ban("10.1.1.1/32", storage.ScopeAll),
		ban("2001:db8::/32", storage.ScopeAll),
		ban("2001:db8:1::/48", storage.ScopeZandronum),
		expired, running,
	)
	tests := map[string]struct {
		scope storage.Scope
		addr  string
		want  string // reason, empty: not banned
	}{
		"unknown":                          {storage.ScopeLists, "192.0.2.1", ""},
		"by range":                         {storage.ScopeLists, "10.200.0.1", "10.0.0.0/8 lists"},
		"another scope":                    {storage.ScopePresence, "10.200.0.1", ""},
		"scope all covers every scope":     {storage.ScopeZandronum, "10.1.2.3", "10.1.0.0/16 all"},
		"longest prefix wins":              {storage.ScopeLists, "10.1.2.3", "10.1.0.0/16 all"},
		"single address":                   {storage.ScopePresence, "10.1.1.1", "10.1.1.1/32 all"},
		"mapped into IPv6":                 {storage.ScopeLists, "::ffff:10.1.2.3", "10.1.0.0/16 all"},
		"IPv6":                             {storage.ScopeLists, "2001:db8:1::1", "2001:db8::/32 all"},
		"IPv6 longest":                     {storage.ScopeZandronum, "2001:db8:1::1", "2001:db8:1::/48 zandronum"},
		"IPv6 with zone":                   {storage.ScopeLists, "2001:db8::1%eth0", "2001:db8::/32 all"},
		"IPv6 not banned":                  {storage.ScopeLists, "2001:db9::1", ""},
		"IPv4 bits at the head of IPv6":    {storage.ScopeLists, "a01:203::", ""},
		"expired falls back to the wider":  {storage.ScopeLists, "10.9.9.9", "10.0.0.0/8 lists"},
		"expired":                          {storage.ScopePresence, "10.9.9.9", ""},
		"not yet expired":                  {storage.ScopePresence, "10.8.9.9", "10.8.0.0/16 all"},
		"asking for all finds all only":    {storage.ScopeAll, "10.200.0.1", ""},
		"asking for all finds scope all":   {storage.ScopeAll, "10.1.2.3", "10.1.0.0/16 all"},
		"first address of a range":         {storage.ScopeLists, "10.0.0.0", "10.0.0.0/8 lists"},
		"last address of a range":          {storage.ScopeLists, "10.255.255.255", "10.0.0.0/8 lists"},
		"first address behind a range":     {storage.ScopeLists, "11.0.0.0", ""},
		"a range within a range, same all": {storage.ScopeLists, "10.1.1.1", "10.1.1.1/32 all"},
	}
	for name, tt := range tests {
		b, banned := table.Check(tt.scope, netip.MustParseAddr(tt.addr), now)
		if b.Reason != tt.want || banned != (tt.want != "") {
			t.Errorf("%s: Check(%v, %s) = %q, %v, want %q", name, tt.scope, tt.addr, b.Reason, banned, tt.want)
		}
	}
	if _, banned := table.Check(storage.ScopeLists, netip.Addr{}, now); banned {
		t.Error("Check() of no address = banned")
	}
}

func TestCount(t *testing.T) {
	over := ban("192.0.2.0/24", storage.ScopeAll)
	over.Expires = time.Now().Add(time.Hour)
	table, _ := table(t, over, ban("10.0.0.0/8", storage.ScopeAll), ban("10.0.0.0/8", storage.ScopeLists))
	for after, want := range map[time.Duration]int{0: 3, 2 * time.Hour: 2} {
		at := time.Now().Add(after)
		if got := table.Count(at); got != want || got != len(table.InForce(at)) {
			t.Errorf("Count() after %v = %d, InForce() has %d, want %d", after, got, len(table.InForce(at)), want)
		}
	}
}

func TestAddIsInForceAtOnceAndStored(t *testing.T) {
	table, m := table(t)
	addr := netip.MustParseAddr("192.0.2.7")
	if _, banned := table.Check(storage.ScopeLists, addr, time.Now()); banned {
		t.Fatal("an empty table bans")
	}
	if err := table.Add(t.Context(), ban("::ffff:192.0.2.9/120", storage.ScopeLists)); err != nil {
		t.Fatal(err)
	}
	if _, banned := table.Check(storage.ScopeLists, addr, time.Now()); !banned {
		t.Error("Check() after Add = not banned")
	}
	if _, ok := m.bans["192.0.2.0/24 lists"]; !ok || len(m.bans) != 1 {
		t.Errorf("the store holds %v, want the canonical prefix", m.bans)
	}
	again := ban("192.0.2.0/24", storage.ScopeLists)
	again.Reason = "another"
	if err := table.Add(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if got := table.List(); len(got) != 1 || got[0].Reason != "another" {
		t.Errorf("List() after adding the same key = %v, want the new one alone", got)
	}
}

func TestRefusalByTheStore(t *testing.T) {
	table, m := table(t, ban("10.0.0.0/8", storage.ScopeAll))
	calls := 0
	table.OnChange(func() { calls++ })
	m.fail = errors.New("disk full")
	for name, err := range map[string]error{
		"Add":    table.Add(t.Context(), ban("192.0.2.0/24", storage.ScopeAll)),
		"Remove": second(table.Remove(t.Context(), netip.MustParsePrefix("10.0.0.0/8"), storage.ScopeAll)),
		"Sweep":  second(table.Sweep(t.Context(), time.Now())),
	} {
		if !errors.Is(err, m.fail) {
			t.Errorf("%s = %v, want the store's error", name, err)
		}
	}
	if got := listed(table); got != "10.0.0.0/8 all" || calls != 0 {
		t.Errorf("in force: %s after %d changes, want what was before", got, calls)
	}
}

func second(_ int, err error) error { return err }

func TestAddRefusesMistakes(t *testing.T) {
	table, m := table(t)
	for prefix, want := range map[string]error{
		"0.0.0.0/0": ErrEverybody, "::/0": ErrEverybody, "::ffff:0.0.0.0/96": ErrEverybody, "::ffff:0.0.0.0/95": storage.ErrInvalid,
	} {
		if err := table.Add(t.Context(), ban(prefix, storage.ScopeAll)); !errors.Is(err, want) {
			t.Errorf("Add(%s) = %v, want %v", prefix, err, want)
		}
	}
	if err := table.Add(t.Context(), ban("10.0.0.0/8", storage.EveryScope)); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("Add() without scope = %v, want ErrInvalid", err)
	}
	if len(m.bans) != 0 || len(table.List()) != 0 {
		t.Errorf("stored %v, in force %v, want nothing", m.bans, table.List())
	}
}

func TestRemove(t *testing.T) {
	table, m := table(t,
		ban("10.0.0.0/8", storage.ScopeAll), ban("10.0.0.0/8", storage.ScopeLists), ban("10.0.0.0/8", storage.ScopePresence),
		ban("10.0.0.0/9", storage.ScopeAll))
	steps := []struct {
		prefix string
		scope  storage.Scope
		n      int
		left   string
	}{
		{"::ffff:10.1.2.3/104", storage.ScopeLists, 1, "10.0.0.0/8 all, 10.0.0.0/8 presence, 10.0.0.0/9 all"},
		{"10.0.0.0/8", storage.ScopeLists, 0, "10.0.0.0/8 all, 10.0.0.0/8 presence, 10.0.0.0/9 all"},
		{"10.0.0.0/8", storage.EveryScope, 2, "10.0.0.0/9 all"},
	}
	for _, s := range steps {
		n, err := table.Remove(t.Context(), netip.MustParsePrefix(s.prefix), s.scope)
		if n != s.n || err != nil || listed(table) != s.left || len(m.bans) != len(table.List()) {
			t.Errorf("Remove(%s, %v) = %d, %v, leaves %s, want %d and %s", s.prefix, s.scope, n, err, listed(table), s.n, s.left)
		}
	}
	if _, err := table.Remove(t.Context(), netip.Prefix{}, storage.EveryScope); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("Remove() of no prefix = %v, want ErrInvalid", err)
	}
}

func TestLoad(t *testing.T) {
	_, m := table(t, ban("10.0.0.0/8", storage.ScopeAll), ban("9.0.0.0/8", storage.ScopeLists), ban("2001:db8::/32", storage.ScopeAll))
	table := New(m)
	if err := table.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := "9.0.0.0/8 lists, 10.0.0.0/8 all, 2001:db8::/32 all"
	if got := listed(table); got != all {
		t.Errorf("List() = %s, want %s", got, all)
	}
	m.bad = errors.New("disk on fire")
	delete(m.bans, "10.0.0.0/8 all")
	if err := table.Load(t.Context()); !errors.Is(err, m.bad) {
		t.Errorf("Load() = %v, want the store's error", err)
	}
	if got := listed(table); got != all {
		t.Errorf("after a Load that failed: %s, want what was in force", got)
	}
	m.bad = fmt.Errorf("ban 7: %w", storage.ErrDamaged)
	if err := table.Reload(t.Context()); !errors.Is(err, storage.ErrDamaged) || listed(table) != all {
		t.Errorf("Reload() with a damaged ban = %v, in force %s; want ErrDamaged and what was in force", err, listed(table))
	}
	if err := table.Load(t.Context()); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("Load() with a damaged ban = %v, want ErrDamaged", err)
	}
	if got := listed(table); got != "9.0.0.0/8 lists, 2001:db8::/32 all" {
		t.Errorf("after a Load with a damaged ban: %s, want the rest", got)
	}
}

func TestSweep(t *testing.T) {
	now := time.Now()
	over := ban("10.0.0.0/8", storage.ScopeAll)
	over.Expires = now
	table, m := table(t, over, ban("11.0.0.0/8", storage.ScopeAll))
	for _, want := range []int{1, 0} {
		if n, err := table.Sweep(t.Context(), now); n != want || err != nil {
			t.Errorf("Sweep() = %d, %v, want %d", n, err, want)
		}
	}
	if got := listed(table); got != "11.0.0.0/8 all" || len(m.bans) != 1 {
		t.Errorf("in force %s, stored %v, want 11.0.0.0/8 in both", got, m.bans)
	}
}

// When the clock jumps, bans expire and come back with it; only those that
// expired long ago are removed.
func TestBansFollowTheClock(t *testing.T) {
	now := time.Now().Round(0)
	timed := ban("10.0.0.0/8", storage.ScopeAll)
	timed.Expires = now.Add(24 * time.Hour)
	table, m := table(t, timed, ban("11.0.0.0/8", storage.ScopeAll))
	calls := 0
	table.OnChange(func() { calls++ })
	year := 365 * 24 * time.Hour
	for _, step := range []struct {
		what     string
		now      time.Time
		in       bool
		changes  int
		inForces int
	}{
		{"at first", now, true, 0, 2},
		{"nothing happened", now.Add(time.Hour), true, 0, 2},
		{"forward by a year", now.Add(year), false, 1, 1},
		{"a while later", now.Add(year + time.Hour), false, 1, 1},
		{"set right", now.Add(2 * time.Hour), true, 2, 2},
		{"back by a year", now.Add(-year), true, 2, 2},
		{"its end", now.Add(24 * time.Hour), false, 3, 1},
	} {
		table.Recheck(step.now)
		if _, banned := table.Check(storage.ScopeLists, netip.MustParseAddr("10.1.1.1"), step.now); banned != step.in || calls != step.changes {
			t.Errorf("%s: banned %v after %d changes, want %v and %d", step.what, banned, calls, step.in, step.changes)
		}
		if n := len(table.InForce(step.now)); n != step.inForces || len(table.List()) != 2 || len(m.bans) != 2 {
			t.Errorf("%s: %d bans in force of %d, %d stored; want %d of 2", step.what, n, len(table.List()), len(m.bans), step.inForces)
		}
	}
}

func TestOnChangeSeesEveryChangeAndNoOther(t *testing.T) {
	table, _ := table(t)
	var seen []string
	table.OnChange(func() { seen = append(seen, listed(table)) })
	prefix := netip.MustParsePrefix("10.0.0.0/8")
	if err := table.Add(t.Context(), ban("10.0.0.0/8", storage.ScopeAll)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second removes nothing
		if _, err := table.Remove(t.Context(), prefix, storage.EveryScope); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := table.Sweep(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, "|"); got != "10.0.0.0/8 all|" {
		t.Errorf("callbacks saw %q, want the ban, then nothing", got)
	}
}

func TestChangesAndChecksAtOnce(t *testing.T) {
	table, m := table(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			b := ban(fmt.Sprintf("10.%d.0.0/16", i), storage.ScopeAll)
			for range 20 {
				if err := table.Add(t.Context(), b); err != nil {
					t.Error(err)
				}
				if _, banned := table.Check(storage.ScopeLists, b.Prefix.Addr(), time.Now()); !banned {
					t.Errorf("%v is not in force after Add", b.Prefix)
				}
				if n, err := table.Remove(t.Context(), b.Prefix, storage.EveryScope); n != 1 || err != nil {
					t.Errorf("Remove(%v) = %d, %v", b.Prefix, n, err)
				}
			}
		})
	}
	wg.Wait()
	if len(table.List()) != 0 || len(m.bans) != 0 {
		t.Errorf("in force %s, stored %v, want nothing", listed(table), m.bans)
	}
}

func TestParsePrefix(t *testing.T) {
	tests := map[string]struct {
		want string
		err  error
	}{
		"192.0.2.7":              {want: "192.0.2.7/32"},
		" 192.0.2.7\n":           {want: "192.0.2.7/32"},
		"192.0.2.7/24":           {want: "192.0.2.0/24"},
		"::ffff:192.0.2.7":       {want: "192.0.2.7/32"},
		"::ffff:192.0.2.7/120":   {want: "192.0.2.0/24"},
		"2001:db8::1":            {want: "2001:db8::1/128"},
		"2001:db8::1/32":         {want: "2001:db8::/32"},
		"128.0.0.0/1":            {want: "128.0.0.0/1"},
		"0.0.0.0/0":              {err: ErrEverybody},
		"1.2.3.4/0":              {err: ErrEverybody},
		"::/0":                   {err: ErrEverybody},
		"::ffff:1.2.3.4/96":      {err: ErrEverybody},
		"::ffff:1.2.3.4/95":      {err: storage.ErrInvalid},
		"":                       {err: storage.ErrInvalid},
		"192.0.2":                {err: storage.ErrInvalid},
		"192.0.2.0/33":           {err: storage.ErrInvalid},
		"192.0.2.0/-1":           {err: storage.ErrInvalid},
		"192.0.2.0/":             {err: storage.ErrInvalid},
		"192.0.2.0/24/24":        {err: storage.ErrInvalid},
		"fe80::1%eth0":           {err: storage.ErrInvalid},
		"fe80::%eth0/64":         {err: storage.ErrInvalid},
		"example.org":            {err: storage.ErrInvalid},
		strings.Repeat("1", 100): {err: storage.ErrInvalid},
	}
	for text, tt := range tests {
		got, err := ParsePrefix(text)
		if !errors.Is(err, tt.err) || (err == nil && got.String() != tt.want) {
			t.Errorf("ParsePrefix(%q) = %v, %v, want %s, %v", text, got, err, tt.want, tt.err)
		}
	}
}

func FuzzParsePrefix(f *testing.F) {
	for _, seed := range []string{"192.0.2.7", "10.0.0.0/8", "::ffff:192.0.2.7/120", "2001:db8::/32", "::/0", "fe80::1%eth0", "1.2.3.4/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePrefix(text)
		if err != nil {
			return
		}
		if !p.IsValid() || p.Bits() == 0 || p != p.Masked() || p.Addr().Is4In6() || p.Addr().Zone() != "" {
			t.Errorf("ParsePrefix(%q) = %v, which is not canonical", text, p)
		}
		if again, err := ParsePrefix(p.String()); again != p || err != nil {
			t.Errorf("ParsePrefix(%q) = %v, %v, want %v", p, again, err, p)
		}
	})
}

// manyBans returns n single addresses and two ranges, none with 192.0.2.1.
func manyBans(n int) []storage.Ban {
	list := []storage.Ban{ban("172.16.0.0/12", storage.ScopeLists), ban("198.51.100.0/24", storage.ScopeAll)}
	for i := range n {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		list = append(list, storage.Ban{Prefix: netip.PrefixFrom(addr, 32), Scope: storage.ScopeAll})
	}
	return list[:n]
}

func TestCheckDoesNotAllocate(t *testing.T) {
	table := New(newMemory())
	_ = table.Change(func([]storage.Ban) ([]storage.Ban, bool, error) { return manyBans(100), true, nil })
	now := time.Now()
	for _, text := range []string{"192.0.2.1", "10.0.0.5", "::ffff:10.0.0.5", "fe80::1%eth0"} {
		addr := netip.MustParseAddr(text)
		if n := testing.AllocsPerRun(100, func() { table.Check(storage.ScopeLists, addr, now) }); n != 0 {
			t.Errorf("Check(%s) allocates %v times, want 0", text, n)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	now := time.Now()
	for _, n := range []int{0, 10000} {
		table := New(newMemory())
		_ = table.Change(func([]storage.Ban) ([]storage.Ban, bool, error) { return manyBans(n), true, nil })
		for name, text := range map[string]string{"free": "192.0.2.1", "banned": "10.0.0.5", "ipv6": "2001:db8::1"} {
			addr := netip.MustParseAddr(text)
			b.Run(fmt.Sprint(n, "/", name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					table.Check(storage.ScopeLists, addr, now)
				}
			})
		}
	}
}

func BenchmarkAddTo10000(b *testing.B) {
	table := New(newMemory())
	_ = table.Change(func([]storage.Ban) ([]storage.Ban, bool, error) { return manyBans(10000), true, nil })
	b.ReportAllocs()
	for b.Loop() {
		if err := table.Add(b.Context(), ban("192.0.2.0/24", storage.ScopeAll)); err != nil {
			b.Fatal(err)
		}
	}
}
