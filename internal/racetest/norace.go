//go:build !race

package racetest

// Enabled reports whether the test is built with -race.
const Enabled = false
