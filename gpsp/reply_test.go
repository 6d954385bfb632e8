package gpsp

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

func TestValuesAreMadeFitForTheClient(t *testing.T) {
	for name, tc := range map[string]struct{ value, want string }{
		"plain":                {"Bob", "Bob"},
		"empty":                {"", ""},
		"backslash":            {`a\final\b`, "a/final/b"},
		"control characters":   {"a\x00b\r\nc\x7f", "abc"},
		"other code page":      {"J\xfcrgen", "J\xfcrgen"},
		"the word itself":      {"final", "final "},
		"the word hidden":      {"fi\x00nal", "final "},
		"the word in capitals": {"FINAL", "FINAL"},
		"longest":              {strings.Repeat("x", maxValue), strings.Repeat("x", maxValue)},
		"too long":             {strings.Repeat("x", maxValue+1), strings.Repeat("x", maxValue)},
	} {
		var w reply
		w.text("nick", tc.value)
		if got := strings.TrimPrefix(string(w.b), `\nick\`); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestErrorsAreNeverFatal(t *testing.T) {
	var w reply
	w.text("leftover", "of the reply")
	w.failure(codeSearch, `no\fatal\here`)
	if got, want := string(w.end()), `\error\\err\3328\errmsg\no/fatal/here\final\`; got != want {
		t.Errorf("failure = %q, want %q", got, want)
	}
}

// Other servers accept names that are key words.
func TestImportedKeyWordAsNick(t *testing.T) {
	f := newFixture(t, nil)
	f.account(t, "f@example.com", "f", storage.Profile{ID: 1, Nick: "final", UniqueNicks: unique(1, "bsrdone")}, nil)
	got, err := f.perform(t, `\search\\namespaceid\1\partnerid\0\nick\FINAL\final\`)
	want := `\bsr\1\nick\final \uniquenick\bsrdone\namespaceid\1\firstname\\lastname\\email\[hidden]\bsrdone\\more\0\final\`
	if got != want || err != nil || acceptable("search", got) != nil {
		t.Errorf("search = %q, %v, %v; want %q", got, err, acceptable("search", got), want)
	}
}

// FuzzText writes any value and reads it back.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "final", `a\b`, "a\x00b", strings.Repeat("y", 600), "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var w reply
		w.text("a", value)
		w.text("b", "end")
		text, rest, ok := gamespy.CutFinal(w.end())
		if !ok || len(rest) != 0 {
			t.Fatalf("%q ends the message early or not at all", value)
		}
		m, err := gamespy.ParseMessage(text)
		if err != nil || m.Len() != 2 {
			t.Fatalf("%q: %d fields, %v", value, m.Len(), err)
		}
		got, _ := m.Get("a")
		if end, _ := m.Get("b"); end != "end" || len(got) > maxValue {
			t.Fatalf("%q became %q, %q", value, got, end)
		}
	})
}

// FuzzRequests carries out whatever is a request. Every reply is one that the
// client takes.
func FuzzRequests(f *testing.F) {
	for _, session := range loadRecorded(f).Sessions {
		for _, exchange := range session {
			f.Add([]byte(exchange.Request))
		}
	}
	fix := newFixture(f, func(o *Options) { o.Lookups, o.Registrations = 0, 0 })
	fix.populate(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		for len(p) > 0 {
			text, rest, ok := gamespy.CutFinal(p)
			if !ok {
				return
			}
			p = rest
			m, err := gamespy.ParseMessage(text)
			if err != nil {
				continue
			}
			c, known := fix.srv.commands[storage.Fold(m.Name())]
			if !known || c.serve == nil {
				continue
			}
			var w reply
			if _, err := fix.srv.perform(t.Context(), &c, &request{Message: m, live: fix.srv.live.Load()}, &w); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if err := acceptable(c.name, string(w.end())); err != nil {
				t.Fatalf("%q: %q: %v", text, w.b, err)
			}
		}
	})
}
