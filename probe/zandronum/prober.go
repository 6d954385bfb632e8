// Package zandronum asks the Zandronum servers in the list what they play and
// who plays there, and writes the answers into their records.
//
// It lists nobody and takes nobody off the list: package zanmaster does. It asks
// only servers that verified their address to the master, and none of them more
// than once a minute: a game server answers each address every ten seconds, and
// everybody behind that address shares it.
package zandronum

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/netserve"
	wire "github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

const (
	// MinEvery is the least time between two queries to a server.
	MinEvery = time.Minute

	lookEvery = time.Second // for servers that are to be asked
	atOnce    = 200         // servers that are asked each time
	maxSilent = 3           // queries without an answer until a server counts as not reachable
	maxAsked  = 1 << 16     // servers that are remembered
)

// Options configure a Prober. Registry is required.
type Options struct {
	Registry *master.Registry
	// Every is the time between two queries to a server; less than MinEvery
	// means MinEvery.
	Every time.Duration

	Packets    netserve.PacketOptions
	Log        zerolog.Logger
	Metrics    *netserve.Metrics
	Registerer prometheus.Registerer // nil: the metrics of this package are not registered
}

// Prober asks game servers. It implements netserve.PacketHandler for the
// answers.
type Prober struct {
	opt     Options
	metrics *metrics

	mu    sync.Mutex // guards the fields below
	asked map[netip.AddrPort]*question
}

// question is the last query to a server.
type question struct {
	key     master.Key
	sent    time.Time
	answer  answer
	done    bool // answered, in one way or another
	silent  int  // queries without an answer up to this one
	visited bool // in the list when it was looked at last
}

// New returns a Prober. Nothing runs until Serve is called.
func New(opt Options) *Prober {
	opt.Every = max(opt.Every, MinEvery)
	return &Prober{opt: opt, metrics: newMetrics(opt.Registerer), asked: make(map[netip.AddrPort]*question)}
}

// Serve asks servers from conn until ctx ends. conn is any socket of its own
// and stays open; a server that answers there can be reached by strangers.
func (p *Prober) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, p, p.opt.Packets) })
	g.Go(func() error {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case now := <-tick.C:
				p.look(conn, now)
			}
		}
	})
	return g.Wait()
}

// due is a query that is to be sent.
type due struct {
	from  netip.Addr
	to    netip.AddrPort
	query wire.Query
}

// look asks the servers whose time has come.
func (p *Prober) look(w netserve.PacketWriter, now time.Time) {
	servers, _ := p.opt.Registry.Snapshot(wire.Game, nil)
	var list []due
	var unreachable []master.Key
	p.mu.Lock()
	for _, srv := range servers {
		if srv.Origin != master.FromZandronum || srv.Restored {
			continue
		}
		q := p.asked[srv.Key.Source]
		if q != nil {
			q.visited = true
		}
		if len(list) == atOnce || (q != nil && now.Sub(q.sent) < p.opt.Every) || (q == nil && len(p.asked) >= maxAsked) {
			continue
		}
		next := &question{key: srv.Key, answer: answer{time: newTime()}, sent: now, visited: true}
		if q != nil && !q.done {
			next.silent = q.silent + 1
			p.metrics.silent.Inc()
			if next.silent == maxSilent && srv.Findings.Reachable {
				unreachable = append(unreachable, srv.Key)
			}
		}
		p.asked[srv.Key.Source] = next
		list = append(list, due{srv.Via, srv.Key.Source, query(next.answer.time)})
	}
	for a, q := range p.asked {
		if !q.visited && now.Sub(q.sent) >= p.opt.Every {
			delete(p.asked, a)
		}
		q.visited = false
	}
	p.mu.Unlock()
	for _, key := range unreachable {
		p.opt.Registry.Report(key, master.Findings{})
	}
	var message, datagram []byte
	for _, d := range list {
		message = wire.AppendQuery(message[:0], d.query)
		datagram = wire.Encode(datagram[:0], message)
		if err := w.WritePacket(datagram, d.from, d.to); err != nil {
			p.opt.Log.Debug().Stringer("peer", d.to).Err(err).Msg("query not sent")
			continue
		}
		p.metrics.sent.Inc()
	}
}

// query asks for everything. A server that knows no segments ignores that they
// are wanted.
func query(time uint32) wire.Query {
	return wire.Query{Flags: wire.AllFlags, Time: time, Flags2: wire.AllFlags2, Segmented: true}
}

func newTime() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return binary.LittleEndian.Uint32(b[:])
}

// The reasons for which packets are dropped.
const (
	dropUnasked   = "unasked"
	dropMalformed = "malformed"
	dropForged    = "wrong_time"
)

// DropReasons lists the reasons that Options.Metrics counts drops under.
func DropReasons() []string { return []string{dropUnasked, dropMalformed, dropForged} }

// ServePacket takes an answer.
func (p *Prober) ServePacket(_ netserve.PacketWriter, packet netserve.Packet) {
	if reason := p.handle(packet); reason != "" {
		p.opt.Metrics.Drop(reason)
	}
}

func (p *Prober) handle(packet netserve.Packet) (dropped string) {
	key, info, err := p.take(packet)
	switch {
	case errors.Is(err, errUnasked):
		return dropUnasked
	case errors.Is(err, errForged):
		return dropForged
	case errors.Is(err, ErrTooSoon), errors.Is(err, ErrBanned):
		p.metrics.denied.Inc()
		p.reachable(key)
	case err != nil:
		return dropMalformed
	case info != nil:
		p.metrics.answered.Inc()
		p.reachable(key)
		p.learn(key, info)
	}
	return ""
}

var errUnasked = errors.New("not asked")

// take finds the question that a packet answers. Both results are nil if more
// of the answer is to come.
func (p *Prober) take(packet netserve.Packet) (master.Key, *wire.Info, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.asked[packet.From]
	if q == nil || q.done {
		return master.Key{}, nil, errUnasked
	}
	info, err := q.answer.take(wire.Decode(nil, packet.Data, wire.MaxInfo+16))
	if info != nil || errors.Is(err, ErrTooSoon) || errors.Is(err, ErrBanned) {
		q.done, q.silent = true, 0
		q.answer.parts = nil
	}
	return q.key, info, err
}

func (p *Prober) reachable(key master.Key) {
	if srv, ok := p.opt.Registry.Get(key); ok && !srv.Findings.Reachable {
		p.opt.Registry.Report(key, master.Findings{Reachable: true})
	}
}

// learn writes an answer into the record of the server, unless it says nothing
// new.
func (p *Prober) learn(key master.Key, info *wire.Info) {
	old, ok := p.opt.Registry.Get(key)
	if !ok {
		return
	}
	report := describe(p.opt.Registry, old, info)
	if report.Same(old) {
		return
	}
	next := *old
	if err := report.Into(&next); err != nil {
		p.opt.Log.Debug().Stringer("peer", key.Source).Err(err).Msg("answer not taken")
		return
	}
	p.opt.Registry.Update(&next)
}
