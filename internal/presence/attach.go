package presence

import (
	"slices"
	"sync"

	"github.com/respawnd/respawnd/storage"
)

// Attached is a session of another service, such as chat, that a player opened with
// an account. It must be comparable, such as a pointer. It ends when the sessions of
// the account are ended. Nothing else sees it: it has no status, no watchers and no
// events, does not count, and another login does not displace it.
type Attached interface {
	// Profile and User identify the player. They never change.
	Profile() storage.ProfileID
	User() storage.UserID

	// Client returns the client at the other end. It never changes.
	Client() Client

	// Kick ends the session for a reason, such as ErrBanned, and never blocks. It is
	// called at most once, from any goroutine, and must not wait for the hub.
	Kick(reason error)
}

// attachments are the attached sessions of a hub.
type attachments struct {
	mu       sync.Mutex // guards the fields below
	users    map[storage.UserID][]Attached
	profiles map[storage.ProfileID][]Attached
}

// Attach implements Hub.
func (a *attachments) Attach(s Attached) (detach func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.users == nil {
		a.users, a.profiles = make(map[storage.UserID][]Attached), make(map[storage.ProfileID][]Attached)
	}
	a.users[s.User()] = append(a.users[s.User()], s)
	a.profiles[s.Profile()] = append(a.profiles[s.Profile()], s)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.remove(s)
	}
}

// remove forgets a session. a.mu is held.
func (a *attachments) remove(s Attached) {
	without(a.users, s.User(), s)
	without(a.profiles, s.Profile(), s)
}

// without removes s from the sessions under a key.
func without[K comparable](sessions map[K][]Attached, key K, s Attached) {
	rest := slices.DeleteFunc(sessions[key], func(o Attached) bool { return o == s })
	if len(rest) == 0 {
		delete(sessions, key)
		return
	}
	sessions[key] = rest
}

// ofUser removes the sessions of a user and returns them, for the caller to kick. So
// each is kicked once.
func (a *attachments) ofUser(id storage.UserID) []Attached {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.take(a.users[id])
}

// ofProfile is ofUser for a profile.
func (a *attachments) ofProfile(id storage.ProfileID) []Attached {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.take(a.profiles[id])
}

// take removes sessions. a.mu is held.
func (a *attachments) take(sessions []Attached) []Attached {
	sessions = slices.Clone(sessions)
	for _, s := range sessions {
		a.remove(s)
	}
	return sessions
}
