package bfhq

import (
	"slices"
	"strconv"
	"strings"
)

// battlefield2142 are the rules of Battlefield 2142. Keys of its rounds have the names of
// columns.
var battlefield2142 = &rules{
	file: "bf2142statistics.php", first: "mapstart", maps: stellaMapIDs, awards: stellaAwards(),
	score: "gsco", commander: "cs", team: "twsc", combat: func(p *Participant) int64 { return p.values["klls"] }, rank: "rnk", total: "gsco",
	boards: []numbered{{boardVehicle, "vkls-", stellaVehicles}, {boardWeapon, "wkls-", stellaWeapons}},
	add:    (*Record).addStella, value: (*player).stellaValue, choose: (*Record).chooseStella,
}

// Subjects of totals.
var (
	stellaMapIDs   = ids(13)
	stellaKits     = ids(4)
	stellaVehicles = ids(16)
	stellaWeapons  = ids(32)
	stellaModes    = ids(3) // 0 Conquest, 1 Titan, 2 supply lines
)

// stellaSums are the keys of a round that are added to the totals of the same name.
var stellaSums = strings.Fields("akl atp ban capa cpt crpt cs dass dcpt dths gsco hkl hls htp kick klla klls kluav klse ncpt pdt pdtc resp rps rvs " +
	"slbcn slbspn sluav slpts suic tac talw tas tasl tasm tcd tcrd tdmg tdrps tds tgd tgr tkls toth tots tt tvdmg twsc awybt expts bnspt sasl")

// addStella is rules.add of Battlefield 2142.
func (r *Record) addStella(round *Round, p *Participant, at int64) {
	v := p.values
	for _, key := range stellaSums {
		r.add(key, max(v[key], 0))
	}
	add := func(numbers []int, prefixes ...string) {
		for _, i := range numbers {
			for _, prefix := range prefixes {
				key := prefix + strconv.Itoa(i)
				r.add(key, max(v[key], 0))
			}
		}
	}
	add(stellaKits, "kdths-", "kkls-", "ktt-")
	add(stellaVehicles, "vdstry-", "vdths-", "vkls-", "vrkls-", "vtp-", "vbf-", "vbh-")
	add(stellaWeapons, "wdths-", "wkls-", "wtp-", "wbf-", "wbh-")
	r.raise("klstrk", v["klstrk"])
	r.raise("dstrk", v["dstrk"])
	r.raise("brs", v["gsco"])
	r.raise("lgdt", at)
	r.addStellaResult(round, p)
	r.promote("rnk", max(stellaRankOf(r.Totals["crpt"]), min(v["rnk"], maxStellaRank)))
}

// addStellaResult adds what a player did in a mode, on a map and with an army, and whether
// the round was won.
func (r *Record) addStellaResult(round *Round, p *Participant) {
	v := p.values
	r.add(keyRounds, 1)
	result := ""
	if round.Winner != 0 && v["c"] != 0 { // not left before the end
		result = "los"
		if v["t"] == round.Winner {
			result = "win"
		}
		r.add(result, 1)
	}
	if round.Winner != 0 && v["t"] != 0 {
		army := number(round.value("rwa"))
		if v["t"] != round.Winner {
			army = 1 - army
		}
		n := strconv.FormatInt(army&1, 10)
		r.add("attp-"+n, max(v["tt"], 0))
		if result == "win" {
			r.add("awin-"+n, 1)
		}
	}
	if round.Mode < 0 {
		return
	}
	mode := strconv.FormatInt(round.Mode, 10)
	for total, key := range map[string]string{"tgpm-": "tt", "kgpm-": "klls", "csgpm-": "cs", "ctgpm-": "tac"} {
		r.add(total+mode, max(v[key], 0))
	}
	r.add("trpm-"+mode, 1)
	r.raise("bksgpm-"+mode, v["klstrk"])
	if mode == "1" {
		r.add("ttp", max(v["tt"], 0))
		r.add("trp", 1)
		r.add("cts", max(v["cpt"], 0))
	}
	if round.Map < 0 {
		return
	}
	on := "-" + mode + "-" + strconv.FormatInt(round.Map, 10)
	r.add("mtt"+on, max(v["tt"], 0))
	r.add("mkls"+on, max(v["klls"], 0))
	r.add("msc"+on, max(v["gsco"], 0))
	r.raise("mbr"+on, v["gsco"])
	if result != "" {
		r.add("m"+result+on, 1)
	}
}

