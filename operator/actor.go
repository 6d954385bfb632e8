package operator

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/storage"
)

// Actor identifies who requested an operation, as the audit log records it.
type Actor struct {
	Via  storage.Via
	By   string     // self-chosen and not verified; may be empty
	From netip.Addr // zero: the command line of this machine
}

// actorKey is the key of an Actor in a context.
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

// entry returns an entry of the audit log about an action of the actor of ctx.
func entry(ctx context.Context, action, subject, detail string) storage.AuditEntry {
	a := ActorOf(ctx)
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
	actAccountReset    = "account.reset_link"
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
	actChatKick        = "chat.kick"
	actCDKeyAdd        = "cdkey.add"
	actCDKeyRemove     = "cdkey.remove"
	actCDKeyBan        = "cdkey.ban"
	actCDKeyUnban      = "cdkey.unban"
	actChatSay         = "chat.say"
	actFileDelete      = "file.delete"
	actStatsSet        = "stats.set"
	actStatsDelete     = "stats.delete"
	actStatsImport     = "stats.import"
	actMotdSet         = "motd.set"
	actMotdClear       = "motd.clear"
	actPatchAdd        = "patch.add"
	actPatchRemove     = "patch.remove"
	actMatchDelete     = "match.delete"
	actSakeDelete      = "sake.delete"
)

// ruleActions are the actions of putting and lifting rules of chat.
var ruleActions = map[storage.ChatKind]struct{ put, remove string }{
	storage.ChatBan:       {"chat.ban", "chat.unban"},
	storage.ChatMute:      {"chat.mute", "chat.unmute"},
	storage.ChatModerator: {"chat.moderator.add", "chat.moderator.remove"},
}
