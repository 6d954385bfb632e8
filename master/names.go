package master

import (
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/respawnd/respawnd/internal/ascii"
)

// MaxNames is the largest number of field names in one report. Hosts know at
// most 254 kinds of field; names that no other server reports cost about a hundred
// bytes each.
const MaxNames = 512

// maxInterned bounds the table of shared name lists. Further lists are used
// unshared.
const maxInterned = 8192

// Names is an ordered list of field names. Servers of one game mostly report
// the same names in the same order, so that they share one Names and a record
// stores only its values. A Names is immutable.
type Names struct {
	reported []string
	slots    []int16 // per reported name: its index among the kept ones, -1 if dropped
	kept     []string
	index    map[string]int16 // folded name -> slot
}

// newNames keeps the first of each name and drops empty and transient ones.
func newNames(reported []string) *Names {
	n := &Names{
		reported: reported,
		slots:    make([]int16, len(reported)),
		index:    make(map[string]int16, len(reported)),
	}
	for i, name := range reported {
		n.slots[i] = -1
		if name == "" || name == transientName {
			continue
		}
		folded := FoldName(name)
		if _, repeated := n.index[folded]; repeated {
			continue
		}
		slot := int16(len(n.kept))
		n.slots[i], n.index[folded] = slot, slot
		n.kept = append(n.kept, name)
	}
	return n
}

// transientName is the one field that describes the report and not the server;
// with it every second heartbeat would look like a change.
const transientName = "statechanged"

// Len returns the number of kept names.
func (n *Names) Len() int {
	if n == nil {
		return 0
	}
	return len(n.kept)
}

// Name returns the kept name in slot i, 0 <= i < Len().
func (n *Names) Name(i int) string { return n.kept[i] }

// Index returns the slot of a name without regard to ASCII case.
func (n *Names) Index(name string) (int, bool) {
	if n == nil {
		return 0, false
	}
	slot, ok := n.index[FoldName(name)]
	return int(slot), ok
}

// FoldName returns a name, of a field or of a player, in lower case. Only ASCII
// letters change: names come in any encoding, and different ones must stay
// different.
func FoldName(name string) string { return ascii.ToLower(name) }

// same reports whether both keep the same names in the same order. Equal lists
// are mostly one list; they differ if names were dropped or could not be shared.
func (n *Names) same(other *Names) bool {
	if n == other {
		return true
	}
	if n.Len() != other.Len() {
		return false
	}
	return n.Len() == 0 || slices.Equal(n.kept, other.kept)
}

// Reported returns how many names were reported, dropped ones included.
func (n *Names) Reported() int {
	if n == nil {
		return 0
	}
	return len(n.reported)
}

// ReportedName returns reported name i and the slot its value goes to; the slot
// is -1 if the value is not kept.
func (n *Names) ReportedName(i int) (name string, slot int) {
	return n.reported[i], int(n.slots[i])
}

// weakNames does not keep a list of names alive.
type weakNames = weak.Pointer[Names]

// interner shares equal Names. It holds them weakly: a list that is no longer
// used is garbage collected, and sweep frees its row in the table.
type interner struct {
	mu    sync.Mutex
	table map[string]weakNames
}

// names returns the Names for a reported list of names. It copies the list.
func (t *interner) names(reported []string) *Names {
	id := strings.Join(reported, "\x00")
	t.mu.Lock()
	defer t.mu.Unlock()
	w, placed := t.table[id]
	if n := w.Value(); n != nil {
		return n
	}
	own := strings.Split(id, "\x00") // all names share its memory and none references a packet
	if len(own) != len(reported) {
		return newNames(slices.Clone(reported)) // a name with a NUL looks like two
	}
	n := newNames(own)
	if placed || len(t.table) < maxInterned {
		t.table[id] = weak.Make(n)
	}
	return n
}

// sweep frees the rows of lists that were collected.
func (t *interner) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, w := range t.table {
		if w.Value() == nil {
			delete(t.table, id)
		}
	}
}
