package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

func addBuddy(t *testing.T, s storage.Store, owner, buddy storage.ProfileID) {
	t.Helper()
	noErr(t, s.AddBuddy(t.Context(), owner, buddy), "AddBuddy", owner, buddy)
}

func buddyTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"a buddy has a direction":             testBuddyDirection,
		"lists are in order and paged":        testBuddyPages,
		"an import gives relations once":      testImportRelations,
		"strangers and oneself are refused":   testBuddyStrangers,
		"a list is full at its limit":         testBuddyFull,
		"blocks hide in both directions":      testBlocks,
		"blocks hide anywhere in a long list": testBlocksInPages,
		"a relation is never out of date":     testRelationRace,
		"one of many adds a buddy":            testBuddyRace,
		"adding while deleting leaves no end": testBuddyDeleteRace,
		"a request is accepted once":          testRequestLife,
		"a request needs its signature":       testRequestSignature,
		"a request expires":                   testRequestExpiry,
		"requests are replaced and withdrawn": testRequestReplace,
		"requests are limited":                testRequestFull,
		"records beyond limits are refused":   testBuddyLimits,
		"one of many accepts":                 testRequestRace,
		"messages wait until removed":         testMessageWaits,
		"messages are returned":               testMessageReturn,
		"returned messages take no room":      testMessageAgain,
		"shown messages take no room":         testMessageShown,
		"messages with numbers wait once":     testMessageNumber,
		"messages keep their IDs":             testMessageID,
		"messages are limited":                testMessageFull,
		"messages expire":                     testMessageExpiry,
		"many leave and remove at once":       testMessageRace,
		"a loop over buddies may remove them": testBuddyRemoveInLoop,
	}
}

func testBuddyDirection(t *testing.T, s storage.Store) {
	p := people(t, s, 3)
	a, b := p[0].ID, p[1].ID
	addBuddy(t, s, a, b)
	wantTaken(t, "AddBuddy() again", s.AddBuddy(t.Context(), a, b), storage.IndexBuddy)
	differ(t, "buddies of a", must(s.Lists(t.Context(), a))(t).Buddies, []storage.ProfileID{b})
	differ(t, "buddies of b", must(s.Lists(t.Context(), b))(t).Buddies, nil)
	differ(t, "who has b", collect(t, s.Watchers(t.Context(), b)), []storage.ProfileID{a})
	differ(t, "who has a", collect(t, s.Watchers(t.Context(), a)), nil)
	differ(t, "a to b", must(s.Relation(t.Context(), a, b))(t), storage.Relation{Buddy: true})
	differ(t, "b to a", must(s.Relation(t.Context(), b, a))(t), storage.Relation{BuddyOf: true})
	wantErr(t, s.RemoveBuddy(t.Context(), b, a), storage.ErrNotFound, "RemoveBuddy() of the other direction")
	wantErr(t, s.RemoveBuddy(t.Context(), a, b), nil, "RemoveBuddy()")
	differ(t, "who has b", collect(t, s.Watchers(t.Context(), b)), nil)
	wantErr(t, s.RemoveBuddy(t.Context(), a, b), storage.ErrNotFound, "second RemoveBuddy()")
}

