package bfhq

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Results of a round, as metrics name them.
var (
	roundResults metric.Labels

	roundCounted    = roundResults.Add("counted")
	roundRepeated   = roundResults.Add("repeated")   // it was sent before
	roundUnlisted   = roundResults.Add("not_listed") // the server is not in webservices.snapshot_servers
	roundMethod     = roundResults.Add("http_method")
	roundCut        = roundResults.Add("cut_off")    // the body ended early, or came too slowly
	roundIncomplete = roundResults.Add("incomplete") // the list has no end
	roundTooLarge   = roundResults.Add("too_large")
	roundMalformed  = roundResults.Add("malformed")
	roundFailed     = roundResults.Add("failed") // the store failed
)

// Results of a player of a round.
var (
	playerResults metric.Labels

	playerCounted  = playerResults.Add("counted")
	playerRepeated = playerResults.Add("repeated") // the round is in the totals already
	playerOld      = playerResults.Add("too_old")  // whether it is is no longer known
	playerRobot    = playerResults.Add("robot")
	playerUnknown  = playerResults.Add("unknown")    // there is no such profile
	playerOther    = playerResults.Add("other_name") // the profile has another name
	playerFailed   = playerResults.Add("failed")
)

// Results of the choice of a weapon.
var (
	choiceResults metric.Labels

	choiceMade     = choiceResults.Add("chosen")
	choiceRepeated = choiceResults.Add("repeated")
	choiceRefused  = choiceResults.Add("refused")
	choiceUnproved = choiceResults.Add("not_signed_in")
	choiceFailed   = choiceResults.Add("failed")
)

type metrics struct {
	rounds, players, choices *prometheus.CounterVec // result
}

func newMetrics(reg prometheus.Registerer, waiting func() int) *metrics {
	f := metric.With(reg)
	f.GaugeFunc("respawnd_webservices_rounds_waiting", "Rounds that are not in all totals of their players yet.", waiting)
	return &metrics{
		rounds:  f.Counters("respawnd_webservices_rounds_total", "Rounds that game servers sent, by result.", "result", roundResults...),
		players: f.Counters("respawnd_webservices_round_players_total", "Players of rounds, by result.", "result", playerResults...),
		choices: f.Counters("respawnd_webservices_unlocks_total", "Weapons that players chose, by result.", "result", choiceResults...),
	}
}
