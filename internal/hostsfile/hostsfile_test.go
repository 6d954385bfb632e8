package hostsfile

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var at = netip.MustParseAddr("192.0.2.1")

// edit applies edits to a text.
func edit(t *testing.T, text string, edits ...func(*File) error) string {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		if err := e(f); err != nil {
			t.Fatal(err)
		}
	}
	return string(f.Bytes())
}

func set(game string, to netip.Addr, names ...string) func(*File) error {
	return func(f *File) error { return f.Set(game, to, names) }
}

func remove(game string) func(*File) error {
	return func(f *File) error {
		f.Remove(game)
		return nil
	}
}

func TestSet(t *testing.T) {
	for name, tc := range map[string]struct{ before, after string }{
		"empty": {
			"",
			"# respawnd gmtest; begin: removed by respawnd point --undo gmtest\n192.0.2.1 a.example.org # respawnd gmtest;\n# respawnd gmtest; end\n",
		},
		"no end of the last line": {
			"127.0.0.1 localhost",
			"127.0.0.1 localhost\n# respawnd gmtest; begin: removed by respawnd point --undo gmtest\n192.0.2.1 a.example.org # respawnd gmtest;\n# respawnd gmtest; end\n",
		},
		"Windows, with a byte order mark": {
			"\xef\xbb\xbf127.0.0.1 localhost\r\n",
			"\xef\xbb\xbf127.0.0.1 localhost\r\n# respawnd gmtest; begin: removed by respawnd point --undo gmtest\r\n" +
				"192.0.2.1 a.example.org # respawnd gmtest;\r\n# respawnd gmtest; end\r\n",
		},
		"mixed ends, and other bytes": {
			"# \xe4\n1.2.3.4 x\r\n\n",
			"# \xe4\n1.2.3.4 x\r\n\n# respawnd gmtest; begin: removed by respawnd point --undo gmtest\n192.0.2.1 a.example.org # respawnd gmtest;\n# respawnd gmtest; end\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.after, edit(t, tc.before, set("gmtest", at, "a.example.org"))); d != "" {
				t.Errorf("after Set (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.after, edit(t, tc.after, set("gmtest", at, "a.example.org"))); d != "" {
				t.Errorf("after a second Set (-want +got):\n%s", d)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	const other = "127.0.0.1 localhost\n# respawnd is fine\n"
	both := edit(t, other, set("one", at, "a", "b"), set("two", at, "b", "c"))
	if got := edit(t, both, remove("one"), remove("two")); got != other {
		t.Errorf("both removed: %q, want %q", got, other)
	}
	if got := edit(t, both, remove("")); got != other {
		t.Errorf("all removed: %q, want %q", got, other)
	}
	f, err := Parse([]byte(edit(t, both, remove("one"))))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{"two", "b", at}, {"two", "c", at}}
	if got := f.Entries(); !slices.Equal(got, want) {
		t.Errorf("entries: %v, want %v", got, want)
	}
	if n := f.Remove("two"); n != 2 {
		t.Errorf("Remove returned %d names, want 2", n)
	}
}

// TestScript removes the lines that a script of the web pages wrote.
func TestScript(t *testing.T) {
	const script = "127.0.0.1 localhost\n# respawnd gmtest; begin: removed by hosts-gmtest.sh undo\n192.0.2.9 a # respawnd gmtest;\n# respawnd gmtest; end\n"
	if got := edit(t, script, remove("gmtest")); got != "127.0.0.1 localhost\n" {
		t.Errorf("left: %q", got)
	}
}

func TestConflict(t *testing.T) {
	for _, tc := range []struct {
		text string
		want *ConflictError
	}{
		{"1.2.3.4 x\n5.6.7.8 y A.example.org # old\n", &ConflictError{Line: 2, Name: "A.example.org", Address: netip.MustParseAddr("5.6.7.8")}},
		{"5.6.7.8 a.example.org # respawnd other;\n", &ConflictError{Line: 1, Name: "a.example.org", Address: netip.MustParseAddr("5.6.7.8"), Game: "other"}},
		{"192.0.2.1 a.example.org\n", nil},                                   // the same address
		{"::1 a.example.org\n", nil},                                         // games use IPv4
		{"# 5.6.7.8 a.example.org\n", nil},                                   // a comment
		{"5.6.7.8 a.example.org # respawnd gmtest;\n", nil},                  // its own line, replaced
		{"5.6.7.8 ba.example.org a.example.org.other\n", nil},                // other names
		{"5.6.7.8" + strings.Repeat(" ", maxLine) + " a.example.org\n", nil}, // no resolver reads it
	} {
		f, err := Parse([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		err = f.Set("gmtest", at, []string{"a.example.org"})
		var got *ConflictError
		errors.As(err, &got)
		if d := cmp.Diff(tc.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
			t.Errorf("%.60q (-want +got):\n%s", tc.text, d)
		}
		if err != nil && string(f.Bytes()) != tc.text {
			t.Errorf("%.60q: changed to %q", tc.text, f.Bytes())
		}
	}
	for _, e := range []*ConflictError{{Line: 7, Name: "a", Address: at, Game: "other"}, {Line: 7, Name: "a", Address: at}} {
		if !strings.Contains(e.Error(), "line 7 leads a to 192.0.2.1") {
			t.Errorf("error %q", e)
		}
	}
}

func TestParseRefusals(t *testing.T) {
	if _, err := Parse(bytes.Repeat([]byte("#"), MaxSize)); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	if _, err := Parse(bytes.Repeat([]byte("#"), MaxSize+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("1 MiB and a byte: %v, want ErrTooLarge", err)
	}
	if _, err := Parse([]byte("\xff\xfe1\x002\x00")); !errors.Is(err, ErrNotText) {
		t.Errorf("UTF-16: %v, want ErrNotText", err)
	}
}

// FuzzFile checks that all bytes are kept, and that Remove undoes Set.
func FuzzFile(f *testing.F) {
	f.Add([]byte("127.0.0.1 localhost\r\n# respawnd a; x\n::1 x"))
	f.Add([]byte("\xef\xbb\xbf\n\r# respawnd ;\n5.6.7.8 a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		if got := file.Bytes(); !bytes.Equal(got, data) {
			t.Fatalf("%q became %q", data, got)
		}
		const game = "gmtest"
		file.Remove(game)
		before := file.Bytes()
		if err := file.Set(game, at, []string{"a", "b"}); err != nil {
			return
		}
		found := slices.DeleteFunc(file.Entries(), func(e Entry) bool { return e.Game != game })
		if len(found) != 2 {
			t.Fatalf("%q: entries %v", data, found)
		}
		file.Remove(game)
		after := file.Bytes()
		if !bytes.Equal(bytes.TrimRight(after, "\r\n"), bytes.TrimRight(before, "\r\n")) {
			t.Fatalf("%q became %q", before, after)
		}
	})
}

func TestMove(t *testing.T) {
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	f, err := Parse([]byte("127.0.0.1 localhost\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, game := range []string{"ut", "swat4"} {
		if err := f.Set(game, one, []string{"natneg1.gamespy.com", game + ".gamespy.com"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Move(two); err != nil {
		t.Fatal(err)
	}
	want := []Entry{{"ut", "natneg1.gamespy.com", two}, {"ut", "ut.gamespy.com", two}, {"swat4", "natneg1.gamespy.com", two}, {"swat4", "swat4.gamespy.com", two}}
	if got := f.Entries(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	f, err = Parse(append(f.Bytes(), "192.0.2.2 ut.gamespy.com\n"...))
	if err != nil {
		t.Fatal(err)
	}
	if conflict, ok := errors.AsType[*ConflictError](f.Move(one)); !ok || conflict.Name != "ut.gamespy.com" || conflict.Game != "" {
		t.Errorf("a line of others: %v", conflict)
	}
}
