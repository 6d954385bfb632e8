package master

import (
	"slices"
	"strings"
	"testing"
)

func TestJoinable(t *testing.T) {
	reached := func(r Reached, natneg bool) Server { return Server{NATNeg: natneg, Findings: Findings{Reached: r}} }
	relayed := func(r Reached, natneg bool) Server {
		return Server{NATNeg: natneg, Findings: Findings{Reached: r, Relayed: true}}
	}
	restored := reached(ReachedDirect, true)
	restored.Restored = true
	for name, tt := range map[string]struct {
		server Server
		want   Joinable
	}{
		"not queried":                  {reached(ReachedUnknown, false), JoinUnknown},
		"no answer":                    {reached(ReachedNo, false), JoinNo},
		"no answer, but a claim":       {reached(ReachedNo, true), JoinNegotiated},
		"a claim":                      {reached(ReachedUnknown, true), JoinNegotiated},
		"another port of ours":         {reached(ReachedPerhaps, false), JoinDirect},
		"another port, and a claim":    {reached(ReachedPerhaps, true), JoinNegotiated},
		"another address":              {reached(ReachedDirect, true), JoinDirect},
		"negotiated":                   {reached(ReachedNegotiated, true), JoinNegotiated},
		"relayed":                      {relayed(ReachedUnknown, true), JoinRelayed},
		"relayed, and no answer":       {relayed(ReachedNo, true), JoinRelayed},
		"relayed once, but negotiated": {relayed(ReachedNegotiated, true), JoinNegotiated},
		"relayed once, but direct":     {relayed(ReachedDirect, true), JoinDirect},
		"of before a restart":          {restored, JoinUnknown},
	} {
		if got := tt.server.Joinable(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if direct := tt.server.Joinable() == JoinDirect; direct && !tt.server.Direct() {
			t.Errorf("%s: direct, but players are not to join it directly", name)
		}
	}
}

func TestParseJoinables(t *testing.T) {
	for _, name := range JoinableNames() {
		set, _, ok := ParseJoinables(name)
		if !ok {
			t.Fatalf("%s is no name", name)
		}
		for j := range Joinable(Joinables) {
			if set.Has(j) != (j.String() == name) {
				t.Errorf("the set of %s: has %v is %v", name, j, set.Has(j))
			}
		}
	}
	if set, _, ok := ParseJoinables(""); !ok || !set.Has(JoinNo) || !set.Has(JoinUnknown) {
		t.Errorf("no names: %v %v, want all", set, ok)
	}
	if set, _, _ := ParseJoinables(strings.Join(AnyWay.Names(), ",")); set != AnyWay || len(JoinableSet(0).Names()) != 0 {
		t.Errorf("names of the set of all that get in: %v", AnyWay.Names())
	}
	set, _, ok := ParseJoinables("direct,no")
	if !ok || !set.Has(JoinDirect) || !set.Has(JoinNo) || set.Has(JoinRelayed) {
		t.Errorf("two names: %v %v", set, ok)
	}
	for _, text := range []string{"yes", "direct,", ",direct", "direct no", "DIRECT"} {
		if _, _, ok := ParseJoinables(text); ok {
			t.Errorf("%q was read", text)
		}
	}
	if want := []string{"direct", "negotiated", "relayed", "no", "unknown"}; !slices.Equal(JoinableNames(), want) {
		t.Errorf("names %v, want %v", JoinableNames(), want)
	}
	if got := Joinable(Joinables).String(); got != "unknown" {
		t.Errorf("beyond the last: %q", got)
	}
}
