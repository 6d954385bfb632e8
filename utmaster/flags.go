package utmaster

import (
	"slices"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/master"
)

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
