package operator

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/storage"
)

// MaxFilesListed is how many files of players one call lists.
const MaxFilesListed = 1000

// FileQuery selects files of players.
type FileQuery struct {
	Game  string         `query:"game" arg:"[GAME]"` // empty: all games
	After storage.FileID `query:"after"`             // only ids above it
}

// ListFiles returns up to MaxFilesListed files in the order of their ids.
var ListFiles = New(Operation{
	Name: "files list", Route: "GET /files", What: "Show the files of a game, or of all", About: noun.Files, AtMost: MaxFilesListed,
}, func(ctx context.Context, l *Local, q FileQuery) ([]storage.File, error) {
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
})

// FileRef names a file.
type FileRef struct {
	ID storage.FileID `path:"id" arg:"ID" doc:"the id of a file: 'respawnd files list' shows all"`
}

// GetFile returns a file. storage.ErrNotFound: there is none.
var GetFile = New(Operation{
	Name: "files show", Route: "GET /files/{id}", What: "Show the details of a file", About: noun.Files,
}, func(ctx context.Context, l *Local, in FileRef) (storage.File, error) {
	f, err := l.PlayerFiles.Get(ctx, in.ID)
	return f, fileError(in.ID, err)
})

// ReadFile writes the content of a file.
var ReadFile = NewStream(Operation{
	Name: "files get", Route: "GET /files/{id}/content", What: "Copy the content of a file", About: noun.Files, Type: "application/octet-stream",
}, func(ctx context.Context, l *Local, in FileRef, w io.Writer) (leftOut int, err error) {
	f, content, err := l.PlayerFiles.Open(ctx, in.ID)
	if err != nil {
		return 0, fileError(in.ID, err)
	}
	defer func() { _ = content.Close() }()
	_, err = io.CopyN(w, content, f.Size)
	return 0, fileError(in.ID, err)
})

// DeleteFile deletes a file, and its content if no other file has it.
var DeleteFile = New(Operation{
	Name: "files delete", Route: "DELETE /files/{id}", What: "Delete a file and its content", Action: "file.delete", About: noun.Files, Destroys: true,
}, func(ctx context.Context, l *Local, in FileRef) (Removed, error) {
	ctx = aboutID(ctx, uint32(in.ID), "file "+strconv.FormatUint(uint64(in.ID), 10), "")
	return Removed{1}, fileError(in.ID, l.PlayerFiles.Delete(ctx, in.ID))
})

func fileError(id storage.FileID, err error) error {
	return subject(err, "file %d", id)
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
