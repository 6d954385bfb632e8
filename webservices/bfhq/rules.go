package bfhq

import "github.com/respawnd/respawnd/internal/games"

// rules are what differs between the games with pages, except for the pages themselves.
type rules struct {
	file   string         // that servers post rounds to
	first  string         // the key that begins the list of a round
	maps   []int          // that pages have
	awards map[string]int // keys of a round that stand for awards
	// Keys of a player's score in a round and on the boards beside it.
	score, commander, team string
	combat                 func(p *Participant) int64
	boards                 []numbered
	// add adds a round to the totals of a player in it. at is the end of the round.
	add func(r *Record, round *Round, p *Participant, at int64)
	// choose takes an unlock, see Record.choose.
	choose func(r *Record, id int, policy string) (changed bool, err error)
	// value returns the value of a column other than pid and nick.
	value       func(p *player, column string) string
	rank, total string // columns of the rank and the score
}

// numbered are boards of kits, vehicles or weapons, which are filled from keys of a round.
type numbered struct {
	board, key string
	numbers    []int
}

var rulesBy = map[games.FileKind]*rules{games.FileBFHQ: battlefield2, games.FileStella: battlefield2142}

// rulesOf returns the rules of a game, nil if it has no pages.
func rulesOf(g *games.Game) *rules {
	for _, f := range g.Files {
		if r := rulesBy[f.Is]; r != nil {
			return r
		}
	}
	return nil
}

// battlefield2 are the rules of Battlefield 2.
var battlefield2 = &rules{
	file: "bf2statistics.php", first: "gameport", maps: maps, awards: awardKeys,
	score: "rs", commander: "cs", team: "ts", combat: (*Participant).combat, rank: "rank", total: "scor",
	boards: []numbered{{boardKit, "kk", kits}, {boardVehicle, "kv", vehicles}, {boardWeapon, "kw", ids(boardWeapons)}},
	add:    (*Record).addBattlefield2, value: (*player).ownValue, choose: (*Record).choose,
}
