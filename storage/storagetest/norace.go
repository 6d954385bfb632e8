//go:build !race

package storagetest

// raceDetector reports that the test is built with -race.
const raceDetector = false
