package fesl

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// Lengths of the name of a persona that is made here.
const (
	minPersona = 3
	maxPersona = 16
)

// checkPersona applies the rules of games to a name.
func checkPersona(name string) error {
	switch {
	case name == "":
		return badField(fieldPersona, fieldMissing)
	case len(name) < minPersona:
		return badField(fieldPersona, fieldShort)
	case len(name) > maxPersona:
		return badField(fieldPersona, fieldLong)
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		switch {
		case i == 0 && !letter:
			return badField(fieldPersona, fieldNoLetter)
		case !letter && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.':
			return badField(fieldPersona, fieldRefused)
		}
	}
	return nil
}

// persona returns the name of a profile in the game: its unique nick, or that of another
// namespace, or its nick. It is empty for one that has no name yet.
func (x *session) persona(p *storage.Profile) string {
	if nick := p.UniqueNickIn(x.namespace()); nick != "" {
		return nick
	}
	if len(p.UniqueNicks) > 0 {
		return p.UniqueNicks[0].Nick
	}
	if strings.HasPrefix(p.Nick, unnamed) {
		return ""
	}
	return p.Nick
}

// personas returns the profiles of the account, the oldest first.
func (x *session) personas(ctx context.Context) ([]storage.Profile, error) {
	all, err := x.server.opt.Store.ProfilesOf(ctx, x.player.User())
	slices.SortFunc(all, func(a, b storage.Profile) int { return int(a.ID) - int(b.ID) })
	return all, err
}

// find returns the profile with a name in the game.
func (x *session) find(ctx context.Context, name string) (storage.Profile, error) {
	all, err := x.personas(ctx)
	if err != nil {
		return storage.Profile{}, err
	}
	for i := range all {
		if name != "" && storage.Fold(x.persona(&all[i])) == storage.Fold(name) {
			return all[i], nil
		}
	}
	return storage.Profile{}, accounts.ErrBadProfile
}

// listPersonas lists the names of the account in the game.
func (x *session) listPersonas(ctx context.Context, r *request, answer *wire.Text) error {
	all, err := x.personas(ctx)
	if err != nil {
		return err
	}
	var names []string
	for i := range all {
		if name := x.persona(&all[i]); name != "" {
			names = append(names, name)
		}
	}
	list := "subAccounts"
	if r.TXN() == "NuGetPersonas" {
		list = "personas"
	}
	answer.AddList(list, names...)
	return nil
}

// addPersona makes a profile, or names the one without a name.
func (x *session) addPersona(ctx context.Context, r *request, _ *wire.Text) error {
	name := r.Get("name")
	if err := checkPersona(name); err != nil {
		return err
	}
	if _, err := x.same(ctx, &x.player.login); err != nil {
		return err
	}
	all, err := x.personas(ctx)
	if err != nil {
		return err
	}
	profiles := x.server.opt.Accounts.Profiles
	if err := profiles.CheckUniqueNick(ctx, x.namespace(), name); err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(p storage.Profile) bool { return x.persona(&p) == "" }); i >= 0 {
		if _, err := profiles.Replace(ctx, x.player.User(), all[i].Nick, name); err != nil {
			return err
		}
		_, err := profiles.RegisterNick(ctx, all[i].ID, x.namespace(), name)
		return err
	}
	if len(all) >= x.server.live.Load().MaxPersonas {
		return accounts.ErrTooMany
	}
	_, err = profiles.NewUnique(ctx, x.player.User(), x.namespace(), name)
	return err
}

// deletePersona deletes a profile.
func (x *session) deletePersona(ctx context.Context, r *request, _ *wire.Text) error {
	if _, err := x.same(ctx, &x.player.login); err != nil {
		return err
	}
	p, err := x.find(ctx, r.Get("name"))
	if err != nil {
		return err
	}
	return x.server.opt.Accounts.Profiles.Delete(ctx, p.ID)
}

// enterPersona makes the client play as a profile of its account.
func (x *session) enterPersona(ctx context.Context, r *request, answer *wire.Text) error {
	p, err := x.find(ctx, r.Get("name"))
	if err == nil && p.UniqueNickIn(x.namespace()) == "" {
		p, err = x.server.opt.Accounts.Profiles.RegisterNick(ctx, p.ID, x.namespace(), x.persona(&p))
	}
	if err == nil {
		err = x.play(ctx, x.player.login, &p)
	}
	if err != nil {
		return err
	}
	answer.Add("lkey", x.player.key)
	answer.AddNumber("profileId", int64(p.ID))
	answer.AddNumber("userId", int64(p.User))
	return nil
}

// play makes the client play as a profile of an account. An older session of the profile ends.
func (x *session) play(ctx context.Context, l accounts.Login, p *storage.Profile) error {
	err := x.admit(ctx, l, lobby.Player{Profile: p.ID, User: p.User, Name: x.persona(p), Client: x.title.client, Game: x.title.game})
	if err != nil {
		return err
	}
	if before := x.server.playing.enter(x.player); before != nil && before.session != x {
		before.Kick(presence.ErrDisplaced)
	}
	x.life.stage = stagePersona
	return nil
}

// preAuth issues the ticket with which the game signs in to the presence service.
func (x *session) preAuth(ctx context.Context, _ *request, answer *wire.Text) error {
	if _, err := x.same(ctx, &x.player.login); err != nil {
		return err
	}
	t := x.server.opt.Accounts.Grants.IssueToken(x.player.profile, accounts.DefaultTokenLife, true)
	answer.Add("challenge", t.Challenge)
	answer.Add("ticket", t.Value)
	return nil
}

// lookUp finds the profiles with names or numbers, of any account. The entry of one that is not found has nothing
// else.
func (x *session) lookUp(ctx context.Context, r *request, answer *wire.Text) error {
	const list = "userInfo"
	key, asked := "userName", members(r.Text, list, "userName", maxLookUp)
	if len(asked) == 0 {
		key, asked = "userId", members(r.Text, list, "userId", maxLookUp)
	}
	answer.AddNumber(list+".[]", int64(len(asked)))
	for i, value := range asked {
		entry := wire.Member(list, i)
		p, err := profileBy(ctx, x, key, value)
		switch {
		case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrDeleted):
			answer.Add(entry+"."+key, value)
			continue
		case err != nil:
			return err
		}
		answer.Add(entry+".userName", x.persona(&p))
		answer.AddNumber(entry+".userId", int64(p.ID))
		answer.AddNumber(entry+".masterUserId", int64(p.User))
		for _, key := range []string{".namespace", ".xuid", ".cid"} {
			answer.Add(entry+key, "")
		}
	}
	return nil
}

// profileBy returns the profile with a name in the game, or with a number.
func profileBy(ctx context.Context, x *session, key, value string) (storage.Profile, error) {
	if key == "userName" {
		p, _, err := x.server.opt.Accounts.Profiles.ByUniqueNick(ctx, x.namespace(), value)
		return p, err
	}
	id, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return storage.Profile{}, storage.ErrNotFound
	}
	return x.server.opt.Store.GetProfile(ctx, storage.ProfileID(id))
}

// maxLookUp is how many profiles one request may look up.
const maxLookUp = 32

// members returns a value of each structure in a list, in their order, up to the first
// one without it, and at most so many.
func members(t wire.Text, list, key string, most int) (values []string) {
	for i := range most {
		v, ok := t.Look(wire.Member(list, i) + "." + key)
		if !ok {
			break
		}
		values = append(values, v)
	}
	return values
}
