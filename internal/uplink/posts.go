package uplink

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/netserve"
)

const (
	// PostCount is the number of Posts of a master.
	PostCount = 16
	// PostSteps is the number of those at which a server must answer. A sender that does not see the
	// questions passes all with one chance in 16 x 15 x 14 x 13 x 12 x 11 x 10 x 9.
	PostSteps = 8

	postBuffer = 256 << 10 // bytes of the receive buffer
	// stepAgain is how long a server that answered at one post has for the next, before it is
	// asked there again.
	stepAgain = time.Second
)

// Posts are sockets from which servers are asked whose protocol has no place for a challenge:
// the way of the questions is the challenge. Each server is asked through one of the posts
// after another, in an order that is secret and differs for each server and time. It is proved
// if all its answers come to the posts that it was asked from; one that comes to another post
// ends the attempt. A list of the ports, which all servers come to know, helps no forger.
//
// They are opened with the first question, as many daemons hear of no such server.
type Posts struct {
	host   string
	opened chan struct{} // closed once they are open
	list   atomic.Pointer[[]netserve.PacketWriter]

	mu     sync.Mutex // guards the fields below
	conns  []*netserve.PacketConn
	failed time.Time // the last attempt to open them
	closed bool
}

// NewPosts returns Posts on a host, at free ports. The caller closes them.
func NewPosts(host string) *Posts { return &Posts{host: host, opened: make(chan struct{})} }

// PostsOf returns Posts that are open and write questions, PostCount of them.
func PostsOf(list []netserve.PacketWriter) *Posts {
	p := new(Posts)
	p.list.Store(&list)
	return p
}

// at returns a post, nil if there is none now.
func (p *Posts) at(number int, now time.Time) netserve.PacketWriter {
	list := p.list.Load()
	if list == nil {
		if list = p.open(now); list == nil {
			return nil
		}
	}
	return (*list)[number]
}

// open opens the posts. If that failed it is not tried for a second.
func (p *Posts) open(now time.Time) *[]netserve.PacketWriter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.list.Load(); list != nil || p.closed || now.Sub(p.failed) < time.Second {
		return list
	}
	list := make([]netserve.PacketWriter, PostCount)
	for i := range list {
		conn, err := netserve.ListenPackets(context.Background(), "udp4", net.JoinHostPort(p.host, "0"), netserve.ListenOptions{ReadBuffer: postBuffer})
		if err != nil {
			_ = p.closeAll()
			p.failed = now
			return nil
		}
		list[i], p.conns = conn, append(p.conns, conn)
	}
	p.list.Store(&list)
	close(p.opened)
	return &list
}

// Serve hands the answers that come to each post to a handler, until ctx ends.
func (p *Posts) Serve(ctx context.Context, handler func(number int) netserve.PacketHandler, o netserve.PacketOptions) error {
	select {
	case <-ctx.Done():
		return nil
	case <-p.opened:
	}
	g, ctx := errgroup.WithContext(ctx)
	for i, c := range p.conns {
		g.Go(func() error { return netserve.ServePackets(ctx, c, handler(i), o) })
	}
	return g.Wait()
}

// Close closes the posts for good.
func (p *Posts) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.closeAll()
}

func (p *Posts) closeAll() error {
	var errs []error
	for _, c := range p.conns {
		errs = append(errs, c.Close())
	}
	p.conns = nil
	return errors.Join(errs...)
}

// pathOf returns the posts through which a server with a challenge is asked, in their order.
func pathOf(number uint64) (path [PostSteps]int) {
	var all [PostCount]int
	for i := range all {
		all[i] = i
	}
	for i := range path {
		left := uint64(PostCount - i)
		j := i + int(number%left)
		number /= left
		all[i], all[j] = all[j], all[i]
		path[i] = all[i]
	}
	return path
}

// pass takes an answer that came to a post, and returns its server. proved reports that it has
// answered at all posts; else it is to be asked at the next one.
func (t *hostTable) pass(post int, a netip.AddrPort, now time.Time) (asked waiting, proved bool, dropped Drop) {
	v, ok := t.pending.Get(a)
	if !ok {
		return waiting{}, false, Unexpected
	}
	path := pathOf(v.Number)
	at := slices.Index(path[:], post)
	switch {
	case at >= 0 && at < v.Of.step: // the second answer to a question that was repeated
		return waiting{}, false, Unexpected
	case at == v.Of.step && at < PostSteps-1 && now.Before(v.Expires):
		v.Of.step++
		v.Of.again, v.Of.pause = now.Add(stepAgain), stepAgain
		if until := now.Add(PendingLife); v.Expires.Before(until) {
			v.Expires = until
		}
		return *v, false, NotDropped
	}
	asked = *v
	_, dropped = t.pending.Answer(a, func(uint64) bool { return at == asked.Of.step }, now)
	return asked, dropped == NotDropped, dropped
}

// AnswerAt takes an answer of a server that came to a post. One that has not answered at all
// posts is asked at the next; one that has is proved.
func (k *Keeper) AnswerAt(post int, a netip.AddrPort, now time.Time) (v Answered, proved bool, dropped Drop) {
	k.mu.Lock()
	asked, proved, dropped := k.hosts.pass(post, a, now)
	k.mu.Unlock()
	switch {
	case dropped != NotDropped:
		return Answered{}, false, dropped
	case k.opt.Banned.Has(a.Addr()): // since its heartbeat
		return Answered{}, false, Banned
	case !proved:
		k.ask(nil, &asked, now)
	}
	return Answered{a, asked.about, asked.Of.via}, proved, NotDropped
}
