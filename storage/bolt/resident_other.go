//go:build !linux

package bolt

import "context"

// releasePages does nothing on this system.
func (*Store) releasePages(context.Context) error { return nil }
