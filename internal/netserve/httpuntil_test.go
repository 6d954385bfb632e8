package netserve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

func TestServeHTTPUntil(t *testing.T) {
	const grace = 2 * time.Second
	for name, tc := range map[string]struct {
		takes    time.Duration // of the handler
		answered bool
	}{
		"pending response": {time.Second, true},
		"hanging response": {time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := newFakeListener()
				ctx, cancel := context.WithCancel(t.Context())
				srv := &http.Server{
					Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						select {
						case <-r.Context().Done():
						case <-time.After(tc.takes):
							_, _ = io.WriteString(w, "done")
						}
					}),
					ReadHeaderTimeout: time.Minute,
				}
				ended := make(chan error, 1)
				go func() { ended <- ServeHTTPUntil(ctx, srv, ln, grace, ConnOptions{}) }()
				client := ln.connect("192.0.2.1:4000")
				go func() { _, _ = io.WriteString(client, "GET / HTTP/1.0\r\n\r\n") }()
				got := make(chan string, 1)
				go func() {
					b, _ := io.ReadAll(client)
					got <- string(b)
				}()
				synctest.Wait()
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("ServeHTTPUntil() = %v, want nil", err)
				}
				if answer := <-got; strings.HasSuffix(answer, "done") != tc.answered {
					t.Errorf("answer %q, want a whole one: %v", answer, tc.answered)
				}
			})
		})
	}
	t.Run("broken listener", func(t *testing.T) {
		ln := newFakeListener()
		_ = ln.Close()
		if err := ServeHTTPUntil(t.Context(), &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}, ln, grace, ConnOptions{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("ServeHTTPUntil() = %v, want net.ErrClosed", err)
		}
	})
}

func TestHTTPErrors(t *testing.T) {
	var out bytes.Buffer
	r := slog.NewRecord(time.Now(), slog.LevelDebug, strings.Repeat("x", MaxHTTPLog)+"y", 0)
	if err := (httpErrors{zerolog.New(&out)}).Handle(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, strings.Repeat("x", MaxHTTPLog)+`"`) {
		t.Errorf("logged %q, want %d bytes", got, MaxHTTPLog)
	}
}
