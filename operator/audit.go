package operator

import (
	"context"
	"errors"

	"github.com/respawnd/respawnd/storage"
)

// Sizes of a page of the audit log, in entries.
const (
	MaxAuditPage     = 500 // MaxAuditPage is the largest one.
	defaultAuditPage = 100
)

// AuditQuery selects entries of the audit log.
type AuditQuery struct {
	Before uint64 `query:"before"`                                                              // numbers below that; 0: from the newest
	Limit  int    `query:"limit" flag:"limit" doc:"how many entries, the newest first; 0: all"` // 0: 100, at most MaxAuditPage
}

// AuditPage is a part of the audit log, newest first.
type AuditPage struct {
	Entries []storage.AuditEntry `json:"entries"`
	Next    uint64               `json:"next,omitzero"`     // Before for the next page; 0: there is none
	LeftOut int                  `json:"left_out,omitzero"` // entries that could not be read
}

// ReadAudit returns a page of the changes that operators made.
var ReadAudit = New(Operation{
	Name: "audit", Route: "GET /audit", What: "Show the changes that operators made", AtMost: MaxAuditPage,
}, func(ctx context.Context, l *Local, q AuditQuery) (AuditPage, error) {
	if q.Limit <= 0 {
		q.Limit = defaultAuditPage
	}
	q.Limit = min(q.Limit, MaxAuditPage)
	page := AuditPage{Entries: []storage.AuditEntry{}} // never null as JSON
	for e, err := range l.Store.AuditLog(ctx, q.Before) {
		switch {
		case errors.Is(err, storage.ErrDamaged):
			page.LeftOut++
			continue
		case err != nil:
			return AuditPage{}, err
		}
		if len(page.Entries) == q.Limit { // one more than requested: there is another page
			page.Next = page.Entries[q.Limit-1].Seq
			break
		}
		page.Entries = append(page.Entries, e)
	}
	return page, nil
})
