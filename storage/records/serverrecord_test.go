package records

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/storage"
)

func FuzzDecodeServer(f *testing.F) {
	full := record(1)
	full.Local, full.Via, full.Public = []netip.AddrPort{full.Source, full.Source}, full.Source.Addr(), full.Source
	f.Add(appendServer(nil, &full))
	f.Add(appendServer(nil, &storage.Server{}))
	f.Add(appendLeftOut(nil, full.Source))
	f.Add([]byte(`{"game":"a"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, kept, err := decodeServer(b)
		if err != nil {
			if !isDamage(err) {
				t.Fatalf("decodeServer() = %v, want ErrDamaged", err)
			}
			return
		}
		if source, err := recordSource(b); kept && (err != nil || source != s.Source) {
			t.Fatalf("recordSource() = %v, %v, want %v", source, err, s.Source)
		}
		if !kept || b[0] == '{' {
			return
		}
		again, _, err := decodeServer(appendServer(nil, &s))
		if diff := cmp.Diff(s, again, cmpopts.EquateComparable(netip.AddrPort{}, netip.Addr{})); err != nil || diff != "" {
			t.Errorf("%v, differs (-first +second):\n%s", err, diff)
		}
	})
}

func FuzzDecodeSeen(f *testing.F) {
	f.Add(appendSeen(nil, record(1).Source, time.Unix(1, 2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		source, seen, err := decodeSeen(b)
		if err != nil {
			return
		}
		if again, at, err := decodeSeen(appendSeen(nil, source, seen)); again != source || !at.Equal(seen) || err != nil {
			t.Errorf("decodeSeen() of %v, %v = %v, %v, %v", source, seen, again, at, err)
		}
	})
}
