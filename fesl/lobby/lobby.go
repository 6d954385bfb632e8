// Package lobby is what the sign-in of EA's games and their list of games share: session keys,
// with which a player who has signed in enters the list, and the games in it that the sign-in may
// propose.
//
// It is not the list: package theater has that. It opens nothing and stores nothing.
package lobby

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Grace is how long a session key is valid after its session has ended.
const Grace = time.Minute

// Player is a player who has signed in.
type Player struct {
	Profile storage.ProfileID
	User    storage.UserID
	Name    string // in the game
	Client  string // the game, as it names itself
	Game    string // in the catalogue; empty: not there
}

// Condition is a property that a game must have, such as B-U-Mode=coop.
type Condition struct{ Key, Value string }

// Found is a game that players can join.
type Found struct{ Lobby, Game int }

// Search returns the games of a client that meet all conditions, at most so many.
type Search func(client string, where []Condition, most int) []Found

// Lobby is the shared part. The zero value has no players and no list. It may be used
// concurrently.
type Lobby struct {
	mu      sync.Mutex // guards the fields below
	players map[[sha256.Size]byte]entry
	leaving []leaving // in the order of their ends
	port    uint16
	search  Search
}

type entry struct {
	Player
	left bool // it is among those that are leaving
}

// leaving is a key that ends.
type leaving struct {
	key [sha256.Size]byte
	by  time.Time
}

// Enter makes a session key valid. Keys are kept as digests, so that the time of a look-up says
// nothing about them.
func (l *Lobby) Enter(key string, p Player) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.players == nil {
		l.players = make(map[[sha256.Size]byte]entry)
	}
	l.players[sha256.Sum256([]byte(key))] = entry{Player: p}
}

// Leave ends a key after Grace.
func (l *Lobby) Leave(key string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	digest := sha256.Sum256([]byte(key))
	e, ok := l.players[digest]
	if !ok || e.left {
		return
	}
	e.left = true
	l.players[digest] = e
	l.leaving = append(l.leaving, leaving{digest, now.Add(Grace)})
}

// Revoke ends a key at once.
func (l *Lobby) Revoke(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.players, sha256.Sum256([]byte(key)))
}

// Player returns who has a key.
func (l *Lobby) Player(key string, now time.Time) (Player, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	e, ok := l.players[sha256.Sum256([]byte(key))]
	return e.Player, ok
}

// sweep forgets the keys whose time has come. l.mu is held.
func (l *Lobby) sweep(now time.Time) {
	n := 0
	for ; n < len(l.leaving) && !now.Before(l.leaving[n].by); n++ {
		delete(l.players, l.leaving[n].key)
	}
	l.leaving = l.leaving[n:]
}

// Open makes a list known: its port and its search.
func (l *Lobby) Open(port uint16, search Search) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.port, l.search = port, search
}

// Port returns the port of the list, 0 if there is none.
func (l *Lobby) Port() uint16 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.port
}

// Search searches the list; without one nothing is found.
func (l *Lobby) Search(client string, where []Condition, most int) []Found {
	l.mu.Lock()
	search := l.search
	l.mu.Unlock()
	if search == nil {
		return nil
	}
	return search(client, where, most)
}
