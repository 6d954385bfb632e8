package master

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

func TestCapsHoldAtTheirEdges(t *testing.T) {
	tests := map[string]struct {
		limits Limits
		listed []string
		next   string
		want   error
	}{
		"last place of all":             {Limits{Servers: 2}, []string{"10.0.0.1:1"}, "10.0.1.1:1", nil},
		"one too many":                  {Limits{Servers: 2}, []string{"10.0.0.1:1", "10.0.1.1:1"}, "10.0.2.1:1", ErrFull},
		"last place of an address":      {Limits{PerAddr: 2}, []string{"10.0.0.1:1"}, "10.0.0.1:2", nil},
		"one too many for an address":   {Limits{PerAddr: 2}, []string{"10.0.0.1:1", "10.0.0.1:2"}, "10.0.0.1:3", ErrTooManyHere},
		"the neighbour has its own cap": {Limits{PerAddr: 2}, []string{"10.0.0.1:1", "10.0.0.1:2"}, "10.0.0.2:1", nil},
		"last place of a /24":           {Limits{PerNet: 2}, []string{"10.0.0.1:1"}, "10.0.0.255:1", nil},
		"one too many for a /24":        {Limits{PerNet: 2}, []string{"10.0.0.1:1", "10.0.0.2:1"}, "10.0.0.3:1", ErrTooManyHere},
		"the next /24":                  {Limits{PerNet: 2}, []string{"10.0.0.1:1", "10.0.0.2:1"}, "10.0.1.3:1", nil},
		"one too many for a /64":        {Limits{PerNet: 1}, []string{"[2001:db8::1]:1"}, "[2001:db8::2:0:0:1]:1", ErrTooManyHere},
		"the next /64":                  {Limits{PerNet: 1}, []string{"[2001:db8::1]:1"}, "[2001:db8:0:1::1]:1", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := NewRegistry(tt.limits)
			for _, a := range tt.listed {
				mustPut(t, r, at("gmtest", addrPort(a), 1))
			}
			if err := r.Put(at("gmtest", addrPort(tt.next), 1)); !errors.Is(err, tt.want) {
				t.Fatalf("Put(%s): got %v, want %v", tt.next, err, tt.want)
			}
			want := len(tt.listed)
			if tt.want == nil {
				want++
			}
			if got := r.Len(); got != want {
				t.Errorf("Len: got %d, want %d", got, want)
			}
		})
	}
}

func TestPutIntoFullList(t *testing.T) {
	r := NewRegistry(Limits{Servers: 1, PerAddr: 1, PerNet: 1})
	src := addrPort("10.0.0.1:1")
	mustPut(t, r, at("gmtest", src, 1))
	for name, s := range map[string]Server{
		"an update":      at("gmtest", src, 1),
		"a new instance": at("gmtest", src, 2),
		"another game":   at("other", src, 2),
	} {
		if err := r.Put(s); err != nil {
			t.Errorf("Put of %s on a full list: %v", name, err)
		}
	}
	if got := r.Len(); got != 1 {
		t.Errorf("Len: got %d, want 1", got)
	}
}

func TestPlaceOfARemovedServerIsFree(t *testing.T) {
	r := NewRegistry(Limits{Servers: 1, PerAddr: 1, PerNet: 1})
	for i := range uint32(3) {
		s := at("gmtest", addrPort("10.0.0.1:1"), i)
		mustPut(t, r, s)
		if !r.HasAt(s.Key.Source.Addr()) || r.HasAt(addrPort("10.0.0.2:1").Addr()) {
			t.Error("HasAt: not the address of the one server")
		}
		if !r.Remove(s.Key) {
			t.Fatalf("Remove(%v): not listed", s.Key)
		}
		if r.HasAt(s.Key.Source.Addr()) {
			t.Error("HasAt: the address of a server that left")
		}
	}
	if len(r.perAddr) != 0 || len(r.perNet) != 0 {
		t.Errorf("counts left behind: %v %v", r.perAddr, r.perNet)
	}
}

func TestPublicAddressBelongsToOneServer(t *testing.T) {
	r := NewRegistry(Limits{})
	first := at("gmtest", addrPort("10.0.0.1:1"), 1)
	moved := at("gmtest", addrPort("10.0.0.2:1"), 1)
	moved.Public = addrPort("192.0.2.1:7000")
	mustPut(t, r, first)
	mustPut(t, r, moved)

	thief := at("gmtest", addrPort("10.0.0.3:1"), 1)
	for name, public := range map[string]netip.AddrPort{"of a source": first.Public, "of its own": moved.Public} {
		thief.Public = public
		if err := r.Put(thief); !errors.Is(err, ErrTaken) {
			t.Errorf("Put under a public address %s: got %v, want ErrTaken", name, err)
		}
	}
	// Its source is the public address of another server.
	if err := r.Put(at("gmtest", moved.Public, 1)); !errors.Is(err, ErrTaken) {
		t.Errorf("Put from an address that is shown for another: got %v, want ErrTaken", err)
	}
	// A listed server that claims another's address is unchanged.
	first.Public = moved.Public
	if err := r.Put(first); !errors.Is(err, ErrTaken) {
		t.Errorf("Put of a listed server under another's address: got %v, want ErrTaken", err)
	}
	if got, want := publicsOf(r, "gmtest"), []string{"10.0.0.1:1", "192.0.2.1:7000"}; !slices.Equal(got, want) {
		t.Errorf("list: got %v, want %v", got, want)
	}
}

