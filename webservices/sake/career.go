package sake

import (
	"errors"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// layout is how a game of EA reads the totals of its player, which come from reported matches: it
// asks for all at once and takes them by their positions. Those that no part has are the integer 0.
type layout struct {
	size int
	all  bool // a part begins with the total of all modes
	// parts have a value for each mode, from their position on; see career.part.
	parts map[int]total
	// reals are positions of parts that are the float 0, of all their values.
	reals []int
}

// total is a number that is made of matches.
type total uint8

const (
	totalGames total = iota
	totalLosses
	totalWins
	totalRatio  // percent, a float
	totalLength // average, in seconds
	totalTime
	totalLeft
	totalDesyncs
)

// layouts are those of kirov-server-emulator, by the game. Streaks and the results of each faction, which
// it has too, are 0 here.
var layouts = map[string]*layout{
	"cc3tibwars": {160, false, map[int]total{
		20: totalGames, 40: totalLosses, 60: totalWins, 80: totalRatio, 100: totalLength, 150: totalLeft, 155: totalDesyncs,
	}, []int{85, 90, 95, 145}},
	"redalert3pc": {190, false, map[int]total{
		20: totalGames, 40: totalLosses, 60: totalWins, 80: totalRatio, 100: totalLength, 170: totalTime, 180: totalLeft, 185: totalDesyncs,
	}, []int{85, 90, 95, 145}},
	"cc3xp1": {420, true, map[int]total{
		24: totalGames, 102: totalLosses, 180: totalWins, 258: totalRatio, 336: totalLength, 342: totalTime, 408: totalLeft, 414: totalDesyncs,
	}, []int{264, 270, 276, 282, 288, 294, 300, 306, 312, 318, 324, 330, 390}},
}

// maxNamed is how many fields are asked for by their names; with more, positions count.
const maxNamed = 10

// Values of rows.
func integer(n int64) storage.SakeValue { return storage.SakeValue{Type: storage.SakeInt, Num: n} }

func short(n int64) storage.SakeValue  { return storage.SakeValue{Type: storage.SakeShort, Num: n} }
func real(f float32) storage.SakeValue { return storage.SakeFloatValue(f) }

// row is a record that is not stored.
type row []storage.SakeValue

// constants are the tables of these games that are the same for all players, in lower case.
var constants = map[string]row{
	"scoringmultipliers": {short(1), short(2), short(2), short(5)},
	"unrankedlosses":     {short(0), short(0), short(0), short(0)},
	"tickermgmt":         {real(30), short(10), real(50), real(25), real(25)},
	"newsticker":         {{Type: storage.SakeUnicode}, integer(0), short(1)},
	"custom_maps":        {integer(0), integer(0), integer(0), integer(0), integer(0), integer(0), integer(0), integer(0), integer(0)},
	"levels":             levels(),
}

// The tables of these games that are made of matches.
const (
	tableStats  = "playerstats"
	tableRating = "ratingplayer"
)

func levels() (out row) {
	for _, n := range stats.Levels {
		out = append(out, integer(n))
	}
	return out
}

// derived answers a request for a table of EA's games that is made and not stored. done is false if it
// is not one.
func (c *call) derived() (fill func(*soap.Writer), done bool, err error) {
	l, table := layouts[c.game.Name], ascii.ToLower(c.id.Name)
	if l == nil {
		return nil, false, nil
	}
	constant, fixed := constants[table]
	switch made := fixed || table == tableStats || table == tableRating; c.q.Method {
	case "CreateRecord", "UpdateRecord", "DeleteRecord":
		if made {
			return nil, true, noPermission
		}
	case "GetSpecificRecords", "SearchForRecords":
		switch {
		case fixed:
			return rows(constant), true, nil
		case made:
			fill, err = c.playerRows(table)
			return fill, true, err
		}
	case "GetMyRecords":
		if !made {
			_, err := c.find()
			made = errors.Is(err, storage.ErrNoTable)
		}
		if made {
			fill, err = c.career(l)
			return fill, true, err
		}
	}
	return nil, false, nil
}

// rows writes rows as records.
func rows(list ...row) func(*soap.Writer) {
	return func(w *soap.Writer) {
		if len(list) == 0 {
			w.Raw("<values />")
			return
		}
		w.Open("values")
		for _, r := range list {
			w.Open("ArrayOfRecordValue")
			for i := range r {
				writeValue(w, &r[i])
			}
			w.Close()
		}
		w.Close()
	}
}

// playerRows returns the level of a player that the filter names, or those of the best players.
func (c *call) playerRows(table string) (func(*soap.Writer), error) {
	who, named := ownerOf(c.q.Body.Text("filter"))
	if !named {
		who = c.profile
	}
	if table == tableRating {
		return rows(row{{Type: storage.SakeUnicode}, integer(int64(who)), integer(0), integer(0)}), nil
	}
	if named {
		s, err := c.opt.Store.RankOf(c.ctx, storage.ScoreID{Game: c.game.Name, Board: stats.CareerBoard, Profile: who})
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return nil, err
		}
		return rows(row{integer(int64(stats.LevelOf(s.Value))), integer(int64(who))}), nil
	}
	most, _ := c.q.Body.Int("max")
	best, err := c.opt.Store.Ranking(c.ctx, c.game.Name, stats.CareerBoard, 0, int(min(max(most, 0), MaxReplyRecords)))
	var list []row
	for i := range best {
		s := &best[i]
		list = append(list, row{integer(int64(s.Profile)), integer(int64(stats.LevelOf(s.Value))), integer(int64(s.Value))})
	}
	return rows(list...), err
}

