package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/respawnd/respawnd/storage"
)

// encode returns the doc of a record without the named fields, which are columns.
func encode(record any, without ...string) ([]byte, error) {
	doc, err := json.Marshal(record)
	if err != nil || len(without) == 0 {
		return doc, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc, &fields); err != nil {
		return nil, err
	}
	for _, name := range without {
		delete(fields, name)
	}
	return json.Marshal(fields)
}

// decode reads the doc of a record. what and key name the record in the error,
// which matches storage.ErrDamaged.
func decode(doc []byte, record any, what string, key any) error {
	if err := json.Unmarshal(doc, record); err != nil {
		return fmt.Errorf("%s %v: %w: %w", what, key, storage.ErrDamaged, err)
	}
	return nil
}

// isDamage reports whether err reports damaged data.
func isDamage(err error) bool { return errors.Is(err, storage.ErrDamaged) }

// The instants that fit into nanoseconds since 1970.
var (
	firstInstant = time.Unix(0, math.MinInt64)
	lastInstant  = time.Unix(0, math.MaxInt64)
)

// nanoseconds returns a column for an instant. Those before 1678 are the lowest
// number, those after 2262 the highest.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(firstInstant):
		return math.MinInt64
	case t.After(lastInstant):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// expiry is nanoseconds for an instant of which the zero value means never.
func expiry(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return nanoseconds(t)
}

// isText reports whether PostgreSQL can store or compare s as text. No key that
// is stored is anything else.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
