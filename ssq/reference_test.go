package ssq

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	wire "github.com/respawnd/respawnd/internal/ssq"
)

// record is a server as the reference knows it: the text of each column.
type record map[string]string

// typeOf says how the reference compares a column.
func typeOf(column string) string {
	switch column {
	case "port", "numplayers", "maxplayers", "x-password":
		return "number"
	case "hostip":
		return "address"
	case "x-rule":
		return "either"
	default:
		return "text"
	}
}

// holds is a comparison as the documentation has it, written without regard to
// anything else. ASCII only.
func (r record) holds(c wire.Comparison) bool {
	have, want := r[c.Column], c.Value
	order, comparable := strings.Compare(strings.ToLower(have), strings.ToLower(want)), true
	a, errA := strconv.Atoi(have)
	b, errB := strconv.Atoi(want)
	switch t := typeOf(c.Column); {
	case t == "number" && errA != nil:
		comparable = false
	case t == "number", t == "either" && errA == nil && errB == nil:
		order = a - b
	case t == "address":
		order = netip.MustParseAddrPort(have).Compare(netip.MustParseAddrPort(want))
	}
	switch c.Op {
	case wire.Equal:
		return comparable && order == 0
	case wire.NotEqual:
		return !comparable || order != 0
	case wire.Greater:
		return comparable && order > 0
	default:
		return comparable && order < 0
	}
}

// selected evaluates a WHERE by splitting it at its ors.
func (r record) selected(where []wire.Comparison) bool {
	var alternatives [][]wire.Comparison
	for i, c := range where {
		if i == 0 || c.Or {
			alternatives = append(alternatives, nil)
		}
		last := len(alternatives) - 1
		alternatives[last] = append(alternatives[last], c)
	}
	return len(where) == 0 || slices.ContainsFunc(alternatives, func(all []wire.Comparison) bool {
		return !slices.ContainsFunc(all, func(c wire.Comparison) bool { return !r.holds(c) })
	})
}

func TestWhereMatchesTheReference(t *testing.T) {
	f := newFixture(t)
	words := []string{"", "a", "A", "ab", "B", "10", "9", "-1", `q"uo\te'`, "z z"}
	numbers := []string{"0", "1", "9", "10", "16"}
	var all []record
	for i := range 40 {
		r := record{
			"hostip":     fmt.Sprintf("192.0.2.%d:%d", 1+i%20, 1000+i),
			"port":       strconv.Itoa(1000 + i),
			"hostname":   words[i%len(words)],
			"map":        words[(i*3+1)%len(words)],
			"numplayers": numbers[i%len(numbers)],
			"maxplayers": numbers[(i*7+2)%len(numbers)],
			"x-password": strconv.Itoa(i / 3 % 2),
			"x-rule":     words[(i*7)%len(words)],
			"game":       "gmtest",
		}
		f.list(game{source: r["hostip"], rules: []string{
			"hostname", r["hostname"], "mapname", r["map"], "numplayers", r["numplayers"], "maxplayers", r["maxplayers"], "password", r["x-password"], "rule", r["x-rule"],
		}})
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b record) int {
		return netip.MustParseAddrPort(a["hostip"]).Compare(netip.MustParseAddrPort(b["hostip"]))
	})
	columns := []string{"hostip", "port", "hostname", "map", "numplayers", "maxplayers", "x-password", "x-rule", "game"}
	chosen := map[int]int{}
	rapid.Check(t, func(rt *rapid.T) {
		q := wire.Query{Verb: wire.Select, Fields: []string{"hostip"}}
		for i := range rapid.IntRange(0, 6).Draw(rt, "comparisons") {
			c := wire.Comparison{
				Or:     i > 0 && rapid.Bool().Draw(rt, "or"),
				Column: rapid.SampledFrom(columns).Draw(rt, "column"),
				Op:     rapid.SampledFrom([]wire.Op{wire.Equal, wire.NotEqual, wire.Greater, wire.Less}).Draw(rt, "op"),
			}
			switch typeOf(c.Column) {
			case "number":
				c.Value = rapid.SampledFrom(append(numbers, "1007", "1033")).Draw(rt, "number")
			case "address":
				c.Value = rapid.SampledFrom(all).Draw(rt, "server")["hostip"]
			default:
				c.Value = rapid.SampledFrom(append(words, "gmtest", "AB")).Draw(rt, "word")
			}
			q.Where = append(q.Where, c)
		}
		text := string(q.AppendTo(nil))
		var got, want []string
		for _, row := range f.ask(text).Rows {
			got = append(got, row[0])
		}
		for _, r := range all {
			if r.selected(q.Where) {
				want = append(want, r["hostip"])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%s (-want +got):\n%s", text, diff)
		}
		chosen[len(want)]++
	})
	if len(chosen) < 3 {
		t.Errorf("the questions choose %v: too much alike to show anything", chosen)
	}
}
