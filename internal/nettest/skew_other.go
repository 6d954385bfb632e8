//go:build !linux || !amd64

package nettest

import (
	"errors"
	"time"
)

// SkewClock puts the wall clock of this process ahead. It is built for Linux on amd64
// only.
func SkewClock(time.Duration) error {
	return errors.New("clocks of processes can be put ahead on linux/amd64 only")
}
