//go:build !unix

package main

// refuseCoreDumps does nothing: this system writes none by itself.
func refuseCoreDumps() {}
