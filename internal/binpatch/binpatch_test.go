package binpatch

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/racetest"
)

// wide returns a text in UTF-16.
func wide(s string) string { return string(UTF16.spread([]byte(s))) }

// patched returns a file with all places replaced that can be.
func patched(t testing.TB, r Replacement, file string) (string, []Place) {
	t.Helper()
	places, err := r.Find(strings.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	b := []byte(file)
	for _, p := range places {
		if p.Why != "" {
			continue
		}
		before, after := r.Bytes(p)
		if at := b[p.Offset:][:len(before)]; !bytes.Equal(at, before) || len(after) != len(before) {
			t.Fatalf("place %+v: %q becomes %q, but there is %q", p, before, after, at)
		}
		copy(b[p.Offset:], after)
	}
	return string(b), places
}

func TestFind(t *testing.T) {
	for name, tc := range map[string]struct {
		to, file, want string
		why            []string
	}{
		"same length":    {"example.org", "\x00%s.master.gamespy.com\x00x", "\x00%s.master.example.org\x00x", []string{""}},
		"shorter":        {"lan.org", "\x01natneg1.gamespy.com\x00\x02", "\x01natneg1.lan.org\x00\x00\x00\x00\x00\x02", []string{""}},
		"shorter, path":  {"lan.org", "http://motd.gamespy.com/motd\x00", "http://motd.lan.org/motd\x00\x00\x00\x00\x00", []string{""}},
		"twice":          {"lan.org", "a.gamespy.com:b.gamespy.com\x00", "a.lan.org:b.lan.org" + strings.Repeat("\x00", 9), []string{""}},
		"another case":   {"example.org", "GameSpy.COM\x00", "example.org\x00", []string{""}},
		"UTF-16":         {"lan.org", wide("gpcm.gamespy.com\x00"), wide("gpcm.lan.org\x00\x00\x00\x00\x00"), []string{""}},
		"odd UTF-16":     {"example.org", "x" + wide("gamespy.com\x00"), "x" + wide("example.org\x00"), []string{""}},
		"both widths":    {"lan.org", "a.gamespy.com\x00" + wide("b.gamespy.com\x00"), "a.lan.org\x00\x00\x00\x00\x00" + wide("b.lan.org\x00\x00\x00\x00\x00"), []string{"", ""}},
		"overlapping":    {"lan.org", "gamespy.com:" + wide("gamespy.com\x00"), "lan.org:g\x00\x00\x00\x00\x00" + wide("amespy.com\x00"), []string{"", "it shares bytes with the place before"}},
		"a sentence":     {"example.org", "Visit www.gamespy.com today\x00", "", []string{"a sentence, not a host name"}},
		"longer name":    {"example.org", "mygamespy.com\x00gamespy.com.au\x00gamespy.community\x00", "", []string{"part of a longer name", "part of a longer name", "part of a longer name"}},
		"end of a text":  {"example.org", "gamespy.com.\x00", "example.org.\x00", []string{""}},
		"too long":       {"example.local", "gamespy.com\x00", "", []string{"the new name has 13 characters, and there is room for 11"}},
		"whole file":     {"example.org", "gamespy.com", "example.org", []string{""}},
		"half of it":     {"example.org", "gamespy.co", "", nil},
		"long text, new": {"lan.org", "gamespy.com" + strings.Repeat("/", 600), "", []string{"the text around it is too long to be moved"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := tc.want
			if want == "" {
				want = tc.file
			}
			got, places := patched(t, Replacement{Old: "gamespy.com", New: tc.to}, tc.file)
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			var why []string
			for _, p := range places {
				why = append(why, p.Why)
			}
			if d := cmp.Diff(tc.why, why); d != "" {
				t.Errorf("objections (-want +got):\n%s", d)
			}
		})
	}
}

// TestChunks has a name at every place around the end of a chunk.
func TestHTTP(t *testing.T) {
	const file = "https://%s.auth.pubsvs.gamespy.com/AuthService.asmx\x00http://motd.gamespy.com/\x00https://example.org/\x00HTTPS://a.gamespy.com\x00"
	for to, want := range map[string]string{
		"gamespy.com": "http://%s.auth.pubsvs.gamespy.com/AuthService.asmx\x00\x00http://motd.gamespy.com/\x00https://example.org/\x00HTTP://a.gamespy.com\x00\x00",
		"example.org": "http://%s.auth.pubsvs.example.org/AuthService.asmx\x00\x00http://motd.example.org/\x00https://example.org/\x00HTTP://a.example.org\x00\x00",
		"lan.org":     "http://%s.auth.pubsvs.lan.org/AuthService.asmx\x00\x00\x00\x00\x00\x00http://motd.lan.org/\x00\x00\x00\x00\x00https://example.org/\x00HTTP://a.lan.org\x00\x00\x00\x00\x00\x00",
	} {
		if got, _ := patched(t, Replacement{Old: "gamespy.com", New: to, HTTP: true}, file); got != want {
			t.Errorf("to %s: got %q, want %q", to, got, want)
		}
	}
	if got, places := patched(t, Replacement{Old: "gamespy.com", New: "gamespy.com"}, file); got != file || len(places) != 0 {
		t.Errorf("no change: %q at %v", got, places)
	}
}

func TestChunks(t *testing.T) {
	racetest.Skip(t, "searches many large files")
	const name = "a.gamespy.com"
	for _, w := range []Width{ASCII, UTF16} {
		text := string(w.spread([]byte(name)))
		for at := chunk - len(text) - 1; at <= chunk+1; at++ {
			file := make([]byte, chunk+4096)
			copy(file[at:], text)
			r := Replacement{Old: "gamespy.com", New: "example.org"}
			places, err := r.Find(bytes.NewReader(file), int64(len(file)))
			want := []Place{{Offset: int64(at), Width: w, Text: name, At: []int{2}}}
			if d := cmp.Diff(want, places); err != nil || d != "" {
				t.Fatalf("%s at %d: %v (-want +got):\n%s", w, at, err, d)
			}
		}
	}
}

func TestExact(t *testing.T) {
	old := strings.Repeat("BF05", 64)
	r := Replacement{Old: old, New: strings.Repeat("A1C2", 64), Exact: true}
	if got, _ := patched(t, r, "x"+old+"y"+strings.ToLower(old)); got != "x"+r.New+"y"+strings.ToLower(old) {
		t.Errorf("got %q", got)
	}
}

func TestCheck(t *testing.T) {
	for _, r := range []Replacement{
		{Old: "", New: "a"},
		{Old: "a", New: ""},
		{Old: strings.Repeat("a", maxText+1), New: "a"},
		{Old: "aa", New: "a", Exact: true},
		{Old: "aa", New: "a b"},
		{Old: "aa", New: "\xe4"},
	} {
		if r.Check() == nil {
			t.Errorf("%+.80v was accepted", r)
		}
	}
	if err := (Replacement{Old: strings.Repeat("a", maxText), New: "~"}).Check(); err != nil {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	r := Replacement{Old: "gamespy.com", New: "example.org"}
	if _, err := r.Find(bytes.NewReader(nil), MaxSize+1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("1 GiB and a byte: %v", err)
	}
	for n, want := range map[int]error{MaxPlaces: nil, MaxPlaces + 1: ErrTooManyPlaces} {
		file := strings.Repeat("gamespy.com\x00", n)
		if _, err := r.Find(strings.NewReader(file), int64(len(file))); !errors.Is(err, want) {
			t.Errorf("%d places: %v, want %v", n, err, want)
		}
	}
}

// FuzzFind checks that replacing keeps the length, changes nothing else, and leaves no
// place that could be replaced.
func FuzzFind(f *testing.F) {
	f.Add([]byte("a.gamespy.com\x00"), "example.org")
	f.Add([]byte(wide("http://gamespy.com/gamespy.com")), "a.b")
	f.Fuzz(func(t *testing.T, file []byte, to string) {
		r := Replacement{Old: "gamespy.com", New: to}
		if r.Check() != nil || strings.Contains(strings.ToLower(to), r.Old) {
			return
		}
		got, places := patched(t, r, string(file))
		if len(got) != len(file) {
			t.Fatalf("%d bytes became %d", len(file), len(got))
		}
		replaced := func(i int) bool {
			return slices.ContainsFunc(places, func(p Place) bool {
				return p.Why == "" && int64(i) >= p.Offset && int64(i) < p.Offset+int64(len(p.Text)*int(p.Width))
			})
		}
		for i := range got {
			if got[i] != file[i] && !replaced(i) {
				t.Fatalf("byte %d changed outside of all places", i)
			}
		}
	})
}
