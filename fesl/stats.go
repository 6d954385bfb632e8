package fesl

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a request about statistics. Longer lists are cut.
const (
	maxStats    = 600 // of all players of an answer, so that it has no more lines than a long message may
	maxOwners   = 64
	maxTop      = 50  // players of a ranking
	maxStatKey  = 64  // bytes
	maxStatText = 256 // bytes
)

// How a value changes the present one.
const (
	updateRounded  = "0"
	updateAbsolute = "1"
	updateRelative = "3"
)

// statText is the end of the key that a block has the text of a statistic under. No key of a game contains it.
const statText = ":text"

// statChange is the change of one statistic.
type statChange struct {
	key, how, text string
	value          float64
}

// apply returns the value after the change.
func (c *statChange) apply(old float64) float64 {
	switch c.how {
	case updateRelative:
		return min(max(old+c.value, -storage.MaxScore), storage.MaxScore)
	case updateRounded:
		return math.Round(c.value)
	default:
		return c.value
	}
}

// ledger is the statistics of the game of a session.
type ledger struct{ *session }

// ranked is a command about statistics.
func ranked(run func(ledger, context.Context, *request, *wire.Text) error) func(*session, context.Context, *request, *wire.Text) error {
	return func(x *session, ctx context.Context, r *request, answer *wire.Text) error {
		return run(ledger{x}, ctx, r, answer)
	}
}

// block is where the statistics of a profile are kept: as keys and values, which only this service writes.
func (x ledger) block(p storage.ProfileID) storage.StatBlockID {
	return storage.StatBlockID{Game: x.title.game, Profile: p, Kind: storage.StatPublicRead}
}

// update keeps what a game says of its own player, if its statistics are kept here: a client may name any
// game, and those of others come from their servers. What it says of other players is dropped.
func (x ledger) update(ctx context.Context, r *request, _ *wire.Text) error {
	changes, err := x.changes(r)
	if err != nil || len(changes) == 0 || !x.title.stats {
		return err
	}
	var now map[string]float64 // after the change
	_, err = x.server.opt.Stats.Edit(ctx, x.block(x.player.profile), func(old []byte) ([]byte, error) {
		now = make(map[string]float64)
		page := pageOf(old)
		for _, c := range changes {
			before, _ := strconv.ParseFloat(page.get(c.key), 64)
			now[c.key] = c.apply(before)
			page.set(c.key, strconv.FormatFloat(now[c.key], 'f', -1, 64))
			if c.text != "" {
				page.set(c.key+statText, c.text)
			}
		}
		return stats.AppendPairs(nil, page.pairs), nil
	})
	if err == nil {
		err = x.rank(ctx, now)
	}
	if errors.Is(err, stats.ErrTooLarge) || errors.Is(err, stats.ErrFull) {
		return refuse(codeTooMany, "There is no room for more statistics.")
	}
	return err
}

// rank puts the values that the game has boards for on them.
func (x ledger) rank(ctx context.Context, now map[string]float64) error {
	for _, b := range x.server.opt.Stats.Boards(x.title.game) {
		value, ok := now[b.Key]
		if !ok || b.How != games.BoardLast {
			continue
		}
		id := storage.ScoreID{Game: x.title.game, Board: b.Name, Profile: x.player.profile}
		if err := x.server.opt.Stats.SetScore(ctx, storage.Score{ScoreID: id, Value: value, Updated: x.life.heard}); err != nil {
			return err
		}
	}
	return nil
}

// changes reads the changes of the player's own statistics.
func (x ledger) changes(r *request) (changes []statChange, err error) {
	lines := make(map[string]string, len(r.Text))
	for _, f := range r.Text {
		lines[ascii.ToLower(f.Key)] = f.Value
	}
	for i := range count(lines["u.[]"], maxOwners) {
		update := wire.Member("u", i)
		if lines[update+".o"] != x.player.uid() {
			x.server.opt.Metrics.Drop(droppedStats.Error())
			continue
		}
		for j := range count(lines[update+".s.[]"], maxStats-len(changes)) {
			entry := wire.Member(update+".s", j)
			c := statChange{key: lines[entry+".k"], how: cmp.Or(lines[entry+".ut"], updateRounded), text: lines[entry+".t"]}
			v, wrong := strconv.ParseFloat(cmp.Or(lines[entry+".v"], "0"), 64)
			c.value = v
			if wrong != nil || !(math.Abs(v) <= storage.MaxScore) || !fits(c.key, maxStatKey) || strings.Contains(c.key, ":") || c.text != "" && !fits(c.text, maxStatText) {
				return nil, badField(entry, fieldInvalid)
			}
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// fits reports whether a text can stand in a block.
func fits(text string, most int) bool {
	return text != "" && len(text) <= most && strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c == '\\' }) < 0
}

// count reads a number of members, at most so many.
func count(text string, most int) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return min(int(n), max(most, 0))
}

// uid returns the number of the persona as text.
func (p *player) uid() string { return strconv.FormatUint(uint64(p.profile), 10) }

// ownerOf reads the number of a player; without one it is the client's own.
func (x ledger) ownerOf(text string) storage.ProfileID {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil && n != 0 {
		return storage.ProfileID(n)
	}
	return x.player.profile
}

// statKeys returns the keys that are asked for of so many players.
func statKeys(r *request, players int) []string {
	keys := r.List("keys")
	return keys[:min(len(keys), maxStats/max(players, 1))]
}

