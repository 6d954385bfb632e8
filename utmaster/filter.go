package utmaster

import (
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/master"
)

// property is a key of filters. It returns the values of a server; none: the server
// does not report it, and every filter passes.
type property func(srv *master.Server) []string

var properties = map[string]property{
	"gametype":       func(srv *master.Server) []string { return reported(unqualified(rule(srv, "gametype"))) },
	"mutator":        nil, // the only one with several values, see mutators
	"password":       yes("password", rulePassword),
	"stats":          yes(ruleStatistics),
	"transloc":       yes(ruleTransloc),
	"weaponstay":     yes(ruleWeaponStay),
	"standard":       withMutators(func(n int) bool { return n == 0 }),
	"nomutators":     withMutators(func(n int) bool { return n == 0 }),
	"nobots":         noBots,
	"currentplayers": func(srv *master.Server) []string { return []string{strconv.Itoa(srv.Population())} },
	"freespace":      freeSpace,
	"category":       func(srv *master.Server) []string { return reported(rule(srv, ruleSkill)) },
}

// known reports whether the filter means something here. Others are ignored, so that
// they do not empty the list.
func (f *Filter) known() bool {
	_, ok := properties[ascii.ToLower(f.Key)]
	return f.Op == opDisabled || ok && f.Op < opDisabled
}

func reported(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// yes returns the property that is true or false by the first of the rules that the
// server reports.
func yes(rules ...string) property {
	return func(srv *master.Server) []string {
		for _, name := range rules {
			if value, ok := srv.Rules.Get(name); ok && value != "" {
				return []string{strconv.FormatBool(master.IsYes(value))}
			}
		}
		return nil
	}
}

// withMutators returns the property that follows from the number of mutators.
func withMutators(holds func(n int) bool) property {
	return func(srv *master.Server) []string {
		list, known := mutatorsOf(srv)
		if !known {
			return nil
		}
		return []string{strconv.FormatBool(holds(len(list)))}
	}
}

func noBots(srv *master.Server) []string {
	n, err := strconv.Atoi(rule(srv, ruleMinPlayers))
	if err != nil {
		return nil
	}
	return []string{strconv.FormatBool(n == 0)}
}

func freeSpace(srv *master.Server) []string {
	most, ok := master.ParsePopulation(rule(srv, "maxplayers"))
	if !ok {
		return nil
	}
	return []string{strconv.Itoa(max(most-srv.Population(), 0))}
}

func match(filters []Filter, srv *master.Server) bool {
	for i := range filters {
		if f := &filters[i]; f.Op != opDisabled && f.known() && !f.passes(srv) {
			return false
		}
	}
	return true
}

func (f *Filter) passes(srv *master.Server) bool {
	key := ascii.ToLower(f.Key)
	if key == "mutator" {
		return f.mutator(srv)
	}
	values, want := properties[key](srv), f.Value
	if key == "gametype" {
		want = unqualified(want)
	}
	return len(values) == 0 || compare(f.Op, values[0], want)
}

// mutator compares with all mutators: equal means that the server has it.
func (f *Filter) mutator(srv *master.Server) bool {
	list, known := mutatorsOf(srv)
	want := unqualified(f.Value)
	has := slices.ContainsFunc(list, func(m string) bool { return ascii.EqualFold(m, want) })
	switch {
	case !known || f.Op > opUnequal:
		return true
	case f.Op == opEqual:
		return has
	default:
		return !has
	}
}

// compare compares a value of a server with that of a filter: as text without case if
// they are to be equal or not, else as numbers. Other values pass.
func compare(op byte, value, filter string) bool {
	switch op {
	case opEqual:
		return ascii.EqualFold(value, filter)
	case opUnequal:
		return !ascii.EqualFold(value, filter)
	}
	have, err := strconv.Atoi(value)
	want, err2 := strconv.Atoi(strings.TrimSpace(filter))
	if err != nil || err2 != nil {
		return true
	}
	switch op {
	case opLess:
		return have < want
	case opAtMost:
		return have <= want
	case opMore:
		return have > want
	default:
		return have >= want
	}
}

// Flags of a server from version modern on.
const (
	flagPassword = 1 << iota
	flagStatistics
	flagLatest
	flagListen
	flagInstagib
	flagStandard
	flagClassic
)

// Flags of a server before that: one byte.
const (
	oldInstagib = 1 << (2 + iota)
	oldListen
	oldLatest
	oldStatistics
	oldPassword
)

// traits are the components of flags.
type traits struct{ password, statistics, latest, listen, instagib, standard, classic bool }

// traitsOf returns the traits of a server. newest is the newest version in its list.
func traitsOf(srv *master.Server, newest int) traits {
	mutators, _ := mutatorsOf(srv)
	has := func(name string) bool {
		return slices.ContainsFunc(mutators, func(m string) bool { return ascii.EqualFold(m, name) })
	}
	version := versionOf(srv)
	return traits{
		password: master.IsYes(rule(srv, "password")) || master.IsYes(rule(srv, rulePassword)), statistics: master.IsYes(rule(srv, ruleStatistics)),
		latest: version > 0 && version == newest, listen: ascii.EqualFold(rule(srv, ruleMode), "non-dedicated"),
		instagib: has("MutInstaGib"), standard: len(mutators) == 0, classic: has("MutUTClassic"),
	}
}

// flagsOf returns the flags of a server from version modern on.
func flagsOf(srv *master.Server, newest int) int32 {
	t := traitsOf(srv, newest)
	return bit(t.password, flagPassword) | bit(t.statistics, flagStatistics) | bit(t.latest, flagLatest) | bit(t.listen, flagListen) |
		bit(t.instagib, flagInstagib) | bit(t.standard, flagStandard) | bit(t.classic, flagClassic)
}

// oldFlagsOf returns the flags of a server before that.
func oldFlagsOf(srv *master.Server, newest int) int32 {
	t := traitsOf(srv, newest)
	return bit(t.instagib, oldInstagib) | bit(t.listen, oldListen) | bit(t.latest, oldLatest) |
		bit(t.statistics, oldStatistics) | bit(t.password, oldPassword)
}

func bit(set bool, flag int32) int32 {
	if set {
		return flag
	}
	return 0
}
