package lan

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	zan "github.com/respawnd/respawnd/internal/zandronum"
)

// Servers of Zandronum announce themselves to the broadcast address of the
// class of their network (10.255.255.255), which no host receives on a part of
// it such as 10.1.2.0/24. So they are queried, too. A server answers one
// address at most every ten seconds (sv_queryignoretime), so they are not
// queried every round, and an address is forwarded only when it may be queried
// again.
const (
	zandronumFirst = 10666 // the port of the first server of a machine
	zandronumPorts = 8     // it and the following ones
	zandronumEvery = 2 * time.Minute
	zandronumRest  = 11 * time.Second
	maxWaiting     = 256 // servers to forward
)

// zandronumSearch is the state of the search for Zandronum servers. The
// Finder's lock guards it.
type zandronumSearch struct {
	asked   time.Time                    // the last time
	key     uint32                       // repeated in their answers
	waiting map[netip.AddrPort]time.Time // servers that answered, and when they may be queried again
}

// questions returns the queries to networks if it is time for them.
func (z *zandronumSearch) questions(networks []Network, now time.Time) (out []question) {
	if !z.asked.IsZero() && now.Sub(z.asked) < zandronumEvery {
		return nil
	}
	var key [4]byte
	_, _ = rand.Read(key[:]) // never returns an error
	z.asked, z.key = now, binary.LittleEndian.Uint32(key[:])
	data := zan.Encode(nil, zan.AppendQuery(nil, zan.Query{Flags: zan.FlagName, Time: z.key}))
	for _, n := range networks {
		for i := range uint16(zandronumPorts) {
			out = append(out, question{netip.AddrPortFrom(n.Broadcast, zandronumFirst+i), data})
		}
	}
	return out
}

// rested removes and returns the servers that may be queried again.
func (z *zandronumSearch) rested(now time.Time) (list []netip.AddrPort) {
	for a, at := range z.waiting {
		if !now.Before(at) {
			list = append(list, a)
			delete(z.waiting, a)
		}
	}
	return list
}

// isZandronumPort reports whether servers of Zandronum are queried on a port.
func isZandronumPort(port uint16) bool {
	return port >= zandronumFirst && port < zandronumFirst+zandronumPorts
}

// isZandronum reports whether a message is the answer of a server of Zandronum,
// or its denial, and returns the key that it repeats.
func isZandronum(message []byte) (key uint32, ok bool) {
	switch kind, body := zan.ParseKind(message); kind {
	case zan.KindInfo, zan.KindTooSoon, zan.KindBanned:
		return zan.ParseDenial(body) // the key comes first in all of them
	default:
		return 0, false
	}
}

// takeZandronum handles an answer of a server of Zandronum; ok is false if the
// packet is not one. The content is not read: the server is queried again.
func (f *Finder) takeZandronum(p netserve.Packet, now time.Time) (dropped string, ok bool) {
	if f.opt.FoundZandronum == nil || !isZandronumPort(p.From.Port()) || len(p.Data) > maxPacket {
		return "", false
	}
	key, ok := isZandronum(zan.Decode(nil, p.Data, maxPacket))
	if !ok {
		return "", false
	}
	if dropped = f.refuse(p.From, now, true, nil); dropped != "" {
		return dropped, true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	z := &f.zandronum
	switch _, again := z.waiting[p.From]; {
	case z.asked.IsZero() || key != z.key:
		return dropUseless, true
	case !again && len(z.waiting) >= maxWaiting:
		return dropFull, true
	case !again:
		f.metrics.answered.Inc()
		z.waiting[p.From] = now.Add(zandronumRest)
	}
	return "", true
}

// handOnRested forwards the servers that answered and may be queried again.
func (f *Finder) handOnRested() {
	f.mu.Lock()
	list := f.zandronum.rested(time.Now())
	f.mu.Unlock()
	for _, a := range list {
		f.forward(a)
	}
}

// forward reports a server of Zandronum.
func (f *Finder) forward(a netip.AddrPort) {
	f.opt.Verdicts.Note(serviceName, a, zan.Game, verdicts.Heard)
	if f.opt.FoundZandronum != nil {
		f.opt.FoundZandronum(a)
	}
}
