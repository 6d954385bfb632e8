package bfhq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
)

// stella is a Backend that answers who asks for pages of Battlefield 2142.
type stella struct{ *Backend }

// stellaPages are those of Battlefield 2142.
var stellaPages = map[string]answerer{
	"getplayerinfo":         identified(stella.info),
	"getunlocksinfo":        identified(stella.unlocksInfo),
	"selectunlock":          identified(stella.selectUnlock),
	"getawardsinfo":         identified(stella.awardsInfo),
	"getplayerprogress":     identified(stella.progress),
	"getleaderboard":        identified(stella.leaderboard),
	"playersearch":          identified(stella.search),
	"getrankinfo":           identified(stella.rankInfo),
	"rankchange":            identified(stella.rankInfo),
	"clearranknotification": identified(stella.rankShown),
	"getbackendinfo":        (*Backend).stellaConfig,
	"validateplayer":        (*Backend).verify, // its parameter auth is that of the player who joins
}

// subject returns the player that a request is about: the one that it names, or who asks.
func (r stella) subject(ctx context.Context, q *request) (*player, error) {
	id, _ := q.profile()
	return r.playerOf(ctx, q, cmp.Or(id, q.asker.profile))
}

// self returns the player who asks.
func (r stella) self(ctx context.Context, q *request) (*player, error) {
	return r.playerOf(ctx, q, q.asker.profile)
}

// asks returns how the one who asks is named.
func (q *request) asks() string {
	if q.asker.server {
		return "server"
	}
	return "client"
}

// info is the page getplayerinfo.
func (r stella) info(ctx context.Context, q *request) (*Answer, error) {
	mode := q.get("mode")
	columns := stellaColumns[mode]
	if columns == nil {
		return nil, errBadInfo
	}
	p, err := r.subject(ctx, q)
	if err != nil {
		return nil, err
	}
	head := []string{"pid", "nick", "tid"}
	if mode == "base" && q.asker.server {
		head, columns = []string{"p.pid", "subaccount", "tid"}, stellaServer
	}
	row := func(p *player) []string { return append([]string{p.value("pid"), p.nick, "0"}, p.values(columns)...) }
	head = append(head, columns...)
	a := new(Answer)
	switch mode {
	case "base":
		return a.table([]string{"asof", "cb"}, []string{q.asof(), q.asks()}).table(head, row(p)).
			table([]string{"UnlockID"}, p.stellaStates(r.config.Load().Unlocks)...), nil
	case "comp":
		own, err := r.self(ctx, q)
		if err != nil {
			return nil, err
		}
		return a.table([]string{"asof"}, []string{q.asof()}).table(head, row(own), row(p)), nil
	}
	return a.table([]string{"asof"}, []string{q.asof()}).table(head, row(p)), nil
}

// whoseAt is the first table of pages about a player.
func (p *player) whoseAt(q *request) *Answer {
	return new(Answer).table([]string{"pid", "nick", "asof"}, []string{p.value("pid"), p.nick, q.asof()})
}

// unlocksInfo is the page getunlocksinfo.
func (r stella) unlocksInfo(ctx context.Context, q *request) (*Answer, error) {
	p, err := r.self(ctx, q)
	if err != nil {
		return nil, err
	}
	policy, credits := r.config.Load().Unlocks, int64(0)
	if policy == unlocksRank {
		credits = p.credits()
	}
	return p.whoseAt(q).table([]string{"Avcred"}, []string{strconv.FormatInt(credits, 10)}).
		table([]string{"UnlockID"}, p.stellaStates(policy)...), nil
}

// selectUnlock is the page selectunlock.
func (r stella) selectUnlock(ctx context.Context, q *request) (*Answer, error) {
	return new(Answer).table([]string{"result"}, []string{"OK"}), r.choose(ctx, q, q.asker.profile, "uid")
}

// awardsInfo is the page getawardsinfo. The level of a badge is a part of its name.
func (r stella) awardsInfo(ctx context.Context, q *request) (*Answer, error) {
	p, err := r.subject(ctx, q)
	if err != nil {
		return nil, err
	}
	rows := make([][]string, 0, len(p.Awards))
	for _, a := range p.Awards {
		name, level := strconv.Itoa(a.ID), a.Level
		switch kindOf(a.ID) {
		case kindBadge:
			name, level = fmt.Sprintf("%d_%d", a.ID, a.Level), 0
		case kindMedal, kindPin:
		default:
			level = 0
		}
		rows = append(rows, []string{name, strconv.Itoa(level), strconv.FormatInt(a.When, 10), strconv.FormatInt(a.First, 10)})
	}
	return p.whoseAt(q).table([]string{"award", "level", "when", "first"}, rows...), nil
}

// progress is the page getplayerprogress: a row for each day, of which only the
// present totals are kept.
func (r stella) progress(ctx context.Context, q *request) (*Answer, error) {
	pairs := stellaProgress[q.get("mode")]
	if pairs == nil {
		return nil, errBadType
	}
	p, err := r.subject(ctx, q)
	if err != nil {
		return nil, err
	}
	columns, row := []string{"date"}, []string{strconv.FormatInt(cmp.Or(p.Totals["lgdt"], q.now.Unix()), 10)}
	for _, pair := range pairs {
		columns, row = append(columns, pair[0]), append(row, p.value(pair[1]))
	}
	return new(Answer).table([]string{"pid", "asof"}, []string{p.value("pid"), q.asof()}).table(columns, row), nil
}

