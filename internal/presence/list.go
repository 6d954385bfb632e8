package presence

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Client describes the program at the other end of a session.
type Client struct {
	Peer  netip.AddrPort
	Game  string    // as the client named it; untrusted text
	Since time.Time // when it signed in
}

// SignedIn is one session as an operator sees it.
type SignedIn struct {
	Profile storage.ProfileID
	User    storage.UserID
	Status  Status
	Client  Client
	Node    string // of the cluster; empty: this node is alone
}

// List implements Hub.
func (l *Local) List(after storage.ProfileID, limit int) (list []SignedIn, more bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	ids := make([]storage.ProfileID, 0, len(l.profiles))
	for id := range l.profiles {
		if id > after {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b storage.ProfileID) int { return cmp.Compare(a, b) })
	for _, id := range ids {
		if len(list) >= limit {
			return list, true
		}
		p := l.profiles[id]
		for _, s := range p.sessions {
			list = append(list, SignedIn{Profile: id, User: s.User(), Status: p.status, Client: s.Client()})
		}
	}
	return list, false
}

// SignedInFrom implements Hub.
func (l *Local) SignedInFrom(_ context.Context, id storage.ProfileID, from netip.Addr) bool {
	from = from.Unmap().WithZone("")
	l.mu.RLock()
	defer l.mu.RUnlock()
	p := l.profiles[id]
	return p != nil && from.IsValid() && slices.ContainsFunc(p.sessions, func(s Session) bool {
		return s.Client().Peer.Addr().Unmap().WithZone("") == from
	})
}
