//go:build !race

package racetest

// RaceDetector reports whether the test is built with -race.
const RaceDetector = false
