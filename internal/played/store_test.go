package played

import (
	"context"

	"github.com/respawnd/respawnd/storage"
)

// fullStore refuses a report beyond a number of them; 0: none.
type fullStore struct {
	storage.Store

	most int
}

func (s *fullStore) PutPlayReport(ctx context.Context, p storage.PlayReport) error {
	n := 0
	for _, err := range s.PlayReports(ctx) {
		if n++; err != nil {
			return err
		}
	}
	if s.most > 0 && n >= s.most {
		return storage.ErrFull
	}
	return s.Store.PutPlayReport(ctx, p)
}
