package bfhq

import (
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/storage"
)

// noName stands for the name of a player who is not known.
const noName = "-"

type player struct {
	*Record

	rules   *rules
	id      storage.ProfileID
	nick    string
	country string
	joined  int64 // Unix seconds
	// other returns the nick and the rank of another player.
	other func(storage.ProfileID) (nick string, rank int64)
}

func (p *player) values(columns []string) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = p.value(c)
	}
	return out
}

// value returns the value of a column, 0 for those that are not kept.
func (p *player) value(column string) string {
	switch column {
	case "pid":
		return strconv.FormatUint(uint64(p.id), 10)
	case "nick":
		return p.nick
	}
	return p.rules.value(p, column)
}

// ownValue is rules.value of Battlefield 2.
func (p *player) ownValue(column string) string {
	switch column {
	case "mvns", "vmns", "mvrs", "vmrs":
		return p.foe(column)
	}
	if group, number, ok := splitColumn(column); ok {
		return p.inGroup(column, group, number)
	}
	if text, ok := p.ratio(column); ok {
		return text
	}
	return strconv.FormatInt(p.whole(column), 10)
}

func splitColumn(column string) (group, number string, ok bool) {
	i := strings.IndexByte(column, '-')
	return column[:i+1], column[i+1:], i > 0
}

// whole returns the value of a column that is a whole number.
func (p *player) whole(column string) int64 {
	switch column {
	case "jond":
		return p.joined
	case "smoc":
		if p.Totals["rank"] == sergeantMajor {
			return 1
		}
		return 0
	case "tvcr":
		return int64(most(p.Victims).Profile)
	case "mvks":
		return most(p.Victims).Kills
	case "topr":
		return int64(most(p.Killers).Profile)
	case "vmks":
		return most(p.Killers).Kills
	case "vrk":
		return p.sum("vkr-", vehicles)
	case "fkit":
		return p.favourite("ktm-", kits)
	case "fmap":
		return p.favourite("mtm-", maps)
	case "fveh":
		return p.favourite("vtm-", vehicles)
	case "fwea":
		return p.favourite("wtm-", weapons)
	}
	return p.Totals[column]
}

// foe returns the name or the rank of the player's most frequent victim or killer, by the column.
func (p *player) foe(column string) string {
	foes := p.Victims
	if column[0] == 'v' {
		foes = p.Killers
	}
	nick, rank := noName, int64(0)
	if m := most(foes); m.Profile != 0 {
		nick, rank = p.other(m.Profile)
	}
	if column[2] == 'n' {
		return nick
	}
	return strconv.FormatInt(rank, 10)
}

func (p *player) sum(group string, numbers []int) (n int64) {
	for _, i := range numbers {
		n += p.Totals[group+strconv.Itoa(i)]
	}
	return clamp(n)
}

// favourite returns the number with the greatest total, 0 if all are 0.
func (p *player) favourite(group string, numbers []int) (best int64) {
	most := int64(0)
	for _, i := range numbers {
		if n := p.Totals[group+strconv.Itoa(i)]; n > most {
			most, best = n, int64(i)
		}
	}
	return best
}

func (p *player) ratio(column string) (string, bool) {
	t := p.Totals
	switch column {
	case "osaa":
		return quotient(100*p.sum(keyHits, weapons), p.sum(keyShots, weapons)), true
	case "klpm":
		return quotient(60*t["kill"], t["time"]), true
	case "dtpm":
		return quotient(60*t["deth"], t["time"]), true
	case "ospm":
		return quotient(60*t["scor"], t["time"]), true
	case "klpr":
		return quotient(t["kill"], t[keyRounds]), true
	case "dtpr":
		return quotient(t["deth"], t[keyRounds]), true
	}
	return "", false
}

func (p *player) inGroup(column, group, number string) string {
	switch group {
	case "kkd-", "vkd-", "wkd-":
		of := group[:1]
		return reduced(p.Totals[of+"kl-"+number], p.Totals[of+"dt-"+number])
	case "wac-":
		if shots := p.Totals[keyShots+number]; shots > 0 {
			return strconv.FormatInt(100*p.Totals[keyHits+number]/shots, 10)
		}
		return "0"
	}
	return strconv.FormatInt(p.Totals[column], 10)
}

// quotient returns a/b with two decimals.
func quotient(a, b int64) string {
	if b <= 0 {
		return "0.00"
	}
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 2, 64)
}

// reduced returns a ratio in lowest terms, such as 3:2.
func reduced(a, b int64) string {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if b != 0 && x > 0 {
		a, b = a/x, b/x
	}
	return strconv.FormatInt(a, 10) + ":" + strconv.FormatInt(b, 10)
}
