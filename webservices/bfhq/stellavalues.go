package bfhq

import (
	"strconv"
	"strings"
)

// stellaColumns are the columns of the page getplayerinfo by its mode, behind pid, nick and
// tid. A name that ends with numbers stands for a column of each.
var stellaColumns = map[string][]string{
	"base":  expand("gsco crpt rnk rnkcg tt pdt pdtc kdr ent-1 ent-2 ent-3 bp-1 unavl"),
	"ovr":   expand("gsco tt crpt fgm fm fe fv fk fw win los acdt lgdt brs etp-3 pdt pdtc"),
	"ply":   expand("klls klla dths suic klstrk dstrk spm kdr kpm dpm akpr adpr tots toth ovaccu ktt-0..3 kkls-0..3"),
	"titan": expand("tas tdrps tds tgr tgd tcd tcrd ttp trp cts"),
	"wrk":   expand("twsc cpt capa dcpt hls rps rvs resp talw dass tkls tdmg tvdmg tasm tasl tac cs sasl cts"),
	"com":   expand("slbspn sluav kluav cs slpts tasl sasl tac slbcn wkls-27 csgpm-0..2"),
	"wep":   perNumber([]string{"wtp-", "wtpk-", "wkls-", "wdths-", "wshts-", "whts-", "waccu-", "wkdr-"}, "0..17 19..24 26 30 31"),
	"veh":   perNumber([]string{"vdstry-", "vdths-", "vkls-", "vrkls-", "vtp-", "vbf-", "vbh-", "vkdr-"}, "0..15"),
	"comp":  expand("gsco tt crpt fgm fm fe fv fk fw"),
	"map":   stellaMaps,
}

var stellaMaps = expand("mtt-0-0..1 mtt-0-3..9 mwin-0-0..1 mwin-0-3..9 mbr-0-0..1 mbr-0-3..9 mkls-0-0..1 mkls-0-3..9 " +
	"mtt-1-0..3 mtt-1-5 mwin-1-0..3 mwin-1-5 mlos-1-0..3 mlos-1-5 mbr-1-0..3 mbr-1-5 msc-1-0..3 msc-1-5 mkls-1-0..3 mkls-1-5")

// stellaServer are the columns of mode base for a server.
var stellaServer = append(expand("gsco rnk tac cs tt crpt klstrk bnspt dstrk rps resp tasl tasm awybt hls sasl tds win los unlc expts cpt dcpt twsc tcd "+
	"slpts tcrd md ent ent-1 ent-2 ent-3 bp-1 wtp-30 htp hkl atp akl vtp-0..15 vkls-0..15 vdstry-0..15 vdths-0..15 ktt-0..3 wkls-0..31 klsk klse "+
	"etp-0..16 etpk-0..16 attp-0..1 awin-0..1 tgpm-0..2 kgpm-0..2 bksgpm-0..2 ctgpm-0..2 csgpm-0..2 trpm-0..2 klls pdt"), stellaMaps...)

// expand returns the names in a text, of which those with a range stand for several.
func expand(text string) (names []string) {
	for name := range strings.FieldsSeq(text) {
		from, to, ranged := strings.Cut(name, "..")
		if !ranged {
			names = append(names, name)
			continue
		}
		i := strings.LastIndexByte(from, '-') + 1
		first, _ := strconv.Atoi(from[i:])
		last, _ := strconv.Atoi(to)
		for n := first; n <= last; n++ {
			names = append(names, from[:i]+strconv.Itoa(n))
		}
	}
	return names
}

// perNumber returns the columns of each number in turn.
func perNumber(prefixes []string, numbers string) (names []string) {
	for _, n := range expand(numbers) {
		for _, prefix := range prefixes {
			names = append(names, prefix+n)
		}
	}
	return names
}

// stellaProgress are the columns of the page getplayerprogress by its mode: their names and
// the totals.
var stellaProgress = map[string][][2]string{
	"point": {{"points", "crpt"}, {"globalscore", "gsco"}, {"experiencepoints", "expts"}, {"awaybonus", "awybt"}},
	"score": {{"score", "gsco"}},
	"ttp":   {{"ttp", "tt"}},
	"kills": {{"kpm", "kpm"}, {"dpm", "dpm"}},
	"spm":   {{"spm", "spm"}},
	"role":  {{"cotime", "tac"}, {"sltime", "tasl"}, {"smtime", "tasm"}, {"lwtime", "talw"}, {"ttp", "tt"}},
	"flag":  {{"captures", "cpt"}, {"assist", "capa"}, {"defend", "dcpt"}},
	"waccu": {{"waccu", "ovaccu"}},
	"wl":    {{"wins", "win"}, {"losses", "los"}},
	"twsc":  {{"twsc", "twsc"}},
	"sup":   {{"hls", "hls"}, {"rps", "rps"}, {"rvs", "rvs"}, {"resp", "resp"}},
}

// stellaValue is rules.value of Battlefield 2142.
func (p *player) stellaValue(column string) string {
	t := p.Totals
	switch column {
	case "kdr":
		return quotient(t["klls"], max(t["dths"], 1))
	case "spm":
		return quotient(60*t["gsco"], t["tt"])
	case "kpm":
		return quotient(60*t["klls"], t["tt"])
	case "dpm":
		return quotient(60*t["dths"], t["tt"])
	case "akpr":
		return quotient(t["klls"], t[keyRounds])
	case "adpr":
		return quotient(t["dths"], t[keyRounds])
	case "ovaccu":
		return quotient(t["toth"], t["tots"])
	}
	if group, n, ok := splitColumn(column); ok {
		switch group {
		case "waccu-":
			return quotient(t["wbh-"+n], t["wbf-"+n])
		case "wshts-":
			return p.stellaValue("wbf-" + n)
		case "whts-":
			return p.stellaValue("wbh-" + n)
		case "wkdr-", "vkdr-":
			return quotient(t[group[:1]+"kls-"+n], max(t[group[:1]+"dths-"+n], 1))
		}
	}
	return strconv.FormatInt(p.stellaWhole(column), 10)
}

// stellaWhole returns the value of a column that is a whole number.
func (p *player) stellaWhole(column string) int64 {
	switch column {
	case "rnkcg":
		return p.Totals[keyPromoted]
	case "unavl":
		return p.credits()
	case "unlc":
		return p.taken()
	case "acdt":
		return p.joined
	case "fgm":
		return p.favourite("tgpm-", stellaModes)
	case "fk":
		return p.favourite("ktt-", stellaKits)
	case "fv":
		return p.favourite("vtp-", stellaVehicles)
	case "fw":
		return p.favourite("wtp-", stellaWeapons)
	case "fm":
		return p.favouriteMap()
	}
	return p.Totals[column]
}

// favouriteMap returns the map on which the player was longest, in whatever mode.
func (p *player) favouriteMap() (best int64) {
	most := int64(0)
	for _, m := range stellaMapIDs {
		n := int64(0)
		for _, mode := range stellaModes {
			n += p.Totals["mtt-"+strconv.Itoa(mode)+"-"+strconv.Itoa(m)]
		}
		if n > most {
			most, best = n, int64(m)
		}
	}
	return best
}
