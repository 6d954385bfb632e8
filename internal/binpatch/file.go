package binpatch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/respawnd/respawnd/internal/durable"
)

// Endings of the names of the files beside a changed one.
const (
	backupSuffix = ".before-respawnd"
	recordSuffix = ".respawnd.json"
)

// maxRecord is the length of the longest record that is read, in bytes.
const maxRecord = 4 << 10

// Errors of changes.
var (
	ErrPatched    = errors.New("the file was changed already: undo that first")
	ErrNotPatched = errors.New("there is no record of a change of this file")
	ErrChanged    = errors.New("the file is not as the change left it: a patch of the game or another program wrote it")
	ErrBackup     = errors.New("the copy is not the file that was changed")
	errMoved      = errors.New("the file changed while it was read")
)

// record describes a change, for undoing it.
type record struct {
	Before string `json:"before"` // SHA-256 of the file before the change, in hex
	After  string `json:"after"`  // and after it
}

// Edit is a place with the replacement that it belongs to.
type Edit struct {
	Place
	By Replacement
}

// Search returns the places of all replacements in a file, and whether they may be
// replaced: the error is ErrPatched, ErrSigned or ErrPacked if not, with the places.
func Search(path string, all []Replacement) (edits []Edit, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	for _, r := range all {
		if err := r.Check(); err != nil {
			return nil, err
		}
		places, err := r.Find(f, info.Size())
		if err != nil {
			return nil, err
		}
		for _, p := range places {
			edits = append(edits, Edit{p, r})
		}
	}
	return edits, mayChange(path, f)
}

// mayChange returns an error for a file that must not be changed.
func mayChange(path string, f *os.File) error {
	if _, err := os.Lstat(path + recordSuffix); err == nil {
		return ErrPatched
	}
	return CheckProgram(f)
}

// Apply makes the edits without a Why, which Search returned, and returns the path of
// the copy of the file before them. The file is replaced as a whole, so that it is
// either the old or the new one.
func Apply(path string, edits []Edit) (backup string, err error) {
	old, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = old.Close() }()
	if err := mayChange(path, old); err != nil {
		return "", err
	}
	info, err := old.Stat()
	if err != nil {
		return "", err
	}
	backup = path + backupSuffix
	var done record
	if done.Before, err = write(backup, old, info, nil); err != nil {
		return "", fmt.Errorf("keep a copy: %w", err)
	}
	tmp := path + ".respawnd-new"
	if done.After, err = write(tmp, old, info, edits); err != nil {
		return "", err
	}
	text, err := json.Marshal(done)
	if err == nil {
		err = durable.WriteSecret(path+recordSuffix, append(text, '\n'), false)
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(tmp))
	}
	return backup, durable.SyncDir(filepath.Dir(path))
}

// write copies a file with edits, and returns the SHA-256 of the copy.
func write(path string, old *os.File, info fs.FileInfo, edits []Edit) (sum string, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if _, err := io.Copy(f, io.NewSectionReader(old, 0, info.Size())); err != nil {
		return "", err
	}
	for _, e := range edits {
		if e.Why != "" {
			continue
		}
		want, text := e.By.Bytes(e.Place)
		have := make([]byte, len(want))
		if _, err := f.ReadAt(have, e.Offset); err != nil || string(have) != string(want) {
			return "", errors.Join(errMoved, err)
		}
		if _, err := f.WriteAt(text, e.Offset); err != nil {
			return "", err
		}
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	return hash(f)
}

// hash returns the SHA-256 of a file, in hex.
func hash(f *os.File) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, MaxSize+1)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashAt is hash of the file at a path.
func hashAt(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	return hash(f)
}

// Undo puts the copy of a changed file back. The error is ErrChanged if the file, and
// ErrBackup if the copy, has changed.
func Undo(path string) error {
	done, err := readRecord(path + recordSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotPatched
	}
	if err != nil {
		return err
	}
	now, err := hashAt(path)
	if err != nil {
		return err
	}
	if now == done.Before {
		return os.Remove(path + recordSuffix) // a stop between the two steps below
	}
	if now != done.After {
		return ErrChanged
	}
	before, err := hashAt(path + backupSuffix)
	if err != nil {
		return err
	}
	if before != done.Before {
		return ErrBackup
	}
	if err := os.Rename(path+backupSuffix, path); err != nil {
		return err
	}
	return errors.Join(os.Remove(path+recordSuffix), durable.SyncDir(filepath.Dir(path)))
}

func readRecord(path string) (done record, err error) {
	f, err := os.Open(path)
	if err != nil {
		return done, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err == nil {
		err = json.Unmarshal(text, &done)
	}
	return done, err
}
