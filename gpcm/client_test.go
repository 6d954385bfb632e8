package gpcm

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
)

const clientGreeting = `\lc\1\challenge\ABCDEFGHIJ\id\1\final\`

func TestConnect(t *testing.T) {
	for name, tt := range map[string]struct {
		greeting string
		want     error
	}{
		"nothing":         {"", io.EOF},
		"cut off":         {clientGreeting[:20], io.EOF},
		"never ended":     {strings.Repeat("x", gamespy.MaxMessage), gamespy.ErrMessageTooLong},
		"another message": {`\nur\0\final\`, netclient.ErrUnexpected},
		"no challenge":    {`\lc\1\id\1\final\`, netclient.ErrUnexpected},
		"right":           {clientGreeting, nil},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _ := nettest.Recite(t, tt.greeting)
			c, err := Connect(t.Context(), conn)
			if !errors.Is(err, tt.want) || (c == nil) != (err != nil) {
				t.Errorf("Connect: %v, %v; want error %v", c, err, tt.want)
			}
		})
	}
}

// clientOf returns a client that is connected to a service, which sends parts after
// its greeting.
func clientOf(t *testing.T, parts ...string) (*Client, func() string) {
	t.Helper()
	conn, heard := nettest.Recite(t, append([]string{clientGreeting}, parts...)...)
	c, err := Connect(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return c, heard
}

func TestClient(t *testing.T) {
	login := func(ctx context.Context, c *Client) error {
		return c.Login(ctx, Login{By: "uniquenick", Name: "Ann", Password: "secret", Game: "gmtest"})
	}
	message := func(ctx context.Context, c *Client) error {
		_, err := c.AwaitMessage(ctx, MessageText, "7")
		return err
	}
	profile := func(ctx context.Context, c *Client) error { _, err := c.ReadProfile(ctx, "7"); return err }
	refused := `\error\\err\256\fatal\\errmsg\no\id\1\final\`
	for name, tt := range map[string]struct {
		do    func(context.Context, *Client) error
		parts []string
		want  error
	}{
		"login: nothing":         {login, nil, io.EOF},
		"login: lists alone":     {login, []string{`\bdy\2\list\3,4\final\`, `\blk\0\list\\final\`}, io.EOF},
		"login: refused":         {login, []string{refused}, netclient.ErrUnexpected},
		"login: without proof":   {login, []string{`\lc\2\sesskey\1\profileid\7\id\1\final\`}, ErrNoProof},
		"login: wrong proof":     {login, []string{`\lc\2\sesskey\1\proof\0123\profileid\7\id\1\final\`}, ErrNoProof},
		"message: refused":       {message, []string{refused}, netclient.ErrUnexpected},
		"message: of another":    {message, []string{`\bm\1\f\8\msg\hello\final\`, `\bm\100\f\7\msg\|s|1\final\`}, io.EOF},
		"message: in two pieces": {message, []string{`\bm\1\f\7\msg\he`, `llo\final\`}, nil},
		"profile: refused":       {profile, []string{refused}, netclient.ErrUnexpected},
		"profile: after others":  {profile, []string{`\bm\1\f\8\msg\hello\final\`, `\pi\profileid\7\final\`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := clientOf(t, tt.parts...)
			if err := tt.do(t.Context(), c); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if c.Session != "" {
				t.Errorf("session %q without a login", c.Session)
			}
		})
	}
	t.Run("login: buddies", func(t *testing.T) {
		c, _ := clientOf(t, `\bdy\2\list\3,4\final\`, `\bdy\0\list\\final\`)
		if err := login(t.Context(), c); !errors.Is(err, io.EOF) || !slices.Equal(c.Buddies, []string{"3", "4"}) {
			t.Errorf("buddies %q, %v", c.Buddies, err)
		}
	})
	t.Run("context ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Connect(ctx, nettest.Silent(t)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Connect: %v, want %v", err, os.ErrDeadlineExceeded)
		}
		for name, do := range map[string]func(context.Context, *Client) error{"login": login, "message": message, "profile": profile} {
			c := &Client{Text: netclient.NewText(nettest.Silent(t))}
			if err := do(ctx, c); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v, want %v", name, err, os.ErrDeadlineExceeded)
			}
		}
	})
}
