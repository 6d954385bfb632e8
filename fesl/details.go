package fesl

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/storage"
)

// main returns the profile of the account that keeps what EA's service kept with accounts: the
// one that the client plays as, or the oldest.
func (x *session) main(ctx context.Context) (storage.Profile, error) {
	all, err := x.personas(ctx)
	if err != nil {
		return storage.Profile{}, err
	}
	for i := range all {
		if all[i].ID == x.player.profile || x.player.profile == 0 {
			return all[i], nil
		}
	}
	return storage.Profile{}, accounts.ErrBadProfile
}

// genders are how games write storage.Profile.Sex.
var genders = map[uint8]string{storage.SexUnset: "U", storage.SexMale: "M", storage.SexFemale: "F"}

// account sends what the client may show of the account.
func (x *session) account(ctx context.Context, r *request, answer *wire.Text) error {
	u, err := x.same(ctx, &x.player.login)
	if err != nil {
		return err
	}
	p, err := x.main(ctx)
	if err != nil {
		return err
	}
	id := strconv.FormatUint(uint64(u.ID), 10)
	if strings.HasPrefix(r.TXN(), "Nu") {
		answer.Add("nuid", u.Email)
	} else {
		answer.Add("name", u.Email)
		answer.Add("email", u.Email)
	}
	answer.Add("profileID", id)
	answer.Add("userId", id)
	code := strings.ToUpper(p.Country)
	answer.Add("countryCode", code)
	name := code
	if i := slices.IndexFunc(allCountries, func(c country) bool { return c.code == code }); i >= 0 {
		name = allCountries[i].name
	}
	answer.Add("countryDesc", name)
	for i, key := range []string{"dobDay", "dobMonth", "dobYear"} {
		value := ""
		if p.Birthday != 0 {
			value = strconv.Itoa(int([]uint32{p.Birthday >> 24, p.Birthday >> 16 & 0xFF, p.Birthday & 0xFFFF}[i]))
		}
		answer.Add(key, value)
	}
	answer.Add("zipCode", p.Zip)
	answer.Add("gender", genders[p.Sex])
	answer.Add("eaMailFlag", "0")
	answer.Add("thirdPartyMailFlag", "0")
	answer.Add("parentalEmail", "")
	return nil
}

// updateAccount changes what the account says about its player. Its e-mail address stays:
// players change it on the pages.
func (x *session) updateAccount(ctx context.Context, r *request, _ *wire.Text) error {
	u, err := x.same(ctx, &x.player.login)
	if err != nil {
		return err
	}
	if email := r.Get("email"); email != "" && !strings.EqualFold(email, u.Email) {
		return badField(fieldEmail, fieldRefused)
	}
	p, err := x.main(ctx)
	if err != nil {
		return err
	}
	return x.describe(ctx, p.ID, r)
}

// describe enters what a form says about a player in a profile.
func (x *session) describe(ctx context.Context, id storage.ProfileID, r *request) error {
	_, err := x.server.opt.Accounts.Profiles.Update(ctx, id, func(p *storage.Profile) error {
		if code := strings.ToUpper(cmp.Or(r.Get("countryCode"), r.Get("country"))); code != "" {
			p.Country = code
		}
		if zip, ok := r.Look("zipCode"); ok {
			p.Zip = zip
		}
		if sex, ok := r.Look("gender"); ok {
			p.Sex = storage.SexUnset
			for is, letter := range genders {
				if sex == letter {
					p.Sex = is
				}
			}
		}
		if year, ok := r.Look("DOBYear"); ok {
			var date [3]uint64
			for i, text := range []string{r.Get("DOBDay"), r.Get("DOBMonth"), year} {
				date[i], _ = strconv.ParseUint(text, 10, 8<<(i/2)) // 0: not a number
			}
			p.Birthday = storage.Birthday(int(date[0]), int(date[1]), int(date[2]))
		}
		return nil
	})
	return err
}

// registerGame keeps the CD key of a game.
func (x *session) registerGame(ctx context.Context, r *request, _ *wire.Text) error {
	return x.keepKey(ctx, r.Get("code"))
}

// entitle keeps the key of a game and names the account.
func (x *session) entitle(ctx context.Context, r *request, answer *wire.Text) error {
	if r.TXN() == "NuEntitleGame" {
		if err := x.keepKey(ctx, r.Get("key")); err != nil {
			return err
		}
	}
	id := strconv.FormatUint(uint64(x.player.User()), 10)
	answer.Add("nuid", r.Get("nuid"))
	answer.Add("lkey", x.server.newKey())
	answer.Add("profileId", id)
	answer.Add("userId", id)
	return nil
}

// keepKey keeps a CD key with the account, unless it has one for the game or the game is not
// in the catalogue. Whether a key is genuine cannot be checked; another account's is refused.
func (x *session) keepKey(ctx context.Context, key string) error {
	if key == "" || len(key) > accounts.MaxCDKey {
		return accounts.ErrBadCDKey
	}
	if x.title.game == "" {
		return nil
	}
	p, err := x.main(ctx)
	if err == nil {
		err = x.server.opt.Accounts.Profiles.RegisterCDKey(ctx, p.ID, x.title.game, key)
	}
	if errors.Is(err, accounts.ErrCDKeySet) {
		return nil
	}
	return err
}
