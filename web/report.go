package web

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/session"
)

// Bounds of the reports of visitors.
const (
	reportEvery    = 20 * time.Second // of one address
	reportBurst    = 5
	maxReportForm  = 4 << 10
	reportedParam  = "reported"
	reportPathEnds = "/report"
	reportKept     = "yes"

	dropReport = "report_rate" // more reports from one address than allowed
)

// isReportPath reports whether a path takes the report of a visitor.
func isReportPath(path string) bool {
	return strings.HasPrefix(path, "/games/") && strings.HasSuffix(path, reportPathEnds)
}

// reportResults are what became of a report, as the visitor reads it after the redirect.
var reportResults = []struct {
	name, text string
	err        error // of the report
}{
	{reportKept, lang.Key("Thank you. Your report is kept."), nil},
	{"unseen", lang.Key("It was not kept: no service of this game has seen your address within the last hour: report right after you played, from the same network."), played.ErrUnseen},
	{"full", lang.Key("It was not kept: there are enough reports for today: try again tomorrow."), played.ErrTooMany},
	{"often", lang.Key("It was not kept: you reported a moment ago."), errReportsOften},
	{"bad", lang.Key("It was not kept: the form could not be read."), storage.ErrInvalid},
	{"failed", lang.Key("It was not kept: the server cannot store it now. Try again later."), nil},
}

var errReportsOften = errors.New("reported a moment ago")

// reportName returns the result that a query names, one of reportResults or "".
func reportName(q url.Values) string {
	name := q.Get(reportedParam)
	for _, one := range reportResults {
		if one.name == name {
			return name
		}
	}
	return ""
}

// ReportResult returns what became of a report, given the query of the address to which its form
// is redirected.
func ReportResult(q url.Values) (text string, kept bool) {
	for _, one := range reportResults {
		if one.name == q.Get(reportedParam) {
			return one.text, one.name == reportKept
		}
	}
	return "The answer is not that of a server of this version.", false
}

// reportView is the form for a report.
type reportView struct {
	Said          string // what became of the last one; empty: there was none
	Bad           bool   // it was not kept
	Action        string
	Steps, Copies []choice
	Most          int
}

// choice is an entry of a list in a form.
type choice struct{ Value, Text string }

// copyWords are the copies as players call them, by games.ReportedCopies.
var copyWords = map[string]string{
	"retail": lang.Key("Discs"), "gog": "GOG", "steam": "Steam", "console": lang.Key("Console"), "other": lang.Key("Another one"),
}

// stepWords are the steps as players call them, by storage.PlaySteps.
var stepWords = map[string]string{
	storage.Played: lang.Key("I played online"), "nothing": lang.Key("It found no server"), "server found": lang.Key("It found this site, no more"),
	"signed in": lang.Key("I signed in, no more"), "list shown": lang.Key("I saw games or servers, and could not join"),
	"lobby":  lang.Key("I was in the lobby, and could not join"),
	"joined": lang.Key("I joined, and could not play"),
}

// stepNouns are what steps are about: those that are not here are no choice.
var stepNouns = map[string]noun.Noun{"signed in": noun.Accounts, "lobby": noun.Chat}

// reportOn returns the form for a game; nil if its visitors cannot report.
func (s *Server) reportOn(l *lang.Language, g games.Game, said string) *reportView {
	if s.opt.Reporter == nil || g.See != "" {
		return nil
	}
	v := &reportView{Action: s.gameURL(g.Name) + reportPathEnds, Most: storage.MaxPlayReportText}
	if said != "" {
		text, kept := ReportResult(url.Values{reportedParam: {said}})
		v.Said, v.Bad = l.T(text), !kept
	}
	for _, step := range slices.Backward(storage.PlaySteps()) {
		if s.opt.Nouns.Has(stepNouns[step]) {
			v.Steps = append(v.Steps, choice{step, l.T(stepWords[step])})
		}
	}
	for _, c := range games.ReportedCopies() {
		v.Copies = append(v.Copies, choice{c, l.T(copyWords[c])})
	}
	return v
}

// serveReport answers the form on the page of a game.
func (s *Server) serveReport(w http.ResponseWriter, r *http.Request) {
	g, known := s.api.Game(r.PathValue("name"))
	switch {
	case !known || s.opt.Reporter == nil:
		s.Fail(w, r, http.StatusNotFound, "there is no game of that name here")
		return
	case r.Method != http.MethodPost:
		http.Redirect(w, r, s.gameURL(g.Name), http.StatusSeeOther)
		return
	case s.doctor.origins.Check(r) != nil:
		s.Fail(w, r, http.StatusForbidden, "this form was sent by another site")
		return
	}
	err := s.takeReport(w, r, g)
	result := "failed"
	for _, one := range reportResults {
		if err == nil && one.name == reportKept || one.err != nil && errors.Is(err, one.err) {
			result = one.name
		}
	}
	if result == "failed" {
		s.Log().Error().Err(err).Str("game", g.Name).Msg("a report on a game was not stored")
	}
	http.Redirect(w, r, s.gameURL(g.Name)+"?"+reportedParam+"="+result+"#report", http.StatusSeeOther)
}

// takeReport stores the report of a form.
func (s *Server) takeReport(w http.ResponseWriter, r *http.Request, g games.Game) error {
	from, now := s.Visitor(r), time.Now()
	if !s.Trusted(from) && !s.reports.Allow(from, now) {
		s.Drop(dropReport)
		return errReportsOften
	}
	if status := session.ReadForm(w, r, maxReportForm); status != 0 {
		return storage.ErrInvalid
	}
	day := now.UTC().Format(time.DateOnly)
	game := s.api.ReportedAs(g)
	p := storage.PlayReport{
		PlayReportID: storage.PlayReportID{Day: day, Game: game, Reporter: s.opt.Reporter(day, from)},
		Copy:         r.PostForm.Get("copy"), Step: r.PostForm.Get("step"),
		Text: clean.Line(r.PostForm.Get("text"), storage.MaxPlayReportText),
	}
	base, _ := s.opt.Games.Base(g.Name)
	names := append([]string{g.Name, base.Name}, base.Aliases...)
	p.Version = s.versionAt(from, names)
	played.Trace(&p, s.seen(from), g, names, now)
	err := s.opt.Played.Add(r.Context(), p)
	if err == nil {
		s.question(g)
	}
	return err
}

// question logs that reports contradict what is known of a game.
func (s *Server) question(g games.Game) {
	for _, o := range s.api.Outlooks(g) {
		if o.Questioned() {
			s.Log().Warn().Str("game", g.Name).Str("known", o.Line()).Str("reported", o.Reported.String()).
				Msg("players report that a game was played which cannot be played here by its record: see respawnd played questions")
		}
	}
}

// seen returns what services saw of an address.
func (s *Server) seen(from netip.Addr) []verdicts.Entry {
	return slices.Concat(s.opt.Verdicts.Of(from), s.opt.Players.Of(from))
}

// versionAt returns the version that a server of a game with one of the names reports at an address,
// "" if there is none.
func (s *Server) versionAt(from netip.Addr, names []string) string {
	for _, row := range s.api.Snapshot().At(from) {
		if version, ok := row.Rules.Get("gamever"); ok && slices.Contains(names, row.Game) {
			return clean.Line(version, storage.MaxPlayVersion/4) // characters may be of four bytes
		}
	}
	return ""
}

// newReports bounds the reports of one address.
func newReports() *netserve.Limiter {
	return netserve.NewLimiter(netserve.LimiterOptions{Rate: 1 / reportEvery.Seconds(), Burst: reportBurst})
}
