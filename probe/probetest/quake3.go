package probetest

import (
	"slices"
	"strconv"

	"github.com/respawnd/respawnd/internal/quake3"
)

// quake3 answers getinfo and getstatus, as a game of the family does that names
// itself.
func (g *Game) quake3(question []byte) [][]byte {
	kind, rest, _ := quake3.Cut(question)
	echo := []string{"challenge", string(quake3.Challenge(rest))}
	password := "0"
	if g.Password {
		password = "1"
	}
	switch kind {
	case quake3.KindGetInfo:
		return [][]byte{quake3.AppendInfo(nil, append(echo,
			"gamename", g.Game, "protocol", "71", "hostname", g.Name, "mapname", g.Map, "gametype", "4",
			"clients", strconv.Itoa(len(g.Players)), "sv_maxclients", strconv.Itoa(g.MaxPlayers), "g_needpass", password)...)}
	case quake3.KindGetStatus:
		pairs := slices.Concat(echo, []string{"sv_hostname", g.Name, "mapname", g.Map, "version", g.Version, "gamename", "base"})
		for _, r := range g.Rules {
			pairs = append(pairs, r[0], r[1])
		}
		players := make([]quake3.Player, len(g.Players))
		for i, p := range g.Players {
			players[i] = quake3.Player{Score: p.Score, Ping: 40 + i, Name: []byte(p.Name)}
		}
		return [][]byte{quake3.AppendStatus(nil, players, pairs...)}
	default:
		return nil
	}
}
