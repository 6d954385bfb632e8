package probetest

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// battlefield answers the questions of Battlefield's console in a packet, one message each.
func (g *Game) battlefield(questions []byte) (answers [][]byte) {
	for len(questions) >= 16 {
		size := binary.LittleEndian.Uint32(questions[4:])
		if size < 16 || int(size) > len(questions) {
			return answers
		}
		words := []string{"UnknownCommand"}
		switch question := string(questions[16:size]); {
		case strings.HasPrefix(question, "serverInfo"):
			words = []string{
				"OK", g.Name, fmt.Sprint(len(g.Players)), fmt.Sprint(g.MaxPlayers), g.Title, g.Map, "0", "2", "2", "100.0", "75.0", "0", "",
				"true", "true", fmt.Sprint(g.Password), "3600", "120", "127.0.0.1:19567", "v1.870",
			}
		case strings.HasPrefix(question, "version"):
			words = []string{"OK", g.Game, g.Version}
		case strings.HasPrefix(question, "listPlayers"):
			words = []string{"OK", "5", "name", "guid", "teamId", "score", "ping", fmt.Sprint(len(g.Players))}
			for i, p := range g.Players {
				words = append(words, p.Name, "EA_1", "1", fmt.Sprint(p.Score), fmt.Sprint(40+i))
			}
		}
		answers = append(answers, battlefieldMessage(questions, words))
		questions = questions[size:]
	}
	return answers
}

func battlefieldMessage(question []byte, words []string) []byte {
	b := append([]byte(nil), question[:8]...)
	b[3] |= 0x40
	b = binary.LittleEndian.AppendUint32(b, uint32(len(words)))
	for _, w := range words {
		b = append(append(binary.LittleEndian.AppendUint32(b, uint32(len(w))), w...), 0)
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	return b
}
