package storage

import (
	"context"
	"iter"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/clean"
)

// Limits of an AuditEntry, in bytes. Longer texts are cut.
const (
	MaxAuditBy      = 64   // MaxAuditBy is the longest name of an operator.
	MaxAuditAction  = 64   // MaxAuditAction is the longest action.
	MaxAuditSubject = 256  // MaxAuditSubject is the longest subject.
	MaxAuditDetail  = 1024 // MaxAuditDetail is the longest detail.
)

// DefaultAuditEntries is the number of entries that the audit log keeps unless
// LimitAudit changes it.
const DefaultAuditEntries = 10_000

// Via is the interface through which a change was made.
type Via string

// The interfaces.
const (
	ViaCommand Via = "cli"    // ViaCommand is the command line.
	ViaAPI     Via = "api"    // ViaAPI is the admin API.
	ViaPage    Via = "page"   // ViaPage is the admin page.
	ViaPlayer  Via = "player" // ViaPlayer is a player who changes their own account.
)

// AuditEntry records one change: its author, its time and its object. It holds
// no secret.
type AuditEntry struct {
	Seq     uint64     `json:"seq"` // set by the engine; rises by one with each entry
	Time    time.Time  `json:"time"`
	Via     Via        `json:"via"`
	By      string     `json:"by,omitzero"`   // name that the operator gave
	From    netip.Addr `json:"from,omitzero"` // address of the request; zero: this machine's command line
	Action  string     `json:"action"`        // such as ban.add
	Subject string     `json:"subject,omitzero"`
	ID      uint32     `json:"id,omitzero"` // of the account or room; of a new one the engine sets it
	Detail  string     `json:"detail,omitzero"`
}

// Canonical returns e as it is stored. It never fails, because the record of a
// change must not prevent the change: texts that are too long are cut, and
// invalid characters are replaced.
func (e AuditEntry) Canonical() AuditEntry {
	e.By = fitText(e.By, MaxAuditBy)
	e.Action = fitText(e.Action, MaxAuditAction)
	e.Subject = fitText(e.Subject, MaxAuditSubject)
	e.Detail = fitText(e.Detail, MaxAuditDetail)
	e.Via = Via(fitText(string(e.Via), MaxAuditAction))
	e.From = e.From.Unmap().WithZone("")
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.Round(0).UTC()
	return e
}

// fitText replaces control characters and invalid UTF-8, and cuts s to limit
// bytes.
func fitText(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, clean.UTF8(s))
	if len(s) <= limit {
		return s
	}
	const ellipsis = "…"
	cut := limit - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + ellipsis
}

// auditKey is the key of an AuditEntry in a context.
type auditKey struct{}

// WithAudit returns a context for changes that are recorded in the audit log:
// every change stores e in the same atomic step. A call that fails or changes
// nothing stores none.
func WithAudit(ctx context.Context, e AuditEntry) context.Context {
	return context.WithValue(ctx, auditKey{}, e)
}

// WithoutAudit returns a context whose changes are not recorded one by one.
func WithoutAudit(ctx context.Context) context.Context {
	if _, ok := AuditOf(ctx); !ok {
		return ctx
	}
	return context.WithValue(ctx, auditKey{}, nil)
}

// AuditOf returns the entry that changes with this context store.
func AuditOf(ctx context.Context) (AuditEntry, bool) {
	e, ok := ctx.Value(auditKey{}).(AuditEntry)
	return e, ok
}

// Audit keeps the audit log: changes of the store by operators, and by players
// of their own accounts. Other methods add to it, see WithAudit. When it is
// full, its oldest entries are removed. Those ViaPlayer are kept separately, as
// many again, so that players cannot push the others out.
type Audit interface {
	// AddAudit stores an entry by itself, for an event that is not a single
	// change of the store, and returns it as it is stored. An entry in ctx is
	// ignored.
	AddAudit(ctx context.Context, e AuditEntry) (AuditEntry, error)

	// AuditLog yields the entries with a Seq below before, newest first; before
	// 0 means all.
	AuditLog(ctx context.Context, before uint64) iter.Seq2[AuditEntry, error]

	// LimitAudit sets the number of entries that are kept, at least 1.
	LimitAudit(entries int)
}
