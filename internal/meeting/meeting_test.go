package meeting

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecorder(t *testing.T) {
	var r Recorder
	r.Note(Outcome{Way: Failed}) // before the follower
	var followed []Outcome
	r.Follow(func(o Outcome) { followed = append(followed, o) })
	o := Outcome{Game: "gmtest", KindA: Symmetric, KindB: Cone, Way: Negotiated, Server: netip.MustParseAddrPort("192.0.2.1:6500")}
	r.Note(o)
	o.KindA, o.KindB = o.KindB, o.KindA
	r.Note(o)
	want := []Count{{Unknown, Unknown, Failed, 1}, {Cone, Symmetric, Negotiated, 2}}
	if diff := cmp.Diff(want, r.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(followed) != 2 || followed[1] != o {
		t.Errorf("followed %v, want two, the last of them %v", followed, o)
	}
}

func TestNoRecorder(t *testing.T) {
	var r *Recorder
	r.Note(Outcome{})
	if got := r.Counts(); got != nil {
		t.Errorf("counts of no recorder: %v", got)
	}
}

func TestWords(t *testing.T) {
	seen := make(map[string]bool)
	for k := range Kind(Kinds) {
		seen[k.String()] = true
	}
	for w := range Way(Ways) {
		seen[w.String()] = true
	}
	if len(seen) != Kinds+Ways || seen[""] {
		t.Errorf("words %v, want one for each kind and way", seen)
	}
}
