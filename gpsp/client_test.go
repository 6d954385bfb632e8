package gpsp

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
)

func TestClient(t *testing.T) {
	exists := func(ctx context.Context, c Client) error {
		_, err := c.Exists(ctx, "a@example.org", "gmtest")
		return err
	}
	register := func(ctx context.Context, c Client) error {
		_, err := c.Register(ctx, Account{Email: "a@example.org", Nick: "Ann", Password: "secret", Game: "gmtest"})
		return err
	}
	unwritable := func(ctx context.Context, c Client) error { _, err := c.Exists(ctx, `a\b`, "gmtest"); return err }
	for name, tt := range map[string]struct {
		do     func(context.Context, Client) error
		answer string
		want   error
	}{
		"look-up: nothing":         {exists, "", io.EOF},
		"look-up: cut off":         {exists, `\vr\1\fin`, io.EOF},
		"look-up: another answer":  {exists, `\nur\0\pid\7\final\`, netclient.ErrUnexpected},
		"look-up: error":           {exists, `\error\\err\1\errmsg\no\final\`, netclient.ErrUnexpected},
		"registration: nothing":    {register, "", io.EOF},
		"registration: refused":    {register, `\nur\516\final\`, netclient.ErrUnexpected},
		"registration: no profile": {register, `\nur\0\final\`, netclient.ErrUnexpected},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _ := nettest.Recite(t, tt.answer)
			if err := tt.do(t.Context(), NewClient(conn)); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, do := range map[string]func(context.Context, Client) error{"look-up": exists, "registration": register} {
		if err := do(ended, NewClient(nettest.Silent(t))); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: context ended: %v, want %v", name, err, os.ErrDeadlineExceeded)
		}
	}
	conn, heard := nettest.Recite(t)
	if err := unwritable(t.Context(), NewClient(conn)); err == nil || heard() != "" {
		t.Errorf("an address with a backslash was sent: %q, %v", heard(), err)
	}
}
