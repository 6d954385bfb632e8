package query

import (
	"bytes"
	"errors"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// aseHead begins an answer in the query protocol of the All-Seeing Eye.
const aseHead = "EYE1"

// errASE reports an answer of the All-Seeing Eye that ends too early.
var errASE = errors.New("query: malformed answer of the All-Seeing Eye")

// AppendASE appends the question to a server in the query protocol of the All-Seeing Eye.
func AppendASE(dst []byte) []byte { return append(dst, 's') }

// aseText reads texts, each behind its length and 1. bad reports that one was cut.
type aseText struct {
	rest []byte
	bad  bool
}

func (r *aseText) next() string {
	if len(r.rest) == 0 || r.rest[0] == 0 || int(r.rest[0]) > len(r.rest) {
		r.rest, r.bad = nil, true
		return ""
	}
	text := string(r.rest[1:r.rest[0]])
	r.rest = r.rest[r.rest[0]:]
	return text
}

// aseColumns are the fields of a player, by their bits.
var aseColumns = [...]string{"player_", "team_", "skin_", "score_", "ping_", "time_"}

// ParseASE reads an answer in the query protocol of the All-Seeing Eye. It is one packet: the
// first rules in a fixed order, others up to one without a name, then the players, of which each
// states which fields it has. Players that are cut off are left out. The error is ErrForeign for
// what is no answer.
func ParseASE(packet []byte) (st Status, err error) {
	text, ok := bytes.CutPrefix(packet, []byte(aseHead))
	if !ok {
		return st, ErrForeign
	}
	r := aseText{rest: text}
	for _, name := range []string{"gamename", "hostport", "hostname", "gametype", "mapname", "gamever", "password", "numplayers", "maxplayers"} {
		st.Rules = append(st.Rules, Field{Name: name, Value: r.next()})
	}
	for name := r.next(); name != "" && len(st.Rules) < gamespy.MaxFields; name = r.next() {
		st.Rules = append(st.Rules, Field{Name: name, Value: r.next()})
	}
	if r.bad {
		return Status{}, errASE
	}
	st.Players = r.players()
	return st, nil
}

// players reads the players, in a table of the fields that some of them have.
func (r *aseText) players() (t Table) {
	var all [][len(aseColumns)]string
	used := byte(0)
	for len(r.rest) > 0 && len(all) < MaxRows {
		has := r.rest[0]
		r.rest = r.rest[1:]
		var row [len(aseColumns)]string
		for bit := range row {
			if has>>bit&1 == 1 {
				row[bit] = r.next()
			}
		}
		if r.bad {
			break
		}
		all, used = append(all, row), used|has
	}
	t.Rows = make([][]string, len(all))
	for bit, name := range aseColumns {
		if used>>bit&1 == 0 {
			continue
		}
		t.Columns = append(t.Columns, name)
		for i := range all {
			t.Rows[i] = append(t.Rows[i], all[i][bit])
		}
	}
	return t
}
