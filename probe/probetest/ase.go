package probetest

import "fmt"

// ase answers in the query protocol of the All-Seeing Eye.
func (g *Game) ase(question []byte) [][]byte {
	if string(question) != "s" {
		return nil
	}
	b := []byte("EYE1")
	text := func(s string) { b = append(append(b, byte(len(s)+1)), s...) }
	for _, s := range []string{g.Game, "49001", g.Name, g.Title, g.Map, g.Version, g.password(), fmt.Sprint(len(g.Players)), fmt.Sprint(g.MaxPlayers)} {
		text(s)
	}
	for _, r := range g.Rules {
		text(r[0])
		text(r[1])
	}
	text("")
	for i, p := range g.Players {
		b = append(b, 1|8|16)
		text(p.Name)
		text(fmt.Sprint(p.Score))
		text(fmt.Sprint(40 + i))
	}
	return [][]byte{b}
}
