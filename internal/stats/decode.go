package stats

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// maxNumber is the highest number of a player or team in a key: longer ones
// belong to keys of the server.
const maxNumber = 9999

// Match is a report by server, players and teams.
type Match struct {
	Server  []Pair
	Players []Group // by number
	Teams   []Group // by number
}

// Group holds the pairs of one player or team, whose keys have no number.
type Group struct {
	Number int
	Pairs  []Pair
}

// Get returns the value of a key, "" if there is none. Of equal keys the last
// counts.
func (g Group) Get(key string) string {
	for _, p := range slices.Backward(g.Pairs) {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// Decode sorts the pairs of a report: a key that ends with _N is one of player N,
// one that ends with _tN is one of team N, all others are of the server. Pairs come
// in any order, and keep theirs within a group.
func Decode(pairs []Pair) Match {
	var m Match
	players, teams := make(map[int]int), make(map[int]int) // indexes by number
	for _, p := range pairs {
		name, number, team, ok := splitKey(p.Key)
		switch p.Key = name; {
		case !ok:
			m.Server = append(m.Server, p)
		case team:
			m.Teams = addTo(m.Teams, teams, number, p)
		default:
			m.Players = addTo(m.Players, players, number, p)
		}
	}
	byNumber := func(a, b Group) int { return cmp.Compare(a.Number, b.Number) }
	slices.SortFunc(m.Players, byNumber)
	slices.SortFunc(m.Teams, byNumber)
	return m
}

// Named returns how many players the pairs of a stored report name, with a nick or the
// number of a profile.
func Named(report []byte) (n int) {
	pairs, _ := ParsePairs(report) // nil for those that cannot be read
	for _, g := range Decode(pairs).Players {
		if slices.ContainsFunc(g.Pairs, func(p Pair) bool { return p.Value != "" && slices.Contains(naming, strings.ToLower(p.Key)) }) {
			n++
		}
	}
	return n
}

// naming are the keys, in lower case, in which games name players.
var naming = []string{"player", "name", "nick", "pid"}

func addTo(groups []Group, at map[int]int, number int, p Pair) []Group {
	i, known := at[number]
	if !known {
		i = len(groups)
		at[number] = i
		groups = append(groups, Group{Number: number})
	}
	groups[i].Pairs = append(groups[i].Pairs, p)
	return groups
}

// splitKey splits the number of a player or team, without leading zeros, from a key. ok is false for a
// key of the server, which is returned as name.
func splitKey(key string) (name string, number int, team, ok bool) {
	i := strings.LastIndexByte(key, '_')
	if i < 1 {
		return key, 0, false, false
	}
	digits := key[i+1:]
	if strings.HasPrefix(digits, "t") {
		digits, team = digits[1:], true
	}
	number, err := strconv.Atoi(digits)
	if err != nil || number < 0 || number > maxNumber || strconv.Itoa(number) != digits {
		return key, 0, false, false
	}
	return key[:i], number, team, true
}
