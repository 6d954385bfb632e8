package gpcm

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// meanwhile is a store that lets something happen while a login is under way.
type meanwhile struct {
	*records.Store
	during func()
}

func (s *meanwhile) Lists(ctx context.Context, id storage.ProfileID) (storage.Lists, error) {
	if s.during != nil {
		s.during()
	}
	return s.Store.Lists(ctx, id)
}

// TestOrderOfMessages has messages come while older ones are on other ways to the client.
func TestOrderOfMessages(t *testing.T) {
	t.Run("login", func(t *testing.T) {
		var store *meanwhile
		f := start(t, func(o *Options) {
			store = &meanwhile{Store: o.Store.(*records.Store)}
			o.Store = store
		})
		ann := f.register("Ann")
		f.leaves(ann.ID, "one")
		store.during = func() { f.sends(ann.ID, text("two")) }
		p := f.connect()
		p.login("Ann", testPassword, `\namespaceid\1\sdkrevision\11`)
		p.welcome(11)
		p.wantTexts("one", "two")
	})
	// stuck returns a writer and a player whose client does not read its messages "one" and
	// "two".
	stuck := func(t *testing.T) (f *fixture, ann *peer, ben storage.Profile) {
		f = startPipe(t, nil)
		annID, ben := f.register("Ann"), f.register("Ben")
		f.befriend(annID.ID, ben.ID)
		ann = f.signIn(annID, 11)
		f.signIn(ben, 11)
		ann.want(`\bm\100\`)
		for _, words := range []string{"one", "two"} {
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\%s\final\`, ben.ID, words)
		}
		ann.wantNothing()
		return f, ann, ben
	}
	t.Run("second login", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, ann, ben := stuck(t)
			second := f.signIn(ben, 11)
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\three\final\`, ben.ID)
			ann.wantNothing()
			second.want(`\bm\100\`)
			second.wantTexts("one", "two", "three")
		})
	})
	t.Run("ended by the operator", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, ann, ben := stuck(t)
			f.hub.KickProfile(t.Context(), ben.ID, presence.ErrKicked)
			ann.want(`\bm\100\`)
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\three\final\`, ben.ID)
			ann.wantNothing()
			f.signIn(ben, 11).wantTexts("one", "two", "three")
		})
	})
}
