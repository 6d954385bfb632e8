package web

import (
	"fmt"
	"strings"
	"testing"
)

func TestShownColumnsBounds(t *testing.T) {
	var names []string
	for i := range maxTableColumns + 1 {
		names = append(names, fmt.Sprint("column", i, "_"))
	}
	if _, shown := shownColumns(names[:maxTableColumns]); len(shown) != maxTableColumns {
		t.Errorf("%d of %d columns shown", len(shown), maxTableColumns)
	}
	if _, shown := shownColumns(names); len(shown) != maxTableColumns {
		t.Errorf("%d columns shown, want %d", len(shown), maxTableColumns)
	}
}

func TestRuleTextBounds(t *testing.T) {
	for over := range 2 {
		var v serverPage
		v.addRule(strings.Repeat("n", maxFieldText+over), strings.Repeat("v", maxValueText+over))
		if r := v.Rules[0]; strings.HasSuffix(r.Name, "n") != (over == 0) || strings.HasSuffix(r.Value, "v") != (over == 0) {
			t.Errorf("%d too long: name ends with %q, value with %q", over, r.Name[len(r.Name)-3:], r.Value[len(r.Value)-3:])
		}
	}
}
