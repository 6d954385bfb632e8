package api

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/webtest"
)

// fixture is an API over a list that the test fills.
type fixture struct {
	*webtest.Fixture
	api     *API
	trusted func(netip.Addr) bool // nil: no address is trusted
}

func newFixture(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{Fixture: webtest.New(t, append(front.DropReasons(), DropReasons()...)...)}
	opt := Options{
		Listing: part.Listing{Registry: f.Registry, Games: f.Catalog}, History: history.NewBook(), Self: part.Self{Started: time.Now(), Version: "1.2.3"}, Catalogue: part.Catalogue{Served: webtest.Served, Nouns: webtest.Nouns()},
	}
	for _, c := range change {
		c(&opt)
	}
	f.api = New(front.New(front.Options{
		Trusted: func(a netip.Addr) bool { return f.trusted != nil && f.trusted(a) },
		Log:     zerolog.Nop(), Metrics: f.Metrics, Registerer: f.Gauges,
	}), opt)
	f.api.SetStreams(4096, 64)
	f.Handler = f.api.Handler(f.api.Routes())
	f.Serve = func(ctx context.Context, ln net.Listener) error {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { f.api.Run(ctx) })
		err := f.api.Serve(ctx, ln, f.Handler, 8192, 4096, 5*time.Second)
		cancel()
		running.Wait()
		return err
	}
	return f
}

// serving runs a fixture in a bubble while test runs.
func serving(t *testing.T, test func(t *testing.T, f *fixture, ln *webtest.Pipes, stop func() (took time.Duration))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.Serving(t, func(ln *webtest.Pipes, stop func() time.Duration) { test(t, f, ln, stop) })
	})
}

func addr(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
