package bfhq

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Results of a round, as metrics name them.
const (
	roundCounted    = "counted"
	roundRepeated   = "repeated"   // it was sent before
	roundUnlisted   = "not_listed" // the server is not in webservices.snapshot_servers
	roundMethod     = "http_method"
	roundCut        = "cut_off"    // the body ended early, or came too slowly
	roundIncomplete = "incomplete" // the list has no end
	roundTooLarge   = "too_large"
	roundMalformed  = "malformed"
	roundFailed     = "failed" // the store failed
)

func roundResults() []string {
	return []string{
		roundCounted, roundRepeated, roundUnlisted, roundMethod, roundCut, roundIncomplete, roundTooLarge, roundMalformed, roundFailed,
	}
}

// Results of a player of a round.
const (
	playerCounted  = "counted"
	playerRepeated = "repeated" // the round is in the totals already
	playerOld      = "too_old"  // whether it is is no longer known
	playerRobot    = "robot"
	playerUnknown  = "unknown"    // there is no such profile
	playerOther    = "other_name" // the profile has another name
	playerFailed   = "failed"
)

func playerResults() []string {
	return []string{playerCounted, playerRepeated, playerOld, playerRobot, playerUnknown, playerOther, playerFailed}
}

// Results of the choice of a weapon.
const (
	choiceMade     = "chosen"
	choiceRepeated = "repeated"
	choiceRefused  = "refused"
	choiceUnproved = "not_signed_in"
	choiceFailed   = "failed"
)

func choiceResults() []string {
	return []string{choiceMade, choiceRepeated, choiceRefused, choiceUnproved, choiceFailed}
}

// metrics are the counters of the backend.
type metrics struct {
	rounds, players, choices *prometheus.CounterVec // result
}

func newMetrics(reg prometheus.Registerer, waiting func() int) *metrics {
	f := metric.With(reg)
	f.GaugeFunc("respawnd_webservices_rounds_waiting", "Rounds that are not in all totals of their players yet.", waiting)
	return &metrics{
		rounds:  f.Counters("respawnd_webservices_rounds_total", "Rounds that game servers sent, by result.", "result", roundResults()...),
		players: f.Counters("respawnd_webservices_round_players_total", "Players of rounds, by result.", "result", playerResults()...),
		choices: f.Counters("respawnd_webservices_unlocks_total", "Weapons that players chose, by result.", "result", choiceResults()...),
	}
}