// stellaBoardOf returns the board that a request asks for: the names of its columns, and
// which totals they are. An empty total stands for the score of the board.
func stellaBoardOf(q *request) (board string, columns, totals []string, err error) {
	number := func(board string, numbers []int, prefixes ...string) (string, []string) {
		n, ok := query.Number(q.query, "id")
		if !ok || !slices.Contains(numbers, n) {
			err = errBadID
		}
		id := strconv.Itoa(n)
		totals := []string{""}
		for _, prefix := range prefixes {
			totals = append(totals, prefix+id)
		}
		return board + id, totals
	}
	score := []string{""}
	switch q.get("type") {
	case "overallscore":
		return boardScore, []string{"globalscore"}, score, nil
	case "commanderscore":
		return boardCommander, []string{"coscore"}, score, nil
	case "teamworkscore":
		return boardTeam, []string{"teamworkscore"}, score, nil
	case "combatscore":
		return boardCombat, []string{"Kills", "Deaths", "kdr", "Accuracy"}, []string{"", "dths", "kdr", "ovaccu"}, nil
	case "risingstar":
		return weekBoard(weekOf(q.now.Unix())), []string{"PercentChange"}, score, nil
	case "weapon":
		board, totals = number(boardWeapon, stellaWeapons, "wdths-", "wkdr-", "waccu-")
		return board, []string{"kills", "deaths", "kdr", "accuracy"}, totals, err
	case "vehicle":
		board, totals = number(boardVehicle, stellaVehicles, "vdths-", "vrkls-")
		return board, []string{"kills", "deaths", "roadkills"}, totals, err
	}
	return "", nil, nil, errBadType
}

// leaderboard is the page getleaderboard: the row of who asks, and those around a place.
func (r stella) leaderboard(ctx context.Context, q *request) (*Answer, error) {
	board, names, totals, err := stellaBoardOf(q)
	if err != nil {
		return nil, err
	}
	from, n, err := q.rows()
	if err != nil {
		return nil, err
	}
	size, err := r.size(ctx, q.game.Name, board)
	if err != nil {
		return nil, err
	}
	page, err := r.opt.Store.Ranking(ctx, q.game.Name, board, from, n)
	if err != nil {
		return nil, err
	}
	own, before, err := r.placeOf(ctx, q, board, q.asker.profile)
	if err != nil {
		return nil, err
	}
	columns := slices.Concat([]string{"rank", "pos", "pid", "nick"}, names, []string{"playerrank", "countrycode", "Vet"})
	list := func(page []storage.Score, from int, more ...string) (rows [][]string, err error) {
		for i := range page {
			p, err := r.playerOf(ctx, q, page[i].Profile)
			if errors.Is(err, errNotFound) {
				continue // deleted a moment ago
			}
			if err != nil {
				return nil, err
			}
			place := strconv.Itoa(from + i + 1)
			row := []string{place, place, p.value("pid"), p.nick}
			for _, total := range totals {
				if total == "" {
					row = append(row, p.boardValue(board, clamp(int64(page[i].Value))))
					continue
				}
				row = append(row, p.value(total))
			}
			rows = append(rows, append(append(row, p.value("rnk"), p.flag(), "0"), more...))
		}
		return rows, nil
	}
	first, err := list(own, before)
	if err != nil {
		return nil, err
	}
	rows, err := list(page, from, "0")
	return new(Answer).table([]string{"size", "asof"}, []string{strconv.Itoa(size), q.asof()}).table(columns, first...).
		table(append(columns, "dt"), rows...), err
}

// boardValue returns the score of a board as its page shows it: that of a week in percent
// of the whole score of the player.
func (p *player) boardValue(board string, score int64) string {
	if strings.HasPrefix(board, boardWeek) {
		return quotient(100*score, p.Totals["gsco"])
	}
	return strconv.FormatInt(score, 10)
}

// search is the page playersearch: players by a part of their name.
func (r stella) search(ctx context.Context, q *request) (*Answer, error) {
	pattern := q.get("nick")
	hits, err := r.find(ctx, q, storage.Fold(strings.ReplaceAll(pattern, "*", "")), strings.Contains)
	if err != nil {
		return nil, err
	}
	rows := make([][]string, 0, len(hits))
	for _, f := range hits {
		rows = append(rows, []string{strconv.FormatUint(uint64(f.id), 10), f.nick})
	}
	return new(Answer).table([]string{"pid", "asof"}, []string{strconv.FormatUint(uint64(q.asker.profile), 10), q.asof()}).
		table([]string{"searchpattern"}, []string{pattern}).table([]string{"pid", "nick"}, rows...), nil
}

// rankInfo is the page getrankinfo, and rankchange.
func (r stella) rankInfo(ctx context.Context, q *request) (*Answer, error) {
	p, err := r.self(ctx, q)
	if err != nil {
		return nil, err
	}
	return new(Answer).table([]string{"asof", "pid", "nick"}, []string{q.asof(), p.value("pid"), p.nick}).table([]string{"result"}, []string{"OK"}), nil
}

// rankShown is the page clearranknotification: the player has seen the new rank.
func (r stella) rankShown(ctx context.Context, q *request) (*Answer, error) {
	p, err := r.self(ctx, q)
	if err == nil {
		err = r.shown(ctx, q, p)
	}
	if err != nil {
		return nil, err
	}
	return r.rankInfo(ctx, q)
}

// stellaConfig is the page getbackendinfo: a script with the points that ranks need.
func (r *Backend) stellaConfig(_ context.Context, q *request) (*Answer, error) {
	var script strings.Builder
	for rank := range maxStellaRank + 1 {
		points := int64(0)
		if rank < len(stellaRanks) {
			points = stellaRanks[rank]
		}
		fmt.Fprintf(&script, "rankSettings.setRank %d %d\n", rank, points)
	}
	a := &Answer{Script: script.String() + "rankSettings.save"}
	return a.table([]string{"asof", "tid", "serverip", "cb"}, []string{q.asof(), "0", q.from.String(), q.asks()}), nil
}
