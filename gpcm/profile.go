package gpcm

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// Bits of the public mask: a set one shows a field to others.
const (
	showHomepage = 1
	showZip      = 2
	showCountry  = 4
	showBirthday = 8
	showSex      = 16
	showEmail    = 32
)

// getProfile is the command of that name.
func (x *session) getProfile(ctx context.Context, r *request) error {
	id := r.profile("profileid")
	if id == 0 {
		return refuse(codeGetProfileUnknown)
	}
	p, err := x.server.opt.Store.GetProfile(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return refuse(codeGetProfileUnknown)
	}
	if err != nil {
		return err
	}
	mask := p.PublicMask
	if id == x.profile {
		mask = math.MaxUint32
	}
	email := ""
	if mask&showEmail != 0 {
		u, err := x.server.opt.Store.GetUser(ctx, p.User)
		if errors.Is(err, storage.ErrNotFound) {
			return refuse(codeGetProfileUnknown)
		}
		if err != nil {
			return err
		}
		email = u.Email
	}
	b := appendProfile(nil, &p, email, p.UniqueNickIn(x.namespace), mask)
	x.out.push(item{line: appendReplyEnd(b, r)})
	return nil
}

// appendProfile appends a profile without its end. Hidden fields are left out.
// The signature is for direct connections between clients, which there are
// none; without one the client ends the connection.
func appendProfile(b []byte, p *storage.Profile, email, uniqueNick string, mask uint32) []byte {
	shown := func(bit uint32, key, value string) {
		if mask&bit != 0 {
			b = appendText(b, key, value)
		}
	}
	b = appendPair(b, "pi", "")
	b = appendNumber(b, "profileid", p.ID)
	b = appendText(b, "nick", p.Nick)
	b = appendNumber(b, "userid", p.User)
	shown(showEmail, "email", email)
	b = appendPair(b, "sig", accounts.NewSignature())
	b = appendText(b, "uniquenick", uniqueNick)
	b = appendText(b, "firstname", p.FirstName)
	b = appendText(b, "lastname", p.LastName)
	b = appendNumber(b, "icquin", p.ICQ)
	shown(showHomepage, "homepage", p.Homepage)
	shown(showZip, "zipcode", p.Zip)
	shown(showCountry, "countrycode", p.Country)
	if mask&showBirthday != 0 {
		b = appendNumber(b, "birthday", p.Birthday)
	}
	if mask&showSex != 0 {
		b = appendNumber(b, "sex", wireSex(p.Sex))
	}
	b = appendText(b, "aim", p.AIM)
	for _, f := range []struct {
		key   string
		value int32
	}{
		{"pic", p.Picture},
		{"occ", p.Occupation},
		{"ind", p.Industry},
		{"inc", p.Income},
		{"mar", p.Married},
		{"chc", p.Children},
		{"i1", p.Interests},
		{"o1", p.Ownership},
		{"conn", p.Connection},
	} {
		b = appendNumber(b, f.key, f.value)
	}
	b = appendPair(b, "lon", "0.000000")
	b = appendPair(b, "lat", "0.000000")
	b = appendText(b, "loc", p.Place)
	return appendNumber(b, "pmask", int32(p.PublicMask))
}

// The sexes of the protocol.
const (
	wireMale   = 0
	wireFemale = 1
	wireUnset  = 2
)

func wireSex(sex uint8) int {
	switch sex {
	case storage.SexMale:
		return wireMale
	case storage.SexFemale:
		return wireFemale
	default:
		return wireUnset
	}
}

// setField sets a field of a profile by its key, in lower case. known reports
// whether there is such a field, ok whether the value is valid.
func setField(p *storage.Profile, key, value string) (known, ok bool) {
	texts := map[string]*string{
		"nick": &p.Nick, "firstname": &p.FirstName, "lastname": &p.LastName, "homepage": &p.Homepage,
		"zipcode": &p.Zip, "countrycode": &p.Country, "aim": &p.AIM, "loc": &p.Place,
	}
	if text := texts[key]; text != nil {
		*text = value
		return true, true
	}
	numbers := map[string]*int32{
		"icquin": &p.ICQ, "pic": &p.Picture, "occ": &p.Occupation, "ind": &p.Industry, "inc": &p.Income,
		"mar": &p.Married, "chc": &p.Children, "i1": &p.Interests, "o1": &p.Ownership, "conn": &p.Connection,
		"connectionid": &p.Connection,
	}
	if number := numbers[key]; number != nil {
		n, err := strconv.ParseInt(value, 10, 32)
		*number = int32(n)
		return true, err == nil
	}
	switch key {
	case "birthday":
		n, err := strconv.ParseUint(value, 10, 32)
		p.Birthday = uint32(n)
		return true, err == nil
	case "publicmask": // with or without a sign
		n, err := strconv.ParseInt(value, 10, 64)
		p.PublicMask = uint32(n)
		return true, err == nil && n >= math.MinInt32 && n <= math.MaxUint32
	case "sex":
		p.Sex = sexOf(value)
		return true, true
	}
	return false, false
}

