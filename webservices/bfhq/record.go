package bfhq

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a Record.
const (
	maxRounds = 256 // rounds that are remembered
	maxFoes   = 128 // opponents that are remembered, those with most kills
	maxAwards = 512
)

// Record is the stored data of a player, in the form of a block of the statistics service:
//
//	\scor\1200\ktm-3\900\unlocks\11,22\award\1031406.2.1700000000.0\victims\1002.3,1003.1\rounds\...
//
// Totals have the names of columns; those that are 0 are missing. rounds is a row of 24 hex
// digits for each round: its number and its end.
type Record struct {
	Totals           map[string]int64
	Unlocks          []int // as chosen
	Awards           []Award
	Victims, Killers []Foe  // how often the player killed others, and was killed by them
	Rounds           []Mark // that are in the totals, the last ones
}

// Award is something that a player got.
type Award struct {
	ID, Level   int
	When, First int64 // Unix seconds; First is 0 except for medals
}

// Foe is another player and a number of kills.
type Foe struct {
	Profile storage.ProfileID
	Kills   int64
}

// Mark identifies a round.
type Mark struct {
	ID  uint64
	End uint32 // Unix seconds
}

// Names of totals that no page shows.
const (
	keyRounds   = "rounds-n" // rounds that were played to their end
	keyShots    = "shots-"   // of a weapon
	keyHits     = "hits-"
	keyPromoted = "chng" // the player has not been shown the present rank
	// keyFloor is the end of the latest round that was forgotten: which of those before it
	// are in the totals is not known.
	keyFloor = "floor"
)

// errRecord reports a block that is not a Record.
var errRecord = errors.New("the totals of the player cannot be read")

// parseRecord reads a block. No data are an empty Record.
func parseRecord(data []byte) (*Record, error) {
	pairs, err := stats.ParsePairs(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	r := &Record{Totals: make(map[string]int64, len(pairs)+8)}
	for _, p := range pairs {
		if !r.set(p.Key, p.Value) {
			return nil, fmt.Errorf("%w: key %.40q with %.40q", errRecord, p.Key, p.Value)
		}
	}
	return r, nil
}

func (r *Record) set(key, value string) (ok bool) {
	switch key {
	case "unlocks":
		for text := range strings.SplitSeq(value, ",") {
			n, err := strconv.Atoi(text)
			if _, known := unlockOf(n); err != nil || !known && !isStep(n) || slices.Contains(r.Unlocks, n) {
				return false
			}
			r.Unlocks = append(r.Unlocks, n)
		}
		return true
	case "award":
		return len(r.Awards) < maxAwards && r.setAward(value)
	case "victims":
		r.Victims, ok = parseFoes(value)
		return ok
	case "killers":
		r.Killers, ok = parseFoes(value)
		return ok
	case "rounds":
		return r.setRounds(value)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || key == "" {
		return false
	}
	r.Totals[key] = clamp(n)
	return true
}

func (r *Record) setAward(value string) bool {
	var n [4]int64
	parts := strings.Split(value, ".")
	if len(parts) != len(n) {
		return false
	}
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 10, 40)
		if err != nil {
			return false
		}
		n[i] = int64(v)
	}
	r.Awards = append(r.Awards, Award{int(n[0]), int(n[1]), n[2], n[3]})
	return true
}

const markLen = 24 // hex digits of a Mark

func (r *Record) setRounds(value string) bool {
	if len(value)%markLen != 0 || len(value) > maxRounds*markLen {
		return false
	}
	r.Rounds = make([]Mark, 0, len(value)/markLen)
	for ; value != ""; value = value[markLen:] {
		id, bad := strconv.ParseUint(value[:16], 16, 64)
		end, bad2 := strconv.ParseUint(value[16:markLen], 16, 32)
		if bad != nil || bad2 != nil {
			return false
		}
		r.Rounds = append(r.Rounds, Mark{id, uint32(end)})
	}
	return true
}

func parseFoes(value string) (foes []Foe, ok bool) {
	for text := range strings.SplitSeq(value, ",") {
		id, kills, _ := strings.Cut(text, ".")
		p, err := strconv.ParseUint(id, 10, 32)
		n, err2 := strconv.ParseInt(kills, 10, 64)
		if err != nil || err2 != nil || p == 0 || n <= 0 || len(foes) == maxFoes {
			return nil, false
		}
		foes = append(foes, Foe{storage.ProfileID(p), clamp(n)})
	}
	return foes, true
}

