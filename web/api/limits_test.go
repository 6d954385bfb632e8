package api

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLimitsOfTheDocument compares the limits that docs/api.md states with those that are in force.
func TestLimitsOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Limits\n")
	table, _, _ = strings.Cut(table, "\n## ")
	numbers := regexp.MustCompile(`\d+(,\d{3})*`)
	for row, limits := range map[string][]int{
		"servers in an answer":         {DefaultLimit, MaxLimit},
		"an answer":                    {maxAnswer >> 20},
		"`q` and `player`":             {MaxQuery},
		"`cursor`":                     {maxCursor},
		"`from` of a ranking":          {maxFromRank},
		"servers of a list for Xash3D": {maxXash},
		"changes that an interrupted stream is sent": {maxCatchUp},
		"a batch of a stream":                        {int(feedPause.Milliseconds()), maxBatchChanges},
	} {
		_, cells, ok := strings.Cut(table, "\n| "+row+" | ")
		if !ok {
			t.Errorf("no row %q", row)
			continue
		}
		stated, _, _ := strings.Cut(cells, " | ")
		var want []string
		for _, n := range limits {
			text := fmt.Sprint(n)
			if n >= 1000 {
				text = fmt.Sprintf("%d,%03d", n/1000, n%1000)
			}
			want = append(want, text)
		}
		if got := numbers.FindAllString(stated, -1); !slices.Equal(got, want) {
			t.Errorf("%s: the document states %q, want %q", row, got, want)
		}
	}
}
