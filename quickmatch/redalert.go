package quickmatch

import (
	"math"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/internal/games"
)

// Ladders of Red Alert 3: the first one is for two players, the others are for four.
const (
	ladderPair   = 1
	ladderRandom = 2 // strangers make a team
	ladderTeams  = 3 // two players who name each other make a team
)

// The numbers of matches of Red Alert 3, which its players know a match by.
const (
	firstMatch = 2000
	lastMatch  = 20000
)

// defaults returns the values of a CINFO without keys.
func (m *machine) defaults() (c cinfo) {
	if m.style == games.QuickRedAlert {
		c.players, c.ladder, c.points, c.side, c.color = 2, ladderPair, 1000, -1, -1
	}
	return c
}

// backwards returns an address with its bytes in the opposite order.
func backwards(a netip.Addr) (b [4]byte) {
	if a.Is4() {
		b = a.As4()
	}
	return [4]byte{b[3], b[2], b[1], b[0]}
}

// lucks is how many kinds of player.luck there are. Each is a hundredth of a fitness.
const lucks = 4

// rated returns how well two players of Red Alert 3 fit: how much of the points that each
// accepts the other accepts too, with a little chance. Teams of strangers accept all.
func rated(a, b *player) float64 {
	if !shareMap(a.maps, b.maps) {
		return 0
	}
	if a.ladder == ladderRandom {
		return 1
	}
	low, high := max(points(a)-a.reach(), points(b)-b.reach()), min(points(a)+a.reach(), points(b)+b.reach())
	if high <= low {
		return 0
	}
	return math.Min(1, (high-low)/2/max(a.reach(), b.reach())+float64((a.luck+b.luck)%lucks)/100)
}

// reach is how far the points of an opponent may be away from those of the player, if the
// opponent does not reach further.
func (p *player) reach() float64 {
	deviations := 8.0
	switch p.pointRange {
	case 100:
		deviations = 1
	case 250:
		deviations = 2
	case 400:
		deviations = 4
	}
	return deviations * float64(max(p.deviation, 50))
}

// teams returns two teams with a common map, the first with p, nil if there are none.
func (m *machine) teams(p *player) []*player {
	mate := m.mateOf(p)
	if mate == nil || !shareMap(p.maps, mate.maps) {
		return nil
	}
	maps := common(p.maps, mate.maps)
	for _, o := range m.pools[p.pool] {
		other := m.mateOf(o)
		if other != nil && o != p && o != mate && shareMap(common(maps, o.maps), other.maps) {
			return []*player{p, mate, o, other}
		}
	}
	return nil
}

// mateOf returns the waiting player whom p names and who names p, nil if there is none.
func (m *machine) mateOf(p *player) *player {
	mate := m.waiting[p.mate]
	if mate == nil || mate == p || mate.mate != p.nick || mate.pool != p.pool {
		return nil
	}
	return mate
}

// poolSizes tells each waiting player how many wait like it.
func (m *machine) poolSizes() (out []send) {
	for _, p := range m.sorted() {
		out = append(out, send{p.nick, "MBOT:POOLSIZE " + strconv.Itoa(int(p.ladder)) + " " + strconv.Itoa(len(m.pools[p.pool]))})
	}
	return out
}
