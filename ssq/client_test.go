package ssq

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
	wire "github.com/respawnd/respawnd/internal/ssq"
)

func TestClient_Ask(t *testing.T) {
	dial := func(t *testing.T, answer func([]byte) [][]byte) *Client {
		p, err := netclient.Dial(t.Context(), nettest.Answer(t, answer).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		return &Client{Packets: p}
	}
	for name, tt := range map[string]struct {
		// answers to the packet of a question
		answer func(question []byte) [][]byte
		want   error
	}{
		"empty":         {func([]byte) [][]byte { return [][]byte{{}} }, wire.ErrMalformed},
		"no header":     {func(q []byte) [][]byte { return [][]byte{q[:3]} }, wire.ErrMalformed},
		"echo":          {func(q []byte) [][]byte { return [][]byte{q} }, wire.ErrMalformed},
		"foreign first": {func([]byte) [][]byte { return [][]byte{make([]byte, 1400), {}} }, wire.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := dial(t, tt.answer).Ask(t.Context(), wire.Query{Verb: wire.Ping}); !errors.Is(err, tt.want) {
				t.Errorf("Ask: %+v, %v; want %v", got, err, tt.want)
			}
		})
	}
	t.Run("context ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := dial(t, func([]byte) [][]byte { return nil })
		if _, err := c.Ask(ctx, wire.Query{Verb: wire.Ping}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Ask: %v, want %v", err, os.ErrDeadlineExceeded)
		}
	})
}
