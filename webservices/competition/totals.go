package competition

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// maxSeconds is the longest match that counts in full.
const maxSeconds = 24 * 60 * 60

// totals returns what a match adds to the totals of its players: the result and the time in its mode,
// and the experience of winners. There are up to most credits. Ratings are apart, see Backend.ratings.
func totals(m *storage.Match, r *Report, boards []games.Board, most int) (out []storage.Credit) {
	modes, secondsKey := stats.ModesOf(boards)
	for i := range modes {
		if r.value(modes[i].Key) == 0 {
			continue
		}
		seconds := min(max(r.value(secondsKey), 0), maxSeconds)
		seen := make(map[storage.ProfileID]bool)
		for j := range r.Players {
			p := &r.Players[j]
			side := sideOf(m, p.Conn.String())
			if side == nil || side.Profile == 0 || seen[side.Profile] {
				continue
			}
			seen[side.Profile] = true
			for board, value := range p.totals(&modes[i], seconds) {
				if value != 0 && len(out) < most {
					out = append(out, storage.Credit{
						ScoreID: storage.ScoreID{Game: m.Game, Board: board, Profile: side.Profile}, How: storage.ScoreSum, Value: value,
					})
				}
			}
		}
		break
	}
	return out
}

// totals returns what a match of a mode adds to the totals of a player, by their boards.
func (p *Player) totals(mode *stats.Mode, seconds float64) map[string]float64 {
	switch p.Result {
	case Win, Loss, Disconnect, Desync:
	case Draw, None:
		return nil
	}
	all := map[string]float64{mode.Name + "-" + p.Result.String(): 1, mode.Name + stats.SecondsBoard: seconds}
	if p.Result == Win {
		all[stats.CareerBoard] = mode.Experience
	}
	return all
}

// value returns the number of a key of the match, 0 if it has none.
func (r *Report) value(key uint16) float64 {
	for i := range r.Values {
		if v := &r.Values[i]; v.Key == key {
			if n, ok := v.number(); ok {
				return n
			}
		}
	}
	return 0
}
