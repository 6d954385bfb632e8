// Package courier acts on game servers that report to other nodes of a cluster: it
// carries messages of players to them, queries them, and removes them from the list,
// through the node that each reports to. Only that node's socket passes the server's
// NAT, and only that node may change its record.
//
// It knows no protocol: its actions for servers of this node are in Options, and it
// does the same for those of other nodes on their behalf.
package courier

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
)

// Bounds of messages to servers.
const (
	// MaxMessage is the maximum length of a message in bytes.
	MaxMessage = 1024
	// maxUnderWay is the number of messages that wait for other nodes at a time;
	// maxPerServer is that of one server.
	maxUnderWay  = 1024
	maxPerServer = 10

	attemptTime = 2 * time.Second // of one request to a node
	deliverTime = 6 * time.Second // until a message is given up
	againPause  = 200 * time.Millisecond
)

// Options configure a Courier. List is required. The functions act on servers
// of this node; they do not block, except Ask and Remove.
type Options struct {
	Bus  cluster.Bus // nil: this node is alone
	List *master.Registry
	// Messenger delivers messages to servers; nil: there is none.
	Messenger master.Messenger
	// Met notes that players reached the server at an address; nil: ignored.
	Met func(netip.AddrPort)
	// Relayed notes that they reached it through a relay; nil: ignored.
	Relayed func(netip.AddrPort)
	// Ask queries the server under a public address; nil: not possible.
	Ask func(context.Context, netip.AddrPort) (query.Status, error)
	// Remove takes the servers under a public address off the list and returns how
	// many there were; nil: not possible.
	Remove func(netip.AddrPort) int

	Log        zerolog.Logger
	Registerer prometheus.Registerer // nil: the metrics are not registered
}

// Courier implements master.Messenger for the servers of all nodes. All methods may be
// called concurrently.
type Courier struct {
	opt      Options
	messages *cluster.Call[message, string]
	notes    *cluster.Call[note, struct{}]
	asks     *cluster.Call[netip.AddrPort, query.Status]
	removals *cluster.Call[netip.AddrPort, int]
	results  *prometheus.CounterVec
	base     context.Context // ends with Run
	end      context.CancelFunc
	running  sync.WaitGroup
	underWay atomic.Int64

	mu        sync.Mutex // guards the fields below
	perServer map[master.Key]int
	ended     bool // Run has ended
}

// message is a message for a server; its answer is a result.
type message struct {
	Server  master.Key
	Payload []byte
}

// note says that players reached the server at an address.
type note struct {
	At      netip.AddrPort
	Relayed bool // through a relay
}

// New returns a Courier. It answers other nodes while Run runs.
func New(opt Options) *Courier {
	c := &Courier{opt: opt, perServer: make(map[master.Key]int)}
	c.base, c.end = context.WithCancel(context.Background())
	c.messages = cluster.NewCall(opt.Bus, "servers.message", c.takeMessage)
	c.notes = cluster.NewCall(opt.Bus, "servers.met", c.takeNote)
	c.asks = cluster.NewCall(opt.Bus, "servers.ask", c.takeAsk)
	c.removals = cluster.NewCall(opt.Bus, "servers.remove", c.takeRemove)
	if opt.Bus == nil {
		opt.Registerer = nil
	}
	c.results = metric.With(opt.Registerer).Counters("respawnd_cluster_server_messages_total",
		"Messages to servers of other nodes, by result.", "result",
		resultDelivered, resultNotListed, resultBusy, resultRefused, resultLost)
	return c
}

// The results of messages to servers of other nodes.
const (
	resultDelivered = "delivered" // the node sends it
	resultNotListed = "not_listed"
	resultBusy      = "busy"
	resultRefused   = "refused" // for another reason
	resultLost      = "lost"    // the node did not answer in time
)

// Run answers other nodes until ctx ends.
func (c *Courier) Run(ctx context.Context) {
	for _, serve := range []func() func(){c.messages.Serve, c.notes.Serve, c.asks.Serve, c.removals.Serve} {
		defer serve()()
	}
	<-ctx.Done()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
}

// SendToServer implements master.Messenger. A message to a server of another node is in flight when
// it returns, and its result is counted.
func (c *Courier) SendToServer(k master.Key, payload []byte) error {
	s, ok := c.opt.List.GetAny(k)
	switch {
	case !ok || s.Node == "": // a server that is not listed may be one of a self-test
		return c.here(k, payload)
	case len(payload) > MaxMessage:
		return errTooLong
	}
	if !c.begin(k) {
		c.results.WithLabelValues(resultBusy).Inc()
		return master.ErrBusy
	}
	m := message{k, bytes.Clone(payload)}
	c.running.Go(func() {
		defer c.finish(k)
		result := c.deliver(s, m)
		c.results.WithLabelValues(result).Inc()
		if result != resultDelivered {
			c.opt.Log.Debug().Stringer("server", k.Source).Str("node", s.Node).Str("result", result).Msg("message for a server of another node was not delivered")
		}
	})
	return nil
}

var errTooLong = errors.New("message is too long")

// here delivers a message to a server of this node.
func (c *Courier) here(k master.Key, payload []byte) error {
	if c.opt.Messenger == nil {
		return master.ErrNotListed
	}
	return c.opt.Messenger.SendToServer(k, payload)
}

