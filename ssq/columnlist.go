package ssq

import (
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/master"
)

// maxListed is the maximum number of columns that CL lists. The fixed ones come
// first.
const maxListed = 512

// columnList answers CL: under the names of the columns a row with their tables
// and, if long, one with their meanings. Columns that servers report under
// other names follow the fixed ones, if there is room.
func (s *Server) columnList(b []byte, snap *snapshot, long bool) []byte {
	l := columnLister{long: long, seen: make(map[string]bool)}
	for i := range s.columns {
		l.add(&s.columns[i])
	}
	l.reported(snap.rules, rulePrefix, "")
	l.reported(snap.players(), playerPrefix, "_")
	l.reported(snap.teams(), teamPrefix, "_t")
	b = append(b, l.names...)
	if l.full {
		s.metrics.cut.Inc()
		b = wire.AppendMore(b, len(l.seen))
	}
	b = append(wire.AppendRowEnd(b), l.tables...)
	if b = wire.AppendRowEnd(b); long {
		b = wire.AppendRowEnd(append(b, l.abouts...))
	}
	return b
}

type columnLister struct {
	long                  bool
	seen                  map[string]bool
	names, tables, abouts []byte
	full                  bool // columns were left out
}

// add lists a column, unless it has been or has no room.
func (l *columnLister) add(col *column) {
	if l.full || l.seen[col.name] {
		return
	}
	const cells = 3 * 3 // three cells with their ends, or three rows with theirs
	need := len(col.name) + len(col.table) + len(col.about) + cells
	if len(l.seen) == maxListed || len(l.names)+len(l.tables)+len(l.abouts)+need > wire.MaxWritten-longestMore-cells {
		l.full = true
		return
	}
	l.seen[col.name] = true
	l.names = wire.AppendCell(l.names, col.name)
	l.tables = wire.AppendCell(l.tables, string(col.table))
	if l.long {
		l.abouts = wire.AppendCell(l.abouts, col.about)
	}
}

// reported lists the names that servers report. Names that cannot be written in
// a query are left out: they are available only in the table of rules.
func (l *columnLister) reported(lists []*master.Names, prefix, suffix string) {
	for _, n := range lists {
		for i := range n.Len() {
			if l.full {
				return
			}
			own := strings.TrimSuffix(ascii.ToLower(n.Name(i)), suffix)
			if !isAskable(own) {
				continue
			}
			if col, ok := reportedColumn(prefix + own); ok {
				l.add(&col)
			}
		}
	}
}

// isAskable reports whether a name can stand in a query.
func isAskable(name string) bool {
	if name == "" || len(name) > wire.MaxWord/2 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7F || strings.IndexByte(`,=!<>()"'\`, c) >= 0 {
			return false
		}
	}
	return true
}
