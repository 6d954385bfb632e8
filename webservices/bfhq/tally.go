package bfhq

import "strconv"

// sums are the totals that keys of a round are added to.
var sums = map[string]string{
	"rs": "scor", "cs": "cdsc", "ts": "twsc", "cpc": "cpcp", "cpa": "cacp", "cpd": "dfcp", "ka": "kila", "he": "heal", "rev": "rviv",
	"rsp": "rsup", "rep": "rpar", "tre": "tgte", "dra": "dkas", "drs": "dsab", "su": "suic", "ban": "ban", "kck": "kick",
	"ctime": "time", "tco": "tcdr", "tsl": "tsql", "tsm": "tsqm", "tlw": "tlwf",
}

// times are keys of sums that servers compute as a difference, which can be below 0.
var times = map[string]bool{"ctime": true, "tco": true, "tsl": true, "tsm": true, "tlw": true}

// weaponKeys are the endings of keys for each weapon of the pages. Explosives are three.
var weaponKeys = [][]string{
	{"w0"}, {"w1"}, {"w2"}, {"w3"}, {"w4"}, {"w5"}, {"w6"}, {"w7"}, {"w8"}, {"e0"}, {"e4"}, {"e1", "e2", "e5"}, {"e3"},
}

func (p *Participant) sumOf(prefix string, endings ...string) (n int64) {
	for _, e := range endings {
		n += p.values[prefix+e]
	}
	return n
}

// perKit returns the sum of a value of all kits.
func (p *Participant) perKit(prefix string) (n int64) {
	for _, k := range kits {
		n += p.values[prefix+strconv.Itoa(k)]
	}
	return n
}

// kills, deaths and combat return values that servers send in several ways: without the first
// one it is made of the others.
func (p *Participant) kills() int64 {
	if n, ok := p.values["kills"]; ok {
		return n
	}
	return p.perKit("kk")
}

func (p *Participant) deaths() int64 {
	if n, ok := p.values["deaths"]; ok {
		return n
	}
	return p.perKit("dk")
}

// pointsPerKill is the value of a kill in the combat score.
const pointsPerKill = 2

func (p *Participant) combat() int64 {
	if n, ok := p.values["ss"]; ok {
		return n
	}
	return pointsPerKill * p.kills()
}

// addBattlefield2 is rules.add of Battlefield 2.
func (r *Record) addBattlefield2(round *Round, p *Participant, at int64) {
	for key, total := range sums {
		n := p.values[key]
		if times[key] {
			n = max(n, 0)
		}
		r.add(total, n)
	}
	r.add("kill", p.kills())
	r.add("deth", p.deaths())
	r.add("cmsc", p.combat())
	r.raise("bksk", p.values["ks"])
	r.raise("wdsk", p.values["ds"])
	r.raise("bbrs", p.values["rs"])
	r.raise("lbtl", at)
	r.addResult(round, p)
	r.addGroups(p)
	r.promote("rank", max(rankOf(r.Totals["scor"]), min(p.values["rank"], maxRank)))
}

// addResult adds whether the player won, on which map, in which mode and with which army.
func (r *Record) addResult(round *Round, p *Participant) {
	if round.Mode >= 0 {
		r.add("mode"+strconv.FormatInt(round.Mode, 10), 1)
	}
	army, onMap := "", ""
	if n, ok := p.values["a"]; ok && n >= 0 && n < int64(len(armies)) {
		army = strconv.FormatInt(n, 10)
		r.raise("abr-"+army, p.values["rs"])
	}
	if round.Map >= 0 {
		onMap = strconv.FormatInt(round.Map, 10)
		r.add("mtm-"+onMap, max(p.values["ctime"], 0))
	}
	team := p.values["t"]
	if team == 0 {
		return // left before the end
	}
	r.add(keyRounds, 1)
	if round.Winner == 0 {
		return
	}
	total, ofArmy, ofMap := "loss", "alo-", "mls-"
	if team == round.Winner {
		total, ofArmy, ofMap = "wins", "awn-", "mwn-"
	}
	r.add(total, 1)
	if army != "" {
		r.add(ofArmy+army, 1)
	}
	if onMap != "" {
		r.add(ofMap+onMap, 1)
	}
}

// addGroups adds a player's results with armies, kits, vehicles and weapons.
func (r *Record) addGroups(p *Participant) {
	add := func(total, key string, numbers []int) {
		for _, i := range numbers {
			n := strconv.Itoa(i)
			r.add(total+n, max(p.values[key+n], 0))
		}
	}
	add("atm-", "ta", armies)
	add("ktm-", "tk", kits)
	add("kkl-", "kk", kits)
	add("kdt-", "dk", kits)
	add("vtm-", "tv", vehicles)
	add("vkl-", "kv", vehicles)
	add("vdt-", "bv", vehicles)
	add("vkr-", "kvr", vehicles)
	add("de-", "de", gear)
	for i, endings := range weaponKeys {
		n := strconv.Itoa(i)
		for total, prefix := range map[string]string{"wtm-": "t", "wkl-": "k", "wdt-": "b", keyShots: "s", keyHits: "h"} {
			r.add(total+n, max(p.sumOf(prefix, endings...), 0))
		}
	}
}

// promote raises the rank, whose total has the name key.
func (r *Record) promote(key string, rank int64) {
	if rank > r.Totals[key] {
		r.Totals[key], r.Totals[keyPromoted] = rank, 1
	}
}
