package api

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/history"
)

// Week is what the last seven days of a server come to.
type Week struct {
	Rank   int `json:"rank"`   // among the servers of its game, by players; 0: it had none
	Ranked int `json:"ranked"` // servers that had players
	Uptime int `json:"uptime"` // percent of Hours
	Hours  int `json:"hours"`  // of which it is known whether the server was listed; 0: nothing is known
	// New is when the server came into the list, if that was in those days.
	New *time.Time `json:"new_since,omitempty"`
}

// ranks keeps how many players the servers of games had, until the history changes.
type ranks struct {
	mu      sync.Mutex // guards the fields below
	version uint64     // of the history
	kept    map[string][]int
}

// of returns the numbers of players of all servers of a game, as history.Brief adds them up, most
// first. read makes them if they are not kept.
func (r *ranks) of(version uint64, game string, read func() []int) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil || version != r.version {
		r.version, r.kept = version, make(map[string][]int)
	}
	list, ok := r.kept[game]
	if !ok {
		list = read()
		slices.SortFunc(list, func(a, b int) int { return b - a })
		r.kept[game] = list
	}
	return list
}

// weeks sums up the last days of servers.
type weeks struct {
	history *history.Book
	list    *lister
	ranks   ranks
}

// Week returns what the last seven days of a server come to.
func (s *weeks) Week(of *Row) (v Week) {
	book := s.history
	brief, ok := book.Brief(of.HistoryKey())
	if !ok || brief.Counted == 0 {
		return v
	}
	v.Uptime, v.Hours = 100*brief.Listed/brief.Counted, brief.Counted
	if brief.New {
		first := brief.First.UTC()
		v.New = &first
	}
	if brief.Players == 0 {
		return v
	}
	sums := s.ranks.of(book.Version(), of.Game, func() (sums []int) {
		for _, r := range s.list.now().Search(of.Game, "", ByPlayers, advertise.Asker{}) {
			if b, ok := book.Brief(r.HistoryKey()); ok && b.Players > 0 {
				sums = append(sums, b.Players)
			}
		}
		return sums
	})
	before, _ := slices.BinarySearchFunc(sums, brief.Players, func(sum, mine int) int { return mine - sum })
	v.Rank, v.Ranked = before+1, max(len(sums), before+1)
	return v
}

// appendWeek writes the week of a server behind its other members, if anything is known of it.
func (s *weeks) appendWeek(b []byte, of *Row) []byte {
	v := s.Week(of)
	if v.Hours == 0 {
		return b
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers and a time
	}
	b = append(b[:len(b)-1], `,"week":`...)
	return append(append(b, text...), '}')
}
