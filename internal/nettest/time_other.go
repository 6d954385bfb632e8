//go:build !unix

package nettest

import (
	"errors"
	"time"
)

func processorTime() (time.Duration, error) {
	return 0, errors.New("this system does not tell a process its processor time in the way of Unix")
}
