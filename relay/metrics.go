package relay

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
)

// Reasons for which a packet is dropped.
var (
	dropReasons = metric.Labels(netserve.ForwardReasons())

	dropStranger  = dropReasons.Add("stranger")   // it does not come from the player of the port
	dropOtherPort = dropReasons.Add("other_port") // it comes from the player's address, and not from its port
	dropLoop      = dropReasons.Add("loop")       // it comes from a port of ours
	dropNoPartner = dropReasons.Add("no_partner") // the other player has not come yet
	dropPairRate  = dropReasons.Add("pair_rate")
	dropAddrRate  = dropReasons.Add("addr_rate")
	dropTotalRate = dropReasons.Add("total_rate")
	dropEnded     = dropReasons.Add("ended") // the pair has just ended
)

// end is why a pair ended.
type end int

const (
	endIdle    end = iota
	endUnused      // its players have not both come
	endTime        // Config.MaxTime
	endBanned      // one of its addresses
	endOff         // the relay was switched off
	endStopped     // the daemon stops
	endBroken      // a socket failed
	endGaveWay     // to another pair

	ends = 8
)

// String returns the word for logs and metrics.
func (e end) String() string {
	return [ends]string{"idle", "unused", "max_time", "banned", "off", "stopped", "broken", "gave_way"}[e]
}

type metrics struct {
	opened  prometheus.Counter
	ended   [ends]prometheus.Counter
	refused map[error]prometheus.Counter // by the error of Open; never changed
}

func newMetrics(reg prometheus.Registerer, pairs func() int) *metrics {
	in := metric.With(reg)
	m := &metrics{refused: make(map[error]prometheus.Counter)}
	in.GaugeFunc("respawnd_relay_pairs", "Pairs of players that are relayed.", pairs)
	m.opened = in.Counter("respawnd_relay_opened_total", "Pairs that were opened.")
	ended := in.Counters("respawnd_relay_ended_total", "Pairs that ended, by reason.", "reason")
	for e := range m.ended {
		m.ended[e] = ended.WithLabelValues(end(e).String())
	}
	refused := in.Counters("respawnd_relay_refused_total", "Pairs that were not opened, by reason.", "reason")
	for err, reason := range map[error]string{
		errOff: "off", errFull: "max_pairs", errUnproved: "unproved", errPerAddr: "max_per_addr", errPerNet: "max_per_net", errNoPort: "no_port",
		errNoAddress: "no_address", errBanned: "banned",
	} {
		m.refused[err] = refused.WithLabelValues(reason)
	}
	return m
}
