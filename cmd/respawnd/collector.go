package main

import (
	"runtime/debug"
	"slices"
	"strings"
)

// collectAt is how much garbage the daemon lets pile up, in percent of the memory in
// use, before it is collected. Go's default is 100. Most of the daemon's memory is the
// server list, of which little becomes garbage at the usual pace, so collecting twice
// as often costs little and saves a quarter of the memory.
const collectAt = 50

// collectorSettings are the environment variables with which an operator tunes Go's
// garbage collector.
var collectorSettings = []string{"GOGC", "GOMEMLIMIT"}

// tuneCollector sets the target of the garbage collector, unless the environment
// does.
func tuneCollector(env []string) {
	if !setsCollector(env) {
		debug.SetGCPercent(collectAt)
	}
}

// setsCollector reports whether the environment tunes the garbage collector.
func setsCollector(env []string) bool {
	return slices.ContainsFunc(env, func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return value != "" && slices.Contains(collectorSettings, name)
	})
}
