package quake3

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"testing"
)

// some returns n addresses, every third of them IPv6 if mixed.
func some(n int, mixed bool) (list []netip.AddrPort) {
	for i := range n {
		a := netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})
		if mixed && i%3 == 0 {
			a = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 14: byte(i >> 8), 15: byte(i)})
		}
		list = append(list, netip.AddrPortFrom(a, uint16(27960+i)))
	}
	return list
}

// readAsQuake reads the entries of a packet as the games do: one counts only if a
// separator follows it.
func readAsQuake(t *testing.T, p []byte, ext bool) (n int) {
	t.Helper()
	head := prefix + KindServers
	if ext {
		head = prefix + KindServersExt
	}
	rest, ok := bytes.CutPrefix(p, []byte(head))
	if !ok {
		t.Fatalf("packet %q", p)
	}
	for len(rest) > 0 {
		size := entry4
		if rest[0] == separator6 {
			size = entry6
		}
		if len(rest) <= size || rest[size] != separator4 && rest[size] != separator6 {
			break
		}
		if bytes.HasPrefix(rest, []byte(endMark)) {
			break
		}
		n++
		rest = rest[size:]
	}
	return n
}

func TestAppendLists(t *testing.T) {
	for _, n := range []int{0, 1, 195, 196, 197, 255, 256, 257, 1000} {
		for _, ext := range []bool{false, true} {
			servers := some(n, ext)
			packets := AppendLists(nil, servers, ext)
			var got []netip.AddrPort
			read := 0
			for i, p := range packets {
				if len(p) > MaxList {
					t.Errorf("%d servers, ext %v: packet of %d bytes", n, ext, len(p))
				}
				kind, rest, _ := Cut(p)
				if (kind == KindServersExt) != ext || !ext && kind != KindServers {
					t.Fatalf("kind %q", kind)
				}
				before := len(got)
				var last bool
				var err error
				if got, last, err = ParseList(got, rest); err != nil || last != (i == len(packets)-1) {
					t.Errorf("%d servers, ext %v, packet %d: last %v, %v", n, ext, i, last, err)
				}
				if len(got)-before > MaxEntries {
					t.Errorf("%d entries in a packet", len(got)-before)
				}
				read += readAsQuake(t, p, ext)
			}
			if !slices.Equal(got, servers) {
				t.Errorf("%d servers, ext %v: read %d", n, ext, len(got))
			}
			if read != n {
				t.Errorf("games read %d of %d servers, ext %v", read, n, ext)
			}
		}
	}
	if got, want := string(AppendLists(nil, nil, false)[0]), "\xff\xff\xff\xffgetserversResponse\\EOT\x00\x00\x00"; got != want {
		t.Errorf("empty list %q, want %q", got, want)
	}
	if got, _, _ := ParseList(nil, AppendLists(nil, some(9, true), false)[0][len(prefix)+len(KindServers):]); len(got) != 6 {
		t.Errorf("%d servers in a list without IPv6, want 6", len(got))
	}
}

func TestParseList(t *testing.T) {
	one := "\\\x7f\x00\x00\x01\x6d\x38"
	for name, tc := range map[string]struct {
		rest string
		n    int
		last bool
		err  error
	}{
		"one":                {one + endMark, 1, true, nil},
		"of dpmaster":        {one + one, 2, false, nil},
		"lone separator":     {one + "\\", 1, false, nil},
		"behind the end":     {endMark + one, 0, true, nil},
		"port 0":             {"\\\x01\x02\x03\x04\x00\x00" + endMark, 0, true, nil},
		"cut off":            {one + one[:5], 1, false, ErrMalformed},
		"other separator":    {"x" + one, 0, false, ErrMalformed},
		"IPv6 too short":     {"/" + one, 0, false, ErrMalformed},
		"end mark too short": {endMark[:6], 0, false, ErrMalformed},
	} {
		got, last, err := ParseList(nil, []byte(tc.rest))
		if len(got) != tc.n || last != tc.last || !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, %v, %v", name, got, last, err)
		}
	}
}

func BenchmarkAppendLists(b *testing.B) {
	servers := some(1000, false)
	b.ReportAllocs()
	for b.Loop() {
		AppendLists(nil, servers, false)
	}
}
