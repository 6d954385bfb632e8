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
		Dialogue: dialogue.Public(dialogue.Word),
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
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, err
	}
	if d.Usual == 0 {
		n, _ := strconv.ParseUint(port, 10, 16) // the address is opened
		d.Usual = uint16(n)
	}
	ports := netserve.Ports{Network: "udp4", Address: c.Listen, Usual: d.Usual}
	for _, p := range d.Further {
		ports.Further = append(ports.Further, p.Port)
	}
	conns, err := ports.Open(ctx, c.ListenOptions(), env.Log)
	if err != nil {
		return nil, err
	}
	posts := uplink.NewPosts(host)
	s := New(Options{Config: c, Registration: env.Registers(storage.ScopeLists, uplink.DropNames()...), Dialect: d, Posts: posts})
	env.Guests.Add(d.Takes, s)
	r := service.OnSockets(conns, s, func(next service.Service) { c := to(next); s.Reload(&c) })
	r.Close = func() error { return errors.Join(conns.Close(), posts.Close()) }
	return r, nil
}
