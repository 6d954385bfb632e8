package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/storage"
)

// MaxFilesListed is how many files of players one call lists.
const MaxFilesListed = 1000

// FileQuery selects files of players.
type FileQuery struct {
	Game  string         // empty: all games
	After storage.FileID // only ids above it
}

// FileOperator is the part of Operator about files that players uploaded.
type FileOperator interface {
	// ListFiles returns up to MaxFilesListed files in the order of their ids.
	ListFiles(ctx context.Context, q FileQuery) ([]storage.File, error)
	// File returns a file. storage.ErrNotFound: there is none.
	File(ctx context.Context, id storage.FileID) (storage.File, error)
	// FileContent writes the content of a file to w.
	FileContent(ctx context.Context, id storage.FileID, w io.Writer) error
	// DeleteFile deletes a file, and its content if no other file has it.
	DeleteFile(ctx context.Context, id storage.FileID) error
}

// ListFiles implements Operator.
func (l *Local) ListFiles(ctx context.Context, q FileQuery) ([]storage.File, error) {
	list := []storage.File{} // never null as JSON
	for f, err := range l.PlayerFiles.All(ctx, q.After) {
		switch {
		case errors.Is(err, storage.ErrDamaged):
			continue // the start of the daemon reports it
		case err != nil:
			return nil, err
		case q.Game != "" && f.Game != q.Game:
			continue
		}
		if list = append(list, f); len(list) == MaxFilesListed {
			break
		}
	}
	return list, nil
}

// File implements Operator.
func (l *Local) File(ctx context.Context, id storage.FileID) (storage.File, error) {
	f, err := l.PlayerFiles.Get(ctx, id)
	return f, fileError(id, err)
}

// FileContent implements Operator.
func (l *Local) FileContent(ctx context.Context, id storage.FileID, w io.Writer) error {
	f, content, err := l.PlayerFiles.Open(ctx, id)
	if err != nil {
		return fileError(id, err)
	}
	defer func() { _ = content.Close() }()
	_, err = io.CopyN(w, content, f.Size)
	return fileError(id, err)
}

// DeleteFile implements Operator.
func (l *Local) DeleteFile(ctx context.Context, id storage.FileID) error {
	ctx = notedID(ctx, actFileDelete, uint32(id), "file "+strconv.FormatUint(uint64(id), 10), "")
	return fileError(id, l.PlayerFiles.Delete(ctx, id))
}

// fileError says which file an error is about.
func fileError(id storage.FileID, err error) error {
	if err != nil {
		return fmt.Errorf("file %d: %w", id, err)
	}
	return nil
}

// sweepFiles removes contents that belonged to the files of a deleted account. The next sweep
// removes contents that it cannot remove.
func (l *Local) sweepFiles(ctx context.Context) {
	if l.PlayerFiles != nil {
		_, _ = l.PlayerFiles.Sweep(context.WithoutCancel(ctx))
	}
}

// packFiles writes the contents of files to a file in dir and returns its path, empty if
// there are none. The caller holds them.
func (l *Local) packFiles(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, files.PackName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	empty, err := l.PlayerFiles.Pack(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil || empty {
		return "", err
	}
	return path, nil
}
