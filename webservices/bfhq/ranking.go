package bfhq

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
)

const (
	maxRows    = 20 // of a page
	rowsBehind = 19 // of the first row, unless a request says how many
	noCountry  = "XX"
)

func contains(numbers []int, n int) bool { return slices.Contains(numbers, n) }

type boardPage struct {
	board   string
	columns []string
	// row returns the values of a player behind the nick and before the rank.
	row func(p *player, score string) []string
}

// column returns a boardPage with one value behind the score.
func column(board, score string, others ...string) *boardPage {
	columns := append([]string{"n", "pid", "nick", score}, others...)
	return &boardPage{board: board, columns: append(columns, "playerrank", "countrycode")}
}

func boardOf(q *request) (*boardPage, error) {
	kind, id := strings.ToLower(q.get("type")), strings.ToLower(q.get("id"))
	values := func(b *boardPage, names ...string) *boardPage {
		b.row = func(p *player, score string) []string { return append([]string{score}, p.values(names)...) }
		return b
	}
	number := func(numbers []int) (string, error) {
		n, ok := query.Number(q.query, "id")
		if !ok || !contains(numbers, n) {
			return "", errBadID
		}
		return strconv.Itoa(n), nil
	}
	switch kind {
	case "score":
		switch id {
		case "overall":
			return values(column(boardScore, "score", "totaltime"), "time"), nil
		case "commander":
			return values(column(boardCommander, "coscore", "cotime"), "tcdr"), nil
		case "team":
			return values(column(boardTeam, "teamscore", "totaltime"), "time"), nil
		case "combat":
			return values(column(boardCombat, "score", "totalkills", "totaltime"), "kill", "time"), nil
		}
		return nil, errBadID
	case "risingstar":
		b := column(weekBoard(weekOf(q.now.Unix())), "weeklyscore", "totaltime", "date")
		b.row = func(p *player, score string) []string {
			return []string{score, p.value("time"), time.Unix(p.joined, 0).UTC().Format("01/02/06 03:04:00 PM")}
		}
		return b, nil
	case "kit":
		n, err := number(kits)
		return values(column(boardKit+n, "killswith", "deathsby", "timeused"), "kdt-"+n, "ktm-"+n), err
	case "vehicle":
		n, err := number(vehicles)
		return values(column(boardVehicle+n, "killswith", "detahsby", "timeused"), "vdt-"+n, "vtm-"+n), err
	case "weapon":
		n, err := number(ids(boardWeapons))
		return values(column(boardWeapon+n, "killswith", "detahsby", "timeused", "accuracy"), "wdt-"+n, "wtm-"+n, "wac-"+n), err
	}
	return nil, errBadType
}

// leaderboard is the page getleaderboard.
func (r *Backend) leaderboard(ctx context.Context, q *request) (*Answer, error) {
	b, err := boardOf(q)
	if err != nil {
		return nil, err
	}
	from, n, err := q.rows()
	if err != nil {
		return nil, err
	}
	size, err := r.size(ctx, q.game.Name, b.board)
	if err != nil {
		return nil, err
	}
	var page []storage.Score
	if q.get("pid") != "" {
		id, ok := q.profile()
		if !ok {
			return nil, errNoProfile
		}
		page, from, err = r.placeOf(ctx, q, b.board, id)
	} else {
		page, err = r.opt.Store.Ranking(ctx, q.game.Name, b.board, from, n)
	}
	if err != nil {
		return nil, err
	}
	rows := make([][]string, 0, len(page))
	for i := range page {
		p, err := r.playerOf(ctx, q, page[i].Profile)
		if errors.Is(err, errNotFound) {
			continue // deleted a moment ago
		}
		if err != nil {
			return nil, err
		}
		row := []string{strconv.Itoa(from + i + 1), p.value("pid"), p.nick}
		row = append(row, b.row(p, strconv.FormatInt(clamp(int64(page[i].Value)), 10))...)
		rows = append(rows, append(row, p.value("rank"), p.flag()))
	}
	return new(Answer).table([]string{"size", "asof"}, []string{strconv.Itoa(size), q.asof()}).table(b.columns, rows...), nil
}

// placeOf returns the score of a player, and how many are before it.
func (r *Backend) placeOf(ctx context.Context, q *request, board string, id storage.ProfileID) (page []storage.Score, before int, err error) {
	s, err := r.opt.Store.RankOf(ctx, storage.ScoreID{Game: q.game.Name, Board: board, Profile: id})
	if errors.Is(err, storage.ErrNotFound) {
		return nil, 0, nil
	}
	return []storage.Score{s}, s.Rank - 1, err
}

