package bolt

import (
	"io"
	"time"

	"go.etcd.io/bbolt"
)

// Lock creates the file at path, if it is missing, and keeps other processes from
// locking it until the result is closed or this process ends. It waits at most timeout
// for another one; the error then matches ErrInUse. The file holds nothing.
func Lock(path string, timeout time.Duration) (io.Closer, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: max(timeout, time.Millisecond)})
	if err != nil {
		return nil, explainOpen(path, err)
	}
	return db, nil
}
