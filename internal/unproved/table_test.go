package unproved

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// host returns a source.
func host(addr byte, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, addr}), port)
}

// waiting is a table whose keys are numbers, and which is full with limit of them.
type waiting struct {
	*Table[int, int]
	limit, next int
}

func newWaiting(limit int) *waiting { return &waiting{NewTable[int, int](), limit, 0} }

// add adds a host and returns its key and those removed for it.
func (w *waiting) add(source netip.AddrPort) (key int, gone []int) {
	for {
		k, full := w.Full(source, w.limit)
		if !full {
			break
		}
		gone = append(gone, k)
		w.Remove(k)
	}
	w.next++
	w.Add(w.next, source, -w.next)
	return w.next, gone
}

func TestFullTable(t *testing.T) {
	const victim, attacker = 1, 2
	tests := map[string]struct {
		fill func(w *waiting) // the first key is that of a real host
		next netip.AddrPort
		gone int // want; 0: any but the first
	}{
		"not full": {func(w *waiting) {}, host(attacker, 1), 0},
		"everybody has one: the oldest goes": {func(w *waiting) {
			for i := range byte(200) {
				w.add(host(20+i, 1))
			}
		}, host(attacker, 1), 1},
		"a crowded address makes room": {func(w *waiting) {
			for i := range uint16(AddrShare + 1) {
				w.add(host(attacker, i))
			}
		}, host(attacker+1, 1), 2},
		"an address pushes out its own": {func(w *waiting) {
			for i := range uint16(AddrShare) {
				w.add(host(attacker, i))
			}
		}, host(attacker, 5000), 2},
		"a crowded port of the address makes room": {func(w *waiting) {
			w.add(host(victim, 6501))
			for range AddrShare {
				w.add(host(victim, 6502))
			}
		}, host(attacker, 1), 3},
		"a port pushes out its own": {func(w *waiting) {
			for i := range uint16(AddrShare) {
				w.add(host(victim, 7000+i))
			}
			for range PortShare {
				w.add(host(victim, 6502))
			}
		}, host(victim, 6502), AddrShare + 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWaiting(1 << 30)
			w.add(host(victim, 6500))
			tc.fill(w)
			if name != "not full" {
				w.limit = w.Len()
			}
			_, gone := w.add(tc.next)
			want := []int{tc.gone}
			if tc.gone == 0 {
				want = nil
			}
			if !slices.Equal(gone, want) {
				t.Errorf("had to go: %v, want %v", gone, want)
			}
		})
	}
}

// A lower limit takes effect with the next host.
func TestTableShrinks(t *testing.T) {
	w := newWaiting(10)
	for i := range uint16(10) {
		w.add(host(1, i))
	}
	w.limit = 0 // counts as 1
	key, gone := w.add(host(1, 99))
	if len(gone) != 10 || w.Len() != 1 {
		t.Fatalf("%d had to go and %d are left, want 10 and 1", len(gone), w.Len())
	}
	if v, ok := w.Get(key); !ok || v != -key {
		t.Errorf("Get(%d): got %d, %t", key, v, ok)
	}
	if _, ok := w.Get(1); ok || w.Remove(1) {
		t.Error("an entry that is gone is still there")
	}
	if !w.Remove(key) || w.Len()+len(w.addrs)+len(w.ports)+w.all.Len()+w.overShare.Len() != 0 {
		t.Error("something is left in an empty table")
	}
}

func TestAllAllowsRemoval(t *testing.T) {
	w := newWaiting(10)
	for i := range byte(5) {
		w.add(host(i, 1))
	}
	var seen []int
	for k := range w.All() {
		seen = append(seen, k)
		w.Remove(k)
	}
	if want := []int{1, 2, 3, 4, 5}; !slices.Equal(seen, want) || w.Len() != 0 {
		t.Errorf("All: got %v and %d left, want %v and none", seen, w.Len(), want)
	}
}

// TestTableIsFair compares the table with a simple implementation of its
// comment.
func TestTableIsFair(t *testing.T) {
	type one struct {
		key    int
		source netip.AddrPort
	}
	rapid.Check(t, func(t *rapid.T) {
		w := newWaiting(rapid.IntRange(1, 3*AddrShare).Draw(t, "limit"))
		var model []one
		count := func(match func(netip.AddrPort) bool) (n int) {
			for _, o := range model {
				if match(o.source) {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 4).Draw(t, "floods") {
			addr := rapid.ByteRange(1, 3).Draw(t, "address")
			ports := rapid.IntRange(1, 400).Draw(t, "ports")
			for i := range rapid.IntRange(1, 400).Draw(t, "packets") {
				source := host(addr, uint16(1+i%ports))
				sameAddr := func(a netip.AddrPort) bool { return a.Addr() == source.Addr() }
				samePort := func(a netip.AddrPort) bool { return a == source }
				own, port := count(sameAddr), count(samePort)
				key, gone := w.add(source)
				for _, k := range gone {
					at := slices.IndexFunc(model, func(o one) bool { return o.key == k })
					if at < 0 {
						t.Fatalf("%d had to go and was not there", k)
					}
					out := model[at].source
					switch {
					case own >= AddrShare && !sameAddr(out):
						t.Fatalf("%v pushed out %v of another address", source, out)
					case own >= AddrShare && port >= PortShare && !samePort(out):
						t.Fatalf("%v pushed out %v of another port", source, out)
					case own < AddrShare && at > 0 && count(func(a netip.AddrPort) bool { return a.Addr() == out.Addr() }) <= AddrShare:
						t.Fatalf("%v pushed out %v, which is neither crowded nor the oldest", source, out)
					}
					model = slices.Delete(model, at, at+1)
				}
				model = append(model, one{key, source})
			}
		}
		if w.Len() != len(model) || w.Len() > w.limit {
			t.Fatalf("%d entries, want %d and at most %d", w.Len(), len(model), w.limit)
		}
	})
}
