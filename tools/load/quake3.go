package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/q3master"
)

// quake3Game and quake3Protocol identify the game of the servers of the load.
const (
	quake3Game     = "Xonotic"
	quake3Protocol = 3
)

// quake3Server is a game server of Quake III's family.
type quake3Server struct {
	*q3master.Host
	serving sync.WaitGroup
}

// openQuake3Server sends the first heartbeat. The server is listed once its answer
// has arrived.
func openQuake3Server(ctx context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupQuake3, i), w.daemon.at("q3master"), false)
	if err != nil {
		return nil, err
	}
	q := newQuake3Server(c, "Server", i)
	if err := q.do(ctx); err != nil {
		q.close(true)
		return nil, err
	}
	return q, nil
}

// newQuake3Server returns a server that answers questions.
func newQuake3Server(c *netclient.Packets, name string, i int) *quake3Server {
	q := &quake3Server{Host: q3master.NewHost(c, "DarkPlaces", "gamename", quake3Game, "protocol", strconv.Itoa(quake3Protocol),
		"hostname", fmt.Sprintf("%s %d of the load", name, i), "mapname", "load", "clients", "3", "sv_maxclients", "16", "gametype", "0")}
	q.serving.Go(q.Serve)
	return q
}

// do is a heartbeat, and the answer to the question that follows.
func (q *quake3Server) do(context.Context) error { return q.Heartbeat(soon()) }

func (q *quake3Server) close(rude bool) {
	if !rude {
		_ = q.Leave() // it would expire anyway
	}
	_ = q.Close()
	q.serving.Wait()
}

// quake3Browser requests the whole list.
type quake3Browser struct {
	q3master.Browser
	want int // servers that a list must have; 0: any number
}

func openQuake3Browser(_ context.Context, w *world, i int) (user, error) {
	c, err := dialUDP(address(groupQuake3Browsers, i), w.daemon.at("q3master"))
	if err != nil {
		return nil, err
	}
	return &quake3Browser{Browser: q3master.Browser{Packets: c}}, nil
}

func (q *quake3Browser) do(context.Context) error {
	servers, err := q.List(soon(), quake3.Request{Game: []byte(quake3Game), Protocol: quake3Protocol, Empty: true, Full: true})
	if err == nil && len(servers) < q.want {
		return fmt.Errorf("%d servers in the list, want %d", len(servers), q.want)
	}
	return err
}

func (q *quake3Browser) close(bool) { _ = q.Close() }
