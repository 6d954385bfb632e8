//go:build !linux

package bolt

import "context"

// Release does nothing on this system.
func (*Engine) Release(context.Context) error { return nil }
