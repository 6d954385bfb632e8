package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/valvemaster"
)

// tool asks Standard Server Queries.
type tool struct{ socket *socket }

func openTool(_ context.Context, w *world, i int) (user, error) {
	s, err := dialUDP(address(groupQueries, i), w.daemon.at("ssq"))
	if err != nil {
		return nil, err
	}
	return &tool{s}, nil
}

var errNoRows = errors.New("an answer without rows")

// do asks for some servers of the game.
func (t *tool) do(context.Context) error {
	e := ssq.NewExchange(ssq.Query{
		Verb: ssq.Select, Fields: []string{"hostname", "map", "numplayers", "maxplayers"}, Limit: 50,
		Where: []ssq.Comparison{{Column: "game", Op: ssq.Equal, Value: game}, {Column: "maxplayers", Op: ssq.Greater, Value: "8"}},
	}, byte(rand.Uint32())) //nolint:gosec // needs only to differ
	for step := ssq.Ask; step != ssq.Done; {
		if err := t.socket.send(e.Question()); err != nil {
			return err
		}
		err := t.socket.await(func(p []byte) (bool, error) {
			var err error
			step, err = e.Take(p)
			if errors.Is(err, ssq.ErrForeign) {
				err = nil
			}
			return step != ssq.Wait, err
		})
		if err != nil {
			return err
		}
	}
	if len(e.Answer().Rows) == 0 {
		return errNoRows
	}
	return nil
}

func (t *tool) close(bool) { _ = t.socket.conn.Close() }

// valveServer is a game server that is asked over A2S. Its socket is not
// connected: the questions come from another port than the master's.
type valveServer struct {
	conn      *net.UDPConn
	master    netip.AddrPort
	info      a2s.Info
	challenge chan uint32
	ended     chan struct{}
}

// openValveServer sends the first heartbeat. The server is listed once it has
// answered questions, which takes a moment.
func openValveServer(ctx context.Context, w *world, i int) (user, error) {
	conn, err := w.bind(address(groupValve, i), netip.AddrPort{})
	if err != nil {
		return nil, err
	}
	v := &valveServer{
		conn: conn, master: w.daemon.at("valvemaster"), challenge: make(chan uint32, 1), ended: make(chan struct{}),
		info: a2s.Info{
			Protocol: 17, Name: fmt.Sprintf("Server %d of the load", i), Map: "de_load", Folder: "cstrike", Game: "Counter-Strike",
			Players: 3, MaxPlayers: 16, Type: a2s.Dedicated, System: a2s.Linux, Version: "1",
		},
	}
	go v.answer()
	if err := v.do(ctx); err != nil {
		v.close(true)
		return nil, err
	}
	return v, nil
}

// answer answers the master and its questions until the socket is closed. It
// alone reads.
func (v *valveServer) answer() {
	defer close(v.ended)
	buf := make([]byte, 4096)
	for {
		n, from, err := v.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		if c, err := valvemaster.ParseChallenge(buf[:n]); err == nil {
			select {
			case v.challenge <- c.Challenge:
			default:
			}
			continue
		}
		q, err := a2s.ParseRequest(buf[:n])
		if err != nil {
			continue
		}
		var out []byte
		switch q.Kind {
		case a2s.InfoRequest:
			out = a2s.AppendInfo(nil, v.info)
		case a2s.PlayersRequest:
			out = a2s.AppendPlayers(nil, a2s.Players{})
		case a2s.RulesRequest:
			out = a2s.AppendRules(nil, a2s.Rules{})
		default:
			continue
		}
		_, _ = v.conn.WriteToUDPAddrPort(out, from) // a lost answer, as elsewhere
	}
}

// ask has the master send a challenge.
func (v *valveServer) ask() (uint32, error) {
	select {
	case <-v.challenge: // of an earlier question
	default:
	}
	if _, err := v.conn.WriteToUDPAddrPort(valvemaster.ChallengeRequest{}.AppendTo(nil), v.master); err != nil {
		return 0, err
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case c := <-v.challenge:
		return c, nil
	case <-t.C:
		return 0, errNoChallenge
	}
}

var errNoChallenge = errors.New("no challenge")

// do is a heartbeat with the challenge before it.
func (v *valveServer) do(context.Context) error {
	c, err := v.ask()
	if err != nil {
		return err
	}
	m, err := valvemaster.Heartbeat{
		Challenge: c, Protocol: 17, Players: 3, MaxPlayers: 16, GameDir: []byte(v.info.Folder), Map: []byte(v.info.Map),
		Type: []byte("d"), OS: []byte("l"), Region: valvemaster.AnyRegion,
	}.AppendTo(nil)
	if err != nil {
		return err
	}
	_, err = v.conn.WriteToUDPAddrPort(m, v.master)
	return err
}

func (v *valveServer) close(rude bool) {
	if !rude {
		if c, err := v.ask(); err == nil {
			_, _ = v.conn.WriteToUDPAddrPort(valvemaster.Goodbye{Challenge: c, HasChallenge: true}.AppendTo(nil), v.master) // it would expire anyway
		}
	}
	_ = v.conn.Close()
	<-v.ended
}

// valveBrowser walks through the list of the Valve-style master.
type valveBrowser struct {
	socket *socket
	pages  int // it reads at most; 0: all
	seen   int // servers in the last list
}

func openValveBrowser(_ context.Context, w *world, i int) (user, error) {
	s, err := dialUDP(address(groupValveBrowsers, i), w.daemon.at("valvemaster"))
	if err != nil {
		return nil, err
	}
	return &valveBrowser{socket: s}, nil
}

func (v *valveBrowser) do(context.Context) error {
	seed := valvemaster.Start
	v.seen = 0
	for page := 1; ; page++ {
		request := valvemaster.ListRequest{Region: valvemaster.AnyRegion, Seed: seed, Filter: []byte(`\gamedir\cstrike`)}
		v.socket.out = request.AppendTo(v.socket.out[:0])
		if err := v.socket.send(v.socket.out); err != nil {
			return err
		}
		var l valvemaster.List
		err := v.socket.await(func(p []byte) (bool, error) {
			var err error
			l, err = valvemaster.ParseList(p)
			return true, err
		})
		v.seen += len(l.Servers)
		if err != nil || l.Last || len(l.Servers) == 0 || page == v.pages {
			return err
		}
		seed = l.Servers[len(l.Servers)-1]
	}
}

func (v *valveBrowser) close(bool) { _ = v.socket.conn.Close() }

// resolver asks for the names of services.
type resolver struct {
	socket *socket
	id     uint16
}

func openResolver(_ context.Context, w *world, i int) (user, error) {
	s, err := dialUDP(address(groupDNS, i), w.daemon.at("dns"))
	if err != nil {
		return nil, err
	}
	return &resolver{socket: s}, nil
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
	if err := r.socket.send(question); err != nil {
		return err
	}
	return r.socket.await(func(p []byte) (bool, error) {
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

func (r *resolver) close(bool) { _ = r.socket.conn.Close() }
