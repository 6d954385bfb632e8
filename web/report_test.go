package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/webtest"
)

// reported is a service that takes reports on games.
type reported struct {
	*fixture
	t     *testing.T
	table *played.Table
}

func newReported(t *testing.T) *reported {
	v := &reported{t: t, table: played.New(storetest.New(t), nil)}
	v.fixture = newFixture(t, func(o *Options) {
		o.Verdicts, o.Players, o.Played = verdicts.NewLog(zerolog.Nop(), 0), verdicts.NewLog(zerolog.Nop(), 0), v.table
		o.Reporter = func(day string, from netip.Addr) string { return day[8:] + " " + from.String() }
	})
	return v
}

// send sends the form of a report on gmtest, and returns what became of it.
func (v *reported) send(from, step string, header ...string) string {
	form := url.Values{"step": {step}, "copy": {"gog"}, "text": {"a\x01 remark"}}
	r := httptest.NewRequestWithContext(v.t.Context(), http.MethodPost, "/games/gmtest/report", strings.NewReader(form.Encode()))
	r.RemoteAddr = from
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	v.Handler.ServeHTTP(w, r)
	to, err := url.Parse(w.Header().Get("Location"))
	if w.Code != http.StatusSeeOther || err != nil {
		return w.Result().Status
	}
	return to.Query().Get(reportedParam)
}

func (v *reported) want(what, got, want string) {
	v.t.Helper()
	if got != want {
		v.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// page returns the page of the game, which must have parts.
func (v *reported) page(what, path string, parts ...string) string {
	v.t.Helper()
	body := v.Ask("203.0.113.9:1", path).Body.String()
	webtest.WantParts(v.t, what, body, parts...)
	return body
}

func TestReportsOnAGame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newReported(t)
		webtest.WantNoParts(t, "without reports", v.page("without reports", "/games/gmtest", "Did it work for you?", "I played online"), "played here")
		v.want("of an address that nothing saw", v.send("198.51.100.1:1", storage.Played), "unseen")
		for _, from := range []string{"198.51.100.1:1", "198.51.100.2:1"} {
			v.server.opt.Players.NotePlayer("natneg", addr(from).Addr(), "gmtest", verdicts.Met)
			v.Put(webtest.Listed{Addr: from, Rules: []string{"gamever", "1.1<b>"}})
			v.want("of a player", v.send(from, storage.Played), "yes")
		}
		v.want("again", v.send("198.51.100.1:2", storage.Played), "yes")
		v.page("after two", "/games/gmtest", "played here: 2 times, last on", "version 1.1&lt;b&gt;")
		v.page("to the reporter", "/games/gmtest?reported=unseen", "It was not kept: no service")
		if why := v.Ask("198.51.100.1:1", "/why").Body.String(); !strings.Contains(why, `href="/games/gmtest#report"`) {
			t.Error("/why has no link to the report on the game")
		}
		if why := v.Ask("203.0.113.9:1", "/why").Body.String(); strings.Contains(why, "#report") {
			t.Error("/why of another address has links to reports")
		}
		v.page("as JSON", "/api/v1/games/gmtest", `"state":"played"`, `"played":{"times":2,`)
		all := v.table.List("gmtest")
		if len(all) != 2 || all[0].Text != "a remark" || !all[0].Met || all[0].Copy != "gog" || all[0].Day != time.Now().UTC().Format(time.DateOnly) {
			t.Errorf("stored %+v", all)
		}
		all[0].Struck, all[1].Struck = true, true
		for i := range all {
			if err := v.table.Write(t.Context(), all[i]); err != nil {
				t.Fatal(err)
			}
		}
		webtest.WantNoParts(t, "struck out", v.page("struck out", "/games/gmtest"), "played here")
	})
}

func TestRefusedReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newReported(t)
		v.want("another site", v.send("198.51.100.1:1", storage.Played, "Sec-Fetch-Site", "cross-site"), "403 Forbidden")
		v.want("no such step", v.send("198.51.100.1:1", "won"), "bad")
		if w := v.Ask("198.51.100.1:1", "/games/gmtest/report"); w.Code != http.StatusSeeOther {
			t.Errorf("GET: %d", w.Code)
		}
		if w := v.Ask("198.51.100.1:1", "/games/nothing/report"); w.Code != http.StatusNotFound {
			t.Errorf("an unknown game: %d", w.Code)
		}
		for range reportBurst - 1 {
			v.want("a stop", v.send("198.51.100.1:1", "lobby"), "yes")
		}
		v.want("too often", v.send("198.51.100.1:1", "lobby"), "often")
		time.Sleep(reportEvery)
		v.want("later", v.send("198.51.100.1:1", "lobby"), "yes")
		large := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/games/gmtest/report", strings.NewReader("text="+strings.Repeat("a", maxReportForm)))
		large.RemoteAddr = "198.51.100.7:1"
		large.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		if v.Handler.ServeHTTP(w, large); !strings.Contains(w.Header().Get("Location"), "reported=bad") {
			t.Errorf("a form that is too large: %d, %v", w.Code, w.Header())
		}
	})
}
