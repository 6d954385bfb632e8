package competition

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

func TestOutcomes(t *testing.T) {
	type say struct {
		p       int
		results []Result
		broken  bool
	}
	win, lose, both := []Result{Win, Loss}, []Result{Loss, Win}, []Result{Draw, Draw}
	for name, tc := range map[string]struct {
		players int
		host    bool
		say     []say
		before  storage.MatchOutcome // before the time limit
		after   storage.MatchOutcome
		wins    [3]float64
	}{
		"both agree":            {2, false, []say{{1, win, false}, {2, win, false}}, storage.MatchAgreed, storage.MatchAgreed, [3]float64{1, 0, 0}},
		"both win":              {2, false, []say{{1, win, false}, {2, lose, false}}, storage.MatchDisputed, storage.MatchDisputed, [3]float64{}},
		"one is missing":        {2, false, []say{{2, win, false}}, storage.MatchOpen, storage.MatchUnopposed, [3]float64{1, 0, 0}},
		"alone":                 {1, false, []say{{1, []Result{Win}, false}}, storage.MatchOpen, storage.MatchUnopposed, [3]float64{1, 0, 0}},
		"the host decides":      {2, true, []say{{1, win, false}}, storage.MatchHost, storage.MatchHost, [3]float64{1, 0, 0}},
		"the host comes late":   {3, true, []say{{2, []Result{Loss, Win, Loss}, false}, {1, []Result{Win, Loss, Loss}, false}}, storage.MatchHost, storage.MatchHost, [3]float64{1, 0, 0}},
		"only guests of a host": {2, true, []say{{2, lose, false}}, storage.MatchOpen, storage.MatchUnopposed, [3]float64{0, 1, 0}},
		"broken for both":       {2, false, []say{{1, win, true}, {2, both, true}}, storage.MatchBroken, storage.MatchBroken, [3]float64{}},
		"broken for one":        {2, false, []say{{1, win, true}, {2, lose, false}}, storage.MatchUnopposed, storage.MatchUnopposed, [3]float64{0, 1, 0}},
		"four opinions": {
			3, false,
			[]say{{1, []Result{Win, Loss, Loss}, false}, {2, []Result{Loss, Win, Loss}, false}, {3, []Result{Loss, Loss, Win}, false}},
			storage.MatchDisputed, storage.MatchDisputed,
			[3]float64{},
		},
		"two of three": {3, false, []say{{1, []Result{Win, Loss, Loss}, false}, {3, []Result{Win, Loss, Loss}, false}}, storage.MatchOpen, storage.MatchUnopposed, [3]float64{1, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			csid, conns := w.play(tc.players, tc.host)
			for _, s := range tc.say {
				r := result(t, conns, s.results...)
				if s.broken {
					r.Status = StatusBroken
				}
				w.ok(w.submit(csid, conns, s.p, r))
			}
			if got := w.outcome(); got != tc.before {
				t.Errorf("outcome %s, want %s", got, tc.before)
			}
			w.now = w.now.Add(10*time.Minute - 1)
			w.backend.settleDue(t.Context(), w.now)
			if got := w.outcome(); got != tc.before {
				t.Errorf("outcome %s just before the time limit, want %s", got, tc.before)
			}
			w.now = w.now.Add(1)
			w.backend.settleDue(t.Context(), w.now)
			if got := w.outcome(); got != tc.after {
				t.Errorf("outcome %s after the time limit, want %s", got, tc.after)
			}
			for p, want := range tc.wins {
				if got := w.score("wins", storage.ProfileID(p+1)); got != want {
					t.Errorf("profile %d has %v wins, want %v", p+1, got, want)
				}
			}
		})
	}
}

func TestScores(t *testing.T) {
	w := newWorld(t, nil)
	for range 2 {
		csid, conns := w.play(2, false)
		r := result(t, conns, Win, Loss)
		r.Players = append(r.Players, Player{Conn: GUID{9}, Values: []Value{{Key: 7, Int: 100}}}) // a guest
		w.ok(w.submit(csid, conns, 1, r))
		w.ok(w.submit(csid, conns, 2, r))
		w.ok(w.submit(csid, conns, 2, r))
	}
	if one, two, other := w.score("kills", 1), w.score("kills", 2), w.score("other", 1); one != 10 || two != 12 || other != 0 {
		t.Errorf("scores %v, %v and %v, want 10, 12 and 0", one, two, other)
	}
}

