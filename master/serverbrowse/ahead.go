package serverbrowse

import (
	"sync/atomic"

	"github.com/respawnd/respawnd/master"
)

// aheadFrom is the number of servers from which reports that nothing has read yet, as
// after a start, are read on two processors.
const aheadFrom = 2048

// readAhead reads the reports of servers from the last one on, while the caller reads
// them from the first. The caller must call stop, which waits for the end.
func readAhead(list []*master.Server) (stop func()) {
	if len(list) < aheadFrom || !unread(list) {
		return func() {}
	}
	var enough atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := len(list) - 1; i >= 0 && !enough.Load(); i-- {
			list[i].Rules.Names()
		}
	}()
	return func() {
		enough.Store(true)
		<-ended
	}
}

// unread reports whether most of some servers of the list have not been read.
func unread(list []*master.Server) bool {
	const looks = 16
	n := 0
	for i := range looks {
		if list[i*len(list)/looks].IsUnread() {
			n++
		}
	}
	return n > looks/2
}
