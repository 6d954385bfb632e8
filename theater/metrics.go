package theater

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/uplink"
)

// unknownRequest is the label of requests that are not in the table.
const unknownRequest = "unknown"

// metrics are the counters of the service; netserve.Metrics counts connections, datagrams and drops.
type metrics struct {
	requests, errors, joins *prometheus.CounterVec
	echoes, writeErrors     prometheus.Counter
	paced                   prometheus.Counter
	players                 prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, games func() int) *metrics {
	in := metric.With(reg)
	in.GaugeFunc("respawnd_theater_games", "Games that players offer, those that are not open yet included.", games)
	return &metrics{
		requests:    in.Counters("respawnd_theater_requests_total", "Messages of games.", "request", unknownRequest),
		errors:      in.Counters("respawnd_theater_errors_total", "Errors sent to games, by their word.", "word", noGame, noLobby, noPlayer, badValue),
		joins:       in.Counters("respawnd_theater_joins_total", "Steps of players who join games.", "step", joinAsked, joinAllowed, joinRefused, joinSilent, joinEntered, joinCanceled, joinQueued),
		echoes:      in.Counter("respawnd_theater_echoes_total", "Datagrams that were answered with their source."),
		writeErrors: in.Counter("respawnd_theater_write_errors_total", "Datagrams that the system did not take."),
		paced:       in.Counter("respawnd_theater_paced_total", "Messages that waited because the client sent too many."),
		players:     in.Gauge("respawnd_theater_players", "Players who are signed in."),
	}
}

// ended is why the service ends a connection, or drops something; its text is the label in metrics.
type ended = drops.Reason

// reasons has those of games that are not listed, too.
var reasons = drops.List(uplink.NamesOf(uplink.Elsewhere, uplink.TooMany, uplink.Full))

// The reasons.
var (
	endedBanned    = reasons.Add("banned")
	endedTooLong   = reasons.Add("too_long")
	endedMalformed = reasons.Add("malformed")
	endedTimeout   = reasons.Add("timeout")
	endedEarly     = reasons.Add("not_signed_in")
	endedKey       = reasons.Add("bad_key")
	endedSilent    = reasons.Add("silent")
	endedSlow      = reasons.Add("slow_reader")

	// After these the connection continues.
	droppedUnknown   = reasons.Add("unknown_request")
	droppedNotHost   = reasons.Add("not_host")    // about a game that the client does not host
	droppedNotSeated = reasons.Add("not_in_game") // about a player who is not in the game, or was decided on
	droppedTooMuch   = reasons.Add("too_much")    // values beyond those that a game can have
	droppedForeign   = reasons.Add("foreign")     // a datagram of another protocol
	droppedLimited   = reasons.Add("limited")     // a datagram beyond the rate of its address
)

// DropReasons lists the reasons, under which Options.Metrics counts.
func DropReasons() []string { return reasons }