func TestRestart(t *testing.T) {
	w := newWorld(t, nil)
	csid, conns := w.play(2, false)
	lost, _ := w.play(1, false)
	w.ok(w.submit(csid, conns, 1, result(t, conns, Win, Loss)))
	w.start(nil)
	w.ok(w.submit(csid, conns, 2, result(t, conns, Win, Loss)))
	if got := w.outcome(); got != storage.MatchAgreed {
		t.Errorf("outcome %s", got)
	}
	if a := w.call("SetReportIntention", 1, nil, "csid", lost); a.code != "4" {
		t.Errorf("a session without a report has result %s after a restart", a.code)
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, nil)
	csid, conns := w.play(2, false)
	good := result(t, conns, Win, Loss)
	raw := good.Append(nil)
	elsewhere, others := w.play(1, false)
	for name, tc := range map[string]struct {
		answer answer
		want   string
	}{
		"no attachment":           {w.call("SubmitReport", 1, nil, "csid", csid, "ccid", conns[0]), "2"},
		"broken report":           {w.call("SubmitReport", 1, raw[:100], "csid", csid, "ccid", conns[0]), "1"},
		"report too long":         {w.call("SubmitReport", 1, make([]byte, storage.MaxMatchReport+1), "csid", csid, "ccid", conns[0]), "1"},
		"other's connection":      {w.submit(csid, conns, 2, good), "0"}, // the right one, to compare
		"connection of another":   {w.call("SubmitReport", 1, raw, "csid", csid, "ccid", conns[1]), "4"},
		"connection of elsewhere": {w.call("SubmitReport", 1, raw, "csid", csid, "ccid", others[0]), "4"},
		"no connection":           {w.call("SubmitReport", 1, raw, "csid", csid), "4"},
		"session of another game": {w.call("SubmitReport", 1, raw, "csid", elsewhere, "ccid", conns[0]), "4"},
		"unknown session":         {w.call("SetReportIntention", 1, nil, "csid", conns[0]), "4"},
		"no session":              {w.call("SetReportIntention", 1, nil), "4"},
		"a stranger's report":     {w.call("SubmitReport", 3, raw, "csid", csid, "ccid", conns[0]), "4"},
		"another second report":   {w.submit(csid, conns, 2, result(t, conns, Loss, Win)), "1"},
		"without the sender":      {w.submit(csid, conns, 1, result(t, conns[1:], Win)), "1"},
	} {
		if tc.answer.code != tc.want {
			t.Errorf("%s: result %s (%s), want %s", name, tc.answer.code, tc.answer.message, tc.want)
		}
	}
}

func TestIdentity(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Verifier = refuser{} })
	if a := w.call("CreateSession", 1, nil); a.code != "3" || a.csid != "" {
		t.Errorf("result %s, session %q", a.code, a.csid)
	}
}

func TestSessionLimits(t *testing.T) {
	w := newWorld(t, nil)
	first, conns := w.play(1, false)
	w.ok(w.submit(first, conns, 1, result(t, conns, Win))) // it has an open match, and stays
	second := w.ok(w.call("CreateSession", 1, nil)).csid
	for range maxPerProfile - 1 {
		w.now = w.now.Add(time.Second)
		w.ok(w.call("CreateSession", 1, nil))
	}
	if a := w.call("SetReportIntention", 2, nil, "csid", second); a.code != "4" {
		t.Errorf("the session that was idle for longest has result %s", a.code)
	}
	w.ok(w.call("SetReportIntention", 2, nil, "csid", first))
	if got := w.backend.sessions.len(); got != maxPerProfile {
		t.Errorf("%d sessions, want %d", got, maxPerProfile)
	}
	w.now = w.now.Add(sessionTime)
	w.backend.settleDue(t.Context(), w.now)
	w.backend.settleDue(t.Context(), w.now)
	if got := w.backend.sessions.len(); got != 0 {
		t.Errorf("%d sessions after %v", got, sessionTime)
	}
}

