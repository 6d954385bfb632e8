package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/q2master"
)

// quake2Server is a game server of Quake 2 or QuakeWorld.
type quake2Server struct {
	*q2master.Host
	serving sync.WaitGroup
}

// quake2Servers opens servers that report to a service in a form.
func quake2Servers(service string, form quake2.Form, group byte) func(context.Context, *world, int) (user, error) {
	return func(ctx context.Context, w *world, i int) (user, error) {
		c, err := w.bind(address(group, i), w.daemon.at(service), false)
		if err != nil {
			return nil, err
		}
		s := &quake2Server{Host: q2master.NewHost(c, form, fmt.Sprintf(`\hostname\Server %d of the load\mapname\load\map\load\maxclients\8`+"\n", i))}
		s.serving.Go(s.Serve)
		if err := s.do(ctx); err != nil {
			s.close(true)
			return nil, err
		}
		return s, nil
	}
}

// do is a heartbeat, and the answers to the questions that follow from all posts.
func (s *quake2Server) do(context.Context) error { return s.Heartbeat(soon()) }

func (s *quake2Server) close(rude bool) {
	if !rude {
		_ = s.Leave()
	}
	_ = s.Close()
	s.serving.Wait()
}

// quake2Browser requests the list, which is one packet.
type quake2Browser struct {
	*netclient.Packets
	form quake2.Form
}

// quake2Browsers opens browsers that ask a service in a form.
func quake2Browsers(service string, form quake2.Form, group byte) func(context.Context, *world, int) (user, error) {
	return func(_ context.Context, w *world, i int) (user, error) {
		c, err := dialUDP(address(group, i), w.daemon.at(service))
		if err != nil {
			return nil, err
		}
		return &quake2Browser{c, form}, nil
	}
}

func (b *quake2Browser) do(context.Context) error {
	_, err := q2master.List(soon(), b.Packets, b.form)
	return err
}

func (b *quake2Browser) close(bool) { _ = b.Close() }
