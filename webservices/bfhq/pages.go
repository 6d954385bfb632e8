package bfhq

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
)

// pagesBy are the pages by their kind and the name of their file, without its ending.
var pagesBy = map[games.FileKind]map[string]answerer{games.FileBFHQ: pages, games.FileStella: stellaPages}

// pages are those of Battlefield 2.
var pages = map[string]answerer{
	"getplayerinfo":    (*Backend).playerInfo,
	"getunlocksinfo":   (*Backend).unlocksInfo,
	"selectunlock":     (*Backend).selectUnlock,
	"getrankinfo":      (*Backend).rankInfo,
	"ranknotification": (*Backend).rankShown,
	"getawardsinfo":    (*Backend).awardsInfo,
	"getleaderboard":   (*Backend).leaderboard,
	"searchforplayers": (*Backend).search,
	"getplayerid":      (*Backend).playerID,
	"getbackendinfo":   (*Backend).backendInfo,
	"verifyplayer":     (*Backend).verify,
	"getmapinfo":       (*Backend).notKept,
	"getclaninfo":      (*Backend).notKept,
}

// notKept answers pages about data that is not kept.
func (*Backend) notKept(context.Context, *request) (*Answer, error) { return nil, errNotKept }

func (r *Backend) player(ctx context.Context, q *request) (*player, error) {
	id, ok := q.profile()
	if !ok {
		return nil, errNoProfile
	}
	return r.playerOf(ctx, q, id)
}

// playerOf returns a player with totals, or errNotFound.
func (r *Backend) playerOf(ctx context.Context, q *request, id storage.ProfileID) (*player, error) {
	profile, err := r.opt.Store.GetProfile(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, errNotFound
	}
	if err != nil {
		return nil, err
	}
	record, err := r.read(ctx, q.game.Name, id)
	if err != nil {
		return nil, err
	}
	p := &player{Record: record, rules: rulesOf(q.game), id: id, nick: nickOf(q.game, &profile), country: profile.Country}
	if !profile.Created.IsZero() {
		p.joined = max(profile.Created.Unix(), 0)
	}
	p.other = func(id storage.ProfileID) (string, int64) {
		profile, err := r.opt.Store.GetProfile(ctx, id)
		if err != nil {
			return noName, 0
		}
		record, err := r.read(ctx, q.game.Name, id)
		if err != nil {
			return nickOf(q.game, &profile), 0
		}
		return nickOf(q.game, &profile), record.Totals[p.rules.rank]
	}
	return p, nil
}

// playerInfo is the page getplayerinfo.
func (r *Backend) playerInfo(ctx context.Context, q *request) (*Answer, error) {
	only, err := q.choice()
	if err != nil {
		return nil, err
	}
	columns, ok := columnsOf(q.get("info"), only)
	if !ok {
		return nil, errBadInfo
	}
	p, err := r.player(ctx, q)
	if err != nil {
		return nil, err
	}
	return new(Answer).table([]string{"asof"}, []string{q.asof()}).table(columns, p.values(columns)), nil
}

// choice returns the one kit, vehicle, weapon or map that a request asks for.
func (q *request) choice() (choice, error) {
	only := make(choice)
	for _, c := range []struct {
		name    string
		group   byte
		numbers []int
		code    int
	}{{"kit", 'k', kits, 114}, {"map", 'm', maps, 115}, {"vehicle", 'v', vehicles, 117}, {"weapon", 'w', weapons, 118}} {
		if q.get(c.name) == "" {
			continue
		}
		n, ok := query.Number(q.query, c.name)
		if !ok || !contains(c.numbers, n) {
			return nil, &codeError{c.code, "Invalid Syntax!"}
		}
		only[c.group] = n
	}
	return only, nil
}

// unlocksInfo is the page getunlocksinfo.
func (r *Backend) unlocksInfo(ctx context.Context, q *request) (*Answer, error) {
	p, err := r.player(ctx, q)
	if err != nil {
		return nil, err
	}
	policy := r.config.Load().Unlocks
	return new(Answer).table([]string{"pid", "nick", "asof"}, []string{p.value("pid"), p.nick, q.asof()}).
		table([]string{"enlisted", "officer"}, []string{strconv.Itoa(p.points(policy)), "0"}).
		table([]string{"id", "state"}, p.states(policy)...), nil
}

// proved reports whether a request may change something of a player: it comes from where the
// player is signed in, or from a server that is believed.
func (r *Backend) proved(ctx context.Context, q *request, id storage.ProfileID) bool {
	return r.config.Load().lists(q.from) || r.opt.SignedIn != nil && r.opt.SignedIn(ctx, id, q.from)
}

// selectUnlock is the page selectunlock.
func (r *Backend) selectUnlock(ctx context.Context, q *request) (*Answer, error) {
	id, ok := q.profile()
	if !ok {
		return nil, errNoProfile
	}
	return done(), r.choose(ctx, q, id, "id")
}

