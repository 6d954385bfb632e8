package stats

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzPairs checks that lists survive being written and read, that a merge keeps
// every key and changes nothing the second time, and that a selection has each key
// once.
func FuzzPairs(f *testing.F) {
	f.Add([]byte("\\a\\1\\b\\2\x00"), []byte("\\b\\\x00"))
	f.Add([]byte("raw"), []byte("\\a\\\\\\"))
	f.Add([]byte(nil), []byte("\\kills_0\\7\\pid_0\\1\\score_t1\\2"))
	f.Fuzz(func(t *testing.T, old, data []byte) {
		pairs, err := ParsePairs(data)
		if err != nil {
			return
		}
		if again, err := ParsePairs(AppendPairs(nil, pairs)); err != nil || !slices.Equal(pairs, again) {
			t.Fatalf("%q is read as %q, and as %q after writing (%v)", data, pairs, again, err)
		}
		merged, err := mergePairs(old, data)
		if err != nil {
			t.Fatalf("mergePairs() = %v", err)
		}
		if len(merged) > len(old)+len(data)+3 {
			t.Errorf("merging %d and %d bytes gave %d", len(old), len(data), len(merged))
		}
		if twice, err := mergePairs(merged, data); err != nil || !bytes.Equal(merged, twice) {
			t.Errorf("merged %q, again %q, %v", merged, twice, err)
		}
		values := make(map[string]string)
		var keys []string
		for _, p := range pairs {
			values[p.Key] = p.Value
			keys = append(keys, p.Key, p.Key)
		}
		selected, err := ParsePairs(selectPairs(merged, keys, ""))
		if err != nil || len(selected) != len(values) {
			t.Errorf("%d keys are selected as %q, %v", len(values), selected, err)
		}
		for _, p := range selected {
			if p.Value != values[p.Key] {
				t.Errorf("key %q has the value %q, want %q", p.Key, p.Value, values[p.Key])
			}
		}
		m := Decode(pairs)
		n := len(m.Server)
		for _, g := range slices.Concat(m.Players, m.Teams) {
			n += len(g.Pairs)
		}
		if n != len(pairs) {
			t.Errorf("%d of %d pairs after Decode", n, len(pairs))
		}
	})
}
