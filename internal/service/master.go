package service

import (
	"context"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Registers returns what a service gets with which game servers register. Its log of verdicts is
// that of game servers, addresses are banned in a scope, and packets are dropped for the given
// reasons. The metrics are registered then.
func (e *Env) Registers(scope storage.Scope, reasons ...string) part.Registration {
	return part.Registration{Self: e.Counted(reasons...), Peers: e.Peers(scope, e.Verdicts.Servers), Listing: e.Listing}
}

// Peers returns what is known of the addresses that a service hears from, which are banned
// in a scope. The service writes verdicts to a log.
func (e *Env) Peers(scope storage.Scope, log *verdicts.Log) part.Peers {
	return part.Peers{Banned: e.BannedFrom(scope), Trusted: e.Trusted, Own: e.Own, Locate: e.Locate, Verdicts: log}
}

// Master is a master server that stands on package uplink.
type Master interface {
	// Serve serves the packets of the sockets until ctx ends. They stay open.
	Serve(ctx context.Context, conn *netserve.PacketConn, further ...netserve.Further) error
	Origin() *master.Origin
	Expired(srv *master.Server)
	Replaced(srv *master.Server)
	// Files is Running.Files.
	Files(put func(name string, content []byte))
}

// OnSockets returns a Running for a master, which closes its sockets. reload is that of Running.
func OnSockets(conns *netserve.Sockets, m Master, reload func(Service)) *Running {
	return &Running{
		Address: conns.First.LocalAddr(), UDP: conns.Addresses(), Ports: conns.Opened(),
		Serve:     func(ctx context.Context) error { return m.Serve(ctx, conns.First, conns.Further...) },
		Reload:    reload,
		Close:     conns.Close,
		Files:     m.Files,
		Callbacks: &Callbacks{Origin: m.Origin(), Expired: m.Expired, Replaced: m.Replaced},
	}
}
