package natnegtest

import (
	"fmt"
	"net/netip"
	"sync"
)

// Kind is how a NAT maps its ports and which senders it lets in.
type Kind int

// The kinds of NATs.
const (
	FullCone       Kind = iota // one port per socket, open to all
	Restricted                 // one port per socket, open to addresses that were written to
	PortRestricted             // one port per socket, open to address and port that were written to
	Symmetric                  // one port per socket and partner, open to that partner
)

// String returns the name of the kind.
func (k Kind) String() string {
	return [...]string{"full cone", "restricted", "port restricted", "symmetric"}[k]
}

// NAT is a network behind a NAT. Sockets opened on it can write to each other and
// to the network outside. The fields are set before it is used.
type NAT struct {
	Kind    Kind
	Outside Net
	Public  netip.Addr // its address outside
	// Pool are further addresses outside, as a carrier's NAT has them: each port
	// that is given out is on the next one.
	Pool []netip.Addr
	// Port returns the port that it gives out after given ones; nil: it takes
	// free ones, as the network outside has them.
	Port func(given int) uint16
	// NoHairpin drops packets from inside to the NAT's own public address.
	NoHairpin bool
	// Sticky is whether a packet that it kept out has a lasting effect, as with the connection
	// tracking of Linux where the firewall does not drop such packets: later ones of the same
	// sender are kept out too, and packets to that sender leave from another port.
	Sticky bool

	mu     sync.Mutex
	inside map[netip.AddrPort]*insideSocket
	maps   map[mapping]*outsidePort
	ports  map[netip.AddrPort]bool // outside
	given  int
}

// Steps returns ports that follow each other at a distance.
func Steps(first uint16, step int) func(given int) uint16 {
	return func(given int) uint16 { return uint16(int(first) + given*step) }
}

// Scattered returns ports without a recognisable order.
func Scattered() func(given int) uint16 {
	return func(given int) uint16 { return uint16(20000 + given*7919%30011) }
}

// mapping is the inside socket of an outside port.
type mapping struct {
	inside netip.AddrPort
	to     netip.AddrPort // zero unless the port is for one partner
}

// outsidePort is one port outside.
type outsidePort struct {
	sock   Socket
	wrote  map[netip.AddrPort]bool
	wroteA map[netip.Addr]bool
	stuck  map[netip.AddrPort]bool // senders that were kept out, if the NAT is Sticky
}

type insideSocket struct {
	nat  *NAT
	addr netip.AddrPort
	recv Receiver
}

// Open implements Net. The address is one of the network inside, and not port 0.
func (n *NAT) Open(at netip.AddrPort, recv Receiver) (Socket, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.inside == nil {
		n.inside = make(map[netip.AddrPort]*insideSocket)
		n.maps = make(map[mapping]*outsidePort)
		n.ports = make(map[netip.AddrPort]bool)
	}
	if at.Port() == 0 || n.inside[at] != nil {
		return nil, fmt.Errorf("open %s inside: in use, or port 0", at)
	}
	s := &insideSocket{n, at, recv}
	n.inside[at] = s
	return s, nil
}

// Close closes all ports outside.
func (n *NAT) Close() {
	n.mu.Lock()
	maps := n.maps
	n.maps = nil
	n.mu.Unlock()
	for _, p := range maps {
		p.sock.Close()
	}
}

// Addr implements Socket.
func (s *insideSocket) Addr() netip.AddrPort { return s.addr }

// Close implements Socket.
func (s *insideSocket) Close() {
	s.nat.mu.Lock()
	defer s.nat.mu.Unlock()
	delete(s.nat.inside, s.addr)
}

// Send implements Socket.
func (s *insideSocket) Send(data []byte, to netip.AddrPort) {
	n := s.nat
	n.mu.Lock()
	if there := n.inside[to]; there != nil {
		n.mu.Unlock()
		there.recv(append([]byte(nil), data...), s.addr)
		return
	}
	if to.Addr().IsPrivate() || (n.NoHairpin && n.ports[to]) {
		n.mu.Unlock()
		return // no host there
	}
	p, err := n.port(s.addr, to)
	if err != nil {
		n.mu.Unlock()
		return
	}
	p.wrote[to], p.wroteA[to.Addr()] = true, true
	n.mu.Unlock()
	p.sock.Send(data, to)
}

// port returns the port outside for a socket and its partner. n.mu is held.
func (n *NAT) port(inside, to netip.AddrPort) (*outsidePort, error) {
	m := mapping{inside: inside}
	if n.Kind == Symmetric || n.maps[m] != nil && n.maps[m].stuck[to] {
		m.to = to
	}
	if p := n.maps[m]; p != nil {
		return p, nil
	}
	public := append([]netip.Addr{n.Public}, n.Pool...)[n.given%(1+len(n.Pool))]
	at := netip.AddrPortFrom(public, 0)
	if n.Port != nil {
		at = netip.AddrPortFrom(public, n.Port(n.given))
	}
	n.given++
	p := &outsidePort{wrote: make(map[netip.AddrPort]bool), wroteA: make(map[netip.Addr]bool), stuck: make(map[netip.AddrPort]bool)}
	sock, err := n.Outside.Open(at, func(data []byte, from netip.AddrPort) { n.receive(p, inside, data, from) })
	if err != nil {
		return nil, err
	}
	p.sock = sock
	n.maps[m] = p
	n.ports[sock.Addr()] = true
	return p, nil
}

// receive lets a datagram in, or does not.
func (n *NAT) receive(p *outsidePort, inside netip.AddrPort, data []byte, from netip.AddrPort) {
	n.mu.Lock()
	open := n.Kind == FullCone || p.wrote[from] || n.Kind == Restricted && p.wroteA[from.Addr()] && !p.stuck[from]
	if !open && n.Sticky {
		p.stuck[from] = true
	}
	s := n.inside[inside]
	n.mu.Unlock()
	if open && s != nil {
		s.recv(data, from)
	}
}
