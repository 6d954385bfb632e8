package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"sync"

	"github.com/respawnd/respawnd/codmaster"
	"github.com/respawnd/respawnd/idmaster"
	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nwn"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/nwmaster"
	"github.com/respawnd/respawnd/q3master"
)

// doom3Protocol is the protocol of Doom 3 in version 1.3.1.
const doom3Protocol = 1<<16 + 41

// doom3Server is a game server of Doom 3.
type doom3Server struct {
	*idmaster.Host
	serving sync.WaitGroup
}

func openDoom3Server(ctx context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupDoom3, i), w.daemon.at("idmaster"), false)
	if err != nil {
		return nil, err
	}
	d := &doom3Server{Host: idmaster.NewHost(c, idmaster.InfoOf(doom3Protocol,
		"si_name", fmt.Sprintf("Server %d of the load", i), "si_map", "load", "si_maxPlayers", "8"))}
	d.serving.Go(d.Serve)
	if err := d.do(ctx); err != nil {
		d.close(true)
		return nil, err
	}
	return d, nil
}

// do is a heartbeat, and the answer to the question that follows.
func (d *doom3Server) do(context.Context) error { return d.Heartbeat(soon()) }

func (d *doom3Server) close(rude bool) {
	if !rude {
		_ = d.Leave() // it would expire anyway
	}
	_ = d.Close()
	d.serving.Wait()
}

// doom3Browser requests the whole list.
type doom3Browser struct {
	*netclient.Packets
	want int // servers that a list must have; 0: any number, in one packet
}

func openDoom3Browser(_ context.Context, w *world, i int) (user, error) {
	c, err := dialUDP(address(groupDoom3Browsers, i), w.daemon.at("idmaster"))
	if err != nil {
		return nil, err
	}
	return &doom3Browser{Packets: c}, nil
}

// do is a list. Its packets have no end mark, so that it ends with the server that is
// wanted last.
func (d *doom3Browser) do(context.Context) error {
	const perPacket = (idtech4.MaxList - len("\xff\xffservers\x00")) / 6
	packets := max((d.want+perPacket-1)/perPacket, 1)
	servers, err := idmaster.List(soon(), d.Packets, idtech4.Request{Protocol: doom3Protocol}, packets)
	if err == nil && len(servers) < d.want {
		return fmt.Errorf("%d servers in the list, want %d", len(servers), d.want)
	}
	return err
}

func (d *doom3Browser) close(bool) { _ = d.Close() }

// codProtocol is the protocol of Call of Duty 2.
const codProtocol = 118

// openCoDServer sends the first heartbeat of a server of Call of Duty 2.
func openCoDServer(ctx context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupCoD, i), w.daemon.at("codmaster"), false)
	if err != nil {
		return nil, err
	}
	q := &quake3Server{Host: q3master.NewHost(c, "COD-2", "protocol", strconv.Itoa(codProtocol),
		"hostname", fmt.Sprintf("Server %d of the load", i), "mapname", "load", "clients", "3", "sv_maxclients", "16", "gametype", "dm")}
	q.serving.Go(q.Serve)
	if err := q.do(ctx); err != nil {
		q.close(true)
		return nil, err
	}
	return q, nil
}

// codBrowser requests the whole list.
type codBrowser struct {
	*q3master.Browser
	want int // servers that a list must have; 0: any number
}

func openCoDBrowser(_ context.Context, w *world, i int) (user, error) {
	c, err := dialUDP(address(groupCoDBrowsers, i), w.daemon.at("codmaster"))
	if err != nil {
		return nil, err
	}
	return &codBrowser{Browser: codmaster.NewBrowser(c)}, nil
}

func (c *codBrowser) do(context.Context) error {
	servers, err := c.List(soon(), quake3.Request{Protocol: codProtocol, Empty: true, Full: true})
	if err == nil && len(servers) < c.want {
		return fmt.Errorf("%d servers in the list, want %d", len(servers), c.want)
	}
	return err
}

func (c *codBrowser) close(bool) { _ = c.Close() }

var errNotIn = errors.New("a player was not let in")

// codAsker is a server of Call of Duty that asks whether players may join.
type codAsker struct{ *netclient.Packets }

func openCoDAsker(_ context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupDoom3, 1<<10+i), w.daemon.at("codmaster"), false)
	if err != nil {
		return nil, err
	}
	return codAsker{c}, nil
}

var codPlayer = netip.MustParseAddr("198.51.100.7")

// do is a question and its answer: two datagrams.
func (c codAsker) do(context.Context) error {
	good, err := codmaster.AskFrom(soon(), c.Packets, codPlayer)
	if err == nil && !good {
		err = errNotIn
	}
	return err
}

func (c codAsker) close(bool) { _ = c.Close() }

// nwnServer is a server of Neverwinter Nights that asks whether keys of players are good.
type nwnServer struct{ *netclient.Packets }

func openNWNServer(_ context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupNWN, 1<<10+i), w.daemon.at("nwmaster"), false)
	if err != nil {
		return nil, err
	}
	return nwnServer{c}, nil
}

// nwnKeys are the queries of a server.
var nwnKeys = nwn.KeyCheck{
	Port: 5121, Player: netip.AddrPortFrom(codPlayer, 5120), Salt: []byte("saltsalt"),
	Keys: []nwn.Key{{Public: []byte("QABCDEFG"), Hash: []byte(nwmaster.HashOf("", "saltsalt"))}}, Account: []byte("Tester"),
}

// do is a question and its answer: two datagrams.
func (n nwnServer) do(context.Context) error {
	list, err := nwmaster.CheckKeys(soon(), n.Packets, nwnKeys)
	if err == nil && (len(list) != 1 || list[0].Result != nwn.Good) {
		err = errNotIn
	}
	return err
}

func (n nwnServer) close(bool) { _ = n.Close() }

// nwnPlayer is a player of Neverwinter Nights without an account.
type nwnPlayer struct {
	*netclient.Packets
	name string
}

func openNWNPlayer(_ context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupNWN, i), w.daemon.at("nwmaster"), false)
	if err != nil {
		return nil, err
	}
	return nwnPlayer{c, fmt.Sprintf("loadplayer%d", i)}, nil
}

// do is a question and its answer: with the version, three datagrams.
func (n nwnPlayer) do(context.Context) error {
	result, err := nwmaster.SignIn(soon(), n.Packets, n.name, "x")
	if err == nil && result != 0 {
		err = errNotIn
	}
	return err
}

func (n nwnPlayer) close(bool) { _ = n.Close() }