func TestChangeOfPublicAddressMovesTheServer(t *testing.T) {
	r := NewRegistry(Limits{})
	s := at("gmtest", addrPort("10.0.0.1:1"), 1)
	mustPut(t, r, s)
	for _, public := range []string{"192.0.2.1:1", "192.0.2.2:1", "10.0.0.1:1"} {
		before := s.Public
		s.Public = addrPort(public)
		mustPut(t, r, s)
		if got, ok := r.Find(s.Public); !ok || got.Key != s.Key {
			t.Errorf("Find(%v): got %v %v, want the server", s.Public, got, ok)
		}
		if got, ok := r.Find(before); ok {
			t.Errorf("Find(%v) after the move: got %v, want nothing", before, got.Key)
		}
	}
	if len(r.byPublic) != 0 || r.Len() != 1 {
		t.Errorf("after moving back: %d public addresses and %d servers, want 0 and 1", len(r.byPublic), r.Len())
	}
}

func TestNewInstanceReplacesTheOldRecord(t *testing.T) {
	r := NewRegistry(Limits{})
	old := at("gmtest", addrPort("10.0.0.1:1"), 1)
	mustPut(t, r, old)
	restarted := at("gmtest", old.Key.Source, 2)
	restarted.Seen = start.Add(time.Minute)
	got := mustPut(t, r, restarted)
	if !got.First.Equal(restarted.Seen) {
		t.Errorf("First: got %v, want %v", got.First, restarted.Seen)
	}
	if _, ok := r.Get(old.Key); ok {
		t.Error("the old instance is still listed")
	}
	if s, ok := r.At(old.Key.Source); !ok || s.Key != restarted.Key {
		t.Errorf("At: got %v, want the new instance", s)
	}
	if r.Touch(old.Key, fromQR2, start) || r.Remove(old.Key) || r.Report(old.Key, Findings{Reached: ReachedDirect}) {
		t.Error("the key of the old instance still works")
	}
}

func TestChangeOfGameMovesTheServer(t *testing.T) {
	r := NewRegistry(Limits{})
	s := at("one", addrPort("10.0.0.1:1"), 1)
	mustPut(t, r, s)
	s.Game = "two"
	mustPut(t, r, s)
	if got := r.Counts(); !cmp.Equal(got, map[string]int{"two": 1}) {
		t.Errorf("Counts: got %v, want one server of two", got)
	}
	if got := publicsOf(r, "one"); len(got) != 0 {
		t.Errorf("list of the old game: %v", got)
	}
	if r.Serial("one") == 0 || r.Serial("two") <= r.Serial("one") {
		t.Errorf("serials: one %d, two %d", r.Serial("one"), r.Serial("two"))
	}
}

func TestUpdateKeepsKnownFields(t *testing.T) {
	r := NewRegistry(Limits{})
	s := at("gmtest", addrPort("10.0.0.1:1"), 1)
	before := mustPut(t, r, s)
	// A probe reports between the time at which the intake read the record and
	// the time at which it puts the next one.
	if !r.Report(s.Key, Findings{Reached: ReachedDirect}) {
		t.Fatal("Report: not listed")
	}
	next := *before
	next.Seen = start.Add(time.Minute)
	got := mustPut(t, r, next)
	if got.Findings.Reached != ReachedDirect {
		t.Error("the update took the findings back")
	}
	if !got.First.Equal(start) {
		t.Errorf("First: got %v, want %v", got.First, start)
	}
	if before.Findings.Reached == ReachedDirect || before.Serial >= got.Serial {
		t.Errorf("the old record was changed: %+v", before)
	}
}

func TestReportSaysWhetherItWasNew(t *testing.T) {
	r := NewRegistry(Limits{})
	s := mustPut(t, r, at("gmtest", addrPort("10.0.0.1:1"), 1))
	if !r.Report(s.Key, Findings{}) {
		t.Error("Report of what is known: got false, want true")
	}
	if got, _ := r.Get(s.Key); got != s {
		t.Error("Report of what is known made a new record")
	}
	if r.Report(Key{s.Key.Source, 9}, Findings{Reached: ReachedDirect}) {
		t.Error("Report under another instance: got true, want false")
	}
}

