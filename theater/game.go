package theater

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
)

// Bounds of what players say.
const (
	maxKeys  = 200      // of a game, or of a player in it
	maxText  = 16 << 10 // bytes of them
	maxSeats = 128      // players in a game
	maxID    = 128      // bytes of an identity or a secret that a host chooses
)

// Times of a player who joins.
const (
	answerTime = 15 * time.Second // until the host has answered
	enterTime  = 5 * time.Minute  // from then until the host has the player
)

// attributes are values under names that are compared exactly.
type attributes struct {
	wire.Text
	size int
}

// set sets a value and reports whether there is room for it.
func (a *attributes) set(key, value string) bool {
	i := slices.IndexFunc(a.Text, func(f wire.Field) bool { return f.Key == key })
	grows := len(value)
	if i >= 0 {
		grows -= len(a.Text[i].Value)
	} else if grows += len(key); len(a.Text) == maxKeys {
		return false
	}
	if a.size+grows > maxText {
		return false
	}
	a.size += grows
	if i < 0 {
		a.Add(key, value)
	} else {
		a.Text[i].Value = value
	}
	return true
}

// take sets the values of a message whose names begin so, and reports whether there was room for
// all.
func (a *attributes) take(t wire.Text, prefix string) bool {
	fits := true
	for _, f := range t {
		if strings.HasPrefix(f.Key, prefix) {
			fits = a.set(f.Key, f.Value) && fits
		}
	}
	return fits
}

// exact returns the value of a name in exactly these letters.
func (a *attributes) exact(key string) string {
	i := slices.IndexFunc(a.Text, func(f wire.Field) bool { return f.Key == key })
	if i < 0 {
		return ""
	}
	return a.Text[i].Value
}

// game is a game that a player offers. Server.mu guards it.
type game struct {
	id       int
	node     string // that it belongs to; empty: this one. Of others it is a copy, with the players who are in it
	host     *session
	values   attributes // named in kept, and B-...
	details  attributes // D-...
	identity string     // UGID
	key      string     // EKEY, which players and host share
	seats    map[int]*seat
	queue    []*seat        // of those who wait until another player leaves, the first first
	open     bool           // ready for players
	source   netip.AddrPort // of its record in the list of servers; zero: it has none
	intern   netip.AddrPort // its address in the network of the host
}

// kept are the values of a game besides B-... that are kept.
var kept = []string{"NAME", "PORT", "TYPE", "JOIN", "MAX-PLAYERS", "QLEN", "DISABLE-AUTO-DEQUEUE", "INT-IP", "INT-PORT"}

// update takes new values of the game and reports whether there was room for all. It takes none if the
// game would have no port or no places.
func (g *game) update(t wire.Text) bool {
	was := g.values
	g.values.Text = slices.Clone(was.Text)
	fits := g.values.take(t, "B-")
	for _, key := range kept {
		if v, ok := t.Look(key); ok {
			fits = g.values.set(key, v) && fits
		}
	}
	if g.max() == 0 || g.at().Port() == 0 {
		g.values = was
		return false
	}
	g.intern = inside(g.values.Get("INT-IP"), g.values.Get("INT-PORT"), g.host.peer.Addr())
	return fits
}

// inside returns the address of a player in the player's own network: that of the connection in
// place of one that is not valid.
func inside(ip, port string, peer netip.Addr) netip.AddrPort {
	a, err := netip.ParseAddr(ip)
	if err != nil || !a.Is4() || a.IsUnspecified() || a.IsMulticast() || a.As4()[0] == 255 || a.IsLoopback() && !peer.IsLoopback() {
		a = peer
	}
	return netip.AddrPortFrom(a, portOf(port))
}

// portOf reads a port, 0 if it is none.
func portOf(text string) uint16 {
	if n := number(text); n > 0 && n <= math.MaxUint16 {
		return uint16(n)
	}
	return 0
}

// number reads a number, -1 if it is none.
func number(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// max returns the number of players that the game takes, 0 if the host states none that is valid.
func (g *game) max() int {
	if n := number(g.values.Get("MAX-PLAYERS")); n > 0 && n <= maxSeats {
		return n
	}
	return 0
}

// at returns where players reach the game.
func (g *game) at() netip.AddrPort { return g.host.at(g.values.Get("PORT")) }

// players returns the seats whose players are in the game, in their order.
func (g *game) players() (in []*seat) {
	for pid := 1; len(in) < len(g.seats) && pid <= maxSeats; pid++ {
		if s := g.seats[pid]; s != nil && s.state == entered {
			in = append(in, s)
		}
	}
	return in
}

// all returns those who have a place in the game, or wait for one.
func (g *game) all() []*seat { return append(slices.Collect(maps.Values(g.seats)), g.queue...) }

// free returns the lowest number that no player has, 0 if the game is full.
func (g *game) free() int {
	for pid := 1; pid <= g.max(); pid++ {
		if g.seats[pid] == nil {
			return pid
		}
	}
	return 0
}

// places returns how many players may wait for a full game, 0 unless the host wants a queue.
func (g *game) places() int {
	if g.values.Get("DISABLE-AUTO-DEQUEUE") == "1" {
		return 0
	}
	return min(max(number(g.values.Get("QLEN")), 0), maxSeats)
}

// meets reports whether the game meets a condition.
func (g *game) meets(c lobby.Condition) bool { return g.values.exact(c.Key) == c.Value }

// seatState is how far a player has come.
type seatState uint8

const (
	queued  seatState = iota // the game is full
	asked                    // the host was asked
	allowed                  // the player was sent the address of the game
	entered                  // the host has the player
)

// seat is the place of a player in a game.
type seat struct {
	game   *game
	pid    int      // 0: it is queued
	who    *session // nil: the player has gone, and the host has not said so yet
	uid    string
	name   string
	ticket string
	tid    string   // of the request to join
	facts  []string // of the player, for the host
	state  seatState
	by     time.Time // until which the state must change, if it is asked or allowed
	values attributes
}

// leave takes the player out of the game.
func (s *seat) leave() {
	if s.state == queued {
		s.game.queue = slices.DeleteFunc(s.game.queue, func(o *seat) bool { return o == s })
	} else {
		delete(s.game.seats, s.pid)
	}
	if s.who != nil && s.who.seat == s {
		s.who.seat = nil
	}
}

// secret returns random bytes as text.
func secret(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)
}

// newTicket returns a number that others cannot guess.
func newTicket() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return strconv.Itoa(int(binary.BigEndian.Uint32(b[:]) >> 1))
}

// newIdentity returns an identity for a game, as text of a GUID.
func newIdentity() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0F|0x40, b[8]&0x3F|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
