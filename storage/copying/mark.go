package copying

import (
	"context"
	"fmt"

	"github.com/respawnd/respawnd/storage/engine"
)

// Where an engine has the mark of a copy into it. It is no part of what is copied.
const (
	MarkTable = engine.Table("marks") // MarkTable may have other entries.
	MarkKey   = "copy"                // MarkKey is the key of the mark.
)

// Unfinished returns the source of the copy into an engine that was interrupted, "" if
// there is none.
func Unfinished(ctx context.Context, e engine.Engine) (source string, err error) {
	err = e.View(ctx, func(tx engine.Reader) error {
		v, err := tx.Get(MarkTable, []byte(MarkKey))
		if err == nil && v != nil {
			v, err = engine.Unseal([]byte(MarkKey), v)
		}
		source = string(v)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("mark of a copy: %w", err)
	}
	return source, nil
}

// mark marks the target of a copy.
func mark(ctx context.Context, e engine.Engine, source string) error {
	return e.Update(ctx, func(tx engine.Tx) error {
		return tx.Put(MarkTable, []byte(MarkKey), engine.Seal([]byte(MarkKey), []byte(source)))
	})
}

func unmark(ctx context.Context, e engine.Engine) error {
	return e.Update(ctx, func(tx engine.Tx) error { return tx.Delete(MarkTable, []byte(MarkKey)) })
}

// isMark reports whether a key is that of the mark.
func isMark(t engine.Table, key []byte) bool { return t == MarkTable && string(key) == MarkKey }
