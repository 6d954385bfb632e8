package bolt

import (
	"context"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// Release gives the pages of the file that were read back to the system. They
// count as memory of the daemon as long as they are mapped, and saves and checks read far more
// pages than are used often. Pages needed again come from the system's cache.
func (e *Engine) Release(ctx context.Context) error {
	return e.view(ctx, func(tx *bbolt.Tx) error { // during which the file stays mapped where it is
		_, _, errno := unix.Syscall(unix.SYS_MADVISE, e.db.Info().Data, uintptr(tx.Size()), unix.MADV_DONTNEED)
		if errno != 0 {
			return errno
		}
		return nil
	})
}