// rows returns the rows of a board for a request: those around the place pos.
func (q *request) rows() (from, n int, err error) {
	read := func(name string, otherwise int, bad *codeError) int {
		if q.get(name) == "" {
			return otherwise
		}
		n, ok := query.Number(q.query, name)
		if !ok {
			err = bad
		}
		return n
	}
	pos := read("pos", 1, errBadPlace)
	before := read("before", 0, errBadBefore)
	after := read("after", rowsBehind, errBadAfter)
	if err == nil && pos == 0 {
		err = errBadPlace
	}
	from = max(pos-1-before, 0)
	return from, min(max(pos+min(after, maxRows)-from, 0), maxRows), err
}

// flag returns the country of a player in two capitals.
func (p *player) flag() string {
	if len(p.country) != 2 {
		return noCountry
	}
	return strings.ToUpper(p.country)
}

const (
	// maxKnown is how many players are searched by a part of their name: the first ones of the
	// board of scores.
	maxKnown = 1000
	knownFor = time.Minute
)

// directory is a copy of the names of the first players of a game's board, so that a search
// does not read them all.
type directory struct {
	mu   sync.Mutex // guards the fields below; held while a copy is made, by one search at a time
	game string
	at   time.Time
	list []found
}

// found is a player that a search can find.
type found struct {
	id    storage.ProfileID
	nick  string
	fold  string
	score int64
}

// known returns the first players of the board of scores.
func (r *Backend) known(ctx context.Context, q *request) ([]found, error) {
	d := &r.players
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.game == q.game.Name && q.now.Sub(d.at) < knownFor {
		return d.list, nil
	}
	page, err := r.opt.Store.Ranking(ctx, q.game.Name, boardScore, 0, maxKnown)
	if err != nil {
		return nil, err
	}
	list := make([]found, 0, len(page))
	for _, s := range page {
		p, err := r.opt.Store.GetProfile(ctx, s.Profile)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		nick := nickOf(q.game, &p)
		list = append(list, found{s.Profile, nick, storage.Fold(nick), clamp(int64(s.Value))})
	}
	d.game, d.at, d.list = q.game.Name, q.now, list
	return list, nil
}

// search is the page searchforplayers: players by a part of their name, and the one with exactly
// that name.
func (r *Backend) search(ctx context.Context, q *request) (*Answer, error) {
	nick := storage.Fold(q.get("nick"))
	if nick == "" {
		return nil, errNoNick
	}
	fits := strings.Contains
	switch q.get("where") {
	case "b":
		fits = strings.HasPrefix
	case "e":
		fits = strings.HasSuffix
	case "x":
		fits = func(s, t string) bool { return s == t }
	}
	hits, err := r.find(ctx, q, nick, fits)
	if err != nil {
		return nil, err
	}
	if q.get("sort") == "r" {
		slices.Reverse(hits)
	}
	rows := make([][]string, 0, len(hits))
	for i, f := range hits {
		rows = append(rows, []string{strconv.Itoa(i + 1), strconv.FormatUint(uint64(f.id), 10), f.nick, strconv.FormatInt(f.score, 10)})
	}
	return new(Answer).table([]string{"asof"}, []string{q.asof()}).table([]string{"n", "pid", "nick", "score"}, rows...), nil
}

// find returns the first players whose name fits, and the one with exactly that name.
func (r *Backend) find(ctx context.Context, q *request, nick string, fits func(name, part string) bool) (hits []found, err error) {
	list, err := r.known(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if fits(f.fold, nick) {
			hits = append(hits, f)
		}
	}
	if !slices.ContainsFunc(hits, func(f found) bool { return f.fold == nick }) {
		exact, err := r.exactly(ctx, q, nick)
		if err != nil {
			return nil, err
		}
		hits = append(hits, exact...)
	}
	slices.SortFunc(hits, func(a, b found) int { return strings.Compare(a.fold, b.fold) })
	return hits, nil
}

// exactly returns the player with a name, if there is one.
func (r *Backend) exactly(ctx context.Context, q *request, nick string) ([]found, error) {
	p, err := r.byNick(ctx, q.game, nick)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	record, err := r.read(ctx, q.game.Name, p.ID)
	if err != nil {
		return nil, err
	}
	name := nickOf(q.game, &p)
	return []found{{p.ID, name, storage.Fold(name), record.Totals[rulesOf(q.game).total]}}, nil
}
