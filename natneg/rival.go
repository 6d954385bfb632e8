package natneg

import (
	"slices"
	"time"
)

// maxRivals is the maximum number of other addresses that are remembered for a
// negotiation.
const maxRivals = 4

// rival is an address that sends inits for an index that another address has
// taken. It is a stranger, or the same client behind a carrier's NAT that has
// several public addresses. It is the same client if both have sent the same
// local address and port: a stranger who has only the cookie does not know
// those.
type rival struct {
	index byte
	side
}

// join takes an init for a place that is another address's. It returns whether
// the two turn out to be one client, which is seen before it is introduced only.
func (n *negotiation) join(now time.Duration, c *call) bool {
	s := n.side(int(c.in.Index))
	if s.met != 0 || n.phase > phasePaired || c.version < 2 || c.version != s.version || c.name != s.name {
		return false
	}
	r := n.rivalAt(c.in.Index, c.from.ip)
	if r == nil {
		return false
	}
	r.take(now, c)
	return n.unite(c.in.Index)
}

// rivalAt returns the rival for an index at an address, a new one if there is
// none, nil if there are too many.
func (n *negotiation) rivalAt(index byte, ip [4]byte) *rival {
	for i := range n.rivals {
		if r := &n.rivals[i]; r.index == index && r.ip == ip {
			return r
		}
	}
	if len(n.rivals) >= maxRivals {
		return nil
	}
	n.rivals = append(n.rivals, rival{index: index})
	return &n.rivals[len(n.rivals)-1]
}

// unite gives a client the inits that came from its other addresses. It returns
// whether there were any.
func (n *negotiation) unite(index byte) (united bool) {
	s := n.side(int(index))
	n.rivals = slices.DeleteFunc(n.rivals, func(r rival) bool {
		same := r.index == index && r.local.known() && r.local == s.local && !n.meets(&r.side, int(index))
		if same {
			s.adopt(&r.side)
			united = true
		}
		return same
	})
	return united
}

// joinHalves makes one client of two halves: the game socket at one address, the socket for the
// negotiation at another. Only their local address shows that they belong together. So the client
// that came first gets gameWait to send its other half itself.
func (n *negotiation) joinHalves(now time.Duration, i int) {
	if now < n.halvesAt(i) {
		return
	}
	n.side(i).adopt(&n.otherHalf(i).side)
	n.dismiss(i)
}

// halvesAt returns when the halves of a client become one.
func (n *negotiation) halvesAt(i int) time.Duration {
	if n.otherHalf(i) == nil {
		return never
	}
	return n.side(i).first + gameWait
}

// otherHalf returns the rival that is the other half of a client, nil if there is none or if
// there are more rivals for its place.
func (n *negotiation) otherHalf(i int) (half *rival) {
	for k := range n.rivals {
		r := &n.rivals[k]
		switch {
		case int(r.index) != i:
		case half != nil, !n.side(i).isHalfOf(&r.side), n.meets(&r.side, i):
			return nil
		default:
			half = r
		}
	}
	return half
}

// isHalfOf reports whether one has the game socket alone, the other one all but that, and
// whatever they tell about their local address agrees.
func (s *side) isHalfOf(other *side) bool {
	return s.gamePort && other.gamePort && s.heardOf(PortGame) != s.heardOf(PortNN1) &&
		s.heardOf(PortGame) == other.heardOf(PortNN1) && s.heardOf(PortNN1) == other.heardOf(PortGame) &&
		s.local.ip == other.local.ip && s.local.ip != [4]byte{} && (s.local.port == 0 || other.local.port == 0)
}

// meets reports whether an address of the rival is that of a client of another
// index.
func (n *negotiation) meets(r *side, index int) bool {
	for _, a := range r.at {
		if a.port != 0 && n.isPartner(a, index) {
			return true
		}
	}
	return false
}

// dismiss forgets the rivals for a place.
func (n *negotiation) dismiss(index int) {
	if len(n.rivals) > 0 {
		n.rivals = slices.DeleteFunc(n.rivals, func(r rival) bool { return int(r.index) == index })
	}
}

// adopt uses a rival's inits of the port types that have not come from the
// client's own address.
func (s *side) adopt(other *side) {
	if !s.heardOf(PortNN1) && other.heardOf(PortNN1) {
		s.ip, s.packets, s.connects = other.ip, other.packets, 0
	}
	for t := range s.at {
		if s.at[t].port == 0 && other.at[t].port != 0 {
			s.at[t], s.via[t] = other.at[t], other.via[t]
		}
	}
	s.local.port = max(s.local.port, other.local.port) // one of them may not know it
	s.last = max(s.last, other.last)
}
