package storagetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// accountModel is a simple model of the accounts in a store.
type accountModel struct {
	users    map[storage.UserID]storage.User
	profiles map[storage.ProfileID]storage.Profile
	buddies  map[[2]storage.ProfileID]bool
	blocks   map[[2]storage.ProfileID]bool
	requests map[[2]storage.ProfileID]bool // from, to
}

// testAccountModel makes random changes of accounts and buddies, compares each
// result with the model, and the contents at the end. All histories use one
// store.
func testAccountModel(t *testing.T, s storage.Store) {
	racetest.Skip(t, "makes many changes")
	m := accountModel{
		users: map[storage.UserID]storage.User{}, profiles: map[storage.ProfileID]storage.Profile{},
		buddies: map[[2]storage.ProfileID]bool{}, blocks: map[[2]storage.ProfileID]bool{},
		requests: map[[2]storage.ProfileID]bool{},
	}
	rapid.Check(t, func(r *rapid.T) {
		r.Repeat(map[string]func(*rapid.T){
			"CreateUser":    func(r *rapid.T) { m.createUser(r, s) },
			"DeleteUser":    func(r *rapid.T) { m.deleteUser(r, s) },
			"CreateProfile": func(r *rapid.T) { m.createProfile(r, s) },
			"UpdateProfile": func(r *rapid.T) { m.updateProfile(r, s) },
			"DeleteProfile": func(r *rapid.T) { m.deleteProfile(r, s) },
			"AddBuddy":      func(r *rapid.T) { m.addBuddy(r, s) },
			"RemoveBuddy":   func(r *rapid.T) { m.removeBuddy(r, s) },
			"AddBlock":      func(r *rapid.T) { m.addBlock(r, s) },
			"Ask":           func(r *rapid.T) { m.ask(r, s) },
			"Accept":        func(r *rapid.T) { m.accept(r, s) },
		})
		m.compare(r, s)
		if n, err := s.CountUsers(background()); n != len(m.users) || err != nil {
			r.Fatalf("CountUsers() = %d, %v, want %d", n, err, len(m.users))
		}
	})
}

func drawEmail(r *rapid.T) string {
	return rapid.SampledFrom([]string{"a@b.c", "b@b.c", "c@b.c"}).Draw(r, "e-mail")
}

// drawNick returns a nick and the unique nicks that go with it.
func drawNick(r *rapid.T) (string, []storage.UniqueNick) {
	nick := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "nick")
	key := rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(r, "unique nick")
	if key == "" {
		return nick, nil
	}
	return nick, []storage.UniqueNick{{Namespace: 1, Nick: key, Key: key}}
}

// draw returns a profile that exists, or one that does not.
func (m accountModel) draw(r *rapid.T, what string) storage.ProfileID {
	ids := slices.Sorted(maps.Keys(m.profiles))
	return rapid.SampledFrom(append(ids, storage.MaxAccountID)).Draw(r, what)
}

// drawUser is draw for a user.
func (m accountModel) drawUser(r *rapid.T) storage.UserID {
	ids := slices.Sorted(maps.Keys(m.users))
	return rapid.SampledFrom(append(ids, storage.MaxAccountID)).Draw(r, "user")
}

// taken reports whether p would clash with a profile of the model.
func (m accountModel) taken(p storage.Profile) bool {
	for _, o := range m.profiles {
		sameNick := o.User == p.User && o.Nick == p.Nick
		sameUnique := p.UniqueNickIn(1) != "" && o.UniqueNickIn(1) == p.UniqueNickIn(1)
		if o.ID != p.ID && (sameNick || sameUnique) {
			return true
		}
	}
	return false
}

// want checks an answer and reports whether the change has happened.
func want(r *rapid.T, what string, got, want error) bool {
	if !errors.Is(got, want) {
		r.Fatalf("%s = %v, want %v", what, got, want)
	}
	return got == nil
}

