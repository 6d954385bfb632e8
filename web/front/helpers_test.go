package front

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/web/webtest"
)

// fixture is a Front whose handler answers GetList with a body of its own.
type fixture struct {
	*webtest.Fixture
	front *Front
	cache *Cache
	body  string
	log   bytes.Buffer
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{Fixture: webtest.New(t, DropReasons()...), cache: new(Cache), body: "{}\n"}
	f.front = New(Options{Log: zerolog.New(&f.log), Metrics: f.Metrics, Registerer: f.Gauges})
	f.Handler = f.front.Handler([]Route{
		{Pattern: "/{$}", Serve: func(w http.ResponseWriter, r *http.Request) { f.front.Send(w, r, Text, NewAnswer([]byte("home"))) }},
		{Pattern: "/api/v1/servers", Serve: func(w http.ResponseWriter, r *http.Request) {
			if !NotModified(w, r, `W/"1"`) {
				f.front.Reply(w, r, JSON, f.cache, r.URL.RawQuery, func() []byte { return []byte(f.body) })
			}
		}},
	})
	f.Serve = func(ctx context.Context, ln net.Listener) error {
		return f.front.Serve(ctx, ln, f.Handler, 100, 100, headTime)
	}
	return f
}

// large makes the answers as long as n kilobytes.
func (f *fixture) large(n int) {
	f.body = strings.Repeat(strings.Repeat("x", 1023)+"\n", n-1) + strings.Repeat("x", 1022) + "}\n"
}

// serving runs a fixture in a bubble while test runs.
func serving(t *testing.T, test func(t *testing.T, f *fixture, ln *webtest.Pipes, stop func() (took time.Duration))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.Serving(t, func(ln *webtest.Pipes, stop func() time.Duration) { test(t, f, ln, stop) })
	})
}
