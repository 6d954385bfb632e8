package accounts

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// metrics are the numbers of a service.
type metrics struct {
	logins     *prometheus.CounterVec // by result
	registered prometheus.Counter
	guarded    prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	in := metric.With(r)
	return &metrics{
		logins:     in.Counters("respawnd_accounts_logins_total", "Proofs and passwords that were checked.", "result"),
		registered: in.Counter("respawnd_accounts_registered_total", "Accounts that were created."),
		guarded:    in.Counter("respawnd_accounts_guarded_total", "Attempts of strangers that were refused because the password of the account is being guessed."),
	}
}

// login counts the result of a check.
func (m *metrics) login(err error) {
	refusal, refused := errors.AsType[Refusal](err)
	result := "error"
	switch {
	case err == nil:
		result = "ok"
	case refusal == ErrThrottled:
		result = "throttled"
	case refusal == ErrBanned:
		result = "banned"
	case refused:
		result = "refused"
	}
	m.logins.WithLabelValues(result).Inc()
}
