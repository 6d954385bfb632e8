package quickmatch

import "math"

// threshold is the fitness that two players of a match need.
const threshold = 0.3

// fitness returns how well two players of a pool fit, 0 to 1; 0: not at all.
func fitness(a, b *player) float64 {
	if !a.accepts(b) || !b.accepts(a) || !shareMap(a.wanted(), b.wanted()) {
		return 0
	}
	low, high := min(points(a), points(b)), max(points(a), points(b))
	return (low/high + near(a.pings, b.pings)) / 2
}

// points returns the points of a player, of which each has at least one.
func points(p *player) float64 { return float64(max(1, p.points)) }

// accepts reports whether p, which may have widened its search, plays with other.
func (p *player) accepts(other *player) bool {
	if p.widened {
		return true
	}
	percent := points(other) / points(p) * 100
	return percent >= float64(p.pointsMin) && (p.pointsMax <= 0 || percent <= float64(p.pointsMax)) &&
		(p.disconMax <= 0 || other.discons <= p.disconMax)
}

// wanted returns the maps that p plays: all, if its search is widened.
func (p *player) wanted() []bool {
	if !p.widened {
		return p.maps
	}
	return allMaps[:len(p.maps)]
}

// allMaps are those of a widened search.
var allMaps = func() (all [maxMaps]bool) {
	for i := range all {
		all[i] = true
	}
	return all
}()

func shareMap(a, b []bool) bool {
	for i := range min(len(a), len(b)) {
		if a[i] && b[i] {
			return true
		}
	}
	return false
}

// near returns how alike the pings of two players to the same hosts are, 0 to 1. Without
// pings to the same number of hosts nothing is known, which is in the middle.
func near(a, b []byte) float64 {
	if len(a) == 0 || len(a) != len(b) {
		return 0.5
	}
	sum := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return 1 - math.Sqrt(sum/float64(len(a)))/0xFF
}
