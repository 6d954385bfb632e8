package probetest

import (
	"strconv"

	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/nwn"
)

// idTech4 answers getInfo, as Doom 3 does. It has no scores.
func (g *Game) idTech4(question []byte) [][]byte {
	kind, rest, _ := idtech4.Cut(question)
	challenge, err := idtech4.Challenge(rest)
	if kind != idtech4.KindGetInfo || err != nil {
		return nil
	}
	password := "0"
	if g.Password {
		password = "1"
	}
	i := idtech4.Info{Challenge: challenge, Protocol: 1<<16 + 41}
	for _, p := range [][2]string{
		{"si_name", g.Name},
		{"si_map", g.Map},
		{"si_version", g.Version},
		{"si_maxPlayers", strconv.Itoa(g.MaxPlayers)},
		{"si_usePass", password},
		{"gamename", g.Game},
		{"si_gameType", g.Title},
	} {
		i.Pairs = append(i.Pairs, idtech4.Pair{Key: []byte(p[0]), Value: []byte(p[1])})
	}
	for n, p := range g.Players {
		i.Players = append(i.Players, idtech4.Player{Number: byte(n), Ping: int16(40 + n), Rate: 16000, Name: []byte(p.Name)})
	}
	return [][]byte{i.AppendTo(nil)}
}

// nwn answers BNXI and BNES, as Neverwinter Nights does. It names no players.
func (g *Game) nwn(question []byte) [][]byte {
	switch kind, _, _ := nwn.Cut(question); kind {
	case nwn.AskRules:
		return [][]byte{nwn.Rules{
			Port: 5121, Game: nwn.Game1, Password: g.Password, MinLevel: 1, MaxLevel: 40, Players: byte(len(g.Players)),
			Most: byte(g.MaxPlayers), Module: []byte(g.Map),
		}.AppendTo(nil)}
	case nwn.AskName:
		return [][]byte{nwn.AppendName(nil, 5121, g.Name)}
	default:
		return nil
	}
}
