package cdkey

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/netserve"
)

// Bounds of what nodes have for each other.
const (
	maxHeld    = 1 << 20 // keys that another node holds
	maxWaiting = 256     // requests that wait for other nodes
)

// nodes make the tables of a cluster one. A node holds the keys in use at the servers that ask it,
// and all nodes see them. Before it takes a further one it asks the nodes that hold it, which ask
// their servers, and at last the node that the key hashes to, so that one of two gets it.
type nodes struct {
	bus     cluster.Bus
	held    *cluster.Map[id, struct{}]
	waiting chan wait
}

// wait is a request that waits for other nodes.
type wait struct {
	key  id
	by   holder
	size int // of the request, in bytes
}

// claim is the request of a node for a key.
type claim struct {
	Key  id
	Node string
}

func newNodes(opt *Options) nodes {
	return nodes{
		bus: opt.Cluster, waiting: make(chan wait, maxWaiting),
		held: cluster.NewMap(cluster.MapOptions[id, struct{}]{
			Name: "cdkeys", Bus: opt.Cluster, Codec: cluster.JSON[id, struct{}](1), Max: maxHeld, Log: opt.Log, Registerer: opt.Registerer,
		}),
	}
}

// others returns the nodes to ask for a key, in that order.
func (n *nodes) others(k id) (list []string) {
	if n.bus == nil {
		return nil
	}
	owner := n.bus.Owner(fmt.Sprintf("cdkey/%d/%x", k.Product, k.Hash))
	for node := range n.held.Elsewhere(k) {
		if node != owner {
			list = append(list, node)
		}
	}
	if owner != n.bus.Self() {
		list = append(list, owner)
	}
	return list
}

// await lets a request wait for other nodes. If too many do, its server repeats it.
func (n *nodes) await(w wait) bool {
	select {
	case n.waiting <- w:
		return true
	default:
		return false
	}
}

// share asks the other nodes and answers them until ctx ends. Messages to servers go out through w.
func (s *Server) share(ctx context.Context, w netserve.PacketWriter) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.nodes.held.Run(ctx) })
	claims := cluster.NewCall(s.nodes.bus, "cdkey.claim", func(ctx context.Context, c claim) (bool, error) { return s.yield(ctx, w, c) })
	defer claims.Serve()()
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-s.nodes.waiting:
			all.Go(func() {
				free, err := s.nodes.ask(ctx, claims, q.key)
				v, out := s.table.claimed(q, free, err, time.Now())
				s.decided(v, q.by.server.Addr(), q.key.Product)
				s.send(w, netip.Addr{}, out)
			})
		}
	}
}

// ask asks the other nodes for a key. Those that are gone and those without the service have none.
func (n *nodes) ask(ctx context.Context, claims *cluster.Call[claim, bool], k id) (free bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*askTime)
	defer cancel()
	for _, node := range n.others(k) {
		free, err = claims.Ask(ctx, node, claim{k, n.bus.Self()})
		if err != nil && !errors.Is(err, cluster.ErrGone) && !errors.Is(err, cluster.ErrNoHandler) || err == nil && !free {
			return false, err
		}
	}
	return true, nil
}

// yield answers the request of another node for a key, which this one no longer holds if it is free.
func (s *Server) yield(ctx context.Context, w netserve.PacketWriter, c claim) (free bool, err error) {
	answer, out := s.table.yield(c, time.Now())
	s.send(w, netip.Addr{}, out)
	select {
	case free, known := <-answer:
		if !known {
			err = errAsked
		}
		return free, err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

var errAsked = errors.New("another server asks for the key")
