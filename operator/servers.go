package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// ServerOperator adds, removes and hides single game servers. An unknown server is
// storage.ErrNotFound.
type ServerOperator interface {
	// KeptServers returns the servers that were added or hidden.
	KeptServers(ctx context.Context) (Kept, error)
	// AddServer asks a server from now on and lists it while it answers. It
	// replaces one with the same address.
	AddServer(ctx context.Context, a storage.AddedServer) error
	// RemoveServer removes the server added under an address, and the one
	// listed there from the list. If that reports by itself, it comes back with
	// its next report.
	RemoveServer(ctx context.Context, address string) (Removal, error)
	// HideServer keeps the server under a public address out of everything that
	// the list shows.
	HideServer(ctx context.Context, h storage.HiddenServer) error
	UnhideServer(ctx context.Context, address netip.AddrPort) error
}

// Kept holds the servers that operators added or hid.
type Kept struct {
	Static []storage.AddedServer  `json:"static"` // from the configuration
	Added  []storage.AddedServer  `json:"added"`
	Hidden []storage.HiddenServer `json:"hidden"`
	// Asked has the state of the servers in Static and Added; empty where no
	// daemon runs.
	Asked []AskedServer `json:"asked,omitempty"`
}

// AskedServer is the state of a server that is asked.
type AskedServer struct {
	Address string `json:"address"`       // as it was named
	Answers bool   `json:"answers"`       // it answered when it was last asked
	Why     string `json:"why,omitempty"` // why it is not in the list
}

// Of returns the state of the server that was added under an address; ok is
// false if there is none.
func (k *Kept) Of(address string) (a AskedServer, ok bool) {
	for _, a := range k.Asked {
		if a.Address == address {
			return a, true
		}
	}
	return AskedServer{}, false
}

// Removal is the result of RemoveServer.
type Removal struct {
	Forgotten bool `json:"forgotten"` // it had been added
	Listed    bool `json:"listed"`    // it had been listed
}

// ErrStatic is returned for the removal of a server that the configuration
// names.
var ErrStatic = fmt.Errorf("%w: the configuration names it in servers.static", ErrBadRequest)

// KeptServers implements ServerOperator.
func (l *Local) KeptServers(ctx context.Context) (Kept, error) {
	k := Kept{Static: []storage.AddedServer{}, Added: []storage.AddedServer{}, Hidden: []storage.HiddenServer{}}
	if l.StaticServers != nil {
		k.Static = append(k.Static, l.StaticServers()...)
	}
	if l.AskedServers != nil {
		k.Asked = l.AskedServers()
	}
	for a, err := range l.Store.AddedServers(ctx) {
		if err != nil {
			return k, err
		}
		k.Added = append(k.Added, a)
	}
	for h, err := range l.Store.HiddenServers(ctx) {
		if err != nil {
			return k, err
		}
		k.Hidden = append(k.Hidden, h)
	}
	return k, nil
}

// AddServer implements ServerOperator.
func (l *Local) AddServer(ctx context.Context, a storage.AddedServer) error {
	if l.CheckAdded != nil {
		if err := l.CheckAdded(&a); err != nil {
			return fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
	}
	if a.Added.IsZero() {
		a.Added = time.Now()
	}
	if err := l.Store.AddServer(noted(ctx, actServerAdd, a.Address, strings.TrimSpace(a.Protocol+" "+a.Game)), a); err != nil {
		return err
	}
	return l.serversChanged(ctx)
}

// RemoveServer implements ServerOperator.
func (l *Local) RemoveServer(ctx context.Context, address string) (r Removal, err error) {
	if l.StaticServers != nil {
		for _, s := range l.StaticServers() {
			if s.Address == address {
				return r, ErrStatic
			}
		}
	}
	at, parseErr := netip.ParseAddrPort(address)
	live := l.Registry != nil && parseErr == nil
	if live {
		_, r.Listed = l.Registry.Find(at)
	}
	switch err = l.Store.RemoveAddedServer(noted(ctx, actServerRemove, address, "forgotten"), address); {
	case err == nil:
		r.Forgotten = true
		err = l.serversChanged(ctx)
	case errors.Is(err, storage.ErrNotFound):
		err = nil
	}
	if live && err == nil {
		for _, s := range l.Registry.RemoveFunc(func(s *master.Server) bool { return s.Public == at && s.Node == "" }) {
			r.Listed = true
			l.ServerLog.Note(s.Origin.String(), s.Key.Source, s.Game, verdicts.Removed)
		}
		if l.RemoveElsewhere != nil {
			n, elsewhere := l.RemoveElsewhere(ctx, at)
			r.Listed, err = r.Listed || n > 0, elsewhere
		}
	}
	switch {
	case err != nil || r.Forgotten:
	case r.Listed:
		_, err = l.Store.AddAudit(ctx, entry(ctx, actServerRemove, address, "taken off the list"))
	default:
		err = fmt.Errorf("server %s: %w", address, storage.ErrNotFound)
	}
	return r, err
}

// HideServer implements ServerOperator.
func (l *Local) HideServer(ctx context.Context, h storage.HiddenServer) error {
	if h.Added.IsZero() {
		h.Added = time.Now()
	}
	if err := l.Store.HideServer(noted(ctx, actServerHide, h.Address.String(), h.Reason), h); err != nil {
		return err
	}
	return l.serversChanged(ctx)
}

// UnhideServer implements ServerOperator.
func (l *Local) UnhideServer(ctx context.Context, address netip.AddrPort) error {
	if err := l.Store.UnhideServer(noted(ctx, actServerUnhide, address.String(), ""), address); err != nil {
		return fmt.Errorf("server %v: %w", address, err)
	}
	return l.serversChanged(ctx)
}

// serversChanged makes the daemon apply the present content of the store.
func (l *Local) serversChanged(ctx context.Context) error {
	if l.ServersChanged == nil {
		return nil
	}
	return l.ServersChanged(ctx)
}
