package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/storage"
)

// ListBans returns the bans of the store.
var ListBans = New(Operation{Name: "ban list", Route: "GET /bans", What: "Show all bans"},
	func(_ context.Context, l *Local, _ None) ([]storage.Ban, error) {
		return append([]storage.Ban{}, l.Table.List()...), nil // never null as JSON
	})

// NewBan is a ban to be added: a storage.Ban, by default without an end.
type NewBan struct {
	Prefix  netip.Prefix  `json:"prefix" arg:"CIDR|IP"`
	Scope   storage.Scope `json:"scope" flag:"scope" default:"all" doc:"all, lists, presence or zandronum"`
	Reason  string        `json:"reason,omitzero" flag:"reason" doc:"reason, shown in the list"`
	By      string        `json:"by,omitzero" default:"cli"`
	Added   time.Time     `json:"added,omitzero"` // by default now
	Expires time.Time     `json:"expires,omitzero" flag:"for" doc:"how long, such as 24h (default: for ever)"`
}

// AddBan puts a ban in force at once.
var AddBan = New(Operation{Name: "ban add", Route: "POST /bans", What: "Ban an address or a network; takes effect at once"},
	func(ctx context.Context, l *Local, in NewBan) (storage.Ban, error) {
		b, now := storage.Ban(in), time.Now()
		if b.Added.IsZero() {
			b.Added = now
		}
		if err := checkBanEnd(later(b.Added, now), b.Expires); err != nil {
			return b, err
		}
		err := l.Table.Add(about(ctx, banText(b.Prefix, b.Scope), banDetail(b.Expires, b.Reason)), b)
		if errors.Is(err, bans.ErrEverybody) {
			err = fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
		return b, err
	})

// BanRef names the bans of a prefix, by default those of every scope.
type BanRef struct {
	Prefix netip.Prefix  `query:"prefix,required" arg:"CIDR|IP"`
	Scope  storage.Scope `query:"scope" flag:"scope" doc:"only the ban of this scope"`
}

// RemoveBan lifts the bans of a prefix. There may be none.
var RemoveBan = New(Operation{Name: "ban remove", Route: "DELETE /bans", What: "Lift a ban"},
	func(ctx context.Context, l *Local, in BanRef) (Removed, error) {
		n, err := l.Table.Remove(about(ctx, banText(in.Prefix, in.Scope), ""), in.Prefix, in.Scope)
		return Removed{n}, err
	})

// FileBan is a line of a ban file of a service. It is changed in the file only.
type FileBan struct {
	Addresses string    `json:"addresses"` // as in the file
	Scope     string    `json:"scope"`     // of the bans in the store that have the same effect
	Effect    string    `json:"effect"`    // restriction, such as "may not be listed"
	Reason    string    `json:"reason"`
	Expires   time.Time `json:"expires,omitzero"` // zero: never
	File      string    `json:"file"`             // its path
	Line      int       `json:"line"`
}

// Address selects what is about an address; zero: about any.
type Address struct {
	Addr netip.Addr `query:"addr"`
}

// ListFileBans returns the bans in the files of services that cover an address. They are not
// among those of ListBans.
var ListFileBans = New(Operation{Name: "ban files", Route: "GET /bans/files", What: "Show the bans in the files of services, with file and line"},
	func(_ context.Context, l *Local, in Address) ([]FileBan, error) {
		out := []FileBan{} // never null as JSON
		if l.BanFiles == nil {
			return out, nil
		}
		list, err := l.BanFiles(in.Addr.Unmap())
		return append(out, list...), err
	})

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