func TestRates(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, func(o *Options) {
		o.Config.Sessions, o.Config.Reports = 4, 2
		o.Log = zerolog.New(&log)
	})
	session := w.ok(w.call("CreateSession", 1, nil))
	for i, want := range []string{"0", "0", "0", "5"} {
		if got := w.call("SetReportIntention", 1, nil, "csid", session.csid); got.code != want {
			t.Errorf("request %d: result %s, want %s", i+2, got.code, want)
		}
	}
	w.ok(w.call("CreateSession", 2, nil)) // another player
	if want := `"reason":"` + errRate.Error(); !strings.Contains(log.String(), want) || strings.Count(log.String(), "request about a match refused") != 1 {
		t.Errorf("log %q, want one line with %s", log.String(), want)
	}

	w.backend.Reload(MatchConfig{Wait: time.Hour, Keep: 100, Age: time.Hour, Reports: 2}) // any number of sessions
	csid, conns := w.play(1, false)
	for i, want := range []string{"0", "0", "5"} { // the second is the first again
		if got := w.submit(csid, conns, 1, result(t, conns, Win)); got.code != want {
			t.Errorf("report %d: result %s, want %s", i+1, got.code, want)
		}
	}
}

func TestSides(t *testing.T) {
	w := newWorld(t, nil)
	csid := w.ok(w.call("CreateSession", 1, nil)).csid
	id, _ := ParseGUID(csid)
	s, err := w.backend.sessions.get(id, w.now)
	if err != nil {
		t.Fatal(err)
	}
	for p := 2; p <= storage.MaxMatchSides; p++ {
		if err := join(&s.match, player{storage.ProfileID(p), "p" + strconv.Itoa(p)}, GUID{byte(p)}, false); err != nil {
			t.Fatal(err)
		}
	}
	if a := w.call("SetReportIntention", 99, nil, "csid", csid); a.code != "5" {
		t.Errorf("one side too many has result %s", a.code)
	}
	for range storage.MaxMatchConns {
		w.ok(w.call("SetReportIntention", 1, nil, "csid", csid))
	}
	if got := len(s.match.Sides[0].Conns); got != storage.MaxMatchConns {
		t.Errorf("%d connections, want %d", got, storage.MaxMatchConns)
	}
}

func TestDeletedMatch(t *testing.T) {
	w := newWorld(t, nil)
	csid, conns := w.play(2, false)
	w.ok(w.submit(csid, conns, 1, result(t, conns, Win, Loss)))
	if err := w.store.DeleteMatch(t.Context(), w.matches()[0].ID); err != nil {
		t.Fatal(err)
	}
	if a := w.submit(csid, conns, 2, result(t, conns, Win, Loss)); a.code != "4" {
		t.Errorf("a report of a match that was removed has result %s", a.code)
	}
}

func TestSweep(t *testing.T) {
	w := newWorld(t, nil)
	csid, conns := w.play(1, true)
	w.ok(w.submit(csid, conns, 1, result(t, conns, Win)))
	w.now = w.now.Add(24*time.Hour + 1)
	w.backend.sweep(t.Context())
	if n := len(w.matches()); n != 0 {
		t.Errorf("%d matches after their time", n)
	}
}

func TestNotBanned(t *testing.T) {
	backend := newWorld(t, nil).backend
	body, err := soap.Parse([]byte("<Envelope><Body><CheckProfileOnBanList><Proof>x</Proof><GameId>1</GameId><HostProfileId>77</HostProfileId><HostPlatformId>4</HostPlatformId></CheckProfileOnBanList>"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `<CheckProfileOnBanListResult><result>0</result><UserConfig ProfileID="77" PlatformID="4" IsBanned="false" /></CheckProfileOnBanListResult>`
	answered := 0
	for _, s := range backend.Services() {
		if h := s.Methods[body.Name]; h != nil {
			answered++
			if got := string(h(t.Context(), &soap.Request{Method: body.Name, Body: body})); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", s.Path, got, want)
			}
		}
	}
	if answered != 2 {
		t.Errorf("%d paths have the method, want 2", answered)
	}
}
