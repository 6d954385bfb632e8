package query

import (
	"net/url"
	"strings"
	"testing"
)

func TestGet(t *testing.T) {
	const raw = "userid=5&productid=10001&versionuniqueid=1.0+beta+100%&distid=&Game=a=b&x=%41%zz%2&productid=7"
	for name, want := range map[string]string{
		"userid": "5", "productid": "10001", "versionuniqueid": "1.0 beta 100%", "distid": "", "game": "a=b", "X": "A%zz%2", "none": "-",
	} {
		got, ok := Get(raw, name)
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("Get(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for value, want := range map[string]int{
		"0": 0, "555": 555, "2147483647": 1<<31 - 1,
		"2147483648": -1, "-1": -1, "+1": -1, "": -1, "1_0": -1, "0x1": -1, "1.0": -1, "..%2f..%2fetc": -1, "1/../2": -1, "99999999999999999999": -1,
	} {
		n, ok := Number("fileid="+value, "fileid")
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("Number(%q) = %d, want %d", value, n, want)
		}
	}
}

func FuzzGet(f *testing.F) {
	f.Add("a=b+c&d=%41", "d")
	f.Add("productid=1&versionuniqueid=100%", "versionuniqueid")
	f.Fuzz(func(t *testing.T, raw, name string) {
		got, ok := Get(raw, name)
		if len(got) > len(raw) {
			t.Fatalf("Get(%q, %q) = %q: longer than the query", raw, name, got)
		}
		if n, isNumber := Number(raw, name); isNumber && (!ok || n < 0) {
			t.Fatalf("Number(%q, %q) = %d without a value", raw, name, n)
		}
		// A query that a strict reader accepts must read the same.
		if strict, err := url.ParseQuery(raw); err == nil && !strings.ContainsAny(raw, ";") && ok && isPlain(name) && !strings.Contains(raw, "%") {
			for key, values := range strict {
				if key == name && name != "" && len(values) > 0 && onlyName(strict, name) && values[0] != got {
					t.Fatalf("Get(%q, %q) = %q, want %q", raw, name, got, values[0])
				}
			}
		}
	})
}

// isPlain reports whether a name is written the same in a query.
func isPlain(s string) bool { return s != "" && !strings.ContainsAny(s, "+&=%") }

// onlyName reports whether no other key of a query differs only in case.
func onlyName(q url.Values, name string) bool {
	n := 0
	for key := range q {
		if strings.EqualFold(key, name) {
			n++
		}
	}
	return n == 1
}
