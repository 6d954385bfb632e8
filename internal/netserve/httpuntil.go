package netserve

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// MaxHTTPLog is the length in bytes of a message of net/http that is logged.
const MaxHTTPLog = 512

// ServeHTTPUntil is ServeHTTP until ctx ends. Then it waits up to grace for pending
// responses, closes the rest and returns nil. An error that ends it before is
// returned. It always closes ln. If srv has no ErrorLog, its errors go to the Log of
// opt at debug level.
func ServeHTTPUntil(ctx context.Context, srv *http.Server, ln net.Listener, grace time.Duration, opt ConnOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-ctx.Done()
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer stop()
		if srv.Shutdown(late) != nil {
			_ = srv.Close()
		}
	})
	if srv.ErrorLog == nil {
		srv.ErrorLog = slog.NewLogLogger(httpErrors{opt.Log}, slog.LevelDebug)
	}
	err := ServeHTTP(srv, ln, opt)
	ended := ctx.Err() != nil
	cancel()
	stopping.Wait()
	if ended {
		return nil
	}
	return err
}

// httpErrors logs the errors of net/http at debug level: strangers cause nearly all.
type httpErrors struct{ log zerolog.Logger }

// Enabled implements slog.Handler.
func (l httpErrors) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l httpErrors) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	l.log.Debug().Str("text", text[:min(len(text), MaxHTTPLog)]).Msg("trouble with a connection")
	return nil
}

// WithAttrs implements slog.Handler.
func (l httpErrors) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l httpErrors) WithGroup(string) slog.Handler { return l }