// begin counts a message. It returns false if there are too many.
func (c *Courier) begin(k master.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.underWay.Load() >= maxUnderWay || c.perServer[k] >= maxPerServer {
		return false
	}
	c.perServer[k]++
	c.underWay.Add(1)
	return true
}

func (c *Courier) finish(k master.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.perServer[k]--; c.perServer[k] == 0 {
		delete(c.perServer, k)
	}
	c.underWay.Add(-1)
}

// deliver delivers a message through the node that the server reports to, and follows
// the server when it moves to another one. A message that may have been delivered is
// not sent again: the host would take it for a second one.
func (c *Courier) deliver(s *master.Server, m message) (result string) {
	ctx, cancel := context.WithTimeout(c.base, deliverTime)
	defer cancel()
	for pause := againPause; ; pause *= 2 {
		result = c.attempt(ctx, s.Node, m)
		if result != resultNotListed {
			return result
		}
		if !clock.Pause(ctx, pause) {
			return result
		}
		next, ok := c.opt.List.GetAny(m.Server)
		if !ok {
			return resultNotListed
		}
		s = next
	}
}

// attempt delivers a message through a node; empty: this one.
func (c *Courier) attempt(ctx context.Context, node string, m message) (result string) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	result, err := c.messages.Ask(ctx, node, m)
	switch {
	case errors.Is(err, cluster.ErrGone), errors.Is(err, cluster.ErrNoHandler):
		return resultNotListed
	case errors.Is(err, cluster.ErrBusy):
		return resultBusy
	case err != nil:
		return resultLost
	case result != resultDelivered && result != resultNotListed && result != resultBusy:
		return resultRefused
	}
	return result
}

// takeMessage delivers a message to a server of this node.
func (c *Courier) takeMessage(_ context.Context, m message) (result string, err error) {
	if s, ok := c.opt.List.GetAny(m.Server); !ok || s.Node != "" {
		return resultNotListed, nil
	}
	if len(m.Payload) > MaxMessage {
		return resultRefused, nil
	}
	switch err := c.here(m.Server, m.Payload); {
	case err == nil:
		return resultDelivered, nil
	case errors.Is(err, master.ErrNotListed):
		return resultNotListed, nil
	case errors.Is(err, master.ErrBusy):
		return resultBusy, nil
	}
	return resultRefused, nil
}

// Met notes that players reached the server at an address by NAT negotiation, on the
// node of the server.
func (c *Courier) Met(a netip.AddrPort) { c.note(note{At: a}) }

// Relayed notes that players reached the server at an address through a relay, on the
// node of the server.
func (c *Courier) Relayed(a netip.AddrPort) { c.note(note{a, true}) }

// note has the node of a server note something. It does not wait for another one.
func (c *Courier) note(n note) {
	s, ok := c.opt.List.AtAny(n.At)
	switch {
	case !ok:
	case s.Node == "":
		_, _ = c.takeNote(c.base, n) // it returns nil
	case c.begin(s.Key):
		c.running.Go(func() {
			defer c.finish(s.Key)
			ctx, cancel := context.WithTimeout(c.base, attemptTime)
			defer cancel()
			if _, err := c.notes.Ask(ctx, s.Node, n); err != nil {
				c.uninformed(s.Node, err)
			}
		})
	default:
		c.uninformed(s.Node, master.ErrBusy)
	}
}

func (c *Courier) uninformed(node string, err error) {
	c.opt.Log.Debug().Err(err).Str("node", node).Msg("a node was not informed that players reached its server")
}

// takeNote notes that players reached a server of this node.
func (c *Courier) takeNote(_ context.Context, n note) (none struct{}, err error) {
	here := c.opt.Met
	if n.Relayed {
		here = c.opt.Relayed
	}
	if s, ok := c.opt.List.At(n.At); ok && s.Node == "" && here != nil {
		here(n.At)
	}
	return none, nil
}

// Status queries the server under a public address, through the node that it reports
// to.
func (c *Courier) Status(ctx context.Context, public netip.AddrPort) (st query.Status, err error) {
	s, ok := c.opt.List.Find(public)
	if !ok {
		return st, master.ErrNotListed
	}
	return c.asks.Ask(ctx, s.Node, public)
}

// askTime bounds a query.
const askTime = 10 * time.Second

// takeAsk queries a server of this node.
func (c *Courier) takeAsk(ctx context.Context, a netip.AddrPort) (st query.Status, err error) {
	s, ok := c.opt.List.Find(a)
	if !ok || s.Node != "" || c.opt.Ask == nil {
		return st, master.ErrNotListed
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return c.opt.Ask(ctx, a)
}

// Remove takes the servers under a public address off the lists of all nodes and
// returns how many nodes had some that report to them. If that fails on some nodes, the
// error names them.
func (c *Courier) Remove(ctx context.Context, public netip.AddrPort) (removed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	count := func(n int) {
		if n > 0 {
			removed++
		}
	}
	here, _ := c.takeRemove(ctx, public) // it returns nil
	count(here)
	err = c.removals.AskOthers(ctx, public, count)
	return removed, err
}

// takeRemove takes servers of this node off the list.
func (c *Courier) takeRemove(_ context.Context, public netip.AddrPort) (int, error) {
	if c.opt.Remove == nil {
		return 0, nil
	}
	return c.opt.Remove(public), nil
}
