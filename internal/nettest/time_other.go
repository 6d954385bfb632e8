//go:build !unix

package nettest

import (
	"errors"
	"time"
)

func processorTime() (time.Duration, error) {
	return 0, errors.New("the processor time of a process cannot be read on this system")
}