// appendTo appends the record in its stored form. Totals are in the order of their names.
func (r *Record) appendTo(b []byte) []byte {
	keys := make([]string, 0, len(r.Totals))
	for k, n := range r.Totals {
		if n != 0 {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	pairs := make([]stats.Pair, 0, len(keys)+len(r.Awards)+4)
	for _, k := range keys {
		pairs = append(pairs, stats.Pair{Key: k, Value: strconv.FormatInt(r.Totals[k], 10)})
	}
	if len(r.Unlocks) > 0 {
		var list []byte
		for i, id := range r.Unlocks {
			if i > 0 {
				list = append(list, ',')
			}
			list = strconv.AppendInt(list, int64(id), 10)
		}
		pairs = append(pairs, stats.Pair{Key: "unlocks", Value: string(list)})
	}
	for _, a := range r.Awards {
		pairs = append(pairs, stats.Pair{Key: "award", Value: fmt.Sprintf("%d.%d.%d.%d", a.ID, a.Level, a.When, a.First)})
	}
	pairs = appendFoes(pairs, "victims", r.Victims)
	pairs = appendFoes(pairs, "killers", r.Killers)
	if len(r.Rounds) > 0 {
		list := make([]byte, 0, len(r.Rounds)*markLen)
		for _, m := range r.Rounds {
			list = fmt.Appendf(list, "%016x%08x", m.ID, m.End)
		}
		pairs = append(pairs, stats.Pair{Key: "rounds", Value: string(list)})
	}
	return stats.AppendPairs(b, pairs)
}

func appendFoes(pairs []stats.Pair, key string, foes []Foe) []stats.Pair {
	if len(foes) == 0 {
		return pairs
	}
	var list []byte
	for i, f := range foes {
		if i > 0 {
			list = append(list, ',')
		}
		list = fmt.Appendf(list, "%d.%d", f.Profile, f.Kills)
	}
	return append(pairs, stats.Pair{Key: key, Value: string(list)})
}

// clamp brings a number into the range that games read.
func clamp(n int64) int64 { return min(max(n, -math.MaxInt32), math.MaxInt32) }

func (r *Record) add(key string, n int64) {
	if n != 0 {
		r.Totals[key] = clamp(r.Totals[key] + n)
	}
}

// raise replaces a total by a greater one.
func (r *Record) raise(key string, n int64) {
	if n > r.Totals[key] {
		r.Totals[key] = clamp(n)
	}
}

// counted reports whether a round is in the totals. old reports that it ended before the
// earliest one of which that is known.
func (r *Record) counted(m Mark) (counted, old bool) {
	if slices.ContainsFunc(r.Rounds, func(o Mark) bool { return o.ID == m.ID }) {
		return true, false
	}
	return false, int64(m.End) <= r.Totals[keyFloor]
}

// remember adds a round to those that are in the totals. The earliest one is forgotten.
func (r *Record) remember(m Mark) {
	if len(r.Rounds) == maxRounds {
		first := 0
		for i := range r.Rounds {
			if r.Rounds[i].End < r.Rounds[first].End {
				first = i
			}
		}
		r.raise(keyFloor, int64(r.Rounds[first].End))
		r.Rounds = slices.Delete(r.Rounds, first, first+1)
	}
	r.Rounds = append(r.Rounds, m)
}

// addRound adds a round to the totals of a player in it. now is the present time, which no
// time of a player exceeds.
func (r *Record) addRound(round *Round, p *Participant, now int64) {
	at := min(int64(round.End), now)
	round.rules.add(r, round, p, at)
	for _, a := range p.awards {
		r.award(a.ID, a.Level, at)
	}
	for _, f := range p.victims {
		r.Victims = addFoe(r.Victims, f.Profile, f.Kills)
	}
	for _, f := range p.killers {
		r.Killers = addFoe(r.Killers, f.Profile, f.Kills)
	}
	r.remember(round.Mark)
}

// addFoe adds kills to a list, from which the one with the fewest is removed if it is full.
func addFoe(foes []Foe, id storage.ProfileID, kills int64) []Foe {
	if kills <= 0 {
		return foes
	}
	if i := slices.IndexFunc(foes, func(f Foe) bool { return f.Profile == id }); i >= 0 {
		foes[i].Kills = clamp(foes[i].Kills + kills)
		return foes
	}
	if len(foes) == maxFoes {
		least := slices.MinFunc(foes, func(a, b Foe) int { return cmp.Compare(a.Kills, b.Kills) })
		foes = slices.DeleteFunc(foes, func(f Foe) bool { return f.Profile == least.Profile })
	}
	return append(foes, Foe{id, clamp(kills)})
}

// most returns the one with most kills, the zero Foe if there is none.
func most(foes []Foe) (m Foe) {
	for _, f := range foes {
		if f.Kills > m.Kills {
			m = f
		}
	}
	return m
}
