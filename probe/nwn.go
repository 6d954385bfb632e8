package probe

import (
	"github.com/respawnd/respawnd/internal/nwn"
	"github.com/respawnd/respawnd/internal/query"
)

// nwnPort is the port that questions name as that of a player.
const nwnPort = 5120

// nwnTalk requests the rules of a server of Neverwinter Nights, then its name. The rules
// alone are enough.
type nwnTalk struct {
	rules *nwn.Rules // nil: not received yet
	named bool
	st    query.Status
}

func (t *nwnTalk) question() []byte {
	if t.rules == nil {
		return nwn.AppendAskRules(nil, nwnPort)
	}
	return nwn.AppendAskName(nil, nwnPort)
}

func (t *nwnTalk) stage() int {
	if t.rules == nil {
		return 0
	}
	return 1
}

func (t *nwnTalk) take(packet []byte) (query.Step, error) {
	kind, rest, _ := nwn.Cut(packet)
	switch {
	case kind == nwn.RulesAnswer && t.rules == nil:
		s, err := nwn.ParseRules(rest)
		if err != nil {
			return query.Wait, err
		}
		t.rules = &s
		names, values := s.Fields()
		for i, name := range names {
			t.st.Rules = append(t.st.Rules, query.Field{Name: name, Value: values[i]})
		}
		return query.Ask, nil
	case kind == nwn.NameAnswer && t.rules != nil:
		name, err := nwn.ParseName(rest)
		if err != nil {
			return query.Wait, err
		}
		t.named = true
		t.st.Rules = append([]query.Field{{Name: "hostname", Value: string(name)}}, t.st.Rules...)
		return query.Done, nil
	default:
		return query.Wait, query.ErrForeign
	}
}

func (t *nwnTalk) silence() query.Step {
	if t.rules == nil {
		return query.Wait
	}
	return query.Done
}

func (t *nwnTalk) status() query.Status { return t.st }

func (t *nwnTalk) partial() bool { return !t.named }

func (t *nwnTalk) held() bool { return false }

// nwnGame returns the game of the catalogue that a server runs.
func (p *Prober) nwnGame(tk talk) (game string, ok bool) {
	t, ok := tk.(*nwnTalk)
	if !ok || t.rules == nil {
		return "", false
	}
	return p.opt.Games.NamesIn("nwn").Speaking(int(t.rules.Game))
}
