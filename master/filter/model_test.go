package filter_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/respawnd/respawnd/master/filter"
)

// drawServer makes a server that has the fields drawLeaf asks for.
func drawServer(t *rapid.T) server {
	s := server{"empty": ""}
	for _, name := range []string{"a", "b", "c", "d", "n", "one", "groupid", "big", "ratio"} {
		s[name] = rapid.SampledFrom([]string{
			"0", "1", "2", "-3", "1.1", "1.10", "0.5", "abc", "àé", "ABC", "aB", "%", `a\`, "it's", "", "-", "1.", "0.0", "-0",
			"9223372036854775807", "-9223372036854775808", "9223372036854775808", "12345678901234567890123", "000000000000000000000000000001",
		}).Draw(t, name)
	}
	return s
}

func TestFilterAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawExpr(t, rapid.IntRange(1, 5).Draw(t, "depth"))
		text := x.write(t, 0)
		f, err := filter.Compile(text)
		if errors.Is(err, filter.ErrTooLong) {
			return
		}
		if err != nil {
			t.Fatalf("Compile(%q): %v", text, err)
		}
		again, err := filter.Compile(f.String())
		if err != nil {
			t.Fatalf("Compile(%q), canonical form of %q: %v", f, text, err)
		}
		if again.String() != f.String() {
			t.Fatalf("String() of %q = %q, compiled again %q", text, f, again)
		}
		s := drawServer(t)
		want := truth(x.eval(s))
		if got := f.Match(s.row(f.Names()), nil); got != want {
			t.Fatalf("Match(%q) = %v, want %v", text, got, want)
		}
		if got := again.Match(s.row(again.Names()), nil); got != want {
			t.Fatalf("Match(%q), canonical form of %q, = %v, want %v", f, text, got, want)
		}
		steps := rapid.IntRange(0, 50).Draw(t, "steps")
		b := &filter.Budget{Steps: steps}
		if got := f.Match(s.row(f.Names()), b); got != (want && !b.Exhausted()) {
			t.Fatalf("Match(%q) with %d steps = %v, exhausted %v, want %v", text, steps, got, b.Exhausted(), want)
		}
	})
}

func TestLikeAgreesWithTryingEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune(`abA%_\`)), 0, 12, -1).Draw(t, "text")
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune(`abB%%_\`)), 0, 10, -1).Draw(t, "pattern")
		f, err := filter.Compile("a like '" + pattern + "'")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := f.Match(server{"a": text}.row(f.Names()), nil), evalLike(text, pattern); got != want {
			t.Fatalf("%q like %q = %v, want %v", text, pattern, got, want)
		}
	})
}
