package zanmaster

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/respawnd/respawnd/internal/advertise"
)

// mostGiven is the maximum number of forms of a list that are kept for
// different askers.
const mostGiven = 64

// given keeps a list with private servers in the forms that askers on different
// networks are given.
type given struct {
	mu    sync.Mutex // guards lists
	lists map[advertise.Asker]*lists
}

// givenTo returns the list with the addresses that an asker is given. left is the
// number of servers that had no room in it, for the first caller.
func (l *lists) givenTo(a advertise.Asker) (list *lists, left int) {
	if l.given == nil || a == (advertise.Asker{}) {
		return l, 0
	}
	l.given.mu.Lock()
	defer l.given.mu.Unlock()
	if list, ok := l.given.lists[a]; ok {
		return list, 0
	}
	list, left = newLists(l.serial, l.entriesFor(a))
	if len(l.given.lists) == mostGiven {
		clear(l.given.lists)
	}
	l.given.lists[a] = list
	return list, left
}

// entriesFor returns the entries of the list for an asker. Servers with one
// address and port are merged.
func (l *lists) entriesFor(a advertise.Asker) []entry {
	entries := make([]entry, 0, l.servers)
	for _, b := range l.blocks {
		for _, port := range b.Ports {
			at := a.Given(netip.AddrPortFrom(b.Addr, port))
			entries = append(entries, entry{at.String(), at})
		}
	}
	slices.SortFunc(entries, compareEntries)
	return slices.CompactFunc(entries, func(a, b entry) bool { return a.addr == b.addr })
}