func testImportRelations(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	p := people(t, s, storage.MaxBuddies+3)
	ids := make([]storage.ProfileID, len(p))
	for i := range p {
		ids[i] = p[i].ID
	}
	const unknown = 1 << 30
	a, b, c := ids[0], ids[1], ids[2]
	ask(t, s, a, b, moment())
	noErr(t, s.ImportRelations(t.Context(), a, []storage.ProfileID{a, unknown, b, b}, []storage.ProfileID{unknown, c}))
	differ(t, "a to b", must(s.Relation(t.Context(), a, b))(t), storage.Relation{Buddy: true})
	differ(t, "a to c", must(s.Relation(t.Context(), a, c))(t), storage.Relation{Blocks: true})
	differ(t, "buddies of a", must(s.Lists(t.Context(), a))(t).Buddies, []storage.ProfileID{b})
	wantErr(t, errOf(s.Request(t.Context(), a, b)), storage.ErrNotFound, "Request() of a buddy")
	wantTaken(t, "ImportRelations() again", s.ImportRelations(t.Context(), a, ids, nil), storage.IndexBuddy)
	differ(t, "buddies of a", must(s.Lists(t.Context(), a))(t).Buddies, []storage.ProfileID{b})
	noErr(t, s.AddBlock(t.Context(), b, a))
	wantTaken(t, "ImportRelations() of one who blocks", s.ImportRelations(t.Context(), b, ids, nil), storage.IndexBlock)
	wantErr(t, s.ImportRelations(t.Context(), unknown, ids, nil), storage.ErrNotFound, "ImportRelations() of an unknown profile")
	noErr(t, s.ImportRelations(t.Context(), c, ids, nil))
	if n := len(must(s.Lists(t.Context(), c))(t).Buddies); n != storage.MaxBuddies {
		t.Errorf("%d buddies after an import of too many, want %d", n, storage.MaxBuddies)
	}
}

func testBuddyPages(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	p := people(t, s, 600) // more than a page of any engine
	var others []storage.ProfileID
	together(t, len(p)-1, func(i int) error {
		other := p[len(p)-1-i].ID
		return errors.Join(s.AddBuddy(t.Context(), p[0].ID, other), s.AddBuddy(t.Context(), other, p[0].ID))
	})
	for _, other := range p[1:] {
		others = append(others, other.ID)
	}
	for name, got := range map[string][]storage.ProfileID{
		"Buddies":  must(s.Lists(t.Context(), p[0].ID))(t).Buddies,
		"Watched":  must(s.Lists(t.Context(), p[0].ID))(t).Watched,
		"Watchers": collect(t, s.Watchers(t.Context(), p[0].ID)),
	} {
		differ(t, name, got, others)
	}
	for _, err := range s.Watchers(t.Context(), p[0].ID) {
		if err != nil {
			t.Error(err)
		}
		break // may be left early
	}
}

func testBuddyStrangers(t *testing.T, s storage.Store) {
	a := people(t, s, 1)[0].ID
	for name, pair := range map[string][2]storage.ProfileID{"to": {a, a + 9}, "from": {a + 9, a}, "zero": {a, 0}} {
		r := storage.Request{From: pair[0], To: pair[1], Signature: signature, Sent: moment()}
		for what, err := range map[string]error{
			"AddBuddy": s.AddBuddy(t.Context(), pair[0], pair[1]),
			"AddBlock": s.AddBlock(t.Context(), pair[0], pair[1]),
			"Ask":      s.Ask(t.Context(), r),
		} {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("%s(%s) = %v, want ErrNotFound", what, name, err)
			}
		}
	}
	for what, err := range map[string]error{
		"AddBuddy": s.AddBuddy(t.Context(), a, a),
		"AddBlock": s.AddBlock(t.Context(), a, a),
		"Ask":      s.Ask(t.Context(), storage.Request{From: a, To: a, Signature: signature, Sent: moment()}),
	} {
		if !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%s(oneself) = %v, want ErrInvalid", what, err)
		}
	}
	m := storage.Message{From: a, Kind: storage.MessageText, Sent: moment()}
	wantErr(t, s.Leave(t.Context(), a+9, m), storage.ErrNotFound, "Leave() to an unknown profile")
}

func testBuddyFull(t *testing.T, s storage.Store) {
	filled(t, s)
	p := people(t, s, storage.MaxBuddies+2)
	me, more := p[0].ID, p[len(p)-1].ID
	together(t, len(p)-2, func(i int) error {
		return errors.Join(s.AddBuddy(t.Context(), me, p[1+i].ID), s.AddBlock(t.Context(), me, p[1+i].ID))
	})
	ask(t, s, me, more, moment())
	for what, err := range map[string]error{
		"AddBuddy": s.AddBuddy(t.Context(), me, more),
		"AddBlock": s.AddBlock(t.Context(), me, more),
		"Accept":   s.Accept(t.Context(), me, more, signature, moment()),
	} {
		if !errors.Is(err, storage.ErrFull) {
			t.Errorf("%s beyond the limit = %v, want ErrFull", what, err)
		}
	}
	noErr(t, s.RemoveBuddy(t.Context(), me, p[1].ID))
	wantErr(t, s.Accept(t.Context(), me, more, signature, moment()), nil, "Accept() with room again")
}

