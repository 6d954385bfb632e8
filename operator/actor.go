package operator

import (
	"context"
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/storage"
)

// Actor identifies who requested an operation, as the audit log records it.
type Actor struct {
	Via  storage.Via
	By   string     // self-chosen and not verified; may be empty
	From netip.Addr // zero: the command line of this machine
}

type actorKey struct{}

// WithActor returns a context for operations that a requests.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context, by default the command line.
func ActorOf(ctx context.Context) Actor {
	if a, ok := ctx.Value(actorKey{}).(Actor); ok {
		return a
	}
	return Actor{Via: storage.ViaCommand}
}

// operationKey is the key of an operation's action in the audit log in a context.
type operationKey struct{}

func withAction(ctx context.Context, action string) context.Context {
	return context.WithValue(ctx, operationKey{}, action)
}

// about returns a context whose change of the store is recorded as the operation that ctx is of,
// on a subject.
func about(ctx context.Context, subject, detail string) context.Context {
	return aboutID(ctx, 0, subject, detail)
}

// aboutID is about for the record with an id.
func aboutID(ctx context.Context, id uint32, subject, detail string) context.Context {
	action, _ := ctx.Value(operationKey{}).(string)
	return notedID(ctx, action, id, subject, detail)
}

// entry returns an entry of the audit log about an action of the actor of ctx.
func entry(ctx context.Context, action, subject, detail string) storage.AuditEntry {
	a := ActorOf(ctx)
	return storage.AuditEntry{Via: a.Via, By: a.By, From: a.From, Action: action, Subject: subject, Detail: detail}
}

// addAudit adds an entry about the operation that ctx is of, for changes that are not of the store.
func addAudit(ctx context.Context, l *Local, id uint32, subject, detail string) error {
	e, _ := storage.AuditOf(aboutID(ctx, id, subject, detail))
	_, err := l.Store.AddAudit(ctx, e)
	return err
}

// notedID returns a context whose change of the record with an id is recorded with it.
func notedID(ctx context.Context, action string, id uint32, subject, detail string) context.Context {
	e := entry(ctx, action, subject, detail)
	e.ID = id
	return storage.WithAudit(ctx, e)
}

// ruleActions are the actions of putting and lifting rules of chat.
var ruleActions = map[storage.ChatKind]struct{ put, remove string }{
	storage.ChatBan:       {"chat.ban", "chat.unban"},
	storage.ChatMute:      {"chat.mute", "chat.unmute"},
	storage.ChatModerator: {"chat.moderator.add", "chat.moderator.remove"},
}

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
