package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/clock"
)

// saveEvery is how much of the history a crash may lose.
const saveEvery = 15 * time.Minute

// File keeps a history over restarts. An unreadable file is logged and replaced
// by an empty history.
type File struct {
	Path string
	Log  zerolog.Logger
}

// Load returns the history in the file.
func (k File) Load() *Book {
	b := NewBook()
	f, err := os.Open(k.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return b
	}
	if err == nil {
		if info, statErr := f.Stat(); statErr == nil {
			b.file.Store(info.Size())
		}
		err = errors.Join(b.Load(f), f.Close())
	}
	if err != nil {
		k.Log.Warn().Str("file", k.Path).Err(err).Msg("the history of players is unreadable and starts empty")
	}
	return b
}

// Keep saves b from time to time, and once more when ctx ends.
func (k File) Keep(ctx context.Context, b *Book) {
	for on := true; on; {
		on = clock.Pause(ctx, saveEvery)
		size, err := backup.Replace(k.Path, b.Save)
		if err != nil {
			k.Log.Warn().Str("file", k.Path).Err(err).Msg("the history of players was not saved")
			continue
		}
		b.file.Store(size)
	}
}
