package operator

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Bans implements Operator.
func (l *Local) Bans(context.Context) ([]storage.Ban, error) {
	return append([]storage.Ban{}, l.Table.List()...), nil // never null as JSON
}

// AddBan implements Operator.
func (l *Local) AddBan(ctx context.Context, b storage.Ban) error {
	now := time.Now()
	if b.Added.IsZero() {
		b.Added = now
	}
	if err := checkBanEnd(later(b.Added, now), b.Expires); err != nil {
		return err
	}
	return l.Table.Add(noted(ctx, actBanAdd, banText(b.Prefix, b.Scope), banDetail(b.Expires, b.Reason)), b)
}

// later returns the later of two times: a date that was copied does not make a ban
// begin earlier than now.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// checkBanEnd refuses a ban that ends before it begins; a zero end is never.
func checkBanEnd(begin, end time.Time) error {
	if end.IsZero() || end.After(begin) {
		return nil
	}
	return fmt.Errorf("%w: the ban would end at %s, before it begins at %s",
		ErrBadRequest, end.UTC().Format(time.RFC3339), begin.UTC().Format(time.RFC3339))
}

// RemoveBan implements Operator.
func (l *Local) RemoveBan(ctx context.Context, p netip.Prefix, scope storage.Scope) (int, error) {
	return l.Table.Remove(noted(ctx, actBanRemove, banText(p, scope), ""), p, scope)
}

// banText returns the subject of a ban in the audit log.
func banText(p netip.Prefix, scope storage.Scope) string {
	return p.String() + " (" + scope.String() + ")"
}

// banDetail returns the end and the reason of a ban, for the audit log.
func banDetail(expires time.Time, reason string) string {
	until := "for good"
	if !expires.IsZero() {
		until = "until " + expires.UTC().Format(time.RFC3339)
	}
	if reason == "" {
		return until
	}
	return until + ": " + reason
}
