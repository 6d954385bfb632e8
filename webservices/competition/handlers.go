package competition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Paths and Namespace are those of the methods. SubmissionPath is that of the client library of
// 2012; clients ignore the namespace of replies.
const (
	Path           = "/CompetitionService/CompetitionService.asmx"
	SubmissionPath = "/ATLAS/SubmissionService/2.0/SubmissionService.asmx"
	Namespace      = "http://gamespy.net/competition/"
)

// code is the result of a request.
type code int

// The results. The clients know the first three; all others are errors without a
// meaning to them.
const (
	codeOK          code = 0
	codeReport      code = 1 // the report is invalid
	codeAttachments code = 2 // there is not exactly one report
	codeIdentity    code = 3 // certificate or proof
	codeSession     code = 4
	codeLimit       code = 5
	codeServer      code = 6
)

// codeNames are the results as the metrics show them.
var codeNames = [...]string{
	codeOK: "ok", codeReport: "invalid_report", codeAttachments: "attachments", codeIdentity: "identity",
	codeSession: "session", codeLimit: "limit", codeServer: "server_error",
}

func codeOf(err error) code {
	switch {
	case err == nil:
		return codeOK
	case errors.Is(err, errReport), errors.Is(err, errSecond):
		return codeReport
	case errors.Is(err, errNoSession), errors.Is(err, errNotInIt):
		return codeSession
	case errors.Is(err, errSessions), errors.Is(err, errFullSession), errors.Is(err, errRate):
		return codeLimit
	case errors.Is(err, errIdentity), errors.Is(err, errGame):
		return codeIdentity
	case errors.Is(err, errAttachments):
		return codeAttachments
	}
	return codeServer
}

// Errors of requests beside those of sessions.
var (
	errIdentity    = errors.New("the certificate is not valid: sign in again")
	errGame        = errors.New("the game is not known here")
	errRate        = errors.New("too many requests: try again later")
	errAttachments = errors.New("want one report")
)

// Services returns the methods of the backend.
func (backend *Backend) Services() []soap.Service {
	reports := soap.Service{
		Namespace: Namespace, MaxBody: maxDIME,
		Methods: map[string]soap.Handler{
			"CreateSession":          backend.handler(backend.create),
			"CreateMatchlessSession": backend.handler(backend.create),
			"SetReportIntention":     backend.handler(backend.intend),
			"SubmitReport":           backend.handler(backend.report),
		},
		Fault: func(method string) []byte { return reply(method, codeReport, "the request cannot be read", nil) },
		DIME:  readRequest,
	}
	bans := soap.Service{Namespace: Namespace, Methods: map[string]soap.Handler{"CheckProfileOnBanList": notBanned}, Fault: reports.Fault}
	all := []soap.Service{reports, reports, bans, bans}
	for i, path := range []string{Path, SubmissionPath, "/AtlasDataServices/GameConfig.asmx", "/ATLAS/DataService/2.0/GameConfig.asmx"} {
		all[i].Name, all[i].Hosts, all[i].Path = "competition", []string{"{g}.comp.pubsvs.{d}", soap.APIHost}, path
	}
	return all
}

// notBanned is CheckProfileOnBanList, which games ask before they make a session: whether a host
// may not report. There is no such list here; banned accounts cannot sign in.
func notBanned(_ context.Context, r *soap.Request) []byte {
	host, _ := r.Body.Int("HostProfileId")
	platform, _ := r.Body.Int("HostPlatformId")
	return soap.Reply(r.Method, Namespace, func(w *soap.Writer) {
		w.Open(r.Method + "Result")
		w.Int("result", int64(codeOK))
		w.Raw(fmt.Sprintf(`<UserConfig ProfileID="%d" PlatformID="%d" IsBanned="false" />`, host, platform))
		w.Close()
	})
}

// readRequest reads a request in DIME: an envelope and attachments.
func readRequest(r *http.Request) (envelope []byte, attachments [][]byte, err error) {
	parts, err := readDIME(r.Body)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range parts[1:] {
		attachments = append(attachments, p.data)
	}
	return parts[0].data, attachments, nil
}

// maxNick is the length of a nick in a match, in characters.
const maxNick = 30

// ids are those that a reply has.
type ids struct{ session, conn GUID }

func reply(method string, c code, message string, with *ids) []byte {
	return soap.Reply(method, Namespace, func(w *soap.Writer) {
		w.Open(method + "Result")
		w.Int("result", int64(c))
		w.Text("message", message)
		if with != nil {
			w.Text("csid", with.session.String())
			w.Text("ccid", with.conn.String())
		}
		w.Close()
	})
}

// handler checks the identity of the sender, executes the request and replies.
func (backend *Backend) handler(do func(context.Context, *soap.Request, player) (*ids, error)) soap.Handler {
	return func(ctx context.Context, r *soap.Request) []byte {
		with, err := backend.execute(ctx, r, do)
		c := codeOf(err)
		backend.metrics.results.WithLabelValues(codeNames[c]).Inc()
		backend.note(r, c, err)
		switch c {
		case codeOK:
			return reply(r.Method, codeOK, "", with)
		case codeServer:
			fault.Log(backend.opt.Log, err).Err(err).Str("method", r.Method).Msg("a request of the competition service failed")
			return reply(r.Method, c, "server error", nil)
		case codeReport, codeAttachments, codeIdentity, codeSession, codeLimit:
		}
		return reply(r.Method, c, err.Error(), nil)
	}
}

