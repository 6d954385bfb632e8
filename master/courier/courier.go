// Package courier acts on game servers that report to other nodes of a cluster: it
// carries messages of players to them, queries them, and removes them from the list,
// through the node that each reports to. Only that node's socket passes the server's
// NAT, and only that node may change its record.
//
// It knows no protocol: its actions for servers of this node are in Options, and it
// does the same for those of other nodes on their behalf.
package courier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Options configure a Courier. Bus and List are required. The functions act on servers
// of this node; they do not block, except Ask and Remove.
type Options struct {
	Bus  cluster.Bus
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
	results  *prometheus.CounterVec
	base     context.Context // ends with Run
	end      context.CancelFunc
	running  sync.WaitGroup
	underWay atomic.Int64

	mu        sync.Mutex // guards the fields below
	perServer map[master.Key]int
	ended     bool // Run has ended
}

// New returns a Courier. It answers other nodes while Run runs.
func New(opt Options) *Courier {
	c := &Courier{opt: opt, perServer: make(map[master.Key]int)}
	c.base, c.end = context.WithCancel(context.Background())
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
	for _, cancel := range []func(){
		c.opt.Bus.Handle(subjectMessage, c.takeMessage), c.opt.Bus.Subscribe(subjectMet, c.takeNote(c.opt.Met)),
		c.opt.Bus.Subscribe(subjectRelayed, c.takeNote(c.opt.Relayed)),
		c.opt.Bus.Handle(subjectAsk, c.takeAsk), c.opt.Bus.Handle(subjectRemove, c.takeRemove),
	} {
		defer cancel()
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
	case !ok:
		return master.ErrNotListed
	case s.Node == "":
		return c.here(k, payload)
	case len(payload) > MaxMessage:
		return errTooLong
	}
	if !c.begin(k) {
		c.results.WithLabelValues(resultBusy).Inc()
		return master.ErrBusy
	}
	m := message{k, payload}
	data := m.appendTo(nil)
	c.running.Go(func() {
		defer c.finish(k)
		result := c.deliver(s, m, data)
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
func (c *Courier) deliver(s *master.Server, m message, data []byte) (result string) {
	ctx, cancel := context.WithTimeout(c.base, deliverTime)
	defer cancel()
	for pause := againPause; ; pause *= 2 {
		result = c.attempt(ctx, s.Node, m, data)
		if result != resultNotListed {
			return result
		}
		if !clock.Pause(ctx, pause) {
			return result
		}
		next, ok := c.opt.List.GetAny(m.key)
		if !ok {
			return resultNotListed
		}
		s = next
	}
}

// attempt delivers a message through a node; empty: this one.
func (c *Courier) attempt(ctx context.Context, node string, m message, data []byte) (result string) {
	if node == "" {
		return resultOf(codeOf(c.here(m.key, m.payload)))
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	answer, err := c.opt.Bus.Request(ctx, node, subjectMessage, data)
	switch {
	case errors.Is(err, cluster.ErrGone), errors.Is(err, cluster.ErrNoHandler):
		return resultNotListed
	case errors.Is(err, cluster.ErrBusy):
		return resultBusy
	case err != nil:
		return resultLost
	case len(answer) != 1:
		return resultRefused
	}
	return resultOf(answer[0])
}

// takeMessage delivers a message for another node.
func (c *Courier) takeMessage(_ context.Context, _ string, data []byte) ([]byte, error) {
	m, err := parseMessage(data)
	if err != nil {
		return nil, err
	}
	s, ok := c.opt.List.GetAny(m.key)
	if !ok || s.Node != "" {
		return []byte{codeNotListed}, nil
	}
	return []byte{codeOf(c.here(m.key, m.payload))}, nil
}

// Met notes that players reached the server at an address by NAT negotiation, on the
// node of the server.
func (c *Courier) Met(a netip.AddrPort) { c.note(a, subjectMet, c.opt.Met) }

// Relayed notes that players reached the server at an address through a relay, on the
// node of the server.
func (c *Courier) Relayed(a netip.AddrPort) { c.note(a, subjectRelayed, c.opt.Relayed) }

// note calls here if the server reports to this node, and else informs its node.
func (c *Courier) note(a netip.AddrPort, subject string, here func(netip.AddrPort)) {
	s, ok := c.opt.List.AtAny(a)
	switch {
	case !ok:
	case s.Node == "":
		if here != nil {
			here(a)
		}
	default:
		if err := c.opt.Bus.Send(s.Node, subject, appendAddress(nil, a)); err != nil {
			c.opt.Log.Debug().Err(err).Str("node", s.Node).Msg("a node was not informed that players reached its server")
		}
	}
}

// takeNote returns a function that records the findings of another node.
func (c *Courier) takeNote(here func(netip.AddrPort)) func(string, []byte) {
	return func(_ string, data []byte) {
		a, err := parseAddress(data)
		if err != nil || here == nil {
			return
		}
		if s, ok := c.opt.List.At(a); ok && s.Node == "" {
			here(a)
		}
	}
}

// Status queries the server under a public address, through the node that it reports
// to.
func (c *Courier) Status(ctx context.Context, public netip.AddrPort) (st query.Status, err error) {
	s, ok := c.opt.List.Find(public)
	switch {
	case !ok:
		return st, master.ErrNotListed
	case s.Node != "":
		return c.askNode(ctx, s.Node, public)
	case c.opt.Ask == nil:
		return st, master.ErrNotListed
	}
	return c.opt.Ask(ctx, public)
}

func (c *Courier) askNode(ctx context.Context, node string, public netip.AddrPort) (st query.Status, err error) {
	answer, err := c.opt.Bus.Request(ctx, node, subjectAsk, appendAddress(nil, public))
	if err != nil {
		return st, fmt.Errorf("ask %v through node %s: %w", public, node, err)
	}
	if err := json.Unmarshal(answer, &st); err != nil {
		return query.Status{}, fmt.Errorf("answer of node %s: %w", node, err)
	}
	return st, nil
}

// askTime bounds a query for another node.
const askTime = 10 * time.Second

// takeAsk queries a server for another node.
func (c *Courier) takeAsk(ctx context.Context, _ string, data []byte) ([]byte, error) {
	a, err := parseAddress(data)
	if err != nil {
		return nil, err
	}
	s, ok := c.opt.List.Find(a)
	if !ok || s.Node != "" || c.opt.Ask == nil {
		return nil, master.ErrNotListed
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	st, err := c.opt.Ask(ctx, a)
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(st)
	if err == nil && len(answer) > cluster.MaxPayload {
		err = cluster.ErrTooLarge
	}
	return answer, err
}

// Remove takes the servers under a public address off the lists of all nodes and
// returns how many nodes had some that report to them. If that fails on some nodes, the
// error names them.
func (c *Courier) Remove(ctx context.Context, public netip.AddrPort) (removed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	var errs []error
	for _, node := range c.opt.Bus.Nodes() {
		if node == c.opt.Bus.Self() {
			if c.remove(public) > 0 {
				removed++
			}
			continue
		}
		answer, err := c.opt.Bus.Request(ctx, node, subjectRemove, appendAddress(nil, public))
		switch {
		case errors.Is(err, cluster.ErrGone):
		case err != nil:
			errs = append(errs, fmt.Errorf("node %s: %w", node, err))
		case len(answer) == 1 && answer[0] != 0:
			removed++
		}
	}
	return removed, errors.Join(errs...)
}

func (c *Courier) remove(public netip.AddrPort) int {
	if c.opt.Remove == nil {
		return 0
	}
	return c.opt.Remove(public)
}

// takeRemove takes servers off the list for another node.
func (c *Courier) takeRemove(_ context.Context, _ string, data []byte) ([]byte, error) {
	a, err := parseAddress(data)
	if err != nil {
		return nil, err
	}
	return []byte{byte(min(c.remove(a), 255))}, nil
}
