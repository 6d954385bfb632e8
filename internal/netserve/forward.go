package netserve

import (
	"context"
	"net/netip"

	"github.com/rs/zerolog"
)

// MaxForward is the length in bytes of the longest datagram that a Forwarding sends on:
// more than any network of players carries in one piece.
const MaxForward = 2048

// Reasons for which a Forwarding drops datagrams, see Metrics.Drop.
const (
	dropTooLong   = "too_long" // more than MaxForward
	dropFull      = "send_full"
	dropForwarded = "forwarded" // it comes from another Forwarding
)

// Datagrams leave a Forwarding with a time to live of forwardTTL, and those that come with
// forwardTTL or up to maxHops less are dropped: two relays whose players were forged to be
// each other would send a datagram round and round. Systems begin with 32, 64, 128 or 255,
// and no path takes as many hops as maxHops, so that datagrams of players are never among
// them.
const (
	forwardTTL = 200
	maxHops    = 40
)

// ForwardReasons returns the reasons for which a Forwarding drops datagrams, for
// NewMetrics.
func ForwardReasons() []string {
	return []string{dropReadError, dropWriteError, dropTooLong, dropFull, dropForwarded}
}

// Router routes the datagrams of a ForwardPort.
type Router interface {
	// Route returns where p is sent on; ok is false for one that is dropped, which
	// the Router counts. It must not keep p.Data and must not block.
	Route(p Packet) (to netip.AddrPort, ok bool)
}

// ForwardOptions control a Forwarding.
type ForwardOptions struct {
	Log     zerolog.Logger
	Metrics *Metrics // nil: nothing is counted
}

// Forwarding sends the datagrams of many sockets on from others, unchanged and in their
// order. A quiet socket costs no goroutine and no buffer where the system can wait for
// many sockets at once (Linux). A datagram that cannot be sent at once is dropped; so is,
// on Linux, one that another Forwarding has sent.
// Errors of single datagrams, and panics of a Router, are counted and cost nothing else.
type Forwarding struct {
	opt    ForwardOptions
	panics *panicLog
	system forwarding
}

// NewForwarding returns a Forwarding, which works while Serve runs. Close releases its sockets.
func NewForwarding(opt ForwardOptions) (*Forwarding, error) {
	f := &Forwarding{opt: opt, panics: newPanicLog(opt.Log, opt.Metrics)}
	return f, f.open()
}

// Serve forwards until ctx ends; it then returns nil. It may be called once.
func (f *Forwarding) Serve(ctx context.Context) error { return f.serve(ctx) }

// Close ends a Forwarding whose Serve has returned or was not called.
func (f *Forwarding) Close() error { return f.system.close() }

// Port opens a UDP socket on an IPv4 address for a Forwarding. Nothing is forwarded
// until Connect.
func (f *Forwarding) Port(ctx context.Context, address string, opt ListenOptions) (*ForwardPort, error) {
	conn, err := ListenPackets(ctx, "udp4", address, opt)
	if err != nil {
		return nil, err
	}
	conn.metrics.Store(f.opt.Metrics)
	p := &ForwardPort{group: f, local: conn.LocalAddr()}
	if err := p.take(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return p, nil
}

// ForwardPort is a socket of a Forwarding. Its methods may be called concurrently.
type ForwardPort struct {
	group  *Forwarding
	local  netip.AddrPort
	out    *ForwardPort // set by Connect
	router Router
	system forwardPort
}

// LocalAddr returns the address that the port is bound to.
func (p *ForwardPort) LocalAddr() netip.AddrPort { return p.local }

// Connect forwards datagrams that arrive at p to the targets that r returns, from out, until p is
// closed. It is called once.
func (p *ForwardPort) Connect(out *ForwardPort, r Router) error {
	p.out, p.router = out, r
	return p.begin()
}

// Send sends a datagram of our own. Errors are counted, and it may be lost as any other.
func (p *ForwardPort) Send(data []byte, to netip.AddrPort) { p.sendOne(data, to) }

// Close closes the port. Nothing is routed after it has returned.
func (p *ForwardPort) Close() error { return p.close() }

// route asks the Router; a panic in it only loses the datagram.
func (p *ForwardPort) route(packet Packet) (to netip.AddrPort, ok bool) {
	defer p.group.panics.contain("packet")
	return p.router.Route(packet)
}
