package admin

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/respawnd/respawnd/storage"
)

// Actor is who asks for an operation, as the audit log will tell it.
type Actor struct {
	Via  storage.Via
	By   string     // what he calls himself; nobody checks it; may be empty
	From netip.Addr // zero: the command line of this machine
}

// actorKey is the key of an Actor in a context.
type actorKey struct{}

// WithActor returns a context for what an actor asks for. Without one it is the
// command line.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// Headers of a request by which the command line says who it is. They decide
// nothing: whoever has the token may do everything under any name.
const (
	viaHeader = "Respawnd-Via" // cli
	byHeader  = "Respawnd-By"  // a name, percent-encoded
)

// maxByHeader is the longest byHeader that is read, in bytes.
const maxByHeader = 3 * storage.MaxAuditBy

// apiActor returns who makes a request to the API.
func apiActor(r *http.Request) Actor {
	a := Actor{Via: storage.ViaAPI, From: peerOf(r)}
	if r.Header.Get(viaHeader) == string(storage.ViaCommand) {
		a.Via = storage.ViaCommand
	}
	if text := r.Header.Get(byHeader); len(text) <= maxByHeader {
		if by, err := url.QueryUnescape(text); err == nil {
			a.By = by
		}
	}
	return a
}

// peerOf returns the address that a request came from. A proxy's address is the
// proxy's: headers that say more can be forged.
func peerOf(r *http.Request) netip.Addr {
	a, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address says that there is none
	return a.Addr().Unmap()
}

// entry returns an entry of the audit log about what the actor of ctx does.
func entry(ctx context.Context, action, subject, detail string) storage.AuditEntry {
	a, ok := ctx.Value(actorKey{}).(Actor)
	if !ok {
		a.Via = storage.ViaCommand
	}
	return storage.AuditEntry{Via: a.Via, By: a.By, From: a.From, Action: action, Subject: subject, Detail: detail}
}

// noted returns a context whose change of the store is recorded with it.
func noted(ctx context.Context, action, subject, detail string) context.Context {
	return storage.WithAudit(ctx, entry(ctx, action, subject, detail))
}

// notedID is noted for a change of the record with an id.
func notedID(ctx context.Context, action string, id uint32, subject, detail string) context.Context {
	e := entry(ctx, action, subject, detail)
	e.ID = id
	return storage.WithAudit(ctx, e)
}

// Actions in the audit log.
const (
	actBanAdd          = "ban.add"
	actBanRemove       = "ban.remove"
	actGamePut         = "game.put"
	actGameRemove      = "game.remove"
	actGameMaintenance = "game.maintenance"
	actRoomPut         = "room.put"
	actRoomRemove      = "room.remove"
	actAccountCreate   = "account.create"
	actAccountPassword = "account.password"
	actAccountBan      = "account.ban"
	actAccountUnban    = "account.unban"
	actAccountDelete   = "account.delete"
	actAccountImport   = "account.import"
	actBuddyImport     = "account.import_buddies"
	actAccountKey      = "account.rotate_key"
	actAccountExport   = "account.export"
	actSessionKick     = "session.kick"
	actServerAdd       = "server.add"
	actServerRemove    = "server.remove"
	actServerHide      = "server.hide"
	actServerUnhide    = "server.unhide"
)
