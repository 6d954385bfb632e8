package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/netclient"
	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/ssq"
	"github.com/respawnd/respawnd/valvemaster"
)

// tool asks Standard Server Queries.
type tool struct{ ssq.Client }

func openTool(_ context.Context, w *world, i int) (user, error) {
	c, err := dialUDP(address(groupQueries, i), w.daemon.at("ssq"))
	if err != nil {
		return nil, err
	}
	return &tool{ssq.Client{Packets: c}}, nil
}

var errNoRows = errors.New("an answer without rows")

// do asks for some servers of the game.
func (t *tool) do(context.Context) error {
	answer, err := t.Ask(soon(), wire.Query{
		Verb: wire.Select, Fields: []string{"hostname", "map", "numplayers", "maxplayers"}, Limit: 50,
		Where: []wire.Comparison{{Column: "game", Op: wire.Equal, Value: game}, {Column: "maxplayers", Op: wire.Greater, Value: "8"}},
	})
	if err == nil && len(answer.Rows) == 0 {
		err = errNoRows
	}
	return err
}

func (t *tool) close(bool) { _ = t.Close() }

// valveServer is a game server that is asked over A2S.
type valveServer struct {
	*valvemaster.Host
	serving sync.WaitGroup
}

// openValveServer sends the first heartbeat. The server is listed once it has
// answered questions, which takes a moment.
func openValveServer(ctx context.Context, w *world, i int) (user, error) {
	c, err := w.bind(address(groupValve, i), w.daemon.at("valvemaster"), false)
	if err != nil {
		return nil, err
	}
	info := a2s.Info{
		Protocol: 17, Name: fmt.Sprintf("Server %d of the load", i), Map: "de_load", Folder: "cstrike", Game: "Counter-Strike",
		Players: 3, MaxPlayers: 16, Type: a2s.Dedicated, System: a2s.Linux, Version: "1",
	}
	beat := valvemaster.Heartbeat{
		Protocol: 17, Players: 3, MaxPlayers: 16, GameDir: []byte(info.Folder), Map: []byte(info.Map),
		Type: []byte("d"), OS: []byte("l"), Region: valvemaster.AnyRegion,
	}
	v := &valveServer{Host: valvemaster.NewHost(c, beat, valvemaster.AnswerA2S(info))}
	v.serving.Go(v.Serve)
	if err := v.do(ctx); err != nil {
		v.close(true)
		return nil, err
	}
	return v, nil
}

// do is a heartbeat with the challenge before it.
func (v *valveServer) do(context.Context) error { return v.Heartbeat(soon()) }

func (v *valveServer) close(rude bool) {
	if !rude {
		_ = v.Leave(soon()) // it would expire anyway
	}
	_ = v.Close()
	v.serving.Wait()
}

// valveBrowser walks through the list of the Valve-style master.
type valveBrowser struct {
	valvemaster.Browser
	pages int // it reads at most; 0: all
	seen  int // servers in the last list
}

func openValveBrowser(_ context.Context, w *world, i int) (user, error) {
	c, err := dialUDP(address(groupValveBrowsers, i), w.daemon.at("valvemaster"))
	if err != nil {
		return nil, err
	}
	return &valveBrowser{Browser: valvemaster.Browser{Packets: c}}, nil
}

func (v *valveBrowser) do(context.Context) error {
	servers, err := v.List(soon(), `\gamedir\cstrike`, v.pages)
	v.seen = len(servers)
	return err
}

func (v *valveBrowser) close(bool) { _ = v.Close() }

// resolver asks for the names of services.
type resolver struct {
	*netclient.Packets
	id uint16
}

func openResolver(_ context.Context, w *world, i int) (user, error) {
	c, err := dialUDP(address(groupDNS, i), w.daemon.at("dns"))
	if err != nil {
		return nil, err
	}
	return &resolver{Packets: c}, nil
}

var errNoAddress = errors.New("an answer without address")

func (r *resolver) do(context.Context) error {
	r.id++
	m := dns.Msg{
		MsgHdr:   dns.MsgHdr{Id: r.id, RecursionDesired: true},
		Question: []dns.Question{{Name: game + ".master.gamespy.com.", Qtype: dns.TypeA, Qclass: dns.ClassINET}},
	}
	question, err := m.Pack()
	if err != nil {
		return err
	}
	if err := r.Send(question); err != nil {
		return err
	}
	return r.Await(soon(), func(p []byte, _ netip.AddrPort) (bool, error) {
		var answer dns.Msg
		if err := answer.Unpack(p); err != nil || answer.Id != r.id {
			return false, err
		}
		if len(answer.Answer) == 0 {
			return false, errNoAddress
		}
		return true, nil
	})
}

func (r *resolver) close(bool) { _ = r.Close() }
