package q2master

import (
	"context"
	"errors"
	"net"
	"strconv"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Quake 2 server lists", Docs: []string{"protocols/q2master"}, Shows: true, Origins: []*master.Origin{Origin},
		Dialogue: dialogue.Protocol{Blot: dialogue.Nothing, Shape: dialogue.Word},
		Steps:    Steps(name, quake2.Two), Plays: Plays(name, quake2.Two), Takes: []verdicts.Verdict{verdicts.SpeaksQuake2},
		Connect:  "Quake 2 and games of its family: set `setmaster {address}:{port}` on servers with `public 1`.",
		AskEvery: c.AskEvery(), Check: func(string, service.Moment) error { _, err := c.places(); return err },
	}
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	places, err := c.places()
	if err != nil {
		return nil, err
	}
	return Open(ctx, env, *c, Two(places), func(to service.Service) Config { return *to.(*Config) })
}

// Open opens a master of a dialect, with a configuration; to is that of a reload.
func Open(ctx context.Context, env *service.Env, c Config, d Dialect, to func(service.Service) Config) (*service.Running, error) {
	listen := c.ListenOptions()
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, listen)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if d.Usual == 0 {
		n, _ := strconv.ParseUint(port, 10, 16) // the address was opened
		d.Usual = uint16(n)
	}
	posts := uplink.NewPosts(host)
	var ports []uint16
	for _, p := range d.Further {
		ports = append(ports, p.Port)
	}
	further := uplink.OpenFurther(ctx, "udp4", c.Listen, d.Usual, ports, listen, env.Log)
	s := New(Options{
		Config: c, Self: env.Counted(uplink.DropNames()...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
		Dialect: d, Posts: posts,
	})
	env.Guests.Add(d.Takes, s)
	return &service.Running{
		Address: conn.LocalAddr(), UDP: uplink.Addresses(conn, further), Ports: uplink.Ports(c.Listen, further),
		Serve:     func(ctx context.Context) error { return s.Serve(ctx, conn, further...) },
		Reload:    func(next service.Service) { c := to(next); s.Reload(&c) },
		Close:     func() error { return errors.Join(conn.Close(), uplink.Close(further), posts.Close()) },
		Files:     func(put func(string, []byte)) { s.lister.Files(d.Service, env.Addresses.Outside(), put) },
		Callbacks: &service.Callbacks{Origin: d.Origin, Expired: s.keeper.Expired, Replaced: s.keeper.Replaced},
	}, nil
}
