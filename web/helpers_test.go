package web

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/webtest"
)

// fixture is a service over a list that the test fills.
type fixture struct {
	*webtest.Fixture
	server *Server
}

func newFixture(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	f := webtest.New(t, DropReasons()...)
	opt := Options{
		Config:  &Config{MaxConns: 8192, MaxPerAddr: 256, RequestTime: 5 * time.Second, MaxStreams: 4096, MaxStreamsPerAddr: 64},
		Options: api.Options{Listing: part.Listing{Registry: f.Registry, Games: f.Catalog}, Self: part.Self{Version: "1.2.3", Metrics: f.Metrics, Registerer: f.Gauges}, Catalogue: part.Catalogue{Served: webtest.Served, Nouns: webtest.Nouns()}},
	}
	for _, c := range change {
		c(&opt)
	}
	s := New(opt)
	f.Handler, f.Serve = s.Handler(), s.Serve
	return &fixture{f, s}
}

// sample takes a sample of the numbers of players.
func (f *fixture) sample(now time.Time) {
	round := f.server.opt.History.Begin(now)
	for _, r := range f.server.api.Snapshot().Rows {
		round.Add(r.HistoryKey(), r.Game, r.Count)
	}
	round.End()
}

func addr(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// Handler returns the handler of all paths, for use in another server. Only
// Serve has bounds on connections and time-outs.
func (s *Server) Handler() http.Handler { return s.handler }