func testBlocks(t *testing.T, s storage.Store) {
	p := people(t, s, 4)
	me, blocked, blocker, friend := p[0].ID, p[1].ID, p[2].ID, p[3].ID
	for _, other := range []storage.ProfileID{blocked, blocker, friend} {
		addBuddy(t, s, me, other)
		addBuddy(t, s, other, me)
	}
	for _, pair := range [][2]storage.ProfileID{{me, blocked}, {blocker, me}} {
		noErr(t, s.AddBlock(t.Context(), pair[0], pair[1]))
	}
	wantTaken(t, "AddBlock() again", s.AddBlock(t.Context(), me, blocked), storage.IndexBlock)
	differ(t, "watched", must(s.Lists(t.Context(), me))(t).Watched, []storage.ProfileID{friend})
	differ(t, "watchers", collect(t, s.Watchers(t.Context(), me)), []storage.ProfileID{friend})
	differ(t, "blocked", must(s.Lists(t.Context(), me))(t).Blocks, []storage.ProfileID{blocked})
	differ(t, "buddies", must(s.Lists(t.Context(), me))(t).Buddies, []storage.ProfileID{blocked, blocker, friend})
	to := must(s.Relation(t.Context(), me, blocked))(t)
	differ(t, "me to blocked", to, storage.Relation{Buddy: true, BuddyOf: true, Blocks: true})
	from := must(s.Relation(t.Context(), me, blocker))(t)
	differ(t, "me to blocker", from, storage.Relation{Buddy: true, BuddyOf: true, BlockedBy: true})
	if !to.Blocked() || !from.Blocked() {
		t.Error("Blocked() = false for a block")
	}
	wantErr(t, s.RemoveBlock(t.Context(), me, blocked), nil, "RemoveBlock()")
	wantErr(t, s.RemoveBlock(t.Context(), me, blocker), storage.ErrNotFound, "RemoveBlock() of the other's block")
	differ(t, "watched now", must(s.Lists(t.Context(), me))(t).Watched, []storage.ProfileID{blocked, friend})
}

func testBlocksInPages(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	p := people(t, s, 700)
	me := p[350].ID // blocks come from and go to lower and higher ids
	var want []storage.ProfileID
	for i, other := range p {
		if other.ID != me && !slices.Contains([]int{0, 3, 5}, i%7) {
			want = append(want, other.ID)
		}
	}
	together(t, len(p), func(i int) error {
		other := p[i].ID
		if other == me {
			return nil
		}
		err := errors.Join(s.AddBuddy(t.Context(), me, other), s.AddBuddy(t.Context(), other, me))
		switch i % 7 {
		case 0, 5:
			err = errors.Join(err, s.AddBlock(t.Context(), me, other))
		case 3:
			err = errors.Join(err, s.AddBlock(t.Context(), other, me))
		}
		return err
	})
	differ(t, "watched", must(s.Lists(t.Context(), me))(t).Watched, want)
	differ(t, "watchers", collect(t, s.Watchers(t.Context(), me)), want)
}

