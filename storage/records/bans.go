package records

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// bans are the bans of addresses.
var bans = kind[storage.Ban]{
	table: tableBans,
	key:   func(b *storage.Ban) []byte { return banKey(b.Prefix, b.Scope) },
	canon: storage.Ban.Canonical,
	over:  (*storage.Ban).Expired,
}

// banKey is the key of a ban: 4 or 6, the address, the prefix length and the
// scope. prefix is canonical.
func banKey(prefix netip.Prefix, scope storage.Scope) []byte {
	family := byte(6)
	if prefix.Addr().Is4() {
		family = 4
	}
	key := append([]byte{family}, prefix.Addr().AsSlice()...)
	return append(key, byte(prefix.Bits()), byte(scope))
}

// AddBan is described in [storage.Bans].
func (s *Store) AddBan(ctx context.Context, b storage.Ban) error { return bans.put(ctx, s, b) }

// RemoveBan is described in [storage.Bans].
func (s *Store) RemoveBan(ctx context.Context, prefix netip.Prefix, scope storage.Scope) (int, error) {
	prefix, err := storage.CanonicalPrefix(prefix)
	if err != nil {
		return 0, err
	}
	scopes := []storage.Scope{scope}
	if scope == storage.EveryScope {
		scopes = storage.Scopes()
	}
	keys := make([][]byte, len(scopes))
	for i, scope := range scopes {
		keys[i] = banKey(prefix, scope)
	}
	removed, err := perform(ctx, s, func(c *change) (int, error) { return c.removeAll(tableBans, keys), nil })
	return removed, wrapped(err, "remove ban %v", prefix)
}

// Bans is described in [storage.Bans].
func (s *Store) Bans(ctx context.Context) iter.Seq2[storage.Ban, error] { return bans.all(ctx, s) }

// SweepBans is described in [storage.Bans].
func (s *Store) SweepBans(ctx context.Context, now time.Time) (int, error) {
	return bans.sweep(ctx, s, now)
}
