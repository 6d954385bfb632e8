package probe

import (
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
)

// describeInfo converts the info of an A2S server to rules with the names of
// other protocols, or new names if those have none.
func describeInfo(i *a2s.Info) []query.Field {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	rules := append(make([]query.Field, 0, 24),
		query.Field{Name: "hostname", Value: i.Name},
		query.Field{Name: "gamename", Value: i.Folder},
		query.Field{Name: "gametype", Value: i.Game},
		query.Field{Name: "gamever", Value: i.Version},
		query.Field{Name: "mapname", Value: i.Map},
		query.Field{Name: "numplayers", Value: number(uint64(i.Players))},
		query.Field{Name: "maxplayers", Value: number(uint64(i.MaxPlayers))},
		query.Field{Name: "numbots", Value: number(uint64(i.Bots))},
		query.Field{Name: "password", Value: digit(i.Password)},
		query.Field{Name: "secure", Value: digit(i.VAC)},
		query.Field{Name: "servertype", Value: i.Type.String()},
		query.Field{Name: "os", Value: i.System.String()},
		query.Field{Name: "appid", Value: number(uint64(i.App()))},
		query.Field{Name: master.RuleProtocol, Value: number(uint64(i.Protocol))},
	)
	add := func(wanted bool, name, value string) {
		if wanted {
			rules = append(rules, query.Field{Name: name, Value: value})
		}
	}
	add(i.Extra&a2s.ExtraPort != 0, "hostport", number(uint64(i.Port)))
	add(i.Extra&a2s.ExtraSteamID != 0, "steamid", number(i.SteamID))
	add(i.Extra&a2s.ExtraSpectator != 0, "spectatorport", number(uint64(i.SpectatorPort)))
	add(i.Extra&a2s.ExtraSpectator != 0, "spectatorname", i.SpectatorName)
	add(i.Extra&a2s.ExtraKeywords != 0, "keywords", i.Keywords)
	if a2s.App(i.AppID) == a2s.AppTheShip {
		add(true, "shipmode", i.ShipMode.String())
		add(true, "shipwitnesses", number(uint64(i.ShipWitnesses)))
		add(true, "shipduration", number(uint64(i.ShipDuration)))
	}
	return rules
}

// foreignRules returns the server's own rules, without those that would hide
// rules of describeInfo, and the mods of DayZ in place of the block that holds
// them.
func (t *a2sTalk) foreignRules() []query.Field {
	own := describeInfo(&t.info)
	dayZ, list, ok := a2s.ParseDayZ(t.rules.List)
	rules := make([]query.Field, 0, len(list)+2)
	if ok {
		var names, numbers []string
		for _, m := range dayZ.Mods {
			names = append(names, plain(m.Name))
			numbers = append(numbers, strconv.FormatUint(m.Workshop, 10))
		}
		rules = append(rules,
			query.Field{Name: "mods", Value: strings.Join(names, ";")}, query.Field{Name: "modids", Value: strings.Join(numbers, ";")})
		own = append(own, rules...)
	}
	for _, r := range list {
		if isWord(r.Name) && !hasField(own, r.Name) {
			rules = append(rules, query.Field{Name: r.Name, Value: r.Value})
		}
	}
	return rules
}

// isWord reports whether the name of a rule is text: some games put binary data
// there.
func isWord(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F || r == '\\' })
}

func hasField(fields []query.Field, name string) bool {
	for i := range fields {
		if len(fields[i].Name) == len(name) && strings.EqualFold(fields[i].Name, name) {
			return true
		}
	}
	return false
}

// describePlayers converts the players of an A2S server to a table. Times are
// in minutes, as in the other protocols, and in seconds.
func describePlayers(p *a2s.Players) query.Table {
	if len(p.List) == 0 || p.Withheld {
		return query.Table{}
	}
	t := query.Table{Columns: []string{"player_", "score_", "time_", "seconds_"}, Rows: make([][]string, 0, len(p.List))}
	if p.Ship {
		t.Columns = append(t.Columns, "deaths_", "money_")
	}
	for i := range p.List {
		one := &p.List[i]
		seconds := int64(min(max(one.Seconds, 0), 1<<31))
		row := append(make([]string, 0, len(t.Columns)),
			one.Name, strconv.Itoa(int(one.Score)), strconv.FormatInt(seconds/60, 10), strconv.FormatInt(seconds, 10))
		if p.Ship {
			row = append(row, strconv.Itoa(int(one.Deaths)), strconv.Itoa(int(one.Money)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
