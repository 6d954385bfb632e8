package storage

import (
	"cmp"
	"context"
	"io"
	"iter"
	"strings"
	"time"
)

// Limits of a File.
const (
	MaxFiles     = 200_000  // MaxFiles is how many there may be.
	MaxFileSize  = 64 << 20 // MaxFileSize is the largest content in bytes.
	MaxFileName  = 255      // MaxFileName is the longest name in bytes.
	MaxFileGame  = 64       // MaxFileGame is the longest name of a game in bytes.
	fileHashLen  = 64       // hex digits
	maxDownloads = 1 << 53  // exact in every JSON reader
)

// FileID identifies a File. The engine assigns ids from 1 on; an id is never used
// twice.
type FileID uint32

// File describes a file that a player uploaded. Its content is not in the store:
// several files may have the same content, which is kept under its hash.
type File struct {
	ID        FileID    `json:"id"`
	Game      string    `json:"game"`
	Owner     ProfileID `json:"owner"`
	Name      string    `json:"name,omitzero"` // as the player's game sent it; never part of a path
	Size      int64     `json:"size"`          // in bytes, from 0 to MaxFileSize
	Hash      string    `json:"hash"`          // SHA-256 of the content, 64 lower-case hex digits
	Created   time.Time `json:"created"`
	Downloads int64     `json:"downloads,omitzero"`
}

// FileUsage is a number of files and the sum of their sizes.
type FileUsage struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// With returns the usage with one more file of a size.
func (u FileUsage) With(size int64) FileUsage { return FileUsage{u.Files + 1, u.Bytes + size} }

// Within reports whether u exceeds neither part of a limit.
func (u FileUsage) Within(limit FileUsage) bool {
	return u.Files <= limit.Files && u.Bytes <= limit.Bytes
}

// CheckFileHash returns an error that matches ErrInvalid for a text that is not the
// hash of a content.
func CheckFileHash(hash string) error {
	if len(hash) != fileHashLen || strings.Trim(hash, "0123456789abcdef") != "" {
		return invalid("the hash of a content has %d lower-case hex digits", fileHashLen)
	}
	return nil
}

// Canonical returns f as it is stored: checked, with its time in UTC. The error
// matches ErrInvalid.
func (f File) Canonical() (File, error) {
	switch {
	case f.Owner == 0:
		return File{}, invalid("the file has no owner")
	case f.Size < 0 || f.Size > MaxFileSize:
		return File{}, invalid("a file has 0 to %d bytes, not %d", MaxFileSize, f.Size)
	case f.Downloads < 0 || f.Downloads > maxDownloads:
		return File{}, invalid("%d is not a number of downloads", f.Downloads)
	}
	f.Created = f.Created.Round(0).UTC()
	return f, cmp.Or(checkName("game of the file", f.Game, MaxFileGame), checkText("name of the file", f.Name, MaxFileName), CheckFileHash(f.Hash))
}

// Files keeps the descriptions of files. DeleteProfile deletes those of its profile.
type Files interface {
	// CreateFile stores a file with a new id; its ID is ignored. The error is
	// ErrNotFound or ErrDeleted if there is no such owner, and ErrFull if the files of
	// the owner, or all files, would exceed their limit, or would be more than MaxFiles.
	CreateFile(ctx context.Context, f File, owner, all FileUsage) (File, error)

	// GetFile returns a file. The error is ErrNotFound, and ErrDeleted for an id that
	// was in use.
	GetFile(ctx context.Context, id FileID) (File, error)

	// DeleteFile deletes a file. The errors are those of GetFile.
	DeleteFile(ctx context.Context, id FileID) error

	// Files yields all files with ids above after, in the order of ids.
	Files(ctx context.Context, after FileID) iter.Seq2[File, error]

	// FilesOf yields the files of a profile, in the order of ids.
	FilesOf(ctx context.Context, owner ProfileID) iter.Seq2[File, error]

	// FileUsage returns the usage of a profile, or of all for 0.
	FileUsage(ctx context.Context, owner ProfileID) (FileUsage, error)

	// HasContent reports whether a file has the content with a hash.
	HasContent(ctx context.Context, hash string) (bool, error)

	// AddDownloads adds to the numbers of downloads. Ids that do not exist are ignored.
	AddDownloads(ctx context.Context, counts map[FileID]int64) error
}

// ContentPart is the size of the parts in which Contents are read, but for the last one.
const ContentPart = 256 << 10

// Contents keeps the contents of files, for engines that several nodes use: each of them
// can then serve every file. Without it the contents are files in a folder.
//
// Like the methods of Store, each method is one atomic step. Hashes are those of File.
type Contents interface {
	// PutContent stores a content of size bytes under its hash, unless it is there.
	// It may read the content more than once. A DropContent that has begun before has
	// no effect on the content when PutContent returns nil.
	PutContent(ctx context.Context, hash string, content io.ReaderAt, size int64) error

	// ContentPart returns a numbered part of a content; the first is 0. A part has
	// ContentPart bytes. The last one may be shorter, and parts after it are empty. The
	// error is ErrNotFound if there is no such content.
	ContentPart(ctx context.Context, hash string, part int) ([]byte, error)

	// DropContent removes a content unless a file has it, and reports whether it
	// removed one.
	DropContent(ctx context.Context, hash string) (bool, error)

	// Contents yields all contents, in the order of hashes. What an interrupted
	// PutContent left may be among them, as unused.
	Contents(ctx context.Context) iter.Seq2[Content, error]
}

// Content describes a content.
type Content struct {
	Hash string
	Size int64
	Used bool // a file has it
}
