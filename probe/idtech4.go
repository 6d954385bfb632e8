package probe

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"

	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/query"
)

// idTech4Talk requests the info of a server of Doom 3's engine, which has all.
type idTech4Talk struct {
	oneQuestion
	challenge uint32
	result    query.Status
	folder    string // of the game
}

func newIDTech4Talk() *idTech4Talk {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return &idTech4Talk{challenge: binary.LittleEndian.Uint32(b[:])}
}

func (t *idTech4Talk) question() []byte { return idtech4.AppendGetInfo(nil, t.challenge) }

func (t *idTech4Talk) take(packet []byte) (query.Step, error) {
	kind, rest, ok := idtech4.Cut(packet)
	if !ok || kind != idtech4.KindInfo {
		return query.Wait, query.ErrForeign
	}
	i, err := idtech4.ParseInfo(rest)
	switch {
	case err != nil:
		return query.Wait, err
	case i.Challenge != t.challenge:
		return query.Wait, errForged
	}
	for _, p := range i.Pairs {
		if string(p.Key) == "gamename" {
			t.folder = string(p.Value)
		}
	}
	names, values := i.Rules()
	for n, name := range names {
		t.result.Rules = append(t.result.Rules, query.Field{Name: name, Value: values[n]})
	}
	if len(i.Players) > 0 {
		t.result.Players = query.Table{Columns: []string{"player_", "ping_"}}
		for _, p := range i.Players {
			t.result.Players.Rows = append(t.result.Players.Rows, []string{string(p.Name), strconv.Itoa(int(p.Ping))})
		}
	}
	return query.Done, nil
}

func (t *idTech4Talk) status() query.Status { return t.result }

// oneQuestion is a talk of one question, which has one answer.
type oneQuestion struct{}

func (oneQuestion) stage() int          { return 0 }
func (oneQuestion) silence() query.Step { return query.Wait }
func (oneQuestion) partial() bool       { return false }
func (oneQuestion) held() bool          { return false }

// idTech4Game returns the game that a server runs: that of the catalogue with its
// protocol, else the name that it states.
func (p *Prober) idTech4Game(tk talk, st *query.Status) (game string, ok bool) {
	text, _ := st.Get(idtech4.RuleProtocol)
	protocol, ok := idtech4.ParseProtocol(text)
	if game, known := p.opt.Games.NamesIn("idtech4").Speaking(protocol.Major()); ok && known {
		return game, true
	}
	t, ok := tk.(*idTech4Talk)
	if !ok {
		return "", false
	}
	return t.folder, t.folder != ""
}
