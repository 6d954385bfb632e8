package api

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/web/webtest"
)

func FuzzAppendString(f *testing.F) {
	for _, s := range webtest.HostileTexts() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		quoted := string(appendString(nil, in))
		if got, want := webtest.Decode[string](t, strings.NewReader(quoted)), clean.Text(in); got != want {
			t.Errorf("appendString(%q): got %s, which reads %q, want %q", in, quoted, got, want)
		}
	})
}

func FuzzParameters(f *testing.F) {
	for _, s := range []string{
		"", "game=gmtest", "q=x&limit=10&full=1", "cursor=" + position{game: "gmtest", players: 3, public: addr("192.0.2.1:1")}.cursor(),
		"sort=name&cursor=" + position{order: ByName, name: "a~b", public: addr("192.0.2.1:1")}.cursor(), "a=1;b", "%", "limit=-1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p, err := parseListParams(query)
		if err == nil && (p.limit < 1 || p.limit > MaxLimit || len(p.query) > 4*MaxQuery) {
			t.Errorf("parseListParams(%q): got %+v", query, p)
		}
		if err == nil && p.cursor {
			if again, ok := parseCursor(p.after.cursor()); !ok || again != p.after {
				t.Errorf("cursor of %+v: got %+v, %v", p.after, again, ok)
			}
		}
		if err != nil && strings.ContainsFunc(strings.ReplaceAll(err.Error(), "\n", ""), clean.IsHidden) {
			t.Errorf("parseListParams(%q): the error %q is not clean", query, err)
		}
	})
}