// sexOf parses a sex; as in clients only the first character counts.
func sexOf(value string) uint8 {
	switch {
	case strings.HasPrefix(value, strconv.Itoa(wireMale)):
		return storage.SexMale
	case strings.HasPrefix(value, strconv.Itoa(wireFemale)):
		return storage.SexFemale
	default:
		return storage.SexUnset
	}
}

// setFields stores the fields of a profile that a request brings. The last of
// several values counts; unknown keys are ignored.
func (x *session) setFields(ctx context.Context, r *request, bad code) error {
	fields := make(map[string]string)
	for key, value := range r.Fields() {
		key = storage.Fold(key)
		known, ok := setField(new(storage.Profile), key, value)
		switch {
		case known && !ok:
			return refuse(bad)
		case known:
			fields[key] = value
		}
	}
	if len(fields) == 0 {
		return nil
	}
	_, err := x.server.opt.Accounts.Profiles.Update(ctx, x.profile, func(p *storage.Profile) error {
		for key, value := range fields {
			setField(p, key, value)
		}
		return nil
	})
	return err
}

// updateProfile is the command updatepro.
func (x *session) updateProfile(ctx context.Context, r *request) error {
	if nick := r.text("uniquenick"); nick != "" {
		if _, err := x.server.opt.Accounts.Profiles.RegisterNick(ctx, x.profile, x.namespace, nick); err != nil {
			return err
		}
	}
	return x.setFields(ctx, r, codeUpdatePro)
}

// updateUser is the command updateui. Its data about the player's machine is
// not stored.
func (x *session) updateUser(ctx context.Context, r *request) error {
	if email, ok := r.Get("email"); ok {
		if err := x.server.opt.Accounts.Passwords.ChangeEmail(ctx, x.user, storage.Fold(email)); err != nil {
			return err
		}
	}
	if plain, given, ok := r.Password(); given {
		if !ok {
			return refuse(codeUpdateUI)
		}
		if err := x.server.opt.Accounts.Passwords.Change(ctx, x.user, plain); err != nil {
			return err
		}
	}
	if _, ok := r.Get("connectionid"); ok {
		return x.setFields(ctx, r, codeUpdateUI)
	}
	return nil
}

// newProfile is the command of that name.
func (x *session) newProfile(ctx context.Context, r *request) error {
	var p storage.Profile
	var err error
	if replace := r.text("replace"); replace != "" && replace != "0" {
		p, err = x.server.opt.Accounts.Profiles.Replace(ctx, x.user, r.text("oldnick"), r.text("nick"))
	} else {
		p, err = x.server.opt.Accounts.Profiles.New(ctx, x.user, r.text("nick"))
	}
	if err != nil {
		return err
	}
	b := appendNumber(appendPair(nil, "npr", ""), "profileid", p.ID)
	x.out.push(item{line: appendReplyEnd(b, r)})
	return nil
}

// delProfile is the command of that name. Sessions that watch the profile see it go.
func (x *session) delProfile(ctx context.Context, r *request) error {
	watchers, err := collect(x.server.opt.Store.Watchers(ctx, x.profile))
	if err != nil {
		return err
	}
	if err := x.server.opt.Accounts.Profiles.Delete(ctx, x.profile); err != nil {
		return err
	}
	x.server.listsChanged(x.profile)
	x.out.push(item{line: appendReplyEnd(appendPair(nil, "dpr", "1"), r)})
	x.server.opt.Hub.SignOut(ctx, x)
	for _, id := range watchers {
		x.server.opt.Hub.Hide(ctx, id, x.profile)
	}
	x.server.opt.Hub.KickProfile(ctx, x.profile, presence.ErrDeleted)
	return errDeleted
}

// registerNick is the command of that name.
func (x *session) registerNick(ctx context.Context, r *request) error {
	_, err := x.server.opt.Accounts.Profiles.RegisterNick(ctx, x.profile, x.namespace, r.text("uniquenick"))
	if err != nil {
		return err
	}
	x.out.push(item{line: appendReplyEnd(appendPair(nil, "rn", ""), r)})
	return nil
}

// registerCDKey is the command of that name. The key is registered for the game
// of the session.
func (x *session) registerCDKey(ctx context.Context, r *request) error {
	key, err := gamespy.DecodePassword(r.text("cdkeyenc"))
	if err != nil {
		return refuse(codeRegisterKeyBad)
	}
	game := x.game
	if game == "" {
		game = r.text("gameid")
	}
	if err := x.server.opt.Accounts.Profiles.RegisterCDKey(ctx, x.profile, game, key); err != nil {
		return err
	}
	x.out.push(item{line: appendReplyEnd(appendPair(nil, "rc", ""), r)})
	return nil
}
