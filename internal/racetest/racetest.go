// Package racetest leaves tests out of runs with the race detector.
//
// The detector makes a test about ten times slower and finds nothing in one that has
// a single goroutine. .ci/run runs the tests of each package that imports this one
// without the detector as well.
//
// It is for tests only.
package racetest

import "testing"

// Skip skips the test if it is built with -race. why says what makes the test slow.
func Skip(tb testing.TB, why string) {
	tb.Helper()
	if Enabled {
		tb.Skip(why + ": run it without -race")
	}
}