// choose makes a player choose the weapon whose number is in a parameter.
func (r *Backend) choose(ctx context.Context, q *request, id storage.ProfileID, parameter string) error {
	weapon, isNumber := query.Number(q.query, parameter)
	switch {
	case !isNumber:
		r.metrics.choices.WithLabelValues(choiceRefused).Inc()
		return errBadUnlock
	case !r.proved(ctx, q, id):
		r.metrics.choices.WithLabelValues(choiceUnproved).Inc()
		r.opt.Verdicts.NotePlayer(r.opt.Name, q.from, q.game.Name, verdicts.UnlockUnproved)
		return errBadUnlock
	}
	policy := r.config.Load().Unlocks
	err := r.edit(ctx, q.game.Name, id, func(record *Record) error {
		changed, err := rulesOf(q.game).choose(record, weapon, policy)
		if err == nil && !changed {
			err = errAlready
		}
		return err
	})
	result := choiceMade
	switch {
	case errors.Is(err, errAlready):
		result, err = choiceRepeated, nil
	case errors.Is(err, errUnlock):
		result, err = choiceRefused, errBadUnlock
	case errors.Is(err, storage.ErrNotFound):
		result, err = choiceRefused, errNotFound
	case err != nil:
		result = choiceFailed
	}
	r.metrics.choices.WithLabelValues(result).Inc()
	return err
}

// done is the answer to a change.
func done() *Answer { return new(Answer).table([]string{"response"}, []string{"OK"}) }

// rankInfo is the page getrankinfo.
func (r *Backend) rankInfo(ctx context.Context, q *request) (*Answer, error) {
	p, err := r.player(ctx, q)
	if err != nil {
		return nil, err
	}
	return new(Answer).table([]string{"rank", "chng", "decr"}, []string{p.value("rank"), p.value(keyPromoted), "0"}), nil
}

// rankShown is the page ranknotification: the player has seen the new rank.
func (r *Backend) rankShown(ctx context.Context, q *request) (*Answer, error) {
	p, err := r.player(ctx, q)
	if err != nil {
		return nil, err
	}
	return done(), r.shown(ctx, q, p)
}

// shown notes that a player has seen the new rank.
func (r *Backend) shown(ctx context.Context, q *request, p *player) error {
	if p.Totals[keyPromoted] == 0 || !r.proved(ctx, q, p.id) {
		return nil
	}
	err := r.edit(ctx, q.game.Name, p.id, func(record *Record) error {
		if record.Totals[keyPromoted] == 0 {
			return errAlready
		}
		delete(record.Totals, keyPromoted)
		return nil
	})
	if errors.Is(err, errAlready) {
		return nil
	}
	return err
}

// awardsInfo is the page getawardsinfo.
func (r *Backend) awardsInfo(ctx context.Context, q *request) (*Answer, error) {
	p, err := r.player(ctx, q)
	if err != nil {
		return nil, err
	}
	rows := make([][]string, 0, len(p.Awards))
	for _, a := range p.Awards {
		rows = append(rows, []string{
			strconv.Itoa(a.ID), strconv.Itoa(a.Level), strconv.FormatInt(a.When, 10), strconv.FormatInt(a.First, 10),
		})
	}
	return new(Answer).table([]string{"pid", "asof"}, []string{p.value("pid"), q.asof()}).
		table([]string{"award", "level", "when", "first"}, rows...), nil
}

// playerID is the page getplayerid.
func (r *Backend) playerID(ctx context.Context, q *request) (*Answer, error) {
	nick := q.get("nick")
	if nick == "" {
		return nil, errNoNick
	}
	p, err := r.byNick(ctx, q.game, nick)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, errNotFound
	}
	if err != nil {
		return nil, err
	}
	return new(Answer).table([]string{"pid"}, []string{strconv.FormatUint(uint64(p.ID), 10)}), nil
}

// backendInfo is the page getbackendinfo.
func (r *Backend) backendInfo(_ context.Context, q *request) (*Answer, error) {
	rows := make([][]string, 0, len(unlocks))
	for _, u := range unlocks {
		rows = append(rows, []string{strconv.Itoa(u.id), strconv.Itoa(u.kit), u.name, u.name})
	}
	return new(Answer).table([]string{"ver", "now"}, []string{"0.1", q.asof()}).table([]string{"id", "kit", "name", "descr"}, rows...), nil
}

// The results of the page VerifyPlayer.
const (
	verifyOK      = "Ok"
	verifyNick    = "InvalidReportedNick"
	verifyAccount = "InvalidAuthProfileID"
)

// verify is the page VerifyPlayer: a server asks about a player who joins. The server compares
// numbers and names itself, and kicks the player if they differ, so a name that is right but
// for the case of letters comes back as it was sent.
func (r *Backend) verify(ctx context.Context, q *request) (*Answer, error) {
	id, ok := q.profile()
	if !ok {
		return nil, errNoProfile
	}
	sent := q.get("SoldierNick")
	result, pid, nick := verifyAccount, "0", noName
	profile, err := r.opt.Store.GetProfile(ctx, id)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, err
	}
	if err == nil {
		banned, err := r.banned(ctx, profile.User, q.now)
		if err != nil {
			return nil, err
		}
		switch real := nickOf(q.game, &profile); {
		case banned:
		case storage.Fold(real) == storage.Fold(sent):
			result, pid, nick = verifyOK, strconv.FormatUint(uint64(id), 10), sent
		default:
			result, pid, nick = verifyNick, strconv.FormatUint(uint64(id), 10), real
		}
	}
	return new(Answer).table([]string{"pid", "nick", "spid", "asof"}, []string{pid, nick, strconv.FormatUint(uint64(id), 10), q.asof()}).
		table([]string{"result"}, []string{result}), nil
}

func (r *Backend) banned(ctx context.Context, id storage.UserID, now time.Time) (bool, error) {
	u, err := r.opt.Store.GetUser(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return true, nil // deleted a moment ago
	}
	return u.Ban.In(now), err
}
