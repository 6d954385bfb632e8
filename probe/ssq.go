package probe

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/ssq"
)

// ErrManyServers means that the queried host answers for several servers, as a
// master does.
var ErrManyServers = errors.New("it answers for several servers or for none, as a master does")

// The stages of a talk in Standard Server Queries.
const (
	ssqInfo = iota
	ssqPlayers
	ssqRules
	ssqOver
)

func ssqQuestion(at int) ssq.Query {
	switch at {
	case ssqInfo:
		return ssq.Query{Verb: ssq.Select, Fields: []string{"hostname", "hostip", "map", "game", "numplayers", "maxplayers"}}
	case ssqPlayers:
		return ssq.Query{Verb: ssq.Select, Fields: []string{"playername", "frags", "deaths", "playerping", "playertime"}}
	default:
		return ssq.Query{Verb: ssq.Procedure, Name: "rules"}
	}
}

// ssqTalk requests the info of a server, then its players if it has any, then
// its rules if extras are requested. Info alone is enough.
type ssqTalk struct {
	extras bool
	at     int
	ex     *ssq.Exchange

	info, players, rules ssq.Table
	ruled                bool // the rules were received
}

func newSSQTalk(extras bool) *ssqTalk {
	t := &ssqTalk{extras: extras}
	t.begin()
	return t
}

func (t *ssqTalk) begin() {
	t.ex = ssq.NewExchange(ssqQuestion(t.at), byte(rand.Uint32())) // it only distinguishes answers; the address is checked
}

func (t *ssqTalk) question() []byte { return t.ex.Question() }

func (t *ssqTalk) stage() int { return t.at }

func (t *ssqTalk) take(packet []byte) (query.Step, error) {
	if t.at == ssqOver {
		return query.Done, ssq.ErrForeign
	}
	step, err := t.ex.Take(packet)
	switch {
	case step == ssq.Ask:
		return query.Ask, nil
	case step == ssq.Wait:
		return query.Wait, err
	case err != nil && t.at == ssqInfo:
		return query.Done, err
	case err != nil: // it denies this, but possibly not the rest
		return t.next(), nil
	}
	switch answer := t.ex.Answer(); t.at {
	case ssqInfo:
		if t.info = answer; len(answer.Rows) != 1 {
			return query.Done, ErrManyServers
		}
	case ssqPlayers:
		t.players = answer
	case ssqRules:
		t.rules, t.ruled = answer, true
	}
	return t.next(), nil
}

// next continues with the next useful question.
func (t *ssqTalk) next() query.Step {
	for t.at++; t.at < ssqOver; t.at++ {
		if t.at == ssqPlayers && ssqCell(&t.info, 0, "numplayers", "players") != "0" || t.at == ssqRules && t.extras {
			t.begin()
			return query.Ask
		}
	}
	return query.Done
}

func (t *ssqTalk) silence() query.Step {
	if t.at == ssqInfo {
		return query.Wait
	}
	return t.next()
}

func (t *ssqTalk) held() bool { return false }

func (t *ssqTalk) partial() bool { return !t.ruled }

// ssqCell returns the first cell of a row under one of the names; the draft has
// several names for some columns.
func ssqCell(t *ssq.Table, row int, names ...string) string {
	for _, name := range names {
		if cell := t.Cell(row, name); cell != "" {
			return cell
		}
	}
	return ""
}

// status converts the answers to the names of other protocols.
func (t *ssqTalk) status() query.Status {
	var st query.Status
	add := func(name, value string) {
		if value != "" {
			st.Rules = append(st.Rules, query.Field{Name: name, Value: value})
		}
	}
	add("hostname", ssqCell(&t.info, 0, "hostname"))
	add("gamename", ssqCell(&t.info, 0, "game"))
	add("mapname", ssqCell(&t.info, 0, "map"))
	add("numplayers", ssqCell(&t.info, 0, "numplayers", "players"))
	add("maxplayers", ssqCell(&t.info, 0, "maxplayers", "max"))
	own := len(st.Rules)
	for i := range t.rules.Rows {
		name := t.rules.Cell(i, "rulename")
		if isWord(name) && !hasField(st.Rules[:own], name) {
			st.Rules = append(st.Rules, query.Field{Name: name, Value: t.rules.Cell(i, "rulevalue")})
		}
	}
	st.Players = describeSSQPlayers(&t.players)
	return st
}

func describeSSQPlayers(players *ssq.Table) query.Table {
	if len(players.Rows) == 0 {
		return query.Table{}
	}
	t := query.Table{Columns: []string{"player_", "score_", "deaths_", "ping_", "time_"}}
	for i := range players.Rows[:min(len(players.Rows), query.MaxRows)] {
		minutes := ""
		if d, err := ssq.ParseDuration(ssqCell(players, i, "playertime")); err == nil {
			minutes = strconv.Itoa(int(d / time.Minute))
		}
		t.Rows = append(t.Rows, []string{
			strings.TrimSpace(ssqCell(players, i, "playername", "name")), ssqCell(players, i, "frags"), ssqCell(players, i, "deaths"),
			ssqCell(players, i, "playerping", "ping", "pings"), minutes,
		})
	}
	return t
}
