package quake3

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

// The examples were made from the layout, not recorded.
const (
	codListExample = prefix + "getserversResponse\n\x00\\\xc0\x00\x02\x0a\x71\x20\\EOF"
	codAskExample  = prefix + "getIpAuthorize 12345 198.51.100.7 main 0"
	codYesExample  = prefix + "ipAuthorize 12345 accept KEY_IS_GOOD 0 0"
)

func TestCodExamples(t *testing.T) {
	server := netip.MustParseAddrPort("192.0.2.10:28960")
	if got := AppendCodLists(nil, []netip.AddrPort{server}, false); len(got) != 1 || string(got[0]) != codListExample {
		t.Errorf("list %q, want %q", got, codListExample)
	}
	kind, rest := CutOther([]byte(codAskExample))
	q, err := ParseAuthQuestion(rest)
	if err != nil || kind != OtherQuestion || string(q.Challenge) != "12345" || q.Player != netip.MustParseAddr("198.51.100.7") {
		t.Fatalf("question %v %+v, %v", kind, q, err)
	}
	if got := string(AppendAuthQuestion(nil, q, "main")); got != codAskExample {
		t.Errorf("question %q, want %q", got, codAskExample)
	}
	if got := string(AppendAuthAnswer(nil, q.Challenge, true)); got != codYesExample {
		t.Errorf("answer %q, want %q", got, codYesExample)
	}
	for _, good := range []bool{true, false} {
		c, got, err := ParseAuthAnswer(AppendAuthAnswer(nil, q.Challenge, good))
		if err != nil || got != good || string(c) != "12345" {
			t.Errorf("answer %v: %q %v %v", good, c, got, err)
		}
	}
	for text, want := range map[string]Other{"getKeyAuthorize 0 KEY": OtherKey, "getUpdateInfo2 x": OtherUpdate, "getUpdateInfo": OtherUpdate, "x": NoOther} {
		if got, _ := CutOther([]byte(prefix + text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestCodListsOfEveryLength(t *testing.T) {
	for _, n := range []int{0, 1, CodEntries - 1, CodEntries, CodEntries + 1, 3 * CodEntries} {
		var want, got []netip.AddrPort
		for i := range n {
			want = append(want, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 28960))
		}
		packets := AppendCodLists(nil, append(slices.Clone(want), netip.MustParseAddrPort("[2001:db8::1]:1")), false)
		for i, p := range packets {
			kind, rest, _ := Cut(p)
			var last bool
			var err error
			if got, last, err = ParseCodList(got, rest); err != nil || kind != KindServers || last != (i == len(packets)-1) {
				t.Fatalf("%d servers, packet %d: %v %v %v", n, i, kind, last, err)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d servers: got %v", n, got)
		}
	}
}

func TestBadCodMessages(t *testing.T) {
	for _, text := range []string{"", "\n\x00", "\n\x00\\", "\n\x00\\abc", "EOF", "\n\x00\\EOX", "\n\x00\\1234567EOF"} {
		if _, _, err := ParseCodList(nil, []byte(text)); err == nil {
			t.Errorf("list %q was parsed", text)
		}
	}
	for _, text := range []string{"", "1", "1 x", "x 192.0.2.1", "1234567890123 192.0.2.1", "1 ::1", "1 192.0.2.1234567890"} {
		if _, err := ParseAuthQuestion([]byte(text)); err == nil {
			t.Errorf("question %q was parsed", text)
		}
	}
	const empty = "\n\\challenge\\x\\protocol\\118\\sv_maxclients\\8"
	if i, err := ParseCodInfo([]byte(empty)); err != nil || i.Clients != 0 {
		t.Errorf("info of an empty server: %+v, %v", i, err)
	}
	if _, err := ParseInfo([]byte(empty)); err == nil {
		t.Error("the same of Quake III was parsed")
	}
}

func FuzzCod(f *testing.F) {
	f.Add([]byte(codListExample))
	f.Add([]byte(codAskExample))
	f.Add([]byte(codYesExample))
	f.Add([]byte(prefix + KindServers + cod4XHead + "\xc0\x00\x02\x0a\x71\x20\\EOT\x00" + cod4XHead + "\xc0\x00\x02\x0b\x71\x20\\EOF"))
	f.Fuzz(func(t *testing.T, p []byte) {
		if _, rest, ok := Cut(p); ok {
			if list, _, err := ParseCodList(nil, rest); err == nil {
				var again []netip.AddrPort
				for _, p := range AppendCodLists(nil, list, false) {
					_, rest, _ := Cut(p)
					again, _, _ = ParseCodList(again, rest)
				}
				if !slices.Equal(list, again) {
					t.Errorf("%v became %v", list, again)
				}
			}
		}
		kind, rest := CutOther(p)
		if q, err := ParseAuthQuestion(rest); kind == OtherQuestion && err == nil {
			_, rest := CutOther(AppendAuthQuestion(nil, q, "main"))
			if r, err := ParseAuthQuestion(rest); err != nil || r.Player != q.Player || string(r.Challenge) != string(q.Challenge) {
				t.Errorf("%+v became %+v, %v", q, r, err)
			}
		}
		_, _, _ = ParseAuthAnswer(p)
		if list, _ := ParseCod4XList(p); len(list)*Cod4XEntry > len(p) {
			t.Errorf("%d servers in %d bytes", len(list), len(p))
		}
	})
}
