//go:build unix

package nettest

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process, system time
// included.
func processorTime() (time.Duration, error) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0, err
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), nil
}
