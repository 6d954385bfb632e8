package probetest

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// quakeInfo returns the rules as a line of Quake's servers, with its names for them.
func (g *Game) quakeInfo(mapKey string) string {
	var b strings.Builder
	for _, r := range append([][2]string{{"hostname", g.Name}, {mapKey, g.Map}, {"maxclients", fmt.Sprint(g.MaxPlayers)}, {"version", g.Version}, {"needpass", g.password()}}, g.Rules...) {
		fmt.Fprintf(&b, `\%s\%s`, r[0], r[1])
	}
	return b.String()
}

// quake2 answers the request for the status.
func (g *Game) quake2(question []byte) [][]byte {
	if string(question) != "\xff\xff\xff\xffstatus\n" {
		return nil
	}
	text := []byte("\xff\xff\xff\xffprint\n" + g.quakeInfo("mapname") + "\n")
	for i, p := range g.Players {
		text = fmt.Appendf(text, "%d %d %q\n", p.Score, 40+i, p.Name)
	}
	return [][]byte{text}
}

// quakeWorld answers the same request; there is a spectator too.
func (g *Game) quakeWorld(question []byte) [][]byte {
	if string(question) != "\xff\xff\xff\xffstatus\n" {
		return nil
	}
	text := []byte("\xff\xff\xff\xffn" + g.quakeInfo("map") + "\n" + `9 -9999 1 -13 "\s\Watcher" "" 0 0` + "\n")
	for i, p := range g.Players {
		text = fmt.Appendf(text, "%d %d %d %d %q \"base\" 4 4\n", i+1, p.Score, p.Seconds/60, 40+i, p.Name)
	}
	return [][]byte{append(text, 0)}
}

// unreal2 answers the three questions, the rules in two packets.
func (g *Game) unreal2(question []byte) [][]byte {
	if len(question) != 5 || binary.LittleEndian.Uint32(question) != 0x79 || question[4] > 2 {
		return nil
	}
	head := []byte{0x80, 0, 0, 0, question[4]}
	number := func(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }
	text := func(b []byte, s string) []byte { return append(append(append(b, byte(len(s)+1)), s...), 0) }
	switch question[4] {
	case 0:
		b := append(number(append([]byte(nil), head...), 7), 0)
		b = text(text(text(number(number(b, 7777), 0), g.Name), g.Map), g.Title)
		return [][]byte{number(number(number(b, len(g.Players)), g.MaxPlayers), 0)}
	case 1:
		one := text(text(append([]byte(nil), head...), "ServerVersion"), g.Version)
		two := text(text(append([]byte(nil), head...), "GamePassword"), map[bool]string{false: "False", true: "True"}[g.Password])
		for _, r := range g.Rules {
			two = text(text(two, r[0]), r[1])
		}
		return [][]byte{one, two}
	default:
		b := append([]byte(nil), head...)
		for i, p := range g.Players {
			b = number(number(number(text(number(b, i+1), p.Name), 40+i), p.Score), 0)
		}
		return [][]byte{b}
	}
}
