package commands

import "golang.org/x/sys/unix"

// refuseCoreDumps prevents core dumps, which would hold passwords that players
// are sending: the limit applies to files, the attribute also to programs that
// receive dumps from the system, and to debuggers of users other than root.
// Errors are ignored: they are no reason not to start.
func refuseCoreDumps() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
