package nettest

import (
	"errors"
	"time"
	_ "unsafe" // for the names below
)

// clockGettime is the function of the kernel that the runtime asks for the time.
//
//go:linkname clockGettime runtime.vdsoClockgettimeSym
var clockGettime uintptr

// Of skewed, which assembly reads.
var (
	original uintptr
	seconds  int64 //nolint:unused // read by assembly
)

// skewedAddr returns the address of skewed, which asks original and adds seconds to
// the wall clock.
func skewedAddr() uintptr

// SkewClock puts the wall clock of this process ahead by whole seconds, from now on and
// for everything in it. The monotonic clock stays. It is called before other goroutines
// run.
func SkewClock(d time.Duration) error {
	if clockGettime == 0 {
		return errors.New("the runtime does not take the time from a function of the kernel")
	}
	seconds = int64(d / time.Second)
	if original == 0 { // else skewed would ask itself
		original = clockGettime
		clockGettime = skewedAddr()
	}
	return nil
}
