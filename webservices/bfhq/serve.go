package bfhq

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
	"github.com/respawnd/respawnd/webservices/soap"
)

// maxForm is the length of the longest form that a game posts to a page.
const maxForm = 4 << 10

type request struct {
	game  *games.Game
	from  netip.Addr
	query string // parameters as they came
	now   time.Time
	asker token // of pages of Battlefield 2142
}

// get returns a parameter, empty if it is missing.
func (q *request) get(name string) string {
	value, _ := query.Get(q.query, name)
	return value
}

func (q *request) profile() (id storage.ProfileID, ok bool) {
	n, ok := query.Number(q.query, "pid")
	return storage.ProfileID(n), ok && n > 0 && n <= storage.MaxAccountID
}

// asof returns the present time as pages have it.
func (q *request) asof() string { return strconv.FormatInt(q.now.Unix(), 10) }

// codeError is an error that the game sees.
type codeError struct {
	code int // 0: none
	text string
}

func (e *codeError) Error() string { return e.text }

// The errors of pages. The numbers and texts are those of the original ones.
var (
	errNotFound  = &codeError{0, "Player Not Found!"}
	errNoNick    = &codeError{102, "Invalid Syntax!"}
	errBadPlace  = &codeError{103, "Invalid Syntax!"}
	errBadBefore = &codeError{104, "Invalid Syntax!"}
	errBadAfter  = &codeError{105, "Invalid Syntax!"}
	errNoProfile = &codeError{107, "Invalid Syntax!"}
	errBadType   = &codeError{108, "Invalid Syntax!"}
	errBadID     = &codeError{101, "Invalid Syntax!"}
	errBadInfo   = &codeError{112, "Invalid Syntax!"}
	errBadUnlock = &codeError{121, "Invalid Unlock!"}
	errStore     = &codeError{120, "Database Error!"}
	errNotKept   = &codeError{0, "Not Available!"}
)

func failure(e *codeError, asof string) *Answer {
	a := &Answer{Failed: true, Code: e.code}
	return a.table([]string{"asof", "err"}, []string{asof, e.text})
}

type answerer func(r *Backend, ctx context.Context, q *request) (*Answer, error)

// serve returns the handler of a page.
func (r *Backend) serve(g *games.Game, make answerer) func(http.ResponseWriter, *http.Request, *soap.Request) {
	return func(w http.ResponseWriter, req *http.Request, from *soap.Request) {
		q := &request{game: g, from: from.From.Addr(), query: req.URL.RawQuery, now: time.Now()}
		switch req.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodPost:
			form, err := io.ReadAll(req.Body)
			if err != nil {
				http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
				return
			}
			q.query += "&" + string(form)
		default:
			w.Header().Set("Allow", "GET, HEAD, POST")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		status := http.StatusOK
		a, err := make(r, req.Context(), q)
		if text, unproved := errors.AsType[proofError](err); unproved {
			write(w, status, []byte(text))
			return
		}
		if err != nil {
			coded, ok := errors.AsType[*codeError](err)
			if !ok {
				r.troubled(req.Context(), err)
				coded, status = errStore, http.StatusServiceUnavailable
			}
			if a = failure(coded, q.asof()); rulesOf(g) == battlefield2142 {
				a = &Answer{Failed: true, Code: cmp.Or(coded.code, noPlayer)}
			}
		}
		body := a.AppendTo(nil)
		if rulesOf(g) == battlefield2142 {
			body = append(body, '\n')
		}
		write(w, status, body)
	}
}

// noPlayer is the error of Battlefield 2142 for a player who is not known.
const noPlayer = 104

func reply(w http.ResponseWriter, status int, a *Answer) { write(w, status, a.AppendTo(nil)) }

// write sends the text of a page, which browsers must not take for one of their own.
func write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/plain")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // if it fails, the client is gone
}

// refusal is an answer to a round that does not count: the server then writes the list to its
// disk, from where it can be sent again.
func (r *Backend) refusal(w http.ResponseWriter, status int, q *soap.Request, result string, v verdicts.Verdict, text string) {
	r.metrics.rounds.WithLabelValues(result).Inc()
	r.opt.Verdicts.NoteDetail(r.opt.Name, q.From.Addr(), q.Game, v, clean.Line(text, maxText))
	a := &Answer{Failed: true}
	reply(w, status, a.table([]string{"response"}, []string{text}))
}

const maxText = 120

// serveRound returns the handler of rounds. It answers as soon as the round is stored.
func (r *Backend) serveRound(g *games.Game) func(http.ResponseWriter, *http.Request, *soap.Request) {
	return func(w http.ResponseWriter, req *http.Request, q *soap.Request) {
		if req.Method != http.MethodPost {
			r.metrics.rounds.WithLabelValues(roundMethod).Inc()
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		if !r.config.Load().lists(q.From.Addr()) {
			r.refusal(w, http.StatusForbidden, q, roundUnlisted, verdicts.RoundNotListed, "this server is not in webservices.snapshot_servers")
			return
		}
		body, err := io.ReadAll(req.Body)
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			r.refusal(w, http.StatusRequestEntityTooLarge, q, roundTooLarge, verdicts.RoundRefused, "the list is too long")
			return
		}
		if err != nil {
			r.refusal(w, http.StatusBadRequest, q, roundCut, verdicts.RoundRefused, "the list is cut off")
			return
		}
		round, err := parseRound(g, q.From.Addr(), string(body))
		repeated := false
		if err == nil {
			repeated, err = r.count(req.Context(), g, round)
		}
		if err != nil {
			result, status := resultOf(err), http.StatusBadRequest
			text := err.Error()
			if result == roundFailed {
				r.troubled(req.Context(), err)
				status, text = http.StatusServiceUnavailable, "the database failed"
			}
			r.refusal(w, status, q, result, verdicts.RoundRefused, text)
			return
		}
		r.noteRound(round, repeated, nil)
		r.opt.Verdicts.NotePlayer(r.opt.Name, q.From.Addr(), g.Name, verdicts.RoundCounted)
		var a Answer
		a.table([]string{"response", "mapname", "mapstart"}, []string{"OK", round.value(keyMap), round.value("mapstart")})
		reply(w, http.StatusOK, &a)
	}
}

func parseRound(g *games.Game, from netip.Addr, body string) (*Round, error) {
	by := rulesOf(g)
	pairs, err := parseSnapshot(by, body)
	if err != nil {
		return nil, err
	}
	return newRound(by, from.Unmap(), pairs)
}
