package records

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

var _ storage.Grants = Shared{}

// grant is a grant with its number among those of its profile and kind: the newest has the
// highest.
type grant struct {
	storage.Grant

	number uint64
}

// grantHead is the size of what a grant has before its challenge: profile (4 bytes),
// number, end (8 bytes each, the end in nanoseconds since 1970), and 1 if it is valid once.
const grantHead = 4 + 8 + 8 + 1

func grantKey(kind storage.GrantKind, digest [32]byte) []byte {
	return append([]byte{byte(kind)}, digest[:]...)
}

// grantsKey is the prefix of the keys in tableGrantsOf of the grants of a profile and a
// kind. Their number follows; the content of the entry is the digest.
func grantsKey(id storage.ProfileID, kind storage.GrantKind) []byte {
	return append(idKey(id), byte(kind))
}

// key is the key of the grant in tableGrantsOf.
func (g *grant) key() []byte { return append(grantsKey(g.Profile, g.Kind), numberKey(g.number)...) }

// openGrant returns the grant under a key.
func openGrant(key, content []byte) (g grant) {
	g.Kind, g.Digest = storage.GrantKind(key[0]), [32]byte(key[1:])
	g.Profile, g.number = storage.ProfileID(binary.BigEndian.Uint32(content)), binary.BigEndian.Uint64(content[4:])
	g.Expires = time.Unix(0, int64(binary.BigEndian.Uint64(content[12:]))).UTC()
	g.Once, g.Challenge = content[20] != 0, string(content[grantHead:])
	return g
}

// grant returns a grant, or ErrNotFound.
func (v *view) grant(key []byte) (g grant, err error) {
	content, err := v.wanted(tableGrants, key, grantHead)
	if err != nil {
		return g, err
	}
	return openGrant(key, content), nil
}

func (c *change) putGrant(g *grant) {
	content := append(idKey(g.Profile), numberKey(g.number)...)
	content = append(binary.BigEndian.AppendUint64(content, uint64(g.Expires.UnixNano())), flag(g.Once))
	c.putEntry(tableGrants, grantKey(g.Kind, g.Digest), append(content, g.Challenge...))
	c.putEntry(tableGrantsOf, g.key(), g.Digest[:])
}

func (c *change) dropGrant(g *grant) {
	c.delete(tableGrants, grantKey(g.Kind, g.Digest))
	c.delete(tableGrantsOf, g.key())
}

// grantsOf returns what tableGrantsOf has of the grants whose keys begin with prefix, the
// oldest of a kind first.
func (v *view) grantsOf(prefix []byte) (all []grant) {
	for e := range v.entries(engine.Prefix(tableGrantsOf, prefix), 32) {
		all = append(all, grant{storage.Grant{
			Profile: storage.ProfileID(binary.BigEndian.Uint32(e.Key)), Kind: storage.GrantKind(e.Key[4]), Digest: [32]byte(e.Value),
		}, binary.BigEndian.Uint64(e.Key[5:])})
	}
	return all
}

// AddGrant is described in [storage.Grants]. A grant that is there is replaced.
func (s Shared) AddGrant(ctx context.Context, g storage.Grant, most int) error {
	if err := g.Check(); err != nil {
		return err
	}
	return s.step(ctx, func(c *change) error {
		all, next := c.grantsOf(grantsKey(g.Profile, g.Kind)), grant{g, 1}
		for i := range all {
			next.number = all[i].number + 1
			if len(all)-i >= most || all[i].Digest == g.Digest {
				c.dropGrant(&all[i])
			}
		}
		c.putGrant(&next)
		return nil
	})
}

// FindGrant is described in [storage.Grants].
func (s Shared) FindGrant(ctx context.Context, kind storage.GrantKind, digest [32]byte) (storage.Grant, error) {
	g, err := read(ctx, s.Store, func(v *view) (grant, error) { return v.grant(grantKey(kind, digest)) })
	return g.Grant, err
}

// UseGrant is described in [storage.Grants].
func (s Shared) UseGrant(ctx context.Context, kind storage.GrantKind, digest [32]byte) error {
	return s.step(ctx, func(c *change) error {
		g, err := c.grant(grantKey(kind, digest))
		if err == nil && g.Once {
			c.dropGrant(&g)
		}
		return err
	})
}

// RevokeGrants is described in [storage.Grants].
func (s Shared) RevokeGrants(ctx context.Context, id storage.ProfileID) error {
	return s.step(ctx, func(c *change) error {
		for _, g := range c.grantsOf(idKey(id)) {
			c.dropGrant(&g)
		}
		return nil
	})
}

// SweepGrants is described in [storage.Grants].
func (s Shared) SweepGrants(ctx context.Context, now time.Time) (n int, err error) {
	all := iterate(ctx, s.Store, whole(tableGrants), func(v *view, e engine.Entry) (g grant, err error) {
		if content := v.open(tableGrants, e, grantHead); content != nil {
			g = openGrant(e.Key, content)
		}
		return g, nil
	})
	over := func(g *grant) (engine.Key, bool) {
		return engine.Key{Table: tableGrants, Key: grantKey(g.Kind, g.Digest)}, !g.Expires.After(now)
	}
	drop := func(c *change, k engine.Key) (int, error) {
		g, err := c.grant(k.Key)
		if err != nil || g.Expires.After(now) {
			return 0, err
		}
		c.dropGrant(&g)
		return 1, nil
	}
	return sweep(storage.WithoutAudit(ctx), s.Store, "grants", all, over, drop, func(k engine.Key) engine.Key { return k })
}
