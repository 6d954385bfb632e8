package auth

import (
	"errors"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/webservices/soap"
)

// code is the result of a method, as clients know it.
type code int

// The results.
const (
	codeOK         code = 0
	codeUser       code = 2 // no such user
	codePassword   code = 3
	codeProfile    code = 4 // no such profile
	codeUniqueNick code = 5 // "expired": it cannot be used
	codeDatabase   code = 6
	codeServer     code = 7
)

// codeNames are the results as the metrics show them.
var codeNames = map[code]string{
	codeOK: "ok", codeUser: "user", codePassword: "password", codeProfile: "profile", codeUniqueNick: "unique_nick",
	codeDatabase: "database", codeServer: "server",
}

func codeOf(err error) code {
	refusal, refused := errors.AsType[accounts.Refusal](err)
	switch {
	case err == nil:
		return codeOK
	case errors.Is(err, errConsole):
		return codeServer
	case !refused:
		return codeDatabase
	}
	switch refusal {
	case accounts.ErrBadEmail, accounts.ErrBadUniqueNick, accounts.ErrEmailTaken:
		return codeUser
	case accounts.ErrBadPassword, accounts.ErrBadToken, accounts.ErrBadTicket, accounts.ErrExpiredTicket:
		return codePassword
	case accounts.ErrBadProfile, accounts.ErrProfileDeleted, accounts.ErrBadNick, accounts.ErrNickTaken, accounts.ErrTooMany:
		return codeProfile
	case accounts.ErrUniqueNickIllegal, accounts.ErrUniqueNickReserved, accounts.ErrUniqueNickTaken, accounts.ErrBadNamespace:
		return codeUniqueNick
	default:
		return codeServer
	}
}

// answer notes how a request ended, and returns the reply.
func (r *Backend) answer(q *soap.Request, c *certificate, private []byte, err error) []byte {
	result := codeOf(err)
	r.metrics.results.WithLabelValues(codeNames[result]).Inc()
	v, refused := accounts.VerdictOn(err)
	switch {
	case err == nil:
		r.note(q, verdicts.SignedIn, "")
	case errors.Is(err, errUnreadable):
		r.note(q, verdicts.UnreadablePassword, "")
	case refused:
		r.note(q, v, accounts.DetailOf(err))
	case errors.Is(err, errConsole):
		r.note(q, verdicts.AccountRefused, err.Error())
	default:
		r.faults.Line(fault.Log(r.opt.Log, err)).Err(err).Msg("a sign-in failed")
	}
	if err != nil {
		c = nil
	}
	return reply(q.Method, result, c, private)
}

func (r *Backend) note(q *soap.Request, v verdicts.Verdict, detail string) {
	r.opt.Verdicts.NoteDetail(r.opt.Name, q.From.Addr(), q.Game, v, detail)
	r.opt.Log.Debug().Stringer("peer", q.From).Str("game", q.Game).Stringer("verdict", v).Str("method", q.Method).Msg("sign-in")
}

// reply returns the reply to a method: a certificate and its private exponent, or
// the result alone if the certificate is nil.
func reply(method string, result code, c *certificate, private []byte) []byte {
	return soap.Reply(method, Namespace, func(w *soap.Writer) {
		w.Open(method + "Result")
		w.Int("responseCode", int64(result))
		if c != nil {
			c.write(w)
			w.Text("peerkeyprivate", hexText(private))
		}
		w.Close()
	})
}

type metrics struct {
	results *prometheus.CounterVec // result
}

func newMetrics(reg prometheus.Registerer) *metrics {
	names := strings.Fields("ok user password profile unique_nick database server")
	return &metrics{
		results: metric.With(reg).Counters("respawnd_webservices_logins_total", "Sign-ins and new accounts, by result.", "result", names...),
	}
}
