package probe

import (
	"strconv"

	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/unreal2"
)

// unreal2Talk requests the info of a server of Unreal Tournament 2003 or 2004, then its
// rules, then its players if it has any. The info alone is enough. The answers to the other
// questions have no end mark.
type unreal2Talk struct {
	at      unreal2.Kind
	begun   bool // a part of the present answer was received
	version uint32
	info    *unreal2.Info
	texts   [unreal2.KindPlayers + 1][]byte
}

func (t *unreal2Talk) question() []byte { return unreal2.AppendQuestion(nil, t.at) }

func (t *unreal2Talk) stage() int { return int(t.at) }

func (t *unreal2Talk) take(packet []byte) (query.Step, error) {
	version, kind, text, ok := unreal2.Cut(packet)
	if !ok || kind != t.at {
		return query.Wait, query.ErrForeign
	}
	if kind == unreal2.KindInfo {
		i, err := unreal2.ParseInfo(text)
		if err != nil {
			return query.Wait, err
		}
		t.info, t.version, t.at = &i, version, unreal2.KindRules
		return query.Ask, nil
	}
	t.begun = true
	t.texts[kind] = append(t.texts[kind], text...)
	return query.Wait, nil
}

// silence ends the present answer.
func (t *unreal2Talk) silence() query.Step {
	switch {
	case t.info == nil:
		return query.Wait
	case t.at == unreal2.KindRules && t.info.Players > 0:
		t.at, t.begun = unreal2.KindPlayers, false
		return query.Ask
	default:
		return query.Done
	}
}

func (t *unreal2Talk) held() bool { return t.begun }

func (t *unreal2Talk) partial() bool { return len(t.texts[unreal2.KindRules]) == 0 }

// status converts the answers to the names of other protocols. Of a rule with several values
// all count.
func (t *unreal2Talk) status() (st query.Status) {
	for _, f := range [][2]string{
		{"hostname", t.info.Name},
		{"mapname", t.info.Map},
		{"gametype", t.info.GameType},
		{"hostport", strconv.Itoa(int(t.info.GamePort))},
		{"numplayers", strconv.Itoa(int(t.info.Players))},
		{"maxplayers", strconv.Itoa(int(t.info.Max))},
	} {
		st.Rules = append(st.Rules, query.Field{Name: f[0], Value: f[1]})
	}
	at, own := make(map[string]int), len(st.Rules)
	for _, pair := range unreal2.ParseRules(t.texts[unreal2.KindRules]) {
		name, value := unrealRule(pair[0], pair[1])
		if i, again := at[name]; again {
			st.Rules[i].Value += "," + value
		} else if isWord(name) && !hasField(st.Rules[:own], name) {
			at[name] = len(st.Rules)
			st.Rules = append(st.Rules, query.Field{Name: name, Value: value})
		}
	}
	for _, p := range unreal2.ParsePlayers(t.texts[unreal2.KindPlayers]) {
		st.Players.Columns = []string{"player_", "score_", "ping_"}
		st.Players.Rows = append(st.Players.Rows, []string{p.Name, strconv.Itoa(int(p.Score)), strconv.Itoa(int(p.Ping))})
	}
	return st
}

// unrealRule returns a rule under the name that other protocols have for it.
func unrealRule(key, value string) (name, translated string) {
	switch key {
	case "GamePassword":
		if value == "True" {
			return "password", "1"
		}
		return "password", "0"
	case "ServerVersion":
		return "gamever", value
	default:
		return key, value
	}
}
