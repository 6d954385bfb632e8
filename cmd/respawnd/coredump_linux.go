package main

import "golang.org/x/sys/unix"

// refuseCoreDumps keeps what this process has in memory, such as passwords that
// players are sending, out of core dumps: the limit holds for files, the attribute
// also for programs that the system hands dumps to, and against debuggers of other
// processes than root's. It does what it can: a system that refuses is no reason
// not to start.
func refuseCoreDumps() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
