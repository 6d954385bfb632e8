package cluster

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons why a message or an entry of a Map is dropped.
const (
	dropVersion   = "version"   // of another version of the program
	dropMalformed = "malformed" // cannot be read
	dropEarly     = "early"     // of a node that is not followed yet: its entries will be read
	dropFull      = "full"      // its owner has too many
	dropLong      = "long"      // an entry of this node is too long for the others
)

type mapMetrics struct {
	out, in, gaps, asked, sent prometheus.Counter
	dropped                    *prometheus.CounterVec
}

// newMapMetrics returns the metrics of a Map. All Maps of a registerer have the same, with their
// names as labels.
func newMapMetrics(reg prometheus.Registerer, name string) mapMetrics {
	vec := func(metric, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: metric, Help: help}, append([]string{"map"}, labels...))
		if reg == nil {
			return v
		}
		var same prometheus.AlreadyRegisteredError
		if err := reg.Register(v); errors.As(err, &same) {
			return same.ExistingCollector.(*prometheus.CounterVec)
		} else if err != nil {
			panic(err)
		}
		return v
	}
	changes := vec("respawnd_map_changes_total", "Changes of entries that all nodes see, by direction.", "direction")
	m := mapMetrics{
		out: changes.WithLabelValues(name, "out"), in: changes.WithLabelValues(name, "in"),
		gaps:    vec("respawnd_map_gaps_total", "Batches of changes of other nodes that were missing.").WithLabelValues(name),
		asked:   vec("respawnd_map_reads_total", "Times that all entries of another node were read.").WithLabelValues(name),
		sent:    vec("respawnd_map_parts_total", "Parts of the entries of this node that other nodes read.").WithLabelValues(name),
		dropped: vec("respawnd_map_dropped_total", "Messages or entries that were dropped, by reason.", "reason"),
	}
	m.dropped = m.dropped.MustCurryWith(prometheus.Labels{"map": name})
	for _, reason := range []string{dropVersion, dropMalformed, dropEarly, dropFull, dropLong} {
		m.dropped.WithLabelValues(reason)
	}
	return m
}

// drop counts something of a node that was dropped. The first of a kind is logged.
func (m *Map[K, V]) drop(reason, node string) {
	m.metrics.dropped.WithLabelValues(reason).Inc()
	if _, logged := m.logged.LoadOrStore(reason, true); !logged && reason != dropEarly {
		m.opt.Log.Warn().Str("map", m.opt.Name).Str("node", node).Str("reason", reason).Msg("something of a node was dropped; further ones are only counted")
	}
}
