package storage

import (
	"context"
	"io"
	"iter"
)

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
