//go:build !unix

package main

// refuseCoreDumps does nothing: this system writes no core dumps by default.
func refuseCoreDumps() {}
