package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/respawnd/respawnd/internal/durable"
	"github.com/respawnd/respawnd/storage"
)

// A contentStore keeps contents under their hashes.
type contentStore interface {
	// keep stores a complete content, which is in the file part, unless it is there.
	keep(ctx context.Context, part, hash string, size int64) error

	// confirm is called after the store has a file with a content that keep stored. It
	// returns an error unless the content is still there.
	confirm(ctx context.Context, part, hash string, size int64) error

	// open returns a content.
	open(ctx context.Context, hash string) (io.ReadCloser, error)

	// drop removes a content unless a file has it.
	drop(ctx context.Context, hash string) (dropped bool, err error)

	// all yields all contents.
	all(ctx context.Context) iter.Seq2[storage.Content, error]
}

// folder keeps contents as files, whose names are the hashes.
type folder struct {
	dir   string
	store storage.Files
}

// path returns the path of a content. hash is one.
func (k folder) path(hash string) string { return filepath.Join(k.dir, hash) }

func (k folder) keep(_ context.Context, part, hash string, _ int64) error {
	if _, err := os.Stat(k.path(hash)); err != nil {
		if err := os.Rename(part, k.path(hash)); err != nil {
			return err
		}
	}
	return durable.SyncDir(k.dir) // the upload that named it may not have done that yet
}

// confirm has nothing to do: nothing is removed while a file is stored.
func (k folder) confirm(context.Context, string, string, int64) error { return nil }

func (k folder) open(_ context.Context, hash string) (io.ReadCloser, error) {
	return os.Open(k.path(hash))
}

func (k folder) drop(ctx context.Context, hash string) (bool, error) {
	if used, err := k.store.HasContent(ctx, hash); err != nil || used {
		return false, err
	}
	switch err := os.Remove(k.path(hash)); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, err
	}
}

func (k folder) all(ctx context.Context) iter.Seq2[storage.Content, error] {
	return func(yield func(storage.Content, error) bool) {
		entries, err := os.ReadDir(k.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(storage.Content{}, err)
			return
		}
		for _, e := range entries {
			if storage.CheckFileHash(e.Name()) != nil {
				continue
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed meanwhile
			}
			used := false
			if err == nil {
				used, err = k.store.HasContent(ctx, e.Name())
			}
			if err != nil {
				yield(storage.Content{}, err)
				return
			}
			if !yield(storage.Content{Hash: e.Name(), Size: info.Size(), Used: used}, nil) {
				return
			}
		}
	}
}

// shared keeps contents in a store that several nodes use.
type shared struct{ in storage.Contents }

func (k shared) keep(ctx context.Context, part, hash string, size int64) error {
	f, err := os.Open(part)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return k.in.PutContent(ctx, hash, f, size)
}

// confirm stores the content again if another node removed it before the file was
// stored. From now on nothing removes it.
func (k shared) confirm(ctx context.Context, part, hash string, size int64) error {
	return k.keep(ctx, part, hash, size)
}

func (k shared) open(ctx context.Context, hash string) (io.ReadCloser, error) {
	first, err := k.in.ContentPart(ctx, hash, 0)
	if err != nil {
		return nil, err
	}
	return &sharedContent{ctx: ctx, in: k.in, hash: hash, left: first, more: len(first) == storage.ContentPart}, nil
}

func (k shared) drop(ctx context.Context, hash string) (bool, error) {
	return k.in.DropContent(ctx, hash)
}

func (k shared) all(ctx context.Context) iter.Seq2[storage.Content, error] { return k.in.Contents(ctx) }

// sharedContent reads a content part by part.
type sharedContent struct {
	ctx  context.Context // of open: a reader has none
	in   storage.Contents
	hash string
	part int
	left []byte // of the part
	more bool   // there may be parts behind it
}

// Read implements io.Reader.
func (c *sharedContent) Read(p []byte) (n int, err error) {
	if len(c.left) == 0 && c.more {
		c.part++
		if c.left, err = c.in.ContentPart(c.ctx, c.hash, c.part); err != nil {
			c.left = nil
			return 0, err
		}
		c.more = len(c.left) == storage.ContentPart
	}
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	n = copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// Close implements io.Closer.
func (c *sharedContent) Close() error { return nil }
