package serverbrowse

import (
	"hash/maphash"
	"sync"
	"time"
)

// Bounds of warnings about filters: one line per text and minute, and this many
// different texts in a minute.
const (
	warnEvery = time.Minute
	maxWarned = 64
)

// warnings keeps strangers from filling the log. The zero value is ready.
type warnings struct {
	mu     sync.Mutex // guards the fields below
	seed   maphash.Seed
	since  time.Time
	warned map[uint64]struct{}
}

// first reports whether a text is to be logged.
func (w *warnings) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.warned == nil || now.Sub(w.since) >= warnEvery {
		w.seed, w.since, w.warned = maphash.MakeSeed(), now, make(map[uint64]struct{})
	}
	h := maphash.String(w.seed, text)
	if _, again := w.warned[h]; again || len(w.warned) == maxWarned {
		return false
	}
	w.warned[h] = struct{}{}
	return true
}
