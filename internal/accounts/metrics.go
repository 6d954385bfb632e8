package accounts

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the numbers of a service.
type metrics struct {
	logins     *prometheus.CounterVec // by result
	registered prometheus.Counter
	guarded    prometheus.Counter
}

// The results of a login.
const (
	resultOK        = "ok"
	resultRefused   = "refused"
	resultThrottled = "throttled"
	resultBanned    = "banned"
	resultError     = "error"
)

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_accounts_logins_total", Help: "Proofs and passwords that were checked.",
		}, []string{"result"}),
		registered: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "respawnd_accounts_registered_total", Help: "Accounts that were created.",
		}),
		guarded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "respawnd_accounts_guarded_total",
			Help: "Attempts of strangers that were refused because the password of the account is being guessed.",
		}),
	}
	if r != nil {
		r.MustRegister(m.logins, m.registered, m.guarded)
	}
	return m
}

// login counts the result of a check.
func (m *metrics) login(err error) {
	refusal, refused := errors.AsType[Refusal](err)
	result := resultError
	switch {
	case err == nil:
		result = resultOK
	case refusal == ErrThrottled:
		result = resultThrottled
	case refusal == ErrBanned:
		result = resultBanned
	case refused:
		result = resultRefused
	}
	m.logins.WithLabelValues(result).Inc()
}
