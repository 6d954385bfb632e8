//go:build unix && !linux

package main

import "syscall"

// refuseCoreDumps keeps what this process has in memory, such as passwords that
// players are sending, out of core dumps. It does what it can: a system that
// refuses is no reason not to start.
func refuseCoreDumps() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
