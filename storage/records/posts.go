package records

import (
	"context"

	"github.com/respawnd/respawnd/storage"
)

// postKey is the key in tableMarks of the message at a place.
func postKey(place string) []byte { return []byte("post/" + place) }

// Post is described in [storage.Posts].
func (s *Store) Post(ctx context.Context, place string) (string, error) {
	return read(ctx, s, func(v *view) (string, error) {
		content, err := v.wanted(tableMarks, postKey(place), 1)
		return string(content), wrapped(err, "message at %s", place)
	})
}

// PutPost is described in [storage.Posts].
func (s *Store) PutPost(ctx context.Context, place, id string) error {
	if err := storage.CheckPost(place, id); err != nil {
		return err
	}
	return s.change(ctx, func(c *change) error {
		c.putEntry(tableMarks, postKey(place), []byte(id))
		return nil
	})
}
