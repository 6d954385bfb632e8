package bolt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// openLater opens a file that is checked after Open, however small it is.
func openLater(t *testing.T, path string, log io.Writer) (*Engine, error) {
	t.Helper()
	opt := testOptions()
	opt.CheckLater, opt.atOpen, opt.Log = true, 1, zerolog.New(zerolog.SyncWriter(log))
	return Open(t.Context(), path, opt)
}

// firstPage returns the offset of the root page of a bucket.
func firstPage(t *testing.T, content []byte, bucket string) int {
	t.Helper()
	db, err := bbolt.Open(writeFile(t, content), 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var root uint64
	_ = db.View(func(tx *bbolt.Tx) error {
		root = uint64(tx.Bucket([]byte(bucket)).Root())
		return nil
	})
	if root == 0 {
		t.Fatalf("bucket %s has no page of its own", bucket)
	}
	return int(root) * os.Getpagesize()
}

// putUser stores one more user.
func putUser(ctx context.Context, e *Engine) error {
	return e.Update(ctx, func(tx engine.Tx) error { return tx.Put("users", []byte("late"), sealed([]byte("late"), nil)) })
}

func TestCheckLater(t *testing.T) {
	content := fullFile(t)
	t.Run("intact", func(t *testing.T) {
		path := writeFile(t, content)
		var log bytes.Buffer
		e, err := openLater(t, path, &log)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := getRecord(e, "users", "nick01"); v == nil || err != nil {
			t.Errorf("a user is read as %v, %v", v, err)
		}
		if err := errors.Join(putUser(t.Context(), e), e.Close(), verifyFile(path)); err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.String(), "the storage file is checked\"") {
			t.Errorf("log = %s, want the end of the check", log.String())
		}
	})
	t.Run("damaged user", func(t *testing.T) {
		bad := bytes.Clone(content)
		bad[firstPage(t, content, "users")+pageHeader+8]++ // the size of the first key, or the page of the first child
		path := writeFile(t, bad)
		var log bytes.Buffer
		e, err := openLater(t, path, &log)
		if err != nil {
			t.Fatalf("Open() = %v, want that it leaves this for later", err)
		}
		var refused error
		e.OnWrite(func(_ time.Duration, err error) { refused = err })
		wantRestore(t, "Update()", putUser(t.Context(), e), path)
		wantRestore(t, "what OnWrite reports", refused, path)
		_, err = getRecord(e, "users", "nick02")
		wantRestore(t, "View()", err, path)
		_, err = e.Backup(t.Context(), io.Discard)
		wantRestore(t, "Backup()", err, path)
		_, err = e.LastWrite()
		wantRestore(t, "LastWrite()", err, path)
		if err := e.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, bad) {
			t.Errorf("the damaged file was changed (%v)", err)
		}
		if !strings.Contains(log.String(), "must not be used") {
			t.Errorf("log = %s, want the damage", log.String())
		}
	})
	t.Run("damaged game", func(t *testing.T) {
		bad := bytes.Clone(content)
		bad[firstPage(t, content, "games")+pageHeader+8]++
		path := writeFile(t, bad)
		_, err := openLater(t, path, io.Discard)
		wantRestore(t, "Open()", err, path)
	})
	t.Run("older schema", func(t *testing.T) {
		e, err := openLater(t, oldFile(t, "schema3.db"), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if e.check.later {
			t.Error("a file that is upgraded was not checked before")
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("small file", func(t *testing.T) {
		opt := testOptions()
		opt.CheckLater = true
		e, err := Open(t.Context(), writeFile(t, content), opt)
		if err != nil {
			t.Fatal(err)
		}
		if e.check.later {
			t.Error("a small file was left for later")
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A change that waits for the check ends with its context, and with the engine.
func TestChangesWaitForTheCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openLoose(t)
		checked := e.check
		e.check = newCheck(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, change := range map[string]func(ctx context.Context) error{
			"change": func(ctx context.Context) error { return putUser(ctx, e) },
			"probe":  e.Probe,
			"backup": func(ctx context.Context) error { _, err := e.Backup(ctx, io.Discard); return err },
		} {
			if err := change(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want the error of the context", name, err)
			}
			ended := make(chan error, 1)
			later, stop := context.WithCancel(t.Context())
			go func() { ended <- change(later) }()
			synctest.Wait()
			select {
			case err := <-ended:
				t.Errorf("%s: %v before the check ended", name, err)
			default: // it waits
			}
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want the error of the context", name, err)
			}
		}
		closed := engine.ErrClosed
		e.check.failed.Store(&closed) // as Close does before the check has ended
		close(e.check.done)
		if err := putUser(t.Context(), e); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("Update() while the engine closes = %v, want ErrClosed", err)
		}
		e.group.close() // its goroutine may still ask for the check
		e.check = checked
	})
}

// A change and a backup do not wait until the check would begin by itself.
func TestCheckIsWanted(t *testing.T) {
	for name, step := range map[string]func(e *Engine) error{
		"change": func(e *Engine) error { return putUser(t.Context(), e) },
		"backup": func(e *Engine) error { _, err := e.Backup(t.Context(), io.Discard); return err },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			opt := testOptions()
			opt.CheckLater, opt.atOpen, opt.delay, opt.Log = true, 1, time.Hour, zerolog.New(zerolog.SyncWriter(&log))
			e, err := Open(t.Context(), writeFile(t, fullFile(t)), opt)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := getRecord(e, "users", "nick01"); v == nil || err != nil {
				t.Errorf("a user is read as %v, %v", v, err)
			}
			select {
			case <-e.check.wanted:
				t.Error("the check begins before anything needs it")
			default:
			}
			if err := errors.Join(step(e), e.Close()); err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), "the storage file is checked\"") {
				t.Errorf("log = %s, want the end of the check", log.String())
			}
		})
	}
}

func TestCheckStops(t *testing.T) {
	e := openNew(t)
	stop := make(chan struct{})
	close(stop)
	err := e.view(t.Context(), func(tx *bbolt.Tx) error {
		_, err := checkTree(tx, e.path, newContents(&e.layout), nil, stop)
		return err
	})
	if !errors.Is(err, errStopped) {
		t.Errorf("checkTree() = %v, want errStopped", err)
	}
}
