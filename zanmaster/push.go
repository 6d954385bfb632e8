package zanmaster

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/zandronum"
)

const (
	// partEvery is the time between two parts of a ban list to one server.
	partEvery = 10 * time.Millisecond
	// partsAtOnce is the number of parts sent to all servers during partEvery.
	partsAtOnce = 64
	// receiptWait is the time without a receipt after which the list is sent
	// again. It doubles every time, up to receiptMost.
	receiptWait = 11 * time.Second
	receiptMost = 15 * time.Minute
)

// push is how far a server is with the ban list. The zero value has none.
type push struct {
	has     uint64  // version that it acknowledged; 0: none
	sending *access // the list being sent; nil: none yet
	part    int     // number of the next part
	item    int     // first item of the next part
	whole   bool    // all parts are sent, the receipt is missing
	tries   int     // how often all parts were sent without a receipt
	due     time.Time
	// earlier is set while a receipt for an earlier list may still come: the
	// next one may be that, and does not count.
	earlier bool
}

// banPacket is a part of a ban list on its way.
type banPacket struct {
	from    netip.Addr
	to      netip.AddrPort
	message []byte
}

// next returns the part of the list that is due at now; its message is nil if
// none is. again reports that it is the first part of a repetition.
func (p *push) next(h *host, acc *access, now time.Time) (b banPacket, again bool) {
	if p.has == acc.version {
		return b, false
	}
	if p.sending == nil || p.sending.version != acc.version {
		*p = push{has: p.has, sending: acc, earlier: p.earlier || (p.whole && p.has != p.sending.version)}
	} else if now.Before(p.due) {
		return b, false
	}
	if p.whole {
		p.whole, p.part, p.item = false, 0, 0
		again = true
	}
	b = banPacket{from: h.via, to: h.addr}
	list := &p.sending.list
	if zandronum.TakesParts(h.revision) {
		b.message, p.item = list.AppendPart(nil, []byte(h.verification), byte(p.part), p.item)
		p.part++
		p.whole = p.item == list.Len()
	} else {
		b.message, _ = list.AppendWhole(nil, []byte(h.verification))
		p.whole = true
	}
	p.due = now.Add(partEvery)
	if p.whole {
		p.due = now.Add(min(receiptWait<<min(p.tries, 16), receiptMost))
		p.tries++
	}
	return b, again
}

// received takes a receipt and reports whether one was expected.
func (p *push) received() bool {
	switch {
	case p.earlier:
		p.earlier = false
		return true
	case !p.whole || p.has == p.sending.version:
		return false
	}
	p.has = p.sending.version
	return true
}

// pushBans sends the parts of ban lists that are due and returns when the next
// are, at most idle from now.
func (s *Server) pushBans(w netserve.PacketWriter, now time.Time) time.Duration {
	rest := idle
	var due []banPacket
	s.mu.Lock()
	// Under the lock: enforce has noted who lacks a newer list only if the lock was
	// taken after the list was stored.
	acc := s.access.Load()
	for a, h := range s.hosts.behind {
		if h.push.has == acc.version {
			delete(s.hosts.behind, a)
			continue
		}
		if len(due) == partsAtOnce {
			rest = partEvery
			break
		}
		fresh := h.push.sending == nil || h.push.sending.version != acc.version
		b, again := h.push.next(h, acc, now)
		if b.message != nil {
			due = append(due, b)
		}
		if again {
			s.metrics.bans.repeated.Inc()
		} else if fresh {
			s.metrics.bans.sent.Inc()
		}
		rest = min(rest, max(h.push.due.Sub(now), time.Millisecond))
	}
	s.mu.Unlock()
	for _, b := range due {
		s.writeBans(w, b)
	}
	return rest
}

// writeBans codes and sends a part.
func (s *Server) writeBans(w netserve.PacketWriter, b banPacket) {
	s.out.Send(w, zandronum.Encode(make([]byte, 0, len(b.message)+1), b.message), b.from, b.to)
}
