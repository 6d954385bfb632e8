package zandronum

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// long is a list of n bans and two exemptions.
func long(n int) *BanList {
	l := &BanList{Exempt: []string{"10.20.30.40", "10.20.30.*"}}
	for i := range n {
		l.Bans = append(l.Bans, fmt.Sprintf("10.%d.%d.%d", i/62500, i/250%250, i%250+1))
	}
	return l
}

// parts sends a list in parts and reads it again.
func parts(t *testing.T, l *BanList, verification string) (got BanList, sizes []int) {
	t.Helper()
	for number, next := 0, 0; ; number++ {
		var b []byte
		b, next = l.AppendPart(nil, []byte(verification), byte(number), next)
		sizes = append(sizes, len(b))
		p, err := ParseBanPart(b)
		if err != nil {
			t.Fatalf("ParseBanPart(%x): %v", b, err)
		}
		if int(p.Number) != number || string(p.Verification) != verification || p.Last != (next == l.Len()) {
			t.Fatalf("part %d: got number %d, verification %q, last %t with %d of %d items sent",
				number, p.Number, p.Verification, p.Last, next, l.Len())
		}
		got.Bans, got.Exempt = append(got.Bans, p.Bans...), append(got.Exempt, p.Exempt...)
		if p.Last {
			return got, sizes
		}
	}
}

func TestBanListInParts(t *testing.T) {
	for _, n := range []int{0, 1, 79, 80, 2000, 5000} {
		l := long(n)
		got, sizes := parts(t, l, verification)
		if diff := cmp.Diff(*l, got); diff != "" {
			t.Errorf("%d bans in parts (-want +got):\n%s", n, diff)
		}
		if most := slices.Max(sizes); most > MaxBanPart {
			t.Errorf("%d bans: largest part has %d bytes, want at most %d", n, most, MaxBanPart)
		}
	}
}

func TestEmptyBanListIsOnePart(t *testing.T) {
	b, next := new(BanList).AppendPart(nil, []byte("ab"), 0, 0)
	if got, want := hex.EncodeToString(b), "cf6162000003"; got != want || next != 0 {
		t.Errorf("AppendPart of an empty list: got %s, next %d, want %s, next 0", got, next, want)
	}
}

func TestBanListInOneMessage(t *testing.T) {
	l := &BanList{Bans: []string{"10.1.2.3", "10.20.*.*"}, Exempt: []string{"10.20.30.40"}}
	b, left := l.AppendWhole(nil, []byte(verification))
	v, got, err := ParseBanList(b)
	if err != nil || left != 0 || string(v) != verification {
		t.Fatalf("ParseBanList(%x): verification %q, left %d, %v", b, v, left, err)
	}
	if diff := cmp.Diff(*l, got); diff != "" {
		t.Errorf("list in one message (-want +got):\n%s", diff)
	}
	if b, _ := new(BanList).AppendWhole(nil, nil); hex.EncodeToString(b) != "cd0000000000000000" {
		t.Errorf("AppendWhole without verification string: got %x", b)
	}
}

func TestBanListWithWrongCount(t *testing.T) {
	for _, claim := range []uint32{5, 1 << 31, 1<<32 - 1} {
		b := appendUint32(appendUint32(appendString([]byte{kindBanList}, verification), claim), 0)
		if _, l, err := ParseBanList(b); err == nil {
			t.Errorf("ParseBanList with %d bans that are not there: got %v, no error", claim, l)
		}
	}
}

func TestBanListInOneMessageIsCutBetweenItems(t *testing.T) {
	l := long(2000)
	b, left := l.AppendWhole(nil, []byte(verification))
	if len(b) > MaxBanList || len(b) < MaxBanList-20 {
		t.Errorf("AppendWhole: %d bytes, want nearly %d", len(b), MaxBanList)
	}
	_, got, err := ParseBanList(b)
	if err != nil {
		t.Fatalf("ParseBanList: %v", err)
	}
	if n := got.Len() + left; n != l.Len() {
		t.Errorf("AppendWhole: %d items sent and %d left, want %d together", got.Len(), left, l.Len())
	}
	if diff := cmp.Diff(l.Exempt, got.Exempt); diff != "" {
		t.Errorf("exemptions of a list that was cut (-want +got):\n%s", diff)
	}
}

func FuzzParseBanList(f *testing.F) {
	whole, _ := long(20).AppendWhole(nil, []byte(verification))
	part, _ := long(20).AppendPart(nil, []byte(verification), 0, 0)
	f.Add(whole)
	f.Add(part)
	f.Add([]byte{205, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, message []byte) {
		if p, err := ParseBanPart(message); err == nil && p.Len() > len(message) {
			t.Fatalf("%d items in %d bytes", p.Len(), len(message))
		}
		if _, l, err := ParseBanList(message); err == nil && l.Len() > len(message) {
			t.Fatalf("%d items in %d bytes", l.Len(), len(message))
		}
	})
}
