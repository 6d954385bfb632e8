package gstats

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of requests for data.
const (
	// maxKeys is the length of the longest list of keys. Clients have 256 bytes.
	maxKeys = 1024
	// maxWait is how long a request to store data waits for the rate of its address.
	maxWait = 10 * time.Second
)

// result is how a request for data ended; its name is its label in metrics.
type result uint8

const (
	resultDone result = iota
	resultUnchanged
	resultMalformed
	resultDenied
	resultReadOnly
	resultShort
	resultTooLarge
	resultLimited
	resultFailed
)

var resultNames = [...]string{
	resultDone: "done", resultUnchanged: "unchanged", resultMalformed: "malformed", resultDenied: "not_owner",
	resultReadOnly: "read_only", resultShort: "short_data", resultTooLarge: "too_large", resultLimited: "limited", resultFailed: "failed",
}

func (x *session) blockOf(r *request) (storage.StatBlockID, bool) {
	id, ok := profileID(r.pid)
	if !ok || !r.kind.given || r.kind.value < 0 || r.kind.value > int64(storage.StatPublicWrite) || !r.index.inInt32() || r.index.value < 0 {
		return storage.StatBlockID{}, false
	}
	return storage.StatBlockID{Game: x.game, Profile: id, Kind: storage.StatKind(r.kind.value), Index: int32(r.index.value)}, true
}

// setData is the request setpd.
func (x *session) setData(ctx context.Context, r *request, now time.Time) {
	at, why := x.store(ctx, r, now)
	x.server.metrics.sets[why].Inc()
	if why != resultDone {
		x.out = appendSet(x.out, r, 0)
		return
	}
	x.out = appendSet(x.out, r, at.Unix())
}

func (x *session) store(ctx context.Context, r *request, now time.Time) (at time.Time, why result) {
	id, ok := x.blockOf(r)
	switch {
	case !ok || !r.hasData || !r.length.inInt32() || r.length.value < 0:
		return at, resultMalformed
	case !x.owner(id.Profile):
		return at, resultDenied
	case id.Kind.ReadOnly():
		return at, resultReadOnly
	case int64(len(r.data))+1 < r.length.value:
		x.drop(droppedCut)
		return at, resultShort
	case !x.mayStore(now):
		return at, resultLimited
	}
	data := r.data[:min(int64(len(r.data)), r.length.value)]
	var err error
	if r.merge {
		at, err = x.server.opt.Book.Merge(ctx, id, data)
	} else {
		at, err = x.server.opt.Book.Set(ctx, id, data)
	}
	switch {
	case errors.Is(err, stats.ErrPairs):
		return at, resultMalformed
	case errors.Is(err, stats.ErrTooLarge), errors.Is(err, stats.ErrFull):
		x.note(verdicts.DataTooLarge)
		return at, resultTooLarge
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrDeleted):
		return at, resultDenied
	case err != nil:
		x.server.troubled(ctx, err, "data of a player not stored")
		return at, resultFailed
	}
	return at, resultDone
}

// mayStore takes one request from the quota of the client's address, and waits for it if
// it must.
func (x *session) mayStore(now time.Time) bool {
	if x.server.opt.Trusted.Has(x.peer.Addr()) {
		return true
	}
	wait, ok := x.server.live.Load().writes.Reserve(x.peer.Addr(), now, maxWait)
	if ok && wait > 0 {
		x.paused(wait)
	}
	return ok
}

// getData is the request getpd.
func (x *session) getData(ctx context.Context, r *request) {
	id, ok := x.blockOf(r)
	why := resultMalformed
	if ok && len(r.keys) <= maxKeys {
		why = x.load(ctx, r, id)
	}
	x.server.metrics.gets[why].Inc()
	if why != resultDone && why != resultUnchanged {
		x.out = appendGetRefusal(x.out, r)
	}
}

// missing returns the value that the game gets for keys that a player does not have.
func (x *session) missing() string {
	if g, _ := x.server.opt.Games.Lookup(x.game); g.Policy.ZeroStats == games.On {
		return "0"
	}
	return ""
}

// load answers a request for a block, unless it is refused.
func (x *session) load(ctx context.Context, r *request, id storage.StatBlockID) result {
	if id.Kind.Private() && !x.owner(id.Profile) {
		return resultDenied
	}
	var b storage.StatBlock
	var err error
	if len(r.keys) == 0 {
		b, err = x.server.opt.Book.Get(ctx, id)
	} else {
		b, err = x.server.opt.Book.Select(ctx, id, slices.Collect(split(string(r.keys))), x.missing())
	}
	modified := int64(0) // of a block that does not exist
	switch {
	case err == nil:
		modified = b.Modified.Unix()
	case !errors.Is(err, storage.ErrNotFound):
		x.server.troubled(ctx, err, "data of a player not read")
		return resultFailed
	}
	if r.modified.given && modified <= r.modified.value {
		x.out = appendUnchanged(x.out, r, modified)
		return resultUnchanged
	}
	x.out = appendData(x.out, r, modified, b.Data)
	return resultDone
}
