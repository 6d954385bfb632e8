package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Folder is the name of the folder of contents in a data folder.
const Folder = "files"

// maxCounted bounds the ids whose downloads are counted between two calls of Flush, and
// the ids that do not exist and are counted.
const maxCounted = 4096

// Errors of uploads.
var (
	// ErrTooLarge reports a content above Limits.File, or above the size that was
	// reserved for it.
	ErrTooLarge = errors.New("the file is too large")
	// ErrQuota reports that the files of a player, or all files, have reached their
	// limit.
	ErrQuota = errors.New("no room for another file")
)

// Limits bound the files. Uploads that have begun count.
type Limits struct {
	File   int64             // bytes of one file
	Player storage.FileUsage // of one profile
	Total  storage.FileUsage // of all
}

// DefaultLimits are the limits until SetLimits.
func DefaultLimits() Limits {
	return Limits{
		File:   4 << 20,
		Player: storage.FileUsage{Files: 64, Bytes: 32 << 20},
		Total:  storage.FileUsage{Files: storage.MaxFiles, Bytes: 1 << 30},
	}
}

// Table holds the files of one data folder. All methods may be called concurrently.
type Table struct {
	store    storage.Files
	contents contentStore
	dir      string // of uploads, and of contents unless the store keeps them

	// folder is held for reading while a content gets its name, for writing while one
	// loses it, together with the step of the store that belongs to it.
	folder sync.RWMutex
	held   int  // running calls of Hold; guarded by folder
	behind bool // a content was not removed because of Hold; guarded by folder

	mu       sync.Mutex // guards the fields below; never held while the store or the disk works
	limits   Limits
	reserved map[storage.ProfileID]storage.FileUsage // of running uploads; 0: all
	parts    map[string]bool                         // names of their files in the folder
	counts   map[storage.FileID]int64                // downloads that are not stored yet
	missing  map[storage.FileID]int64                // downloads of ids that do not exist
}

// New returns the files of a data folder, whose contents are in the store if that is a
// storage.Contents. It reads nothing.
func New(store storage.Files, dataDir string) *Table {
	dir := filepath.Join(dataDir, Folder)
	contents := contentStore(folder{dir, store})
	if in, ok := store.(storage.Contents); ok {
		contents = shared{in}
	}
	return &Table{
		store: store, contents: contents, dir: dir, limits: DefaultLimits(),
		reserved: make(map[storage.ProfileID]storage.FileUsage), parts: make(map[string]bool),
		counts: make(map[storage.FileID]int64), missing: make(map[storage.FileID]int64),
	}
}

// SetLimits replaces the limits. Files that exceed them stay.
func (t *Table) SetLimits(l Limits) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits = l
}

// MaxSize returns Limits.File.
func (t *Table) MaxSize() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limits.File
}

// Usage returns the usage of all files.
func (t *Table) Usage(ctx context.Context) (storage.FileUsage, error) {
	return t.store.FileUsage(ctx, 0)
}

// Get returns a file with the downloads that are not stored yet.
func (t *Table) Get(ctx context.Context, id storage.FileID) (storage.File, error) {
	f, err := t.store.GetFile(ctx, id)
	if err != nil {
		return f, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f.Downloads += t.counts[id]
	return f, nil
}

// All returns the files with an id above after in their order, with the downloads that
// are not stored yet. An error stands for one file or ends the sequence, as in
// storage.Files.
func (t *Table) All(ctx context.Context, after storage.FileID) iter.Seq2[storage.File, error] {
	return func(yield func(storage.File, error) bool) {
		t.mu.Lock()
		counts := maps.Clone(t.counts)
		t.mu.Unlock()
		for f, err := range t.store.Files(ctx, after) {
			f.Downloads += counts[f.ID]
			if !yield(f, err) {
				return
			}
		}
	}
}

// Open returns a file and its content, which the caller closes.
func (t *Table) Open(ctx context.Context, id storage.FileID) (storage.File, io.ReadCloser, error) {
	f, err := t.Get(ctx, id)
	if err != nil {
		return f, nil, err
	}
	content, err := t.contents.open(ctx, f.Hash)
	if err != nil {
		return f, nil, fmt.Errorf("content of file %d: %w", id, err)
	}
	return f, content, nil
}

// Info returns the size in bytes, the time of the upload and the number of downloads of
// a file. ok is false if there is none; downloads are those of the id since the start
// then.
func (t *Table) Info(id storage.FileID) (size int64, created time.Time, downloads int64, ok bool) {
	f, err := t.Get(context.Background(), id)
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		return 0, time.Time{}, t.missing[id], false
	}
	return f.Size, f.Created, f.Downloads, true
}

// Count counts a download of an id, whether it exists or not. It waits for no disk:
// Flush stores the numbers.
func (t *Table) Count(id storage.FileID, exists bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.missing
	if exists {
		in = t.counts
	}
	if _, known := in[id]; known || len(in) < maxCounted {
		in[id]++
	}
}

// Flush stores the numbers of downloads.
func (t *Table) Flush(ctx context.Context) error {
	t.mu.Lock()
	counts := maps.Clone(t.counts)
	t.mu.Unlock()
	if len(counts) == 0 {
		return nil
	}
	if err := t.store.AddDownloads(ctx, counts); err != nil {
		return fmt.Errorf("numbers of downloads: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, n := range counts {
		if t.counts[id] -= n; t.counts[id] <= 0 {
			delete(t.counts, id)
		}
	}
	return nil
}

// Delete deletes a file, and its content if no other file has it. The errors are those of
// storage.Files.
func (t *Table) Delete(ctx context.Context, id storage.FileID) error {
	t.folder.Lock()
	defer t.folder.Unlock()
	f, err := t.store.GetFile(ctx, id)
	if err != nil {
		return err
	}
	if err := t.store.DeleteFile(ctx, id); err != nil {
		return err
	}
	return t.drop(context.WithoutCancel(ctx), f.Hash)
}

// drop removes a content that no file has. t.folder is held for writing.
func (t *Table) drop(ctx context.Context, hash string) error {
	if t.held > 0 {
		t.behind = true
		return nil
	}
	_, err := t.contents.drop(ctx, hash)
	return err
}
