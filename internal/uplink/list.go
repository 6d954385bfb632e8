package uplink

import (
	"errors"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Listing is a server to list.
type Listing struct {
	Game    string // in the list of servers
	Foreign bool   // the game is not in the catalogue
	// Names and Values are its rules; of a name the first counts.
	Names, Values []string
}

// unknownGame returns the game if it is not in the catalogue.
func (l *Listing) unknownGame() string {
	if l.Foreign {
		return l.Game
	}
	return ""
}

// List lists a server that has proved its address, or renews its record.
func (k *Keeper) List(v Answered, what Listing) Drop {
	first, dropped := k.list(v, what)
	switch {
	case dropped != NotDropped:
	case first:
		k.registered.Inc()
		k.note(v.Address, what.Game, verdicts.Listed)
	default:
		k.refreshed.Inc()
	}
	return dropped
}

// list is List. first reports that the server was not listed, or only from the saved
// list.
func (k *Keeper) list(v Answered, what Listing) (first bool, dropped Drop) {
	a, limits, now := v.Address, k.limits.Load(), time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	old, listed := k.opt.Registry.At(a)
	if listed && !k.replaceable(old) {
		return false, Elsewhere
	}
	if listed && (old.Origin != k.opt.Origin || old.Game != what.Game) {
		old = nil
	}
	if dropped = k.refusal(a, &what, limits); dropped != NotDropped {
		return false, dropped
	}
	srv := master.Server{
		Key: k.KeyOf(a), Game: what.Game, Origin: k.opt.Origin, Public: a, Via: v.Via, Lifetime: limits.Timeout, Seen: now,
	}
	switch {
	case old != nil:
		srv.Country, srv.Region = old.Country, old.Region
	default:
		srv.Country, srv.Region = k.opt.Locate.Of(a.Addr())
	}
	if err := k.put(srv, old, &what); err != nil {
		return false, WhyNot(err)
	}
	k.hosts.add(a, what.unknownGame())
	return old == nil || old.Restored, NotDropped
}

// replaceable reports whether a server that reports here may replace a record: not
// that of another protocol in which it reports itself.
func (k *Keeper) replaceable(old *master.Server) bool {
	return old.Restored || old.Origin == k.opt.Origin || old.Origin.Claim != master.NoClaim
}

// refusal returns why there is no room for a server. Keeper.mu is held.
func (k *Keeper) refusal(a netip.AddrPort, what *Listing, l *limits) Drop {
	game, known := k.hosts.known.Get(a)
	limit := l.MaxPerAddr
	switch {
	case known && game == what.unknownGame():
		return NotDropped
	case known || k.opt.Trusted.Has(a.Addr()):
		limit = 0
	}
	return k.hosts.refusal(a.Addr(), limit, what.unknownGame(), l.games)
}

// put lists a record. old is the one that it renews, nil if there is none: players, and
// rules that only a status contains, stay.
func (k *Keeper) put(srv master.Server, old *master.Server, what *Listing) error {
	names, values := what.Names, what.Values
	if old != nil {
		if !old.Restored && sameRules(old.Rules, names, values) && k.opt.Registry.Touch(srv.Key, srv.Origin, srv.Seen) {
			return nil
		}
		for name, value := range old.Rules.All() {
			names, values = append(names, name), append(values, value) // of a name the first counts
		}
	}
	var report master.Report
	report.Fill(k.opt.Registry, names, values, master.Grid{}, master.Grid{})
	if err := report.Into(&srv); err != nil {
		return err
	}
	if old != nil {
		srv.Players, srv.Teams = old.Players, old.Teams
	}
	return k.opt.Registry.Put(srv)
}

// sameRules reports whether a record has all the rules already.
func sameRules(old master.Fields, names, values []string) bool {
	for i, name := range names {
		if value, ok := old.Get(name); !ok || value != values[i] {
			return false
		}
	}
	return true
}

// ErrBanned is why a server on a banned address is not listed.
var ErrBanned = errors.New("banned")

// WhyNot returns the reason for an error of the list of servers, or for ErrBanned.
func WhyNot(err error) Drop {
	switch {
	case errors.Is(err, ErrBanned):
		return Banned
	case errors.Is(err, master.ErrTooManyHere), errors.Is(err, master.ErrTaken):
		return TooMany
	case errors.Is(err, master.ErrFull):
		return Full
	default:
		return Malformed
	}
}
