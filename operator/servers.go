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

// ListKept returns the servers that were added or hidden.
var ListKept = New(Operation{
	Name: "server kept", Route: "GET /servers/kept", What: "Show the servers that were added or hidden, here or in the configuration",
}, func(ctx context.Context, l *Local, _ None) (Kept, error) {
	k := Kept{Static: []storage.AddedServer{}, Added: []storage.AddedServer{}, Hidden: []storage.HiddenServer{}}
	if l.StaticServers != nil {
		k.Static = append(k.Static, l.StaticServers()...)
	}
	if l.AskedServers != nil {
		k.Asked = l.AskedServers()
	}
	added, err := storage.Collect(l.Store.AddedServers(ctx))
	if err != nil {
		return k, err
	}
	hidden, err := storage.Collect(l.Store.HiddenServers(ctx))
	k.Added, k.Hidden = append(k.Added, added...), append(k.Hidden, hidden...)
	return k, err
})

// NewServer is a server to be added.
type NewServer struct {
	Protocol string    `json:"protocol" arg:"PROTOCOL"`
	Address  string    `json:"address" arg:"HOST:PORT"`
	Game     string    `json:"game,omitzero" flag:"game" doc:"list it under this game, not under the one that it names"`
	By       string    `json:"by,omitzero" default:"cli"`
	Added    time.Time `json:"added,omitzero"` // by default now
}

// AddServer asks a server from now on and lists it while it answers. It replaces one with the same
// address.
var AddServer = New(Operation{
	Name: "server add", Route: "PUT /servers/added", What: "Query a game server regularly, and list it while it answers",
}, func(ctx context.Context, l *Local, in NewServer) (Done, error) {
	a := storage.AddedServer{Address: in.Address, Protocol: in.Protocol, Game: in.Game, By: in.By, Added: in.Added}
	if l.CheckAdded != nil {
		if err := l.CheckAdded(&a); err != nil {
			return Done{}, fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
	}
	if a.Added.IsZero() {
		a.Added = time.Now()
	}
	if err := l.Store.AddServer(about(ctx, a.Address, strings.TrimSpace(a.Protocol+" "+a.Game)), a); err != nil {
		return Done{}, err
	}
	return Done{1}, l.serversChanged(ctx)
})

// ServerRef names a server as lists show it, or as it was added.
type ServerRef struct {
	Address string `query:"address" arg:"HOST:PORT"`
}

// RemoveServer removes the server added under an address, and the one listed there from the list.
// If that reports by itself, it comes back with its next report.
var RemoveServer = New(Operation{
	Name: "server remove", Route: "DELETE /servers/added", What: "Take a server off the list, and forget it if it was added",
}, func(ctx context.Context, l *Local, in ServerRef) (r Removal, err error) {
	address := in.Address
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
	switch err = l.Store.RemoveAddedServer(about(ctx, address, "forgotten"), address); {
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
		err = addAudit(ctx, l, 0, address, "taken off the list")
	default:
		err = fmt.Errorf("server %s: %w", address, storage.ErrNotFound)
	}
	return r, err
})

// NewHidden is a server to be hidden: a storage.HiddenServer.
type NewHidden struct {
	Address netip.AddrPort `json:"address" arg:"IP:PORT" doc:"the address of a server: write it as the list shows it, such as 192.0.2.1:27015"`
	Reason  string         `json:"reason,omitzero" flag:"reason" doc:"reason, shown in the list"`
	By      string         `json:"by,omitzero" default:"cli"`
	Added   time.Time      `json:"added,omitzero"` // by default now
}

// HideServer keeps the server under a public address out of everything that the list shows.
var HideServer = New(Operation{
	Name: "server hide", Route: "PUT /servers/hidden", What: "Hide a server from every list, no matter which service lists it",
}, func(ctx context.Context, l *Local, in NewHidden) (Done, error) {
	h := storage.HiddenServer(in)
	if h.Added.IsZero() {
		h.Added = time.Now()
	}
	if err := l.Store.HideServer(about(ctx, h.Address.String(), h.Reason), h); err != nil {
		return Done{}, err
	}
	return Done{1}, l.serversChanged(ctx)
})

// HiddenRef names a hidden server.
type HiddenRef struct {
	Address netip.AddrPort `query:"address,required" arg:"IP:PORT" doc:"the address of a server: write it as the list shows it, such as 192.0.2.1:27015"`
}

// UnhideServer shows a hidden server again.
var UnhideServer = New(Operation{
	Name: "server unhide", Route: "DELETE /servers/hidden", What: "Show a hidden server again",
}, func(ctx context.Context, l *Local, in HiddenRef) (Removed, error) {
	if err := l.Store.UnhideServer(about(ctx, in.Address.String(), ""), in.Address); err != nil {
		return Removed{}, subject(err, "server %v", in.Address)
	}
	return Removed{1}, l.serversChanged(ctx)
})

// serversChanged makes the daemon apply the present content of the store.
func (l *Local) serversChanged(ctx context.Context) error {
	if l.ServersChanged == nil {
		return nil
	}
	return l.ServersChanged(ctx)
}

// OtherMaster is the state of another master whose servers are listed here.
type OtherMaster struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Address  string `json:"address"`
	Game     string `json:"game,omitempty"`
	Verified bool   `json:"verified,omitempty"` // its servers are listed without a query of our own

	State    string    `json:"state"`                 // one of the Master states
	Error    string    `json:"error,omitempty"`       // of the last reading; after a success the part of the list that is not used
	Failures int       `json:"failures"`              // readings in a row that failed
	Read     time.Time `json:"last_success,omitzero"` // last reading that did not fail
	Next     time.Time `json:"next,omitzero"`         // time of the next reading; zero: one is under way

	Told    int            `json:"told"`    // servers that it lists, without the refused ones
	Listed  int            `json:"listed"`  // of them in our list on its word or as known from it
	Refused map[string]int `json:"refused"` // entries of the last reading, by reason
}

// The states of an OtherMaster.
const (
	MasterWaiting = "waiting" // not read yet
	MasterReading = "reading" // it is being read for the first time
	MasterRead    = "read"
	MasterFailing = "failing"
	MasterElse    = "elsewhere" // another node of the cluster reads it
)

// ListMasters returns the other masters that are read, in the order of the configuration.
var ListMasters = New(Operation{
	Name: "federation status", Route: "GET /federation", What: "Show the state of the other masters and the numbers of their servers",
}, func(_ context.Context, l *Local, _ None) ([]OtherMaster, error) {
	if l.OtherMasters == nil {
		return nil, ErrNotRunning
	}
	return append([]OtherMaster{}, l.OtherMasters()...), nil // never null as JSON
})
