//go:build !linux && !darwin && !windows

package netserve

import (
	"errors"
	"time"
)

func setUserTimeout(uintptr, time.Duration) error { return errors.ErrUnsupported }

func unacknowledged(uintptr) (int, error) { return 0, errors.ErrUnsupported }