// identityError is errIdentity with its reason, which the client does not get.
type identityError struct{ why error }

func (e *identityError) Error() string   { return errIdentity.Error() }
func (e *identityError) Unwrap() []error { return []error{errIdentity, e.why} }

// note notes the verdict on a request that was refused.
func (backend *Backend) note(r *soap.Request, c code, err error) {
	v, detail := verdicts.MatchRefused, ""
	switch c {
	case codeOK, codeServer:
		return
	case codeLimit:
		v = verdicts.Limited
	case codeIdentity:
		if identity, ok := errors.AsType[*identityError](err); ok {
			v, detail = verdicts.BadCertificate, identity.why.Error()
		}
		if refusal, ok := accounts.VerdictOn(err); ok {
			v, detail = refusal, ""
		}
	case codeReport, codeAttachments, codeSession:
	}
	if v == verdicts.MatchRefused {
		detail = err.Error()
	}
	backend.opt.Verdicts.NoteDetail(backend.opt.Name, r.From.Addr(), r.Game, v, detail)
	backend.opt.Log.Debug().Stringer("peer", r.From).Str("game", r.Game).Str("method", r.Method).Stringer("verdict", v).Str("reason", cmp.Or(detail, err.Error())).
		Msg("request about a match refused")
}

func (backend *Backend) execute(ctx context.Context, r *soap.Request, do func(context.Context, *soap.Request, player) (*ids, error)) (*ids, error) {
	if r.Game == "" {
		return nil, errGame
	}
	certificate := r.Body.Child("certificate")
	profile, err := backend.opt.Verifier.Verify(ctx, certificate, r.Body.Text("proof"), r.From.Addr())
	if err != nil {
		return nil, &identityError{err}
	}
	nick := cmp.Or(certificate.Text("uniquenick"), certificate.Text("profilenick"))
	return do(ctx, r, player{profile, clean.Line(nick, maxNick)})
}

func (backend *Backend) create(_ context.Context, r *soap.Request, who player) (*ids, error) {
	now := backend.opt.Now()
	if !backend.creates.Take(who.profile, now) {
		return nil, errRate
	}
	var made ids
	var err error
	if made.session, err = newGUID(backend.opt.Rand); err != nil {
		return nil, err
	}
	if made.conn, err = newGUID(backend.opt.Rand); err != nil {
		return nil, err
	}
	s := &session{owner: who.profile, match: storage.Match{
		Game: r.Game, Session: made.session.String(), Matchless: r.Method == "CreateMatchlessSession",
		Outcome: storage.MatchOpen, Began: now,
	}}
	if err := join(&s.match, who, made.conn, false); err != nil {
		return nil, err
	}
	return &made, backend.sessions.add(made.session, s, now)
}

func (backend *Backend) sessionOf(r *soap.Request) (*session, GUID, error) {
	id, ok := ParseGUID(r.Body.Text("csid"))
	if !ok {
		return nil, id, errNoSession
	}
	s, err := backend.sessions.get(id, backend.opt.Now())
	if err != nil {
		return nil, id, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.match.Game != r.Game {
		return nil, id, errNoSession
	}
	return s, id, nil
}

// isAuthoritative reports whether a request claims to be authoritative.
func isAuthoritative(r *soap.Request) bool {
	text := r.Body.Text("authoritative")
	return text == "1" || text == "true"
}

// intend announces a report: its sender takes part in the session from now on, under a
// new connection. Earlier connections of the sender stay valid.
func (backend *Backend) intend(ctx context.Context, r *soap.Request, who player) (*ids, error) {
	if !backend.creates.Take(who.profile, backend.opt.Now()) {
		return nil, errRate
	}
	s, id, err := backend.sessionOf(r)
	if err != nil {
		return nil, err
	}
	conn, err := newGUID(backend.opt.Rand)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := backend.load(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case m.Outcome != storage.MatchOpen:
		return nil, errNoSession
	}
	m.Sides = slices.Clone(m.Sides)
	if err := join(&m, who, conn, isAuthoritative(r) && s.owner == who.profile); err != nil {
		return nil, err
	}
	if m.ID == 0 {
		s.match = m
		return &ids{id, conn}, nil
	}
	return &ids{id, conn}, backend.put(ctx, s, m, backend.opt.Now())
}

func (backend *Backend) report(ctx context.Context, r *soap.Request, who player) (*ids, error) {
	if len(r.Attachments) != 1 {
		return nil, errAttachments
	}
	raw := r.Attachments[0]
	if len(raw) > storage.MaxMatchReport {
		return nil, errReport
	}
	decoded, err := Decode(raw)
	if err != nil {
		return nil, errReport
	}
	conn, ok := ParseGUID(r.Body.Text("ccid"))
	if !ok {
		return nil, errNotInIt
	}
	s, _, err := backend.sessionOf(r)
	if err != nil {
		return nil, err
	}
	if !backend.reports.Take(who.profile, backend.opt.Now()) {
		return nil, errRate
	}
	return nil, backend.submit(ctx, s, submission{from: who.profile, conn: conn.String(), report: decoded, raw: raw, at: backend.opt.Now()})
}
