package bfhq

import (
	"slices"
	"strconv"
	"strings"
)

// Bounds of the columns of a request.
const (
	maxInfo    = 4096 // length of the list in bytes
	maxColumns = 600
	maxColumn  = 16 // length of a name
)

// ids returns the numbers 0 to n-1.
func ids(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Subjects of totals. The numbers are those of the game.
var (
	armies   = ids(10)
	kits     = ids(7)
	vehicles = ids(7)
	weapons  = ids(14) // 9 knife, 10 defibrillator, 11 explosives, 12 hand grenade; 13 is always empty
	gear     = []int{6, 7, 8}
	maps     = []int{
		0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 100, 101, 102, 103, 104, 105, 110, 200, 201, 202,
		300, 301, 302, 303, 304, 305, 306, 307, 601, 602, 603,
	}
)

// groups are the numbers of the columns of groups.
var groups = map[string][]int{
	"atm-": armies, "awn-": armies, "alo-": armies, "abr-": armies,
	"ktm-": kits, "kkl-": kits, "kdt-": kits, "kkd-": kits,
	"vtm-": vehicles, "vkl-": vehicles, "vdt-": vehicles, "vkd-": vehicles, "vkr-": vehicles, "vac-": vehicles,
	"wtm-": weapons, "wkl-": weapons, "wdt-": weapons, "wac-": weapons, "wkd-": weapons,
	"de-": gear, "mtm-": maps, "mwn-": maps, "mls-": maps,
}

// sets are the columns that stand behind a name with a star.
var sets = map[string][]string{
	"per*": {"scor", "jond", "wins", "loss", "mode0", "mode1", "mode2", "time", "smoc"},
	"cmb*": {"cmsc", "osaa", "kill", "kila", "deth", "suic", "bksk", "wdsk", "tvcr", "topr", "klpm", "dtpm", "ospm", "klpr", "dtpr"},
	"mvn*": {"mvns", "mvrs"},
	"vmr*": {"vmns", "vmrs"},
}

// ownPage is the request of the game for its own player. The answer has five columns
// that it does not ask for.
const ownPage = "per*,cmb*,twsc,cpcp,cacp,dfcp,kila,heal,rviv,rsup,rpar,tgte,dkas,dsab,cdsc,rank,cmsc,kick,kill,deth,suic,ospm," +
	"klpm,klpr,dtpr,bksk,wdsk,bbrs,tcdr,ban,dtpm,lbtl,osaa,vrk,tsql,tsqm,tlwf,mvks,vmks,mvn*,vmr*,fkit,fmap,fveh,fwea,wtm-,wkl-," +
	"wdt-,wac-,wkd-,vtm-,vkl-,vdt-,vkd-,vkr-,atm-,awn-,alo-,abr-,ktm-,kkl-,kdt-,kkd-"

// choice restricts groups to one number: those of kits, of vehicles, of weapons and of maps.
type choice map[byte]int

// columnsOf returns the columns that a request asks for, each once. ok is false for a list that
// no game sends.
func columnsOf(info string, only choice) (columns []string, ok bool) {
	if info == "" || len(info) > maxInfo {
		return nil, false
	}
	columns = []string{"pid", "nick"}
	seen := map[string]bool{"pid": true, "nick": true}
	add := func(names ...string) {
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				columns = append(columns, n)
			}
		}
	}
	for name := range strings.SplitSeq(info, ",") {
		switch numbers := groups[name]; {
		case numbers != nil:
			if n, chosen := only[name[0]]; chosen {
				numbers = []int{n}
			}
			for _, n := range numbers {
				add(name + strconv.Itoa(n))
			}
		case sets[name] != nil:
			add(sets[name]...)
		case validColumn(name):
			add(name)
		default:
			return nil, false
		}
		if len(columns) > maxColumns {
			return nil, false
		}
	}
	if info == ownPage && len(only) == 0 {
		columns = slices.Insert(columns, slices.Index(columns, "fwea")+1, "tnv", "tgm")
		add("de-6", "de-7", "de-8")
	}
	return columns, true
}

// validColumn reports whether a text can be the name of a column. One that the program does not
// know is answered with 0: a missing column empties the page.
func validColumn(name string) bool {
	return name != "" && len(name) <= maxColumn && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
