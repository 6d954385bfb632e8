//go:build !race

package main

// raceBuild reports whether these tests run under the race detector. The program
// that they build then does too.
const raceBuild = false
