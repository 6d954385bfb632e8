package natsbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
)

// maxMessage is the length of the longest message of a Bus.
const maxMessage = cluster.MaxPayload + 256

// Bus is a node of a cluster. It implements cluster.Bus.
type Bus struct {
	opt         Options
	incarnation uint64 // when it started, in nanoseconds since 1970
	log         zerolog.Logger
	metrics     *metrics
	prefix      string // of all subjects

	server   *server.Server // nil: an external one
	conn     *nats.Conn
	in       chan *nats.Msg
	subs     []*nats.Subscription
	out      *outQueue
	soon     chan struct{} // of capacity 1: a heartbeat is wanted now
	requests chan struct{} // one for each that is handled

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	closing sync.Once

	announced atomic.Bool
	unread    sync.Map // subjects of which a message could not be read
	workers   sync.WaitGroup

	mu          sync.Mutex // guards the fields below
	peers       map[string]*peer
	nodes       []string // live ones and this one, sorted
	changed     chan struct{}
	subscribers map[string][]*subscriber
	losses      []*subscriber
	handlers    map[string]*handler
	joining     bool                // Open has not returned
	starting    map[string]struct{} // nodes that are there and not live, while joining
	twin        time.Time           // when another node with the name of this one was last heard
	warned      time.Time           // when that was last logged
}

var _ cluster.Bus = (*Bus)(nil)

// Open connects to a cluster. It waits a little for the other nodes; those that are not
// there yet join later. They do not see this one before Announce. An error names the
// key of the configuration that is wrong.
func Open(ctx context.Context, o Options) (*Bus, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Silence = cmp.Or(o.Silence, DefaultSilence)
	b := &Bus{
		opt: o, incarnation: uint64(time.Now().UnixNano()), log: o.Log, joining: true,
		prefix: "respawnd." + o.Name + ".",
		in:     make(chan *nats.Msg, inMessages), soon: make(chan struct{}, 1), requests: make(chan struct{}, maxRequests),
		peers: make(map[string]*peer), starting: make(map[string]struct{}), nodes: []string{o.Node}, changed: make(chan struct{}),
		subscribers: make(map[string][]*subscriber), handlers: make(map[string]*handler),
	}
	b.metrics = newMetrics(o.Registerer, b)
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.out = newOutQueue()
	if err := b.connect(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.Handle(subjectPing, b.answerPing)
	b.workers.Go(b.receive)
	b.workers.Go(b.write)
	b.workers.Go(b.beat)
	if err := b.join(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.workers.Go(b.ping)
	return b, nil
}

// Announce makes this node a live one for the others, once it can handle their
// messages and requests.
func (b *Bus) Announce() {
	b.announced.Store(true)
	b.beatSoon()
}

// connect starts the server, if it is embedded, and connects to it.
func (b *Bus) connect(ctx context.Context) error {
	options := []nats.Option{
		nats.Name("respawnd " + b.opt.Node), nats.NoEcho(), nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 200*time.Millisecond),
		nats.ReconnectBufSize(-1), // messages that cannot be sent are counted and not kept
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), nats.FlusherTimeout(5 * time.Second),
		nats.ErrorHandler(b.asyncError),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if b.ctx.Err() == nil {
				b.log.Warn().Err(err).Msg("the connection to NATS is lost; the other nodes are not reached before it is back")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			b.metrics.reconnects.Inc()
			b.log.Info().Msg("connected to NATS again")
			b.beatSoon()
		}),
	}
	target := b.opt.URL
	if target == "" {
		var err error
		if b.server, err = startServer(ctx, &b.opt, b.incarnation, maxMessage+slack); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(b.server))
	} else if b.opt.TLS != nil {
		options = append(options, nats.Secure(b.opt.TLS))
	}
	if d, ok := ctx.Deadline(); ok {
		options = append(options, nats.Timeout(max(time.Until(d), time.Millisecond)))
	}
	var err error
	if b.conn, err = nats.Connect(target, options...); err != nil {
		return fmt.Errorf("%s: %w", b.key(), err)
	}
	if most := b.conn.MaxPayload(); most < maxMessage {
		return fmt.Errorf("cluster.nats_url: its max_payload is %d, at least %d is needed", most, maxMessage)
	}
	for _, subject := range []string{"all.>", "to." + b.opt.Node + ".>"} {
		sub, err := b.conn.ChanSubscribe(b.prefix+subject, b.in)
		if err != nil {
			return fmt.Errorf("%s: %w", b.key(), err)
		}
		b.subs = append(b.subs, sub)
	}
	sub, err := b.conn.Subscribe(b.prefix+"ask."+b.opt.Node+".>", b.asked)
	if err != nil {
		return fmt.Errorf("%s: %w", b.key(), err)
	}
	b.subs = append(b.subs, sub)
	if err := sub.SetPendingLimits(inMessages, inBytes); err != nil {
		return err
	}
	return b.conn.FlushTimeout(5 * time.Second)
}

// key returns the key of the configuration that leads to NATS.
func (b *Bus) key() string {
	if b.opt.URL != "" {
		return "cluster.nats_url"
	}
	return "cluster.listen"
}

func (b *Bus) asyncError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrSlowConsumer) {
		b.metrics.drop(dropSlow)
		b.log.Debug().Err(err).Msg("too many messages of other nodes at once")
		return
	}
	b.log.Warn().Err(err).Msg("messages between nodes")
}

// Close leaves the cluster and closes its sockets.
func (b *Bus) Close() error {
	b.closing.Do(b.close)
	return nil
}

func (b *Bus) close() {
	if b.conn != nil && b.ctx.Err() == nil {
		b.goodbye()
	}
	b.cancel()
	b.out.close()
	if b.conn != nil {
		b.conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
	b.mu.Lock()
	for _, list := range b.subscribers {
		for _, s := range list {
			s.close()
		}
	}
	for _, s := range b.losses {
		s.close()
	}
	for _, p := range b.peers {
		p.end()
	}
	b.mu.Unlock()
	b.workers.Wait()
	for range maxRequests {
		b.requests <- struct{}{} // after the last handler has returned
	}
}

// goodbye sends the waiting messages, and informs the others that this node leaves.
func (b *Bus) goodbye() {
	ctx, cancel := context.WithTimeout(b.ctx, 500*time.Millisecond)
	defer cancel()
	_ = b.Publish(subjectBye, nil)
	b.out.drain(ctx)
	_ = b.conn.FlushWithContext(ctx)
	var asked sync.WaitGroup
	for _, node := range b.Nodes() {
		if node != b.opt.Node { // its answer follows all earlier messages
			asked.Go(func() { _, _ = b.Request(ctx, node, subjectPing, nil) })
		}
	}
	asked.Wait()
}

// Self implements cluster.Bus.
func (b *Bus) Self() string { return b.opt.Node }

// Nodes implements cluster.Bus.
func (b *Bus) Nodes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.nodes
}

// Incarnation implements cluster.Bus.
func (b *Bus) Incarnation(node string) uint64 {
	if node == b.opt.Node {
		return b.incarnation
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.peers[node]; p != nil && p.live {
		return p.incarnation
	}
	return 0
}

// Changed implements cluster.Bus.
func (b *Bus) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// Owner implements cluster.Bus.
func (b *Bus) Owner(key string) string { return cluster.Rendezvous(key, b.Nodes()) }

// Addr returns the address on which this node listens for others; empty with an
// external NATS.
func (b *Bus) Addr() string {
	if b.server == nil {
		return ""
	}
	return b.server.ClusterAddr().String()
}
