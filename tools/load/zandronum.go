package main

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/zanmaster"
)

// zanServer is a game server of Zandronum. It answers queries until it is closed.
type zanServer struct {
	*zanmaster.GameServer
	serving sync.WaitGroup
}

// openZanServer has a server listed.
func openZanServer(_ context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupZandronum, i), w.daemon.at("zanmaster"), true)
	if err != nil {
		return nil, err
	}
	z := &zanServer{GameServer: zanmaster.NewGameServer(c, rand.Text(), zanInfo)}
	z.serving.Go(z.Serve)
	if _, err := z.Register(soon(), true); err != nil {
		z.close(true)
		return nil, err
	}
	return z, nil
}

// zanInfo answers a query.
func zanInfo(q zandronum.Query) [][]byte {
	return [][]byte{zandronum.AppendInfo(nil, &zandronum.Info{
		Time: q.Time, Version: "3.2", Flags: zandronum.FlagName | zandronum.FlagMap | zandronum.FlagMaxClients,
		Name: "Server of the load", Map: "MAP01", MaxClients: 16,
	})}
}

// do sends a heartbeat, which has no answer.
func (z *zanServer) do(context.Context) error { return z.Announce(true) }

func (z *zanServer) close(bool) {
	_ = z.Close()
	z.serving.Wait()
}

// launcher asks for the list of Zandronum servers.
type launcher struct {
	zanmaster.Launcher
	want int // servers; below 0: any number
}

func openLauncher(_ context.Context, w *world, i int) (user, error) {
	c, err := dialUDP(address(groupLaunchers, i), w.daemon.at("zanmaster"))
	if err != nil {
		return nil, err
	}
	return &launcher{zanmaster.Launcher{Packets: c}, -1}, nil
}

func (l *launcher) do(context.Context) error {
	servers, err := l.List(soon())
	if err == nil && l.want >= 0 && len(servers) != l.want {
		err = errListLength
	}
	return err
}

func (l *launcher) close(bool) { _ = l.Close() }
