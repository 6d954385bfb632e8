package filter_test

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/master/filter"
)

func TestBudgetIsTakenPerOperationAndByte(t *testing.T) {
	s := server{"a": "abcd", "n": "1"}
	for text, want := range map[string]int{
		"1":                    1,
		"n=1":                  3,
		"n is null":            2,
		"not n=2":              4,
		"a='abcd'":             3 + 4,
		"a='abcde'":            3,
		"a>'abd'":              3 + 3,
		"a like 'a%d'":         3 + 5,
		"a like '%'":           3 + 1,
		"n=1 or a='abcd'":      1 + 3,
		"n=2 and a='abcd'":     1 + 3,
		"n=1 and a='abcd'":     1 + 3 + 7,
		"n+1=2":                5,
		"n in (1,2)":           2 + 2,
		"n in (2,1)":           2 + 2 + 2,
		"n not in (2,3)":       2 + 2 + 2,
		"a in ('x','abcd')":    2 + 2 + 2 + 4,
		"(n=1)=1":              1 + 3 + 1,
		"-n<0":                 4,
		"a = a and 'b'='abcd'": 1 + 7 + 3,
	} {
		f := compile(t, text)
		b := &filter.Budget{Steps: 100}
		f.Match(s.row(f.Names()), b)
		if got := 100 - b.Steps; got != want {
			t.Errorf("Match(%q) takes %d steps, want %d", text, got, want)
		}
	}
}

func TestMatchIsFalseOnceTheBudgetIsExhausted(t *testing.T) {
	for _, text := range []string{"n=1", "not n=2", "n is null or n=1", "a like '%d'", "not a like '%x'", "not not n", "n+1=2 and a='abcd'", "n in (2,1)", "n not in (2,3)"} {
		f := compile(t, text)
		r := server{"a": "abcd", "n": "1"}.row(f.Names())
		full := &filter.Budget{Steps: 1000}
		if !f.Match(r, full) {
			t.Fatalf("Match(%q) with enough = false", text)
		}
		need := 1000 - full.Steps + 1 // one has to be left
		for steps := range need + 1 {
			b := &filter.Budget{Steps: steps}
			got := f.Match(r, b)
			if want := steps == need; got != want || b.Exhausted() == want {
				t.Errorf("Match(%q) with %d of %d steps = %v, exhausted %v", text, steps, need, got, b.Exhausted())
			}
		}
	}
	if new(filter.Filter).Match(nil, &filter.Budget{}) {
		t.Error("Match of the blank filter without a step = true, want false")
	}
	if (*filter.Budget)(nil).Exhausted() {
		t.Error("Exhausted() of no budget = true, want false")
	}
}

func TestOneBudgetServesManyMatches(t *testing.T) {
	f := compile(t, "n=1")
	r := server{"n": "1"}.row(f.Names())
	b := &filter.Budget{Steps: 10}
	matched := 0
	for !b.Exhausted() {
		if f.Match(r, b) {
			matched++
		}
	}
	if matched != 3 { // of 3 steps each
		t.Errorf("matched %d rows, want 3", matched)
	}
}

func TestCostlyFiltersStayWithinTheBudget(t *testing.T) {
	long := strings.Repeat("a", 4096)
	s := server{"a": long, "b": long + "b", "c": long[1:] + "b", "p": strings.Repeat("%a", 2000) + "b"}
	const enough = 100_000
	for about, c := range map[string]struct {
		text      string
		exhausted bool
	}{
		"many stretches, none at the end": {"a like '" + strings.Repeat("%a", 500) + "b'", false},
		"a long last stretch":             {"a like '%" + strings.Repeat("a", 1000) + "b'", true},
		"any bytes":                       {"a like '%" + strings.Repeat("_", 1000) + "b'", true},
		"a field as pattern":              {"a like p or a like p or a like p", false},
		"long text many times":            {padded(filter.MaxLength, "1=2", " or a>b", ""), true},
		"lists in lists":                  {strings.Repeat("(", 70) + "a" + strings.Repeat(" in (9,9))", 70) + " and 1=2", false},
		"a long list":                     {padded(filter.MaxLength, "a in (1", ",c", ")"), true},
		"many patterns":                   {padded(filter.MaxLength, "1=2", " or a like '%aab'", ""), true},
	} {
		f := compile(t, c.text)
		b := &filter.Budget{Steps: enough}
		if f.Match(s.row(f.Names()), b) {
			t.Errorf("%s: Match = true, want false", about)
		}
		if b.Exhausted() != c.exhausted || b.Steps < -len(long) {
			t.Errorf("%s: %d steps left, exhausted %v, want %v", about, b.Steps, b.Exhausted(), c.exhausted)
		}
	}
}

func TestLikeSteps(t *testing.T) {
	const n = 4096
	f := compile(t, "a like '"+strings.Repeat("%a", 500)+"'")
	b := &filter.Budget{Steps: 1 << 40}
	if !f.Match(server{"a": strings.Repeat("a", n)}.row(f.Names()), b) {
		t.Error("Match = false, want true")
	}
	if got := 1<<40 - b.Steps; got > 3*n {
		t.Errorf("Match takes %d steps for %d bytes, want at most %d", got, n, 3*n)
	}
}

func TestBudgetOfAListGrowsWithItsRows(t *testing.T) {
	for rows, want := range map[int]int{0: 2_000_000, 1: 2_000_400, 200_000: 82_000_000} {
		if got := filter.ListBudget(rows).Steps; got != want {
			t.Errorf("ListBudget(%d) has %d steps, want %d", rows, got, want)
		}
	}
}
