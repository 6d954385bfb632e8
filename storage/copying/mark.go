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

// Marks seal the mark of a copy, so that it looks like the other entries of its table. The
// zero value stores the name of the source as it is.
type Marks struct {
	Seal func(key, content []byte) (value []byte)
	Open func(key, value []byte) (content []byte, err error)
}

// Unfinished returns the source of the copy into an engine that was interrupted, "" if
// there is none.
func (m Marks) Unfinished(ctx context.Context, e engine.Engine) (source string, err error) {
	err = e.View(ctx, func(tx engine.Reader) error {
		source = ""
		v, err := tx.Get(MarkTable, []byte(MarkKey))
		if err == nil && v != nil && m.Open != nil {
			v, err = m.Open([]byte(MarkKey), v)
		}
		source = string(v)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("mark of a copy: %w", err)
	}
	return source, nil
}

// set stores the mark of a copy.
func (m Marks) set(ctx context.Context, e engine.Engine, source string) error {
	v := []byte(source)
	if m.Seal != nil {
		v = m.Seal([]byte(MarkKey), v)
	}
	return e.Update(ctx, func(tx engine.Tx) error { return tx.Put(MarkTable, []byte(MarkKey), v) })
}

func (m Marks) remove(ctx context.Context, e engine.Engine) error {
	return e.Update(ctx, func(tx engine.Tx) error { return tx.Delete(MarkTable, []byte(MarkKey)) })
}

// isMark reports whether a key is that of the mark.
func isMark(t engine.Table, key []byte) bool { return t == MarkTable && string(key) == MarkKey }
