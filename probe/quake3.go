package probe

import (
	"bytes"
	"crypto/rand"
	"encoding/base32"
	"strconv"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/query"
)

// quake3Talk requests the info of a server, then its status. The info has the
// number of players and the values by which a master lists the server, the status the rules and
// players.
type quake3Talk struct {
	challenge []byte
	info      []query.Field // nil: not received yet
	said      quake3.Info   // of the info, its slices copied
	whole     bool          // the status was received
	result    query.Status
}

func newQuake3Talk() *quake3Talk {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return &quake3Talk{challenge: []byte(base32.StdEncoding.EncodeToString(b[:]))}
}

func (t *quake3Talk) question() []byte {
	if t.info == nil {
		return quake3.AppendGetInfo(nil, t.challenge)
	}
	return quake3.AppendGetStatus(nil, t.challenge)
}

func (t *quake3Talk) stage() int {
	if t.info == nil {
		return 0
	}
	return 1
}

func (t *quake3Talk) take(packet []byte) (query.Step, error) {
	kind, rest, ok := quake3.Cut(packet)
	switch {
	case ok && kind == quake3.KindInfo && t.info == nil:
		return t.takeInfo(rest)
	case ok && kind == quake3.KindStatus && t.info != nil:
		return t.takeStatus(rest)
	default:
		return query.Wait, query.ErrForeign
	}
}

func (t *quake3Talk) takeInfo(rest []byte) (query.Step, error) {
	said, err := quake3.ParseInfo(rest)
	switch {
	case err != nil:
		return query.Wait, err
	case !bytes.Equal(said.Challenge, t.challenge):
		return query.Wait, errForged
	}
	said.GameName = bytes.Clone(said.GameName)
	t.said = said
	t.info = fields(rest)
	return query.Ask, nil
}

func (t *quake3Talk) takeStatus(rest []byte) (query.Step, error) {
	st, err := quake3.ParseStatus(rest)
	if err != nil {
		return query.Wait, err
	}
	for key, value := range quake3.Pairs(st.Text) {
		if string(key) == "challenge" && !bytes.Equal(value, t.challenge) {
			return query.Wait, errForged
		}
	}
	t.whole = true
	t.result.Rules = fields(st.Text)
	if len(st.Players) > 0 {
		t.result.Players = query.Table{Columns: []string{"player_", "score_", "ping_"}}
		for _, p := range st.Players[:min(len(st.Players), query.MaxRows)] {
			t.result.Players.Rows = append(t.result.Players.Rows, []string{string(p.Name), strconv.Itoa(p.Score), strconv.Itoa(p.Ping)})
		}
	}
	return query.Done, nil
}

// fields returns the pairs of a text as rules.
func fields(text []byte) []query.Field {
	list := make([]query.Field, 0, 32)
	for name, value := range quake3.Rules(quake3.Pairs(text)) {
		list = append(list, query.Field{Name: name, Value: value})
	}
	return list
}

// silence ends the talk. The info alone is enough.
func (t *quake3Talk) silence() query.Step {
	if t.info == nil {
		return query.Wait
	}
	return query.Done
}

// status returns the rules of the info, then those of the status. The game name of
// the info is that of masters, the one of the status is the mod.
func (t *quake3Talk) status() query.Status {
	st := t.result
	st.Rules = make([]query.Field, 0, len(t.info)+len(t.result.Rules)+1)
	if len(t.said.GameName) > 0 {
		st.Rules = append(st.Rules, query.Field{Name: quake3.RuleGame, Value: string(t.said.GameName)})
	}
	for _, f := range t.info {
		if f.Name != "gamename" {
			st.Rules = append(st.Rules, f)
		}
	}
	own := len(st.Rules)
	for _, f := range t.result.Rules {
		if !hasField(st.Rules[:own], f.Name) {
			st.Rules = append(st.Rules, f)
		}
	}
	return st
}

func (t *quake3Talk) partial() bool { return !t.whole }

func (t *quake3Talk) held() bool { return false }

// quake3Game returns the game of the catalogue, or under which others are listed,
// that a server with a status runs: that of its name and protocol, and without a name
// the game with the protocol. It adds the name for browsers to the status. ok is false
// if the status has neither.
func (p *Prober) quake3Game(st *query.Status) (game string, ok bool) {
	index := p.opt.Games.Quake3()
	text, _ := st.Get(quake3.RuleProtocol)
	protocol, err := strconv.ParseInt(text, 0, 32)
	if err != nil {
		return "", false
	}
	name, said := st.Get(quake3.RuleGame)
	if !said {
		if name = index.Anonymous(int(protocol)); name == "" {
			return "", false
		}
		st.Rules = append(st.Rules, query.Field{Name: quake3.RuleGame, Value: name})
	}
	if game = index.Named(name, int(protocol)); game != "" {
		return game, true
	}
	return games.ListedName(name)
}
