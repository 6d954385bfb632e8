package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
)

// connection requests the data about a visitor.
func (f *fixture) connection(from string, header ...string) (c Connection) {
	f.T.Helper()
	w := f.Ask(from, "/api/v1/connection", header...)
	if w.Code != http.StatusOK || w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Cache-Control") != "no-store" {
		f.T.Errorf("from %s: %d, headers %v", from, w.Code, w.Header())
	}
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil {
		f.T.Fatal(err)
	}
	return c
}

// newVisited returns a list with servers of two addresses, of which something is known.
func newVisited(t *testing.T) *fixture {
	f := newFixture(t, func(o *Options) {
		o.Verdicts, o.Players, o.Meetings = verdicts.NewLog(zerolog.Nop(), 0), verdicts.NewLog(zerolog.Nop(), 0), new(meeting.Recorder)
		o.Nouns[noun.Relays] = true
	})
	for _, a := range []string{"198.51.100.1:6500", "198.51.100.2:6500"} {
		f.Put(webtest.Listed{Addr: a, Rules: []string{"hostname", "At " + a}, Change: func(s *master.Server) { s.Findings.Reached = master.ReachedNo }})
		at := netip.MustParseAddrPort(a)
		f.api.opt.Verdicts.Note("qr2", at, "gmtest", verdicts.Listed)
		f.api.opt.Verdicts.Note("qr2", at, "gmtest", verdicts.Unreachable)
		f.api.opt.Players.NotePlayer("natneg", at.Addr(), "gmtest", verdicts.NotMet)
		f.api.opt.Players.NotePlayer("gpcm", at.Addr(), "gmtest", verdicts.WrongPassword)
		f.api.opt.Meetings.Saw(at.Addr(), meeting.Symmetric)
	}
	return f
}

func TestConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newVisited(t)
		c := f.connection("198.51.100.1:1")
		if c.Address != "198.51.100.1" || !c.IPv4 || c.Private || !c.Relay || c.More != 0 || len(c.Servers) != 1 || len(c.Tried) != 1 || c.Router == nil {
			t.Fatalf("got %+v", c)
		}
		if s := c.Servers[0]; s.ID != "qr2-198.51.100.1-6500" || s.Joinable != "no" || s.Reached != "no" || s.Advice == "" || s.Verdict != verdicts.Unreachable.String() || s.Tested.IsZero() {
			t.Errorf("the server: %+v", s)
		}
		if n := c.Tried[0]; n.Verdict != verdicts.NotMet.String() || n.Good || n.Advice == "" {
			t.Errorf("the negotiation: %+v", n)
		}
		if c.Router.Kind != "symmetric" || c.Pairs["symmetric"]["symmetric"] != "relayed" || len(c.Pairs) != len(meeting.Routers()) {
			t.Errorf("the router: %+v, pairs %v", c.Router, c.Pairs)
		}
		time.Sleep(time.Hour)
		if c := f.connection("198.51.100.1:1"); c.Router != nil {
			t.Errorf("an hour later: router %+v", c.Router)
		}
	})
}

// A visitor sees his own address alone, whatever he sends.
func TestConnectionShowsNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newVisited(t)
		for from, header := range map[string][]string{
			"198.51.100.3:1":   {"X-Forwarded-For", "198.51.100.1"}, // a proxy that is not trusted
			"10.0.0.1:1":       {"X-Forwarded-For", "198.51.100.1"},
			"[2001:db8::1]:1":  nil,
			"198.51.100.3:200": {"Forwarded", "for=198.51.100.1", "X-Real-IP", "198.51.100.1"},
		} {
			if c := f.connection(from, header...); len(c.Servers) != 0 || len(c.Tried) != 0 || c.Router != nil || c.Address == "198.51.100.1" {
				t.Errorf("from %s: %+v", from, c)
			}
		}
		f.api.SetLimits(0, 0, []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")})
		if c := f.connection("10.0.0.1:1", "X-Forwarded-For", "203.0.113.9, 198.51.100.2"); c.Address != "198.51.100.2" || len(c.Servers) != 1 || c.Servers[0].Address != "198.51.100.2:6500" {
			t.Errorf("behind a trusted proxy: %+v", c)
		}
		if c := f.connection("[2001:db8::1]:1"); c.IPv4 {
			t.Errorf("an IPv6 address: %+v", c)
		}
		if c := f.connection("192.168.1.9:1"); !c.Private {
			t.Errorf("a private address: %+v", c)
		}
	})
}

func TestConnectionBounds(t *testing.T) {
	f := newVisited(t)
	for i := range maxServersHere + 2 {
		f.Put(webtest.Listed{Addr: fmt.Sprintf("198.51.100.1:%d", 7000+i)})
	}
	for i := range maxNegotiations + 1 {
		f.api.opt.Players.NotePlayer("natneg", netip.MustParseAddr("198.51.100.1"), fmt.Sprint("game", i), verdicts.Met)
	}
	if c := f.connection("198.51.100.1:1"); len(c.Servers) != maxServersHere || c.More != 3 || len(c.Tried) != maxNegotiations {
		t.Errorf("%d servers, %d more, %d negotiations", len(c.Servers), c.More, len(c.Tried))
	}
	if w := f.Get("/api/v1/connection?address=198.51.100.1"); w.Code != http.StatusBadRequest {
		t.Errorf("with a parameter: %d, want 400", w.Code)
	}
}
