package probe

import (
	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/query"
)

// The stages of an A2S talk.
const (
	a2sInfo = iota
	a2sPlayers
	a2sRules
	a2sOver
)

// a2sTalk requests the info of a server, then its players if it has any, then
// its rules if extras are requested. Info alone is enough.
type a2sTalk struct {
	extras bool
	at     int
	known  a2s.Known
	ex     *a2s.Exchange

	info    a2s.Info
	players a2s.Players
	rules   a2s.Rules
	ruled   bool // the rules were received
}

func newA2STalk(extras bool) *a2sTalk {
	return &a2sTalk{extras: extras, ex: a2s.NewExchange(a2s.InfoRequest, a2s.Known{})}
}

func (t *a2sTalk) question() []byte { return t.ex.Question() }

func (t *a2sTalk) stage() int { return t.at }

func (t *a2sTalk) take(packet []byte) (query.Step, error) {
	if t.at == a2sOver {
		return query.Done, a2s.ErrForeign
	}
	switch step, err := t.ex.Take(packet); {
	case err != nil || step == a2s.Wait:
		return query.Wait, err
	case step == a2s.Ask:
		return query.Ask, nil
	}
	t.keep()
	return t.next(), nil
}

// keep stores the answer to the present question.
func (t *a2sTalk) keep() {
	switch a := t.ex.Answer(); t.at {
	case a2sInfo:
		t.info = a.Info
		t.known = a2s.Known{App: a.Info.App(), Protocol: a.Info.Protocol}
	case a2sPlayers:
		t.players = a.Players
	case a2sRules:
		t.rules, t.ruled = a.Rules, true
	}
	if c := t.ex.Challenge(); c != 0 {
		t.known.Challenge = c
	}
}

// next continues with the next useful question.
func (t *a2sTalk) next() query.Step {
	for t.at++; t.at < a2sOver; t.at++ {
		switch {
		case t.at == a2sPlayers && t.info.Players > 0 && t.info.Type|0x20 != a2s.Proxy:
			t.ex = a2s.NewExchange(a2s.PlayersRequest, t.known)
			return query.Ask
		case t.at == a2sRules && t.extras:
			t.ex = a2s.NewExchange(a2s.RulesRequest, t.known)
			return query.Ask
		}
	}
	return query.Done
}

func (t *a2sTalk) silence() query.Step {
	switch t.ex.Expire() {
	case a2s.Ask:
		return query.Ask
	case a2s.Done:
		t.keep()
		return t.next()
	case a2s.Wait:
	}
	if t.at == a2sInfo {
		return query.Wait
	}
	return t.next()
}

func (t *a2sTalk) held() bool { return t.at < a2sOver && t.ex.Held() }

func (t *a2sTalk) partial() bool { return !t.ruled }

func (t *a2sTalk) status() query.Status {
	rules := append(describeInfo(&t.info), t.foreignRules()...)
	return query.Status{Rules: rules, Players: describePlayers(&t.players)}
}
