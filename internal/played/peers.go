package played

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of what another daemon says.
const (
	MaxPeerGames = 4096    // MaxPeerGames is how many games of one daemon are kept, and copies of them together.
	maxPeerTimes = 1 << 20 // that a game was played there, by one of its copies
)

// PeerCount is how often copies of a game were played at another daemon, as that says. Copies are
// those of one edition there; none: of any.
type PeerCount struct {
	Game   string
	Copies []string
	games.Tally
}

// Peer is another daemon, whose counts are in a Table until Close. They raise no word: pages say that
// the game was played elsewhere.
type Peer struct {
	table *Table
	all   map[string][]PeerCount // by game; guarded by Table.mu
}

// NewPeer returns a peer that has said nothing yet.
func (t *Table) NewPeer() *Peer {
	p := &Peer{table: t}
	t.mu.Lock()
	t.peers = append(t.peers, p)
	t.mu.Unlock()
	return p
}

// gameName is what the name of a game looks like.
var gameName = regexp.MustCompile(`^[a-z0-9_.-]{1,64}$`)

// valid reports whether a count can be believed to be one, and cleans it.
func (c *PeerCount) valid(now time.Time) bool {
	day, err := time.Parse(time.DateOnly, c.Last)
	known := func(copy string) bool { return copy == "any" || slices.Contains(games.ReportedCopies(), copy) }
	if err != nil || day.Year() < 2020 || day.After(now.Add(24*time.Hour)) || c.Times <= 0 || !gameName.MatchString(c.Game) {
		return false
	}
	c.Copies = slices.DeleteFunc(slices.Clone(c.Copies), func(copy string) bool { return !known(copy) })
	c.Times, c.Version = min(c.Times, maxPeerTimes), clean.Line(c.Version, storage.MaxPlayVersion/4) // characters may be of four bytes
	return true
}

// Set replaces what the peer said. It returns how many counts it left out: those that cannot be, and
// those beyond MaxPeerGames.
func (p *Peer) Set(counts []PeerCount, now time.Time) (leftOut int) {
	all, kept := make(map[string][]PeerCount), 0
	for _, c := range counts {
		if kept == MaxPeerGames || !c.valid(now) {
			leftOut++
			continue
		}
		kept++
		all[c.Game] = append(all[c.Game], c)
	}
	p.table.mu.Lock()
	p.all = all
	p.table.mu.Unlock()
	p.table.serial.Add(1)
	return leftOut
}

// Close removes the peer.
func (p *Peer) Close() {
	p.table.mu.Lock()
	p.table.peers = slices.DeleteFunc(p.table.peers, func(o *Peer) bool { return o == p })
	p.table.mu.Unlock()
	p.table.serial.Add(1)
}

// elsewhere sums what peers say of copies of a game; t.mu is held. A count is that of the first of
// its copies, so that it is in one sum.
func (t *Table) elsewhere(game string, copies []string) (sum games.Tally) {
	for _, p := range t.peers {
		for _, c := range p.all[game] {
			if len(copies) > 0 && len(c.Copies) > 0 && !slices.Contains(copies, "any") && !slices.Contains(copies, c.Copies[0]) {
				continue
			}
			sum.Times += c.Times
			if c.Last > sum.Last {
				sum.Last, sum.Version = c.Last, cmp.Or(c.Version, sum.Version)
			}
		}
	}
	return sum
}
