package codmaster

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/q3master"
)

const name = "codmaster"

// keys answers the requests of Call of Duty other than lists.
type keys struct {
	banned                           netserve.AddrSet // players that may not join
	question, denied, player, update prometheus.Counter
}

// New returns a master for Call of Duty. banned players are not let in.
func New(opt q3master.Options, banned netserve.AddrSet) *q3master.Server {
	in := metric.With(opt.Registerer)
	received := in.Counters("respawnd_codmaster_keys_total",
		"Messages about keys: players that may join (accepted) or not (denied), and without an answer keys of players and questions for a newer version.",
		"kind").WithLabelValues
	k := &keys{banned, received("accepted"), received("denied"), received("key"), received("update")}
	opt.Dialect = q3master.Dialect{
		Service: name, Origin: Origin, Instance: 0x434F444D,
		Info: quake3.ParseCodInfo, Lists: quake3.AppendCodLists, Other: k.take,
	}
	return q3master.New(opt)
}

// take answers whether a player may join, and counts the rest.
func (k *keys) take(s *q3master.Server, w netserve.PacketWriter, p netserve.Packet, now time.Time) uplink.Drop {
	kind, rest := quake3.CutOther(p.Data)
	switch kind {
	case quake3.OtherKey:
		k.player.Inc()
	case quake3.OtherUpdate:
		k.update.Inc()
	case quake3.OtherQuestion:
		return k.answer(s, w, p, rest, now)
	default:
		return uplink.UnknownKind
	}
	return uplink.NotDropped
}

// answer answers whether a player may join.
func (k *keys) answer(s *q3master.Server, w netserve.PacketWriter, p netserve.Packet, rest []byte, now time.Time) uplink.Drop {
	q, err := quake3.ParseAuthQuestion(rest)
	if err != nil {
		return uplink.MalformedRequest
	}
	if s.Banned(p.From.Addr()) {
		return uplink.Banned
	}
	good := !k.banned.Has(q.Player)
	var buf [96]byte
	b := quake3.AppendAuthAnswer(buf[:0], q.Challenge, good)
	if !s.Known(p.From) && !s.MaySend(p.From.Addr(), len(b), len(p.Data), now) {
		return uplink.Limited
	}
	s.Send(w, b, p.To, p.From)
	if good {
		k.question.Inc()
	} else {
		k.denied.Inc()
	}
	return uplink.NotDropped
}