// ownerOf returns the player in a filter such as ownerid = 5.
func ownerOf(filter string) (who storage.ProfileID, ok bool) {
	key, value, _ := strings.Cut(strings.ReplaceAll(filter, " ", ""), "=")
	n, err := strconv.ParseUint(value, 10, 31)
	return storage.ProfileID(n), err == nil && n > 0 && ascii.EqualFold(key, automaticNames[ownerID])
}

// career returns the totals of the player.
func (c *call) career(l *layout) (func(*soap.Writer), error) {
	scores := make(map[string]float64)
	for s, err := range c.opt.Store.ScoresOf(c.ctx, c.profile) {
		if err != nil {
			return nil, err
		}
		if s.Game == c.game.Name {
			scores[s.Board] = s.Value
		}
	}
	var out row
	if list := c.q.Body.Child("fields"); list != nil && len(list.Children) <= maxNamed {
		for _, e := range list.Children {
			n := 0.0
			switch ascii.ToLower(e.Value) {
			case "score":
				n = scores[stats.CareerBoard]
			case "rank":
				n = float64(stats.LevelOf(scores[stats.CareerBoard]))
			case automaticNames[ownerID]:
				n = float64(c.profile)
			}
			out = append(out, integer(int64(n)))
		}
		return rows(out), nil
	}
	out = make(row, l.size)
	for i := range out {
		out[i] = integer(0)
	}
	modes, _ := stats.ModesOf(c.game.Boards)
	var names []string
	for i := range modes {
		names = append(names, modes[i].Name)
	}
	groups := make([][]string, 0, len(names)+1)
	if l.all {
		groups = append(groups, names)
	}
	for i := range names {
		groups = append(groups, names[i:i+1])
	}
	for at, what := range l.parts {
		for i, of := range groups {
			out[at+i] = what.of(scores, of)
		}
	}
	for _, at := range l.reals {
		for i := range groups {
			out[at+i] = real(0)
		}
	}
	return rows(out), nil
}

// of returns the number of some modes.
func (t total) of(scores map[string]float64, modes []string) storage.SakeValue {
	sum := func(board string) (n float64) {
		for _, m := range modes {
			n += scores[m+"-"+board]
		}
		return n
	}
	wins, losses, left, desyncs := sum("win"), sum("loss"), sum("disconnect"), sum("desync")
	played := wins + losses + left + desyncs
	seconds := 0.0
	for _, m := range modes {
		seconds += scores[m+stats.SecondsBoard]
	}
	per := func(n float64) float64 { return n / max(played, 1) }
	switch t {
	case totalLosses:
		return integer(int64(losses))
	case totalWins:
		return integer(int64(wins))
	case totalRatio:
		return real(float32(100 * per(wins)))
	case totalLength:
		return integer(int64(per(seconds)))
	case totalTime:
		return integer(int64(seconds))
	case totalLeft:
		return integer(int64(left))
	case totalDesyncs:
		return integer(int64(desyncs))
	case totalGames:
	}
	return integer(int64(played))
}
