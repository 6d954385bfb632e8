package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// ConsoleDomain is the domain of the e-mail addresses of accounts that consoles made. No mail
// reaches it.
const ConsoleDomain = "console.invalid"

// ConsolePlayer is a player of a console, as the ticket of the console names it.
type ConsolePlayer struct {
	Console            string // letters and digits, such as "ps3"
	ID                 uint64 // of the player on the network of the console, not 0
	Variant            string // distinguishes accounts further, of at most MaxVariant letters, digits and hyphens; may be empty
	Nick               string
	Partner, Namespace int
	From               netip.Addr
	// MayRegister is asked before an account is made; nil: it may.
	MayRegister func() bool
}

// MaxVariant is the length of the longest ConsolePlayer.Variant.
const MaxVariant = 17

// Email returns the address under which the account of a player is found.
func (c *ConsolePlayer) Email() string {
	if c.Variant != "" {
		return fmt.Sprintf("%s-%x-%s@%s", c.Console, c.ID, c.Variant, ConsoleDomain)
	}
	return fmt.Sprintf("%s-%016x@%s", c.Console, c.ID, ConsoleDomain)
}

// Console returns the profile of a player whose console has authenticated it. The first call
// creates the account; made reports that. The account has no password, so nothing else can sign
// in to it. An account with a password belongs to another player and is refused with
// ErrBadTicket. Other errors are ErrMalformed, ErrBadNick, ErrThrottled and ErrBanned.
func (s *Users) Console(ctx context.Context, c ConsolePlayer) (p storage.Profile, made bool, err error) {
	if s.guard.refuses(c.From, 0, time.Now()) {
		return p, false, ErrThrottled
	}
	if c.ID == 0 || !validVariant(c.Variant) || c.Partner < 0 || c.Partner > storage.MaxAccountID || c.Namespace < 0 || c.Namespace > storage.MaxAccountID {
		return p, false, ErrMalformed
	}
	if err := checkNick(c.Nick); err != nil {
		return p, false, err
	}
	for range maxTries {
		p, err = s.consoleProfile(ctx, &c)
		if !errors.Is(err, storage.ErrNotFound) {
			return p, false, err
		}
		if c.MayRegister != nil && !c.MayRegister() {
			return p, false, ErrThrottled
		}
		c.MayRegister = nil
		p, err = s.makeConsole(ctx, &c)
		if !errors.Is(err, ErrEmailTaken) { // else another request was faster
			return p, err == nil, err
		}
	}
	return p, false, storage.ErrConflict
}

// validVariant reports whether a text can be a ConsolePlayer.Variant.
func validVariant(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return len(s) <= MaxVariant
}

// consoleProfile returns the profile of a player, storage.ErrNotFound if there is none.
func (s *Users) consoleProfile(ctx context.Context, c *ConsolePlayer) (p storage.Profile, err error) {
	u, err := s.store.UserByEmail(ctx, c.Partner, c.Email())
	switch {
	case err != nil:
		return p, err
	case len(u.Secret) > 0 || len(u.Password) > 0:
		s.guard.failed(c.From, 0, time.Now())
		return p, ErrBadTicket
	case u.Ban.In(time.Now()):
		return p, ErrBanned
	}
	all, err := s.store.ProfilesOf(ctx, u.ID)
	if err == nil && len(all) == 0 {
		err = ErrProfileDeleted
	}
	if err != nil {
		return p, err
	}
	return all[0], nil
}

// makeConsole makes the account of a player. It has the nick as unique nick if the rules
// allow that and no other profile has it.
func (s *Users) makeConsole(ctx context.Context, c *ConsolePlayer) (storage.Profile, error) {
	now := time.Now()
	u := storage.User{Partner: c.Partner, Email: c.Email(), Created: now}
	p := storage.Profile{Nick: c.Nick, PublicMask: DefaultPublicMask, Created: now}
	if checkUniqueNick(c.Namespace, c.Nick) == nil {
		p.UniqueNicks = []storage.UniqueNick{uniqueNick(c.Namespace, c.Nick)}
	}
	made, err := s.create(ctx, u, p, c.Console)
	if errors.Is(err, ErrUniqueNickTaken) {
		p.UniqueNicks = nil
		made, err = s.create(ctx, u, p, c.Console)
	}
	return made, err
}