// testRelationRace lets each racer change a pair of its own and read it, and
// read the others' meanwhile.
func testRelationRace(t *testing.T, s storage.Store) {
	p := people(t, s, 2*racers)
	one := func(i int) storage.ProfileID { return p[2*i%len(p)].ID }
	other := func(i int) storage.ProfileID { return p[(2*i+1)%len(p)].ID }
	errs := race(func(i int) error {
		for n := range 20 {
			a, b := one(i), other(i)
			changes := []func() error{
				func() error { return s.AddBuddy(t.Context(), a, b) }, func() error { return s.AddBlock(t.Context(), b, a) },
				func() error { return s.RemoveBuddy(t.Context(), a, b) }, func() error { return s.RemoveBlock(t.Context(), b, a) },
			}
			want := []storage.Relation{{Buddy: true}, {Buddy: true, BlockedBy: true}, {BlockedBy: true}, {}}[n%4]
			if err := changes[n%4](); err != nil {
				return err
			}
			if got, err := s.Relation(t.Context(), a, b); err != nil || got != want {
				return fmt.Errorf("Relation() after change %d = %+v, %w, want %+v", n, got, err, want)
			}
			for k := range racers {
				if _, err := s.Relation(t.Context(), other(k), one(k)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

func testBuddyRace(t *testing.T, s storage.Store) {
	p := people(t, s, 2)
	oneWon(t, race(func(int) error { return s.AddBuddy(t.Context(), p[0].ID, p[1].ID) }), storage.ErrTaken)
	oneWon(t, race(func(int) error { return s.RemoveBuddy(t.Context(), p[0].ID, p[1].ID) }), storage.ErrNotFound)
}

func testBuddyDeleteRace(t *testing.T, s storage.Store) {
	for round := range 5 {
		u, gone := createUser(t, s, user(fmt.Sprintf("gone%d@b.c", round)), storage.Profile{Nick: "Gone"})
		var friends []storage.ProfileID
		for i := range racers {
			_, p := createUser(t, s, user(fmt.Sprintf("f%d-%d@b.c", round, i)), storage.Profile{Nick: "F"})
			friends = append(friends, p.ID)
		}
		race(func(i int) error {
			if i == racers/2 {
				return s.DeleteUser(t.Context(), u.ID)
			}
			return s.AddBuddy(t.Context(), friends[i], gone.ID)
		})
		for _, id := range friends {
			if got := must(s.Lists(t.Context(), id))(t).Buddies; len(got) != 0 {
				t.Errorf("round %d: profile %d has the deleted %v as buddy", round, id, got)
			}
		}
	}
}

func testBuddyLimits(t *testing.T, s storage.Store) {
	p := people(t, s, 2)
	edge := storage.Request{From: p[0].ID, To: p[1].ID, Reason: strings.Repeat("\xff", storage.MaxReason), Signature: signature, Sent: moment()}
	for name, spoil := range map[string]func(*storage.Request){
		"long reason":     func(r *storage.Request) { r.Reason += "r" },
		"NUL":             func(r *storage.Request) { r.Reason = "\x00" },
		"short signature": func(r *storage.Request) { r.Signature = r.Signature[1:] },
		"space":           func(r *storage.Request) { r.Signature = " " + r.Signature[1:] },
	} {
		r := edge
		spoil(&r)
		wantErr(t, s.Ask(t.Context(), r), storage.ErrInvalid, "%s: Ask()", name)
	}
	wantErr(t, s.Ask(t.Context(), edge), nil, "Ask() at the limits")
	m := storage.Message{From: p[0].ID, Kind: storage.MessageText, Text: strings.Repeat("\xff", storage.MaxMessageText), Sent: moment()}
	for name, spoil := range map[string]func(*storage.Message){
		"long text": func(m *storage.Message) { m.Text += "t" },
		"NUL":       func(m *storage.Message) { m.Text = "\x00" },
		"kind":      func(m *storage.Message) { m.Kind = 5 },
	} {
		bad := m
		spoil(&bad)
		wantErr(t, s.Leave(t.Context(), p[1].ID, bad), storage.ErrInvalid, "%s: Leave()", name)
	}
	leave(t, s, p[1].ID, m)
	differ(t, "the longest message", waiting(t, s, p[1].ID, moment()), []storage.Message{m})
}

func testBuddyRemoveInLoop(t *testing.T, s storage.Store) {
	p := people(t, s, 300)
	together(t, len(p)-1, func(i int) error { return s.AddBuddy(t.Context(), p[1+i].ID, p[0].ID) })
	for id, err := range s.Watchers(t.Context(), p[0].ID) {
		if err != nil {
			t.Fatal(err)
		}
		noErr(t, s.RemoveBuddy(t.Context(), id, p[0].ID))
	}
	differ(t, "watchers", collect(t, s.Watchers(t.Context(), p[0].ID)), nil)
}