func TestTouchNeedsTheListedKeyAndOrigin(t *testing.T) {
	r := NewRegistry(Limits{})
	s := at("gmtest", addrPort("10.0.0.1:1"), 1)
	mustPut(t, r, s)
	restored := at("gmtest", addrPort("10.0.0.2:1"), 1)
	restored.Restored = true
	mustPut(t, r, restored)
	for name, tt := range map[string]struct {
		key  Key
		from *Origin
		want bool
	}{
		"listed":              {s.Key, fromQR2, true},
		"another instance":    {Key{s.Key.Source, 2}, fromQR2, false},
		"another source":      {Key{addrPort("10.0.0.1:2"), 1}, fromQR2, false},
		"another origin":      {s.Key, fromQR1, false},
		"from the saved list": {restored.Key, fromQR2, false},
	} {
		if got := r.Touch(tt.key, tt.from, start.Add(time.Minute)); got != tt.want {
			t.Errorf("Touch, %s: got %v, want %v", name, got, tt.want)
		}
	}
	for _, h := range r.All() {
		if want := start.Add(time.Minute); h.Key == s.Key && !h.LastSeen.Equal(want) {
			t.Errorf("last heard: got %v, want %v", h.LastSeen, want)
		}
	}
}

func TestRemoveFunc(t *testing.T) {
	r := NewRegistry(Limits{})
	for i := range 300 {
		mustPut(t, r, at(fmt.Sprint("game", i%3), source(i), uint32(i)))
	}
	gone := r.RemoveFunc(func(s *Server) bool { return s.Game == "game1" || s.Key.Instance < 150 })
	if len(gone) != 200 || r.Len() != 100 {
		t.Fatalf("RemoveFunc: took %d and left %d, want 200 and 100", len(gone), r.Len())
	}
	for _, s := range gone {
		if _, ok := r.Get(s.Key); ok {
			t.Fatalf("%v is still listed", s.Key)
		}
	}
	if got, want := r.Counts(), (map[string]int{"game0": 50, "game2": 50}); !cmp.Equal(got, want) {
		t.Errorf("Counts: got %v, want %v", got, want)
	}
	if got := r.RemoveFunc(func(*Server) bool { return false }); len(got) != 0 {
		t.Errorf("RemoveFunc of nothing: %d records", len(got))
	}
}

func TestSnapshotDoesNotChange(t *testing.T) {
	r := NewRegistry(Limits{})
	for i := range 200 {
		mustPut(t, r, withRules(t, r, at("gmtest", source(i), 1), "hostname", fmt.Sprint("before ", i)))
	}
	snap, serial := r.Snapshot("gmtest", nil)
	if serial != r.Serial("gmtest") {
		t.Errorf("serial of the snapshot: got %d, want %d", serial, r.Serial("gmtest"))
	}
	order := slices.Clone(snap)
	for i := range 200 {
		if i%2 == 0 {
			r.Remove(snap[i].Key)
		} else {
			mustPut(t, r, withRules(t, r, *snap[i], "hostname", "after"))
		}
	}
	for i, s := range snap {
		if name, _ := s.Rules.Get("hostname"); s != order[i] || name != fmt.Sprint("before ", i) {
			t.Fatalf("snapshot entry %d changed: %q", i, name)
		}
	}
	if again, now := r.Snapshot("gmtest", snap[:0]); len(again) != 100 || now == serial {
		t.Errorf("next snapshot: %d servers, serial %d after %d", len(again), now, serial)
	}
	if none, zero := r.Snapshot("never", nil); len(none) != 0 || zero != 0 || r.Serial("never") != 0 {
		t.Errorf("snapshot of a game without servers: %d servers, serial %d", len(none), zero)
	}
}

func TestListMayBeWrittenWhileItIsRead(t *testing.T) {
	r := NewRegistry(Limits{})
	for i := range 50 {
		mustPut(t, r, at("gmtest", source(i), 1))
	}
	seen := 0
	for s := range r.List("gmtest") {
		r.Remove(s.Key)
		seen++
	}
	if seen != 50 || r.Len() != 0 {
		t.Errorf("read %d and left %d, want 50 and 0", seen, r.Len())
	}
	mustPut(t, r, at("gmtest", source(1), 1))
	mustPut(t, r, at("gmtest", source(2), 1))
	seen = 0
	for range r.List("gmtest") {
		seen++
		break
	}
	if seen != 1 {
		t.Errorf("a reader that stops saw %d servers", seen)
	}
}

func TestFieldsThatOnlyTheMasterSays(t *testing.T) {
	r := NewRegistry(Limits{})
	s := withRules(t, r, at("gmtest", source(1), 1), "country", "XX", "region", "9", "hostname", "h")
	for _, name := range []string{"country", "Country", "COUNTRY", "region", "Region"} {
		if got, ok := s.Field(name); ok {
			t.Errorf("Field(%q): got the server's own %q, want nothing", name, got)
		}
	}
	s.Country, s.Region = "DE", "2"
	for name, want := range map[string]string{"country": "DE", "Country": "DE", "REGION": "2", "HostName": "h"} {
		if got, ok := s.Field(name); !ok || got != want {
			t.Errorf("Field(%q): got %q %v, want %q", name, got, ok, want)
		}
	}
}