// ofOwner answers with statistics of one player, with ranks if they are asked for.
func (x ledger) ofOwner(ctx context.Context, r *request, answer *wire.Text) error {
	return x.add(ctx, answer, "stats", x.ownerOf(r.Get("owner")), statKeys(r, 1), strings.EqualFold(r.TXN(), "GetRankedStats"))
}

// ofOwners answers with statistics of several players.
func (x ledger) ofOwners(ctx context.Context, r *request, answer *wire.Text) error {
	list, ranked := "stats", strings.EqualFold(r.TXN(), "GetRankedStatsForOwners")
	if ranked {
		list = "rankedStats"
	}
	n := count(r.Get("owners.[]"), maxOwners)
	keys := statKeys(r, n)
	answer.AddNumber(list+".[]", int64(n))
	for i := range n {
		entry, owner := wire.Member(list, i), wire.Member("owners", i)
		answer.Add(entry+".ownerId", r.Get(owner+".ownerId"))
		answer.Add(entry+".ownerType", r.Get(owner+".ownerType"))
		if err := x.add(ctx, answer, entry+"."+list, x.ownerOf(r.Get(owner+".ownerId")), keys, ranked); err != nil {
			return err
		}
	}
	return nil
}

// add adds a list of the statistics of a player. Those that were never stored are 0.
func (x ledger) add(ctx context.Context, answer *wire.Text, list string, owner storage.ProfileID, keys []string, ranked bool) error {
	page, err := x.pageOf(ctx, owner)
	if err != nil {
		return err
	}
	answer.AddNumber(list+".[]", int64(len(keys)))
	for i, key := range keys {
		entry := wire.Member(list, i)
		v, _ := strconv.ParseFloat(page.get(key), 64)
		answer.Add(entry+".key", key)
		answer.Add(entry+".value", wire.Float(v))
		if ranked {
			n, err := x.rankOf(ctx, key, owner)
			if err != nil {
				return err
			}
			answer.AddNumber(entry+".rank", int64(n))
		}
		answer.Add(entry+".text", page.get(key+statText))
	}
	return nil
}

// pageOf returns the statistics of a player, as they are stored.
func (x ledger) pageOf(ctx context.Context, owner storage.ProfileID) (page, error) {
	block, err := x.server.opt.Stats.Get(ctx, x.block(owner))
	if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrInvalid) {
		return page{}, err
	}
	return pageOf(block.Data), nil
}

// page is the content of a block of statistics: their values, and their texts under keys that end with statText.
type page struct {
	pairs []stats.Pair
	at    map[string]int // of a key
}

// pageOf reads a block. What is not one has no statistics.
func pageOf(data []byte) page {
	pairs, _ := stats.ParsePairs(data)
	p := page{pairs, make(map[string]int, len(pairs))}
	for i := range pairs {
		p.at[pairs[i].Key] = i
	}
	return p
}

func (p *page) get(key string) string {
	if i, known := p.at[key]; known {
		return p.pairs[i].Value
	}
	return ""
}

func (p *page) set(key, value string) {
	if i, known := p.at[key]; known {
		p.pairs[i].Value = value
		return
	}
	p.at[key] = len(p.pairs)
	p.pairs = append(p.pairs, stats.Pair{Key: key, Value: value})
}

// board returns the board of a key, empty if the game has none for it.
func (x ledger) board(key string) string {
	for _, b := range x.server.opt.Stats.Boards(x.title.game) {
		if b.Key == key {
			return b.Name
		}
	}
	return ""
}

// rankOf returns the rank of a player by a key, 0 for one without.
func (x ledger) rankOf(ctx context.Context, key string, owner storage.ProfileID) (int, error) {
	board := x.board(key)
	if board == "" {
		return 0, nil
	}
	n, _, err := x.server.opt.Stats.Rank(ctx, x.title.game, board, owner)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrInvalid) {
		return 0, nil
	}
	return n, err
}

// top answers with the players who have most of something, and with the client's own place if it asks
// for that. Without a board for the key there are none.
func (x ledger) top(ctx context.Context, r *request, answer *wire.Text) error {
	const list = "stats"
	board, first := x.board(r.Get("key")), max(count(r.Get("minRank"), math.MaxInt32), 1)
	var top []stats.Score
	if n := min(count(r.Get("maxRank"), math.MaxInt32)-first+1, maxTop); board != "" && n > 0 {
		var err error
		if top, err = x.server.opt.Stats.Ranking(ctx, x.title.game, board, first-1, n); err != nil {
			return err
		}
	}
	mine := func(s stats.Score) bool { return s.Profile == x.player.profile }
	if board != "" && strings.EqualFold(r.TXN(), "GetTopNAndMe") && !slices.ContainsFunc(top, mine) {
		switch n, own, err := x.server.opt.Stats.Rank(ctx, x.title.game, board, x.player.profile); {
		case err == nil:
			own.Rank = n
			top = append(top, own)
		case !errors.Is(err, storage.ErrNotFound):
			return err
		}
	}
	keys := statKeys(r, len(top))
	answer.AddNumber(list+".[]", int64(len(top)))
	for i, s := range top {
		entry := wire.Member(list, i)
		p, err := x.server.opt.Store.GetProfile(ctx, s.Profile)
		if err != nil && !errors.Is(err, storage.ErrNotFound) { // it may have been deleted just now
			return err
		}
		answer.AddNumber(entry+".owner", int64(s.Profile))
		answer.Add(entry+".name", x.persona(&p))
		answer.AddNumber(entry+".rank", int64(s.Rank))
		answer.Add(entry+".value", wire.Float(s.Value))
		if err := x.add(ctx, answer, entry+".addStats", s.Profile, keys, false); err != nil {
			return err
		}
	}
	return nil
}