func (m accountModel) createUser(r *rapid.T, s storage.Store) {
	email := drawEmail(r)
	nick, unique := drawNick(r)
	var wanted error
	for _, u := range m.users {
		if u.Email == email {
			wanted = storage.ErrTaken
		}
	}
	p := storage.Profile{Nick: nick, UniqueNicks: unique}
	if m.taken(p) {
		wanted = storage.ErrTaken
	}
	u, p, err := s.CreateUser(background(), storage.User{Email: email}, p)
	if want(r, "CreateUser", err, wanted) {
		if _, ok := m.users[u.ID]; ok {
			r.Fatalf("CreateUser gave out id %d again", u.ID)
		}
		m.users[u.ID], m.profiles[p.ID] = u, p
	}
}

func (m accountModel) deleteUser(r *rapid.T, s storage.Store) {
	id := m.drawUser(r)
	var wanted error
	if _, ok := m.users[id]; !ok {
		wanted = storage.ErrNotFound
	}
	if want(r, "DeleteUser", s.DeleteUser(background(), id), wanted) {
		delete(m.users, id)
		for _, p := range m.of(id) {
			m.drop(p.ID)
		}
	}
}

// of returns the profiles of a user in the order of their nicks.
func (m accountModel) of(user storage.UserID) []storage.Profile {
	var all []storage.Profile
	for _, p := range m.profiles {
		if p.User == user {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b storage.Profile) int { return int(a.Nick[0]) - int(b.Nick[0]) })
	return all
}

// drop removes a profile and all data that belongs to it.
func (m accountModel) drop(id storage.ProfileID) {
	delete(m.profiles, id)
	for _, pairs := range []map[[2]storage.ProfileID]bool{m.buddies, m.blocks, m.requests} {
		maps.DeleteFunc(pairs, func(k [2]storage.ProfileID, _ bool) bool { return k[0] == id || k[1] == id })
	}
}

func (m accountModel) createProfile(r *rapid.T, s storage.Store) {
	p := storage.Profile{User: m.drawUser(r)}
	p.Nick, p.UniqueNicks = drawNick(r)
	var wanted error
	if _, ok := m.users[p.User]; !ok {
		wanted = storage.ErrNotFound
	} else if m.taken(p) {
		wanted = storage.ErrTaken
	}
	p, err := s.CreateProfile(background(), p)
	if want(r, "CreateProfile", err, wanted) {
		m.profiles[p.ID] = p
	}
}

func (m accountModel) updateProfile(r *rapid.T, s storage.Store) {
	p, ok := m.profiles[m.draw(r, "profile")]
	if !ok {
		return
	}
	current := p.Rev
	p.Nick, p.UniqueNicks = drawNick(r)
	p.Rev = drawRev(r, current)
	var wanted error
	if p.Rev != current {
		wanted = storage.ErrConflict
	} else if m.taken(p) {
		wanted = storage.ErrTaken
	}
	p, err := s.UpdateProfile(background(), p)
	if want(r, "UpdateProfile", err, wanted) {
		m.profiles[p.ID] = p
	}
}

func (m accountModel) deleteProfile(r *rapid.T, s storage.Store) {
	id := m.draw(r, "profile")
	var wanted error
	if p, ok := m.profiles[id]; !ok {
		wanted = storage.ErrNotFound
	} else if len(m.of(p.User)) == 1 {
		wanted = storage.ErrLast
	}
	if want(r, "DeleteProfile", s.DeleteProfile(background(), id), wanted) {
		m.drop(id)
	}
}

// drawPair returns two profiles and the error for every relation between them,
// nil if it is possible.
func (m accountModel) drawPair(r *rapid.T) (pair [2]storage.ProfileID, wanted error) {
	pair = [2]storage.ProfileID{m.draw(r, "one"), m.draw(r, "other")}
	_, one := m.profiles[pair[0]]
	_, other := m.profiles[pair[1]]
	switch {
	case pair[0] == pair[1]:
		return pair, storage.ErrInvalid
	case !one || !other:
		return pair, storage.ErrNotFound
	}
	return pair, nil
}

