package main

import (
	"context"
	"fmt"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/utmaster"
)

// epicVersion and epicWord are those of Unreal Tournament 2004.
const (
	epicVersion = 3369
	epicWord    = "UT2K4"
)

// epicServer is a game server of Epic's that stays connected.
type epicServer struct {
	*utmaster.Host
	state utmaster.State
}

// openEpicServer signs in, answers the probes and sends the first state.
func openEpicServer(ctx context.Context, w *world, i int) (user, error) {
	at, to := address(groupEpic, i), w.daemon.at("utmaster")
	conn, err := dialTCP(ctx, at, to)
	if err != nil {
		return nil, err
	}
	s := &epicServer{Host: &utmaster.Host{Version: epicVersion, Word: epicWord}}
	for _, socket := range []int{utmaster.QuerySocket, utmaster.GameSocket} {
		var p *netclient.Packets
		if p, err = w.bind(at, to, false); err != nil {
			break
		}
		s.Sockets[socket] = p
	}
	if err == nil {
		err = s.Open(soon(), conn)
	}
	if err == nil {
		_, err = s.Ports(soon())
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	s.state = utmaster.State{
		Port: int32(s.Sockets[utmaster.GameSocket].Local().Port()), Name: fmt.Sprintf("Server %d of the load", i), Map: "DM-Load",
		GameType: "xDeathMatch", Players: 3, Max: 16,
	}
	return s, s.Report(&s.state)
}

// do sends a state that differs from the last one.
func (s *epicServer) do(context.Context) error {
	s.state.Players = (s.state.Players + 1) % s.state.Max
	return s.Report(&s.state)
}

func (s *epicServer) close(bool) { _ = s.Close() }

// epicBrowser requests the whole list, each on a connection of its own.
type epicBrowser struct {
	utmaster.Browser
	w    *world
	i    int
	want int // servers that a list must have; 0: any number
}

func openEpicBrowser(_ context.Context, w *world, i int) (user, error) {
	return &epicBrowser{Browser: utmaster.Browser{Version: epicVersion, Word: epicWord}, w: w, i: i}, nil
}

func (b *epicBrowser) do(ctx context.Context) error {
	conn, err := dialTCP(ctx, address(groupEpicBrowsers, b.i), b.w.daemon.at("utmaster"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	list, err := b.List(soon(), conn)
	if err == nil && b.want > 0 && len(list) != b.want {
		err = errListLength
	}
	return err
}

func (b *epicBrowser) close(bool) {}

// epicEcho is a dialogue of the same lengths with the bare server: three requests on a
// connection, the last one for a list.
type epicEcho struct{ *streamEcho }

func openEpicEcho(ctx context.Context, w *world, i int) (user, error) {
	u, err := streamEchoes(echoEpic, false)(ctx, w, i)
	if err != nil {
		return nil, err
	}
	return epicEcho{u.(*streamEcho)}, nil
}

func (e epicEcho) do(ctx context.Context) error {
	conn, err := e.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(); e.held = nil }()
	e.held = conn
	for _, e.size = range []uint32{echoAnswer, echoAnswer, echoEpic} {
		if err := e.streamEcho.do(ctx); err != nil {
			return err
		}
	}
	return nil
}
