// Package racetest leaves long tests out of short runs and out of runs with the race
// detector.
//
// The detector makes a test about ten times slower and finds nothing in one that has
// a single goroutine. .ci/run runs the tests of each package that imports this one
// without the detector as well.
//
// It is for tests only.
package racetest

import "testing"

// Skip skips the test in a short run and if it is built with -race. why names the reason for the
// length of the test.
func Skip(tb testing.TB, why string) {
	tb.Helper()
	if testing.Short() {
		tb.Skip(why + ": not in a short run")
	}
	if RaceDetector {
		tb.Skip(why + ": run it without -race")
	}
}
