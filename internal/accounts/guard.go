package accounts

import (
	"context"
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/storage"
)

// guard decides who may try a password. It remembers failures in memory, and the
// addresses of owners with their accounts.
type guard struct {
	*failures
	store   *editor
	keys    *seal.Keys
	guarded prometheus.Counter

	log      zerolog.Logger
	guessing netserve.Trouble // of the log
}

// admits reports whether a password for an account may be checked.
func (g *guard) admits(from netip.Addr, u *storage.User, now time.Time) bool {
	if g.refuses(from, u.ID, now) {
		return false
	}
	if !from.IsValid() || !g.accounts.Empty(u.ID, now) || g.atHome(from, u) {
		return true
	}
	if g.note(failure{What: attempted, User: u.ID}, now) {
		return true
	}
	g.guarded.Inc()
	return false
}

func (g *guard) wrong(from netip.Addr, user storage.UserID, now time.Time) {
	if !from.IsValid() {
		return
	}
	g.failed(from, user, now)
	if g.note(failure{What: wrongPassword, User: user}, now) {
		g.guessing.Line(g.log.Warn()).Uint32("user", uint32(user)).
			Msg("the password of an account is being guessed: addresses that never signed in to it have one attempt per second")
	}
}

// right forgets the failures of an address with an account and remembers that it
// signed in.
func (g *guard) right(ctx context.Context, from netip.Addr, u *storage.User) {
	if !from.IsValid() {
		return
	}
	g.succeeded(from, u.ID)
	if g.atHome(from, u) {
		return
	}
	mark := g.homeMark(from, u.ID)
	g.store.remember(ctx, "address", u.ID, func(u *storage.User) error {
		if slices.Contains(u.Homes, mark) {
			return errUnchanged
		}
		u.Homes = append(u.Homes, mark)
		u.Homes = u.Homes[max(0, len(u.Homes)-storage.MaxHomes):]
		return nil
	})
}

// atHome reports whether an address, or its IPv6 /64, has signed in to an account
// before. The last storage.MaxHomes count.
func (g *guard) atHome(from netip.Addr, u *storage.User) bool {
	return slices.Contains(u.Homes, g.homeMark(from, u.ID))
}

// homeMark returns the mark that stands for an address in the record of an
// account. It reveals nothing about the address without the key file.
func (g *guard) homeMark(from netip.Addr, user storage.UserID) uint64 {
	a := source(from).As16()
	return binary.BigEndian.Uint64(g.keys.MAC(append(binary.BigEndian.AppendUint32([]byte("home\x00"), uint32(user)), a[:]...)))
}
