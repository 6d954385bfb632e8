//go:build !unix

package commands

// refuseCoreDumps does nothing: this system writes no core dumps by default.
func refuseCoreDumps() {}
