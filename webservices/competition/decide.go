package competition

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// otherVersion is the version of a side whose report is not one of those that are kept.
const otherVersion = -1

// essence returns the part that two reports of a match must have in common to be one version: the
// results. All reports that the match did not end are one version.
func essence(r *Report) string {
	if r.Status == StatusBroken {
		return "broken"
	}
	be := binary.BigEndian
	lines := make([]string, 0, len(r.Players)+len(r.Teams))
	for i := range r.Players {
		p := &r.Players[i]
		line := be.AppendUint32(append([]byte("p"), p.Conn[:]...), p.Team)
		lines = append(lines, string(be.AppendUint32(line, uint32(p.Result))))
	}
	ids := r.TeamIDs()
	for i, t := range r.Teams {
		line := []byte("t")
		if i < len(ids) {
			line = be.AppendUint32(line, ids[i])
		}
		lines = append(lines, string(be.AppendUint32(line, uint32(t.Result))))
	}
	slices.Sort(lines)
	var all []byte
	for _, l := range lines {
		all = append(be.AppendUint32(all, uint32(len(l))), l...)
	}
	return string(all)
}

// decide returns the outcome of a match at a time, and the version that is shown or
// counts, from 0. wait is how long the reports of the other sides may take.
func decide(m *storage.Match, now time.Time, wait time.Duration) (o storage.MatchOutcome, version int) {
	broken := func(v int) bool { return v > 0 && m.Versions[v-1].Broken }
	var live []int // versions of matches that ended
	missing := false
	for _, s := range m.Sides {
		switch {
		case s.Host && s.Version > 0 && !broken(s.Version):
			return storage.MatchHost, s.Version - 1
		case s.Version == 0 || broken(s.Version):
			missing = true
		case !slices.Contains(live, s.Version):
			live = append(live, s.Version)
		}
	}
	alone := len(m.Sides) == 1 && !m.Matchless // others may come yet
	silent := alone || slices.ContainsFunc(m.Sides, func(s storage.MatchSide) bool { return s.Version == 0 && s.Profile != 0 })
	switch {
	case silent && now.Before(m.First.Add(wait)):
		return storage.MatchOpen, 0
	case len(live) == 0:
		return storage.MatchBroken, 0
	case len(live) > 1 || live[0] == otherVersion:
		return storage.MatchDisputed, 0
	case missing || len(m.Sides) == 1:
		return storage.MatchUnopposed, live[0] - 1
	}
	return storage.MatchAgreed, live[0] - 1
}

// fill enters a report into a match. Players are known by their connections.
func fill(m *storage.Match, r *Report) {
	m.Players, m.Teams, m.Values = nil, nil, nil
	left := storage.MaxMatchValues
	m.Values = textValues(r.Values, &left)
	for i := range r.Players {
		p := &r.Players[i]
		out := storage.MatchPlayer{Team: p.Team, Result: p.Result.String(), Values: textValues(p.Values, &left)}
		if s := sideOf(m, p.Conn.String()); s != nil {
			out.Profile, out.Nick = s.Profile, s.Nick
		}
		m.Players = append(m.Players, out)
	}
	ids := r.TeamIDs()
	for i, t := range r.Teams {
		out := storage.MatchTeam{Result: t.Result.String(), Values: textValues(t.Values, &left)}
		if i < len(ids) {
			out.ID = ids[i]
		}
		m.Teams = append(m.Teams, out)
	}
}

// sideOf returns the side of a connection, nil if there is none.
func sideOf(m *storage.Match, conn string) *storage.MatchSide {
	for i := range m.Sides {
		if slices.Contains(m.Sides[i].Conns, conn) {
			return &m.Sides[i]
		}
	}
	return nil
}

// textValues returns values as they are shown, at most left, which is reduced.
func textValues(values []Value, left *int) (out []storage.MatchValue) {
	for i := range values[:min(len(values), *left)] {
		out = append(out, storage.MatchValue{Key: values[i].Key, Text: values[i].String()})
	}
	*left -= len(out)
	return out
}

// String returns the value as it is shown.
func (v *Value) String() string {
	switch v.Type {
	case TypeString:
		s := clean.Text(v.Text)
		for len(s) > storage.MaxMatchText {
			_, n := utf8.DecodeLastRuneInString(s)
			s = s[:len(s)-n]
		}
		return s
	case TypeFloat:
		return strconv.FormatFloat(float64(v.Real), 'g', -1, 32)
	case TypeInt32, TypeInt16, TypeByte, TypeInt64:
	}
	return strconv.FormatInt(v.Int, 10)
}

func (v *Value) number() (n float64, ok bool) {
	switch v.Type {
	case TypeString:
		return 0, false
	case TypeFloat:
		n = float64(v.Real)
	case TypeInt32, TypeInt16, TypeByte, TypeInt64:
		n = float64(v.Int)
	}
	return n, !math.IsNaN(n) && math.Abs(n) <= storage.MaxScore
}

// resultKey begins the key of a board that counts results: result.win, result.loss.
const resultKey = "result."

// credits returns the credits of the players of a match on the boards of its game: the key of a
// board is the number of a key in reports, or resultKey with the name of a result. Each
// profile gets it once.
func credits(m *storage.Match, r *Report, boards []games.Board) (out []storage.Credit) {
	seen := make(map[storage.ProfileID]bool)
	for i := range r.Players {
		side := sideOf(m, r.Players[i].Conn.String())
		if side == nil || side.Profile == 0 || seen[side.Profile] {
			continue
		}
		seen[side.Profile] = true
		for _, b := range boards {
			if b.How == games.BoardElo { // see Backend.ratings
				continue
			}
			value, ok := credit(&r.Players[i], b.Key)
			if !ok || len(out) == storage.MaxCredits {
				continue
			}
			out = append(out, storage.Credit{
				ScoreID: storage.ScoreID{Game: m.Game, Board: b.Name, Profile: side.Profile}, How: stats.RuleOf(b.How), Value: value,
			})
		}
	}
	return out
}

// credit returns a player's credit on a board with a key.
func credit(p *Player, key string) (value float64, ok bool) {
	if key == resultKey+p.Result.String() {
		return 1, true
	}
	id, err := strconv.ParseUint(key, 10, 16)
	if err != nil {
		return 0, false
	}
	i := slices.IndexFunc(p.Values, func(v Value) bool { return v.Key == uint16(id) })
	if i < 0 {
		return 0, false
	}
	return p.Values[i].number()
}