// maxStellaRank is the highest rank. Those above 40 are given by servers.
const maxStellaRank = 43

// stellaRanks are the career points that ranks need.
var stellaRanks = []int64{
	0, 40, 80, 120, 200, 330, 520, 750, 1050, 1400, 1800, 2250, 2850, 3550, 4400, 5300, 6250, 7250, 8250, 9300, 10400,
	11550, 12700, 14000, 15300, 16700, 18300, 20100, 22100, 24200, 26400, 28800, 31500, 34200, 37100, 40200, 43300, 46900, 50500, 54100, 57700,
}

func stellaRankOf(points int64) (rank int64) {
	for rank < int64(len(stellaRanks))-1 && points >= stellaRanks[rank+1] {
		rank++
	}
	return rank
}

// stellaUnlocks are the last steps of all rows of unlocks. The digits of an unlock are its
// page, its row and its step; steps of a row are taken in their order, one for each rank.
var stellaUnlocks = []int{115, 125, 215, 225, 315, 325, 415, 425, 516, 525}

// isStep reports whether there is an unlock with a number.
func isStep(id int) bool {
	return id%10 > 0 && slices.ContainsFunc(stellaUnlocks, func(last int) bool { return last/10 == id/10 && id <= last })
}

// taken returns how many steps the player has taken.
func (r *Record) taken() (n int64) {
	for _, id := range r.Unlocks {
		n += int64(id % 10)
	}
	return n
}

// credits returns how many steps the player may still take.
func (r *Record) credits() int64 { return max(r.Totals["rnk"]-r.taken(), 0) }

// chooseStella is rules.choose of Battlefield 2142. Of each row the last step is kept.
func (r *Record) chooseStella(id int, policy string) (changed bool, err error) {
	at, step := slices.IndexFunc(r.Unlocks, func(other int) bool { return other/10 == id/10 }), 0
	if at >= 0 {
		step = r.Unlocks[at] % 10
	}
	switch {
	case !isStep(id):
		return false, errUnlock
	case policy == unlocksAll, id%10 <= step:
		return false, nil
	case policy == unlocksNone, r.credits() == 0, id%10 != step+1:
		return false, errUnlock
	case at >= 0:
		r.Unlocks[at] = id
	default:
		r.Unlocks = append(r.Unlocks, id)
	}
	return true, nil
}

// stellaStates returns the rows of a page: the last step of each row that the player has.
func (r *Record) stellaStates(policy string) (rows [][]string) {
	of := map[string][]int{unlocksRank: r.Unlocks, unlocksAll: stellaUnlocks}[policy]
	for _, id := range of {
		rows = append(rows, []string{strconv.Itoa(id)})
	}
	return rows
}

// stellaAwards returns the keys of a round that stand for awards. Each list is in the order
// of the numbers.
func stellaAwards() map[string]int {
	all := make(map[string]int)
	for first, keys := range map[int]string{
		100: "ssb rsb asb avsb slsb cb pcb egb adb ceb tcb eeb meb resb arsb hsb tsb tceb tdeb tdab acb veb",
		200: "erb ers erg Dsm Icm Micb Icmm Mog Ehc Dpa Mcm Mtm Hcm Asm Gcm Hsm Ph Attm Tme Gbm",
		300: "Adr Hsr Hr Ior Ccr Dusr Musr Vusr Wcr Asr Csr Pdr Edr Smr Gcr Lomr Gbdr Aesr Tadr Tcr Osr Cfusr Tdr Mwr",
		400: "Cep Dcep Psp Tdsp Ttp Wgp Tdep Ip Wohp Cp Eep Erp Tsp Fep Csp Ccp Alap",
	} {
		for i, key := range strings.Fields(keys) {
			all[key] = first + i
		}
	}
	return all
}
