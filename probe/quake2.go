package probe

import (
	"strconv"

	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/unreal2"
)

// quake2Talk requests the status of a server of Quake 2's family or of QuakeWorld, which
// has all.
type quake2Talk struct {
	oneQuestion
	world bool // QuakeWorld or HexenWorld
	plain bool // the last question was QuakeWorld's
	parse func(p []byte) (quake2.Status, bool, error)
	said  quake2.Status
}

func newQuake2Talk() *quake2Talk { return &quake2Talk{parse: quake2.Two.ParseStatus} }

func newQuakeWorldTalk() *quake2Talk {
	return &quake2Talk{world: true, parse: quake2.ParseWorldStatus}
}

// question asks in the forms of QuakeWorld and HexenWorld in turn: an address does not say
// which one its server speaks.
func (t *quake2Talk) question() []byte {
	t.plain = !t.plain
	if t.world && !t.plain {
		return quake2.Hexen.AppendAskStatus(nil)
	}
	return quake2.AppendAskStatus(nil)
}

func (t *quake2Talk) take(packet []byte) (query.Step, error) {
	st, ok, err := t.parse(packet)
	switch {
	case !ok:
		return query.Wait, query.ErrForeign
	case err != nil:
		return query.Wait, err
	}
	t.said = st
	return query.Done, nil
}

func (t *quake2Talk) status() (st query.Status) {
	for i, name := range t.said.Names {
		st.Rules = append(st.Rules, query.Field{Name: name, Value: t.said.Values[i]})
	}
	if len(t.said.Players) > 0 {
		st.Players.Columns = []string{"player_", "score_", "ping_"}
	}
	for _, p := range t.said.Players {
		st.Players.Rows = append(st.Players.Rows, []string{p.Name, strconv.Itoa(p.Score), strconv.Itoa(p.Ping)})
	}
	return st
}

// sameEngine returns the game of a server whose protocol has no name of a game, from what it
// says and its port, "" if the talk is in another protocol.
func sameEngine(tk talk, port uint16) string {
	switch t := tk.(type) {
	case *quake2Talk:
		if t.world {
			return t.said.WorldGame()
		}
		return t.said.Game(port)
	case *unreal2Talk:
		return unreal2.Game(t.version)
	default:
		return ""
	}
}
