package sake

import (
	"fmt"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a reply. Records beyond them are left out, which is counted, noted and logged.
const (
	// MaxReplyRecords is the maximum number of records of a reply.
	MaxReplyRecords = 1000
	// MaxReplySize is the size in bytes of the values of a reply, as XML, after which no
	// further record begins.
	MaxReplySize = 4 << 20
)

// bound is one that left records of a reply out.
type bound uint8

const (
	boundRecords bound = iota // MaxReplyRecords
	boundSize                 // MaxReplySize
)

// boundNames are the bounds in the metrics, by number.
var boundNames = [...]string{"records", "bytes"}

// boundTexts are the bounds for operators, by number.
var boundTexts = [...]string{fmt.Sprintf("more than %d records", MaxReplyRecords), fmt.Sprintf("more than %d MiB", MaxReplySize>>20)}

// leftOut reports that the reply lacks records because of a bound.
func (c *call) leftOut(why bound) {
	c.metrics.leftOut[why].Inc()
	c.opt.Verdicts.NoteDetail(service, c.q.From.Addr(), c.q.Game, verdicts.RecordsLeftOut,
		c.q.Method+", table "+c.id.Name+": "+boundTexts[why])
	if c.logged.first(c.id, time.Now()) {
		c.opt.Log.Warn().Str("game", c.id.Game).Str("table", c.id.Name).Str("method", c.q.Method).Str("bound", boundTexts[why]).
			Msg("records left out of a reply: it would be too large")
	}
}

// Bounds of tableLog.
const (
	logEvery  = time.Hour
	maxLogged = 1000 // tables
)

// tableLog remembers which tables were logged in the last hour. The zero value is ready.
// It may be used concurrently.
type tableLog struct {
	mu   sync.Mutex
	last map[storage.SakeTableID]time.Time
}

// first reports whether a table is to be logged: once an hour, and no more than maxLogged
// tables in an hour.
func (l *tableLog) first(id storage.SakeTableID, now time.Time) bool {
	id.Name = storage.Fold(id.Name)
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.last[id]; ok && now.Sub(last) < logEvery {
		return false
	}
	if len(l.last) >= maxLogged {
		for other, last := range l.last {
			if now.Sub(last) >= logEvery {
				delete(l.last, other)
			}
		}
	}
	if l.last == nil {
		l.last = make(map[storage.SakeTableID]time.Time)
	}
	if len(l.last) >= maxLogged {
		return false
	}
	l.last[id] = now
	return true
}
