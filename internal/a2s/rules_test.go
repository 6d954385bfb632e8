package a2s

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fortyRules returns the content of testdata/rules.hex and of the split_*.hex
// files.
func fortyRules() Rules {
	rules := Rules{Count: 40}
	for i := range 40 {
		rules.List = append(rules.List, Rule{fmt.Sprintf("rule_%02d", i), fmt.Sprintf("value %d of forty", i*i)})
	}
	return rules
}

func TestRulesBothWays(t *testing.T) {
	want := fortyRules()
	got, err := ParseRules(bodyOf(t, "rules", KindRules))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if packet := AppendRules(nil, want); !bytes.Equal(packet, packetOf(t, "rules")) {
		t.Errorf("AppendRules = %x, want %x", packet, packetOf(t, "rules"))
	}
}

func TestRulesKeepBinaryValues(t *testing.T) {
	value := make([]byte, 255)
	for i := range value {
		value[i] = byte(i + 1)
	}
	want := Rules{Count: 4, List: []Rule{{"\x01\x02", string(value)}, {"", ""}, {"twice", "1"}, {"twice", "2"}}}
	got, err := ParseRules(AppendRules(nil, want)[headerSize+1:])
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestRulesCutAnywhere(t *testing.T) {
	body := bodyOf(t, "rules", KindRules)
	want := fortyRules()
	for n := range body {
		got, err := ParseRules(body[:n:n])
		if n < 2 {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("cut at %d: %v, want ErrMalformed", n, err)
			}
			continue
		}
		whole := bytes.Count(body[2:n], []byte{0}) / 2
		cut := Rules{Count: 40, List: want.List[:whole], Truncated: true}
		if got.Count != cut.Count || got.Truncated != cut.Truncated || !slices.Equal(got.List, cut.List) || err != nil {
			t.Fatalf("cut at %d: error %v (-want +got):\n%s", n, err, cmp.Diff(cut, got, cmpopts.EquateEmpty()))
		}
	}
}

func TestMoreRulesThanStatedMeanNothing(t *testing.T) {
	rules := fortyRules()
	rules.Count = 2
	got, err := ParseRules(AppendRules(nil, rules)[headerSize+1:])
	if diff := cmp.Diff(Rules{Count: 2, List: rules.List[:2]}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestRulesAreBounded(t *testing.T) {
	for n, want := range map[int]error{MaxRules: nil, MaxRules + 1: ErrTooMuch} {
		rules := Rules{Count: uint16(n), List: make([]Rule, n)}
		got, err := ParseRules(AppendRules(nil, rules)[headerSize+1:])
		if !errors.Is(err, want) || (err == nil) != (len(got.List) == n) {
			t.Errorf("%d rules: %d, error %v, want %v", n, len(got.List), err, want)
		}
	}
}

func BenchmarkParseRules(b *testing.B) {
	body := bodyOf(b, "rules", KindRules)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseRules(body); err != nil {
			b.Fatal(err)
		}
	}
}
