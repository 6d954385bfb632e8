package serverbrowse

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
)

// longestPopular is the longest value that may have an index. Longer ones hardly
// repeat.
const longestPopular = 255

// valueTable counts how often the values of a list occur, to find those that
// are worth an index.
type valueTable struct {
	seed    maphash.Seed
	table   []uint32 // open addressing: number of a value plus one, 0 if free
	texts   []string
	hashes  []uint32
	counts  []uint32
	indices []uint8 // of the popular ones; literal for all others
	popular []string
	order   []uint32
}

func (t *valueTable) reset() {
	if t.table == nil {
		t.seed = maphash.MakeSeed()
		t.table = make([]uint32, 1024)
	}
	clear(t.table)
	clear(t.texts)
	clear(t.popular)
	t.texts, t.hashes, t.counts = t.texts[:0], t.hashes[:0], t.counts[:0]
	t.indices, t.popular, t.order = t.indices[:0], t.popular[:0], t.order[:0]
}

// add counts a value and returns its number; fresh reports whether it is the
// first occurrence.
func (t *valueTable) add(v string) (number uint32, fresh bool) {
	h := uint32(maphash.String(t.seed, v))
	mask := uint32(len(t.table) - 1)
	at := h & mask
	for ; t.table[at] != 0; at = (at + 1) & mask {
		n := t.table[at] - 1
		if t.hashes[n] == h && t.texts[n] == v {
			t.counts[n]++
			return n, false
		}
	}
	n := uint32(len(t.texts))
	t.table[at] = n + 1
	t.texts = append(t.texts, v)
	t.hashes = append(t.hashes, h)
	t.counts = append(t.counts, 1)
	if len(t.texts)*2 > len(t.table) {
		t.grow()
	}
	return n, true
}

func (t *valueTable) grow() {
	t.table = make([]uint32, 4*len(t.table))
	mask := uint32(len(t.table) - 1)
	for n, h := range t.hashes {
		at := h & mask
		for t.table[at] != 0 {
			at = (at + 1) & mask
		}
		t.table[at] = uint32(n) + 1
	}
}

// choose assigns indices to the values that save most. Written out, a value of
// n bytes costs n+2 bytes each time; with an index it costs one each time and
// n+1 once. So every value that occurs twice saves bytes, and the saving is
// (count-1) times (n+1).
func (t *valueTable) choose() {
	for n, count := range t.counts {
		if count > 1 && len(t.texts[n]) <= longestPopular && strings.IndexByte(t.texts[n], 0) < 0 {
			t.order = append(t.order, uint32(n))
		}
	}
	if len(t.order) > maxPopular {
		slices.SortFunc(t.order, func(a, b uint32) int {
			return cmp.Or(cmp.Compare(t.saving(b), t.saving(a)), cmp.Compare(a, b))
		})
		t.order = t.order[:maxPopular]
	}
	for range t.texts {
		t.indices = append(t.indices, literal)
	}
	for i, n := range t.order {
		t.indices[n] = uint8(i)
		t.popular = append(t.popular, t.texts[n])
	}
}

func (t *valueTable) saving(n uint32) int {
	return (int(t.counts[n]) - 1) * (len(t.texts[n]) + 1)
}
