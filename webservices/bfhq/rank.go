package bfhq

// maxRank is the highest rank, sergeantMajor the one that columns smoc is about.
const (
	maxRank       = 21
	sergeantMajor = 11
)

// ranksByScore are the ranks that a score alone is enough for. The others are given by servers:
// they depend on awards, or on other players.
var ranksByScore = []struct{ rank, score int64 }{
	{1, 150},
	{2, 500},
	{3, 800},
	{4, 2500},
	{5, 5000},
	{6, 8000},
	{7, 20000},
	{9, 50000},
	{12, 60000},
	{13, 75000},
	{14, 90000},
	{15, 115000},
	{16, 125000},
	{17, 150000},
}

func rankOf(score int64) (rank int64) {
	for _, r := range ranksByScore {
		if score >= r.score {
			rank = r.rank
		}
	}
	return rank
}

// pointsOf returns how many weapons a player with a rank may choose.
func pointsOf(rank int64) int {
	switch {
	case rank >= 9:
		return 7
	case rank >= 7:
		return 6
	case rank >= 2:
		return int(rank) - 1
	}
	return 0
}
