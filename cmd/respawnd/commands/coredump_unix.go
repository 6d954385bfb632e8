//go:build unix && !linux

package commands

import "syscall"

// refuseCoreDumps prevents core dumps, which would hold passwords that players
// are sending. Errors are ignored: they are no reason not to start.
func refuseCoreDumps() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