func (m accountModel) addBuddy(r *rapid.T, s storage.Store) {
	pair, wanted := m.drawPair(r)
	if m.buddies[pair] {
		wanted = storage.ErrTaken
	}
	if want(r, "AddBuddy", s.AddBuddy(background(), pair[0], pair[1]), wanted) {
		m.buddies[pair] = true
		delete(m.requests, pair)
	}
}

func (m accountModel) removeBuddy(r *rapid.T, s storage.Store) {
	pair, _ := m.drawPair(r)
	var wanted error
	if !m.buddies[pair] {
		wanted = storage.ErrNotFound
	}
	want(r, "RemoveBuddy", s.RemoveBuddy(background(), pair[0], pair[1]), wanted)
	delete(m.buddies, pair)
}

func (m accountModel) addBlock(r *rapid.T, s storage.Store) {
	pair, wanted := m.drawPair(r)
	if m.blocks[pair] {
		wanted = storage.ErrTaken
	}
	if want(r, "AddBlock", s.AddBlock(background(), pair[0], pair[1]), wanted) {
		m.blocks[pair] = true
	}
}

func (m accountModel) ask(r *rapid.T, s storage.Store) {
	pair, wanted := m.drawPair(r)
	if m.buddies[pair] {
		wanted = storage.ErrTaken
	}
	err := s.Ask(background(), storage.Request{From: pair[0], To: pair[1], Signature: signature, Sent: moment()})
	if want(r, "Ask", err, wanted) {
		m.requests[pair] = true
	}
}

func (m accountModel) accept(r *rapid.T, s storage.Store) {
	pair, _ := m.drawPair(r)
	var wanted error
	if !m.requests[pair] {
		wanted = storage.ErrNotFound
	}
	if want(r, "Accept", s.Accept(background(), pair[0], pair[1], signature, moment()), wanted) {
		delete(m.requests, pair)
		m.buddies[pair] = true
	}
}

func (m accountModel) compare(r *rapid.T, s storage.Store) {
	var users []storage.User
	for _, id := range slices.Sorted(maps.Keys(m.users)) {
		users = append(users, m.users[id])
	}
	differ(r, "users", collect(r, s.Users(background(), 0)), users)
	for id := range m.users {
		differ(r, fmt.Sprint("profiles of user ", id), must(s.ProfilesOf(background(), id))(r), m.of(id))
	}
	ids := slices.Sorted(maps.Keys(m.profiles))
	for _, a := range ids {
		var buddies, seen, have, blocks, asked []storage.ProfileID
		for _, b := range ids {
			wanted := storage.Relation{
				Buddy: m.buddies[[2]storage.ProfileID{a, b}], BuddyOf: m.buddies[[2]storage.ProfileID{b, a}],
				Blocks: m.blocks[[2]storage.ProfileID{a, b}], BlockedBy: m.blocks[[2]storage.ProfileID{b, a}],
			}
			differ(r, fmt.Sprint("relation of ", a, " to ", b), must(s.Relation(background(), a, b))(r), wanted)
			buddies = appendIf(buddies, b, wanted.Buddy)
			seen = appendIf(seen, b, wanted.Buddy && !wanted.Blocked())
			have = appendIf(have, b, wanted.BuddyOf && !wanted.Blocked())
			blocks = appendIf(blocks, b, wanted.Blocks)
			asked = appendIf(asked, b, m.requests[[2]storage.ProfileID{b, a}])
		}
		differ(r, fmt.Sprint("lists of ", a), must(s.Lists(background(), a))(r), storage.Lists{Buddies: buddies, Blocks: blocks, Watched: seen})
		differ(r, fmt.Sprint("watchers of ", a), collect(r, s.Watchers(background(), a)), have)
		var from []storage.ProfileID
		for _, q := range collect(r, s.Requests(background(), a)) {
			from = append(from, q.From)
		}
		differ(r, fmt.Sprint("requests to ", a), from, asked)
	}
}

func appendIf(all []storage.ProfileID, id storage.ProfileID, yes bool) []storage.ProfileID {
	if yes {
		return append(all, id)
	}
	return all
}
