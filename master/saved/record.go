package saved

import (
	"encoding/binary"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// pack converts a record of the list into one to save.
func (l *List) pack(h master.Record) storage.Server {
	s := storage.Server{
		Source: h.Key.Source, Via: h.Via, Instance: h.Key.Instance, Game: h.Game, Origin: h.Origin.String(),
		Public: h.Public, Local: h.Local, NATNeg: h.NATNeg, Reached: reachedWord(h.Findings.Reached),
		Country: h.Country, Region: h.Region, First: h.First, Seen: h.LastSeen,
	}
	if l.Sources[h.Origin] != nil {
		if text, ok := h.AppendUnread(nil); ok {
			s.Report = text
			return s
		}
	}
	s.Rules, s.Players, s.Teams = packRules(h.Rules), packTable(h.Players), packTable(h.Teams)
	return s
}

// unpack converts a saved record into one of the list. ok is false for unknown
// origins and for games that are not in the catalogue, unless the game came
// from a query of the server.
func (l *List) unpack(rec storage.Server) (s master.Server, ok bool) {
	origin := l.Origins.Named(rec.Origin)
	if origin == nil {
		return s, false
	}
	g, known := l.Games.Lookup(rec.Game)
	if !origin.Catalogued { // the game may have a key now
		g.Name, known = l.Games.ListedAs(rec.Game, origin.Beside)
	}
	if !known {
		return s, false
	}
	s = master.Server{
		Key: master.Key{Source: rec.Source, Instance: rec.Instance}, Game: g.Name, Origin: origin,
		Public: rec.Public, Via: rec.Via, Local: rec.Local, NATNeg: rec.NATNeg,
		Findings: master.Findings{Reached: reachedThen(&rec)}, Country: rec.Country, Region: rec.Region,
		First: rec.First,
	}
	if len(rec.Report) > 0 {
		from := l.Sources[origin]
		if from == nil {
			return s, false
		}
		from.Into(&s, from.Text(rec.Report))
		return s, true
	}
	var report master.Report
	l.unpackRules(&report, rec.Rules)
	players, rows := l.unpackTable(rec.Players, report.Player)
	report.SetPlayers(players, rows)
	teams, rows := l.unpackTable(rec.Teams, report.Team)
	report.SetTeams(teams, rows)
	return s, report.Into(&s) == nil
}

// reachedThen returns how players reached a saved server. Lists of earlier
// versions only record that it answered a port that it never sent to.
func reachedThen(rec *storage.Server) master.Reached {
	if rec.Reached == "" && rec.Reachable {
		return master.ReachedPerhaps
	}
	return master.ParseReached(rec.Reached)
}

// reachedWord is the inverse of reachedThen.
func reachedWord(r master.Reached) string {
	if r == master.ReachedUnknown {
		return ""
	}
	return r.String()
}

// packRules writes rules as a heartbeat does.
func packRules(f master.Fields) []byte {
	var b []byte
	for name, value := range f.All() {
		b = gamespy.AppendPair(b, name, value)
	}
	return gamespy.AppendEnd(b)
}

// packTable writes a table as a heartbeat does; nil if a heartbeat could not
// carry it.
func packTable(t master.Table) []byte {
	if t.Columns() == 0 {
		return nil
	}
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 512), uint16(t.Rows()))
	for c := range t.Columns() {
		name := t.Names().Name(c)
		if strings.HasPrefix(name, "\x00") {
			return nil // an empty name would end the names
		}
		b = gamespy.AppendString(b, name)
	}
	b = gamespy.AppendEnd(b)
	for r := range t.Rows() {
		for c := range t.Columns() {
			b = gamespy.AppendString(b, t.Value(r, c))
		}
	}
	return b
}

func (l *List) unpackRules(report *master.Report, b []byte) {
	var names []string
	var values [][]byte
	pairs := gamespy.Pairs(b)
	for pairs.Next() {
		names, values = append(names, string(pairs.Key())), append(values, pairs.Value())
	}
	kept := l.Registry.Names(names)
	for i, value := range values {
		if _, slot := kept.ReportedName(i); slot >= 0 {
			report.Rule(value)
		}
	}
	report.SetRules(kept)
}

func (l *List) unpackTable(b []byte, add func([]byte)) (*master.Names, int) {
	t, _, complete := gamespy.ParseTable(b)
	if !complete {
		return nil, 0
	}
	var columns []string
	for c := range t.Columns() {
		columns = append(columns, string(c))
	}
	for cell := range t.Cells() {
		add(cell.Value) // only kept columns were saved, so none is dropped now
	}
	return l.Registry.Names(columns), t.Rows()
}
