package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// openLater opens a file that is checked after Open, however small it is.
func openLater(t *testing.T, path string, log io.Writer) (*Store, error) {
	t.Helper()
	opt := testOptions()
	opt.CheckLater, opt.atOpen, opt.Log = true, 1, zerolog.New(zerolog.SyncWriter(log))
	return Open(t.Context(), path, opt)
}

// firstLeaf returns the offset of the first leaf page of a bucket, whose root is no
// leaf inside another page.
func firstLeaf(t *testing.T, content []byte, bucket string) int {
	t.Helper()
	path := writeFile(t, content)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
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

func newAccount(name string) (storage.User, storage.Profile) {
	return storage.User{Email: name + "@example.com"}, storage.Profile{Nick: name}
}

func TestCheckLater(t *testing.T) {
	content := fullFile(t)
	t.Run("intact", func(t *testing.T) {
		path := writeFile(t, content)
		var log bytes.Buffer
		s, err := openLater(t, path, &log)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.GetUser(t.Context(), 1); err != nil {
			t.Errorf("GetUser() = %v", err)
		}
		u, p := newAccount("late")
		_, _, created := s.CreateUser(t.Context(), u, p)
		n, counted := s.CountUsers(t.Context())
		if err := errors.Join(created, counted, s.Close(), Verify(path)); n != 31 || err != nil {
			t.Errorf("%d users and %v, want 31", n, err)
		}
		if !strings.Contains(log.String(), "the storage file is checked\"") {
			t.Errorf("log = %s, want the end of the check", log.String())
		}
	})
	t.Run("damaged account", func(t *testing.T) {
		bad := bytes.Clone(content)
		at := firstLeaf(t, content, bucketUsers)
		bad[at+pageHeader+8]++ // the size of the first key
		path := writeFile(t, bad)
		var log bytes.Buffer
		s, err := openLater(t, path, &log)
		if err != nil {
			t.Fatalf("Open() = %v, want that it leaves this for later", err)
		}
		var refused error
		s.OnWrite(func(_ time.Duration, err error) { refused = err })
		u, p := newAccount("late")
		_, _, err = s.CreateUser(t.Context(), u, p)
		wantRestore(t, "CreateUser()", err, path)
		wantRestore(t, "what OnWrite reports", refused, path)
		_, err = s.GetUser(t.Context(), 2)
		wantRestore(t, "GetUser()", err, path)
		_, err = s.Backup(t.Context(), io.Discard)
		wantRestore(t, "Backup()", err, path)
		_, err = s.LastWrite()
		wantRestore(t, "LastWrite()", err, path)
		if err := s.Close(); err != nil {
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
		bad[firstLeaf(t, content, bucketGames)+pageHeader+8]++
		path := writeFile(t, bad)
		_, err := openLater(t, path, io.Discard)
		wantRestore(t, "Open()", err, path)
	})
	t.Run("older schema", func(t *testing.T) {
		path := oldFile(t, "schema3.db")
		s, err := openLater(t, path, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if s.check.later {
			t.Error("a file that is upgraded was not checked before")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("small file", func(t *testing.T) {
		opt := testOptions()
		opt.CheckLater = true
		s, err := Open(t.Context(), writeFile(t, content), opt)
		if err != nil {
			t.Fatal(err)
		}
		if s.check.later {
			t.Error("a small file was left for later")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A change that waits for the check ends with its context, and with the store.
func TestChangesWaitForTheCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openLoose(t)
		checked := s.check
		s.check = newCheck(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, change := range map[string]func(ctx context.Context) error{
			"in a group": func(ctx context.Context) error {
				u, p := newAccount("early")
				_, _, err := s.CreateUser(ctx, u, p)
				return err
			},
			"alone":  func(ctx context.Context) error { _, err := s.PutGame(ctx, storage.Game{Name: "early"}); return err },
			"backup": func(ctx context.Context) error { _, err := s.Backup(ctx, io.Discard); return err },
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
		closed := storage.ErrClosed
		s.check.failed.Store(&closed) // as Close does before the check has ended
		close(s.check.done)
		u, p := newAccount("early")
		if _, _, err := s.CreateUser(t.Context(), u, p); !errors.Is(err, storage.ErrClosed) {
			t.Errorf("CreateUser() while the store closes = %v, want ErrClosed", err)
		}
		s.group.close() // its goroutine may still ask for the check
		s.check = checked
	})
}

// A change and a backup do not wait until the check would begin by itself.
func TestCheckIsWanted(t *testing.T) {
	for name, step := range map[string]func(s *Store) error{
		"change": func(s *Store) error {
			u, p := newAccount("early")
			_, _, err := s.CreateUser(t.Context(), u, p)
			return err
		},
		"ban": func(s *Store) error {
			return s.AddBan(t.Context(), storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeAll})
		},
		"backup": func(s *Store) error {
			_, err := s.Backup(t.Context(), io.Discard)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			opt := testOptions()
			opt.CheckLater, opt.atOpen, opt.delay, opt.Log = true, 1, time.Hour, zerolog.New(zerolog.SyncWriter(&log))
			s, err := Open(t.Context(), writeFile(t, fullFile(t)), opt)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.GetUser(t.Context(), 1); err != nil {
				t.Errorf("GetUser() = %v", err)
			}
			select {
			case <-s.check.wanted:
				t.Error("the check begins before anything needs it")
			default:
			}
			if err := errors.Join(step(s), s.Close()); err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), "the storage file is checked\"") {
				t.Errorf("log = %s, want the end of the check", log.String())
			}
		})
	}
}

func TestCheckStops(t *testing.T) {
	s := openNew(t)
	stop := make(chan struct{})
	close(stop)
	err := s.view(t.Context(), func(tx *bbolt.Tx) error {
		_, err := checkTree(tx, s.path, nil, stop)
		return err
	})
	if !errors.Is(err, errStopped) {
		t.Errorf("checkTree() = %v, want errStopped", err)
	}
}

// The number of users is right after each opening, whatever the file says.
func TestCountUsersCorrected(t *testing.T) {
	content := fullFile(t)
	for _, later := range []bool{false, true} {
		for name, prepare := range map[string]func(*bbolt.Bucket) error{
			"older file": func(meta *bbolt.Bucket) error { return meta.Delete([]byte(metaUsers)) },
			"too many": func(meta *bbolt.Bucket) error {
				return meta.Put([]byte(metaUsers), sealEntry([]byte(metaUsers), idKey8(77)))
			},
			"less than no": func(meta *bbolt.Bucket) error {
				return meta.Put([]byte(metaUsers), sealEntry([]byte(metaUsers), bytes.Repeat([]byte{255}, 8)))
			},
		} {
			t.Run(fmt.Sprintf("%s, later: %t", name, later), func(t *testing.T) {
				path := writeFile(t, content)
				db, err := bbolt.Open(path, 0o600, nil)
				if err != nil {
					t.Fatal(err)
				}
				err = db.Update(func(tx *bbolt.Tx) error { return prepare(tx.Bucket([]byte(bucketMeta))) })
				if err := errors.Join(err, db.Close()); err != nil {
					t.Fatal(err)
				}
				opt := testOptions()
				opt.CheckLater, opt.atOpen = later, 1
				s, err := Open(t.Context(), path, opt)
				if err != nil {
					t.Fatal(err)
				}
				u, p := newAccount("onemore")
				if _, _, err := s.CreateUser(t.Context(), u, p); err != nil {
					t.Fatal(err)
				}
				s.check.runs.Wait()
				if n, err := s.CountUsers(t.Context()); n != 31 || err != nil {
					t.Errorf("CountUsers() = %d, %v, want 31", n, err)
				}
				err = s.view(t.Context(), func(tx *bbolt.Tx) error {
					n, err := metaNumber(tx, metaUsers, 8)
					if n != 31 {
						t.Errorf("the file has %d, want 31", n)
					}
					return err
				})
				if err := errors.Join(err, s.DeleteUser(t.Context(), 31), s.Close(), Verify(path)); err != nil {
					t.Error(err)
				}
				s = openAt(t, path)
				if n := s.users.stored; n != 30 {
					t.Errorf("after the deletion the file has %d, want 30", n)
				}
			})
		}
	}
}

func idKey8(n byte) []byte { return []byte{0, 0, 0, 0, 0, 0, 0, n} }
