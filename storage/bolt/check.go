package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// checkedAtOpen is the size in bytes of the largest file that Open checks as a
// whole even with Options.CheckLater: that takes about a tenth of a second.
const checkedAtOpen = 64 << 20

// checkDelay is how long after Open the rest of a file is checked, unless a change
// waits for that: a daemon has much to read when it starts.
const checkDelay = 2 * time.Second

// check is the state of the check of the file.
type check struct {
	later  bool                  // it runs after Open
	atOpen int64                 // see checkedAtOpen
	delay  time.Duration         // see checkDelay
	done   chan struct{}         // closed when changes no longer wait for it
	failed atomic.Pointer[error] // why the store refuses everything; nil: it does not
	wanted chan struct{}         // closed when a change waits
	wants  sync.Once
	stop   chan struct{} // closed by Close
	stops  sync.Once
	runs   sync.WaitGroup
}

func newCheck(opt Options) *check {
	return &check{
		later: opt.CheckLater, atOpen: cmp.Or(opt.atOpen, checkedAtOpen), delay: cmp.Or(opt.delay, checkDelay), done: make(chan struct{}), wanted: make(chan struct{}), stop: make(chan struct{}),
	}
}

// close ends the check and waits for it. Changes that waited get ErrClosed.
func (c *check) close() {
	c.stops.Do(func() { close(c.stop) })
	c.runs.Wait()
}

// err returns why the store refuses everything.
func (c *check) err() error {
	if failed := c.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

// want begins the check unless it has begun, and returns a channel that is closed at its end.
func (c *check) want() <-chan struct{} {
	c.wants.Do(func() { close(c.wanted) })
	return c.done
}

// wait waits for the check and returns its error.
func (c *check) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err()
	default:
	}
	select {
	case <-c.want():
		return c.err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readAtStart reports whether a daemon reads a bucket as a whole when it starts.
// A record that such a bucket lacks, a ban for example, would be missing until the next
// start, so Open always checks it. The saved list is left out: it has checksums
// of its own that show missing parts.
func readAtStart(bucket string) bool {
	return slices.Contains([]string{
		bucketMeta, bucketGames, bucketRooms, bucketRoomsByGame, bucketBans, bucketChatRules, bucketProductKeys,
		bucketMotds, bucketPatches, bucketAddedServers, bucketHiddenServers,
	}, bucket)
}

// examine checks the file, or the part that a start reads if the rest is checked
// later, and returns its layout.
func (s *Store) examine(tx *bbolt.Tx, size int64, present int) (old layout, err error) {
	if err := checkSize(tx, size); err != nil {
		return old, err
	}
	only := readAtStart
	if !s.check.later {
		only = nil
	}
	found, err := checkTree(tx, s.path, only, s.check.stop)
	if err != nil {
		return old, err
	}
	if old, err = readLayout(tx); err != nil {
		return old, err
	}
	if err := old.checkNewer(present); err != nil {
		return old, err
	}
	if old.empty || old.schema != uint64(present) {
		if s.check.later { // an upgrade changes the file
			s.check.later = false
			return s.examine(tx, size, present)
		}
		return old, s.report(found, false)
	}
	if !s.check.later {
		s.users.counted = found.users
	}
	return old, s.report(found, present == len(migrations()))
}

// checkRest checks the file of an open store. Until it is done, changes wait:
// nothing is written to a file that may be damaged. If it is, the store refuses
// everything from then on.
func (s *Store) checkRest() {
	pause := time.NewTimer(s.check.delay)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-s.check.wanted:
	case <-s.check.stop: // readWhole notices
	}
	began := time.Now()
	s.log.Info().Str("file", s.path).Msg("the storage file is checked while the daemon runs; changes of accounts wait until that is done")
	found, err := s.readWhole()
	switch {
	case errors.Is(err, errStopped):
		err = storage.ErrClosed
	case err != nil:
		s.log.Error().Err(err).Msg("the storage file must not be used: operations that need it are refused, and /readyz answers 503")
	}
	if err != nil {
		s.check.failed.Store(&err)
		close(s.check.done)
		return
	}
	s.log.Info().Str("file", s.path).Stringer("took", time.Since(began).Round(time.Millisecond)).Msg("the storage file is checked")
	s.users.counted = found.users
	close(s.check.done)
	s.tidy()
}

// readWhole checks the whole file.
func (s *Store) readWhole() (found *contents, err error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	err = s.view(context.Background(), func(tx *bbolt.Tx) error {
		err := checkSize(tx, info.Size())
		if err == nil {
			found, err = checkTree(tx, s.path, nil, s.check.stop)
		}
		if err == nil {
			err = s.report(found, true)
		}
		return s.explain(err)
	})
	return found, err
}

// explain names the file in an error of examine or readWhole.
func (s *Store) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, errStopped):
		return err
	case isDamage(err):
		return damagedFile(s.path, err)
	}
	return fmt.Errorf("storage file %s: %w", s.path, err)
}

// tidy makes the changes that Open makes to a file of the present schema.
func (s *Store) tidy() {
	ctx := storage.WithoutAudit(context.Background())
	err := s.correctUsers(ctx)
	if err == nil {
		err = s.changeList(ctx, func(context.Context) error { return nil }) // it removes data that no list needs
	}
	if err != nil && !errors.Is(err, storage.ErrClosed) {
		s.log.Warn().Str("file", s.path).Err(err).Msg("the storage file was not tidied; the next start does it")
	}
}
