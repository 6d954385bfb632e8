package selftest

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/service"
)

// recite listens, sends greeting to each connection, and answer to each
// message. An empty answer ends the connection.
func recite(t *testing.T, greeting, answer string) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(greeting))
			if answer != "" {
				var asked []byte
				buf := make([]byte, 1024)
				for n := 1; n > 0 && !bytes.Contains(asked, []byte(gamespy.Final)); {
					n, _ = c.Read(buf)
					asked = append(asked, buf[:n]...)
				}
				_, _ = c.Write([]byte(answer))
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return ln.Addr().String()
}

func TestPresence(t *testing.T) {
	t.Parallel()
	const (
		unknown = `\vr\0\final\`
		hello   = `\lc\1\challenge\ABCDEFGHIJ\id\1\final\`
		refused = `\error\\err\265\fatal\\errmsg\No.\id\1\final\`
	)
	for name, tc := range map[string]struct {
		found, greeting, answer string
		private                 bool
		want                    string // of the error; "": none
	}{
		"all right":              {found: unknown, greeting: hello, answer: refused},
		"private":                {found: `\vr\1\final\`, greeting: hello, answer: refused, private: true},
		"finds an account":       {found: `\vr\1\final\`, want: "gpsp: unexpected answer to a look-up"},
		"quota":                  {found: `\error\\err\3328\errmsg\Later.\final\`, want: `gpsp: the answer to a look-up is error "3328": "Later."`},
		"search is silent":       {want: "gpsp: "},
		"search without an end":  {found: strings.Repeat(`\vr\0`, gamespy.MaxMessage), want: "gpsp: "},
		"no greeting":            {found: unknown, want: "gpcm: no greeting"},
		"banned":                 {found: unknown, greeting: `\error\\err\256\fatal\\errmsg\You are banned.\id\1\final\`, want: `"You are banned."`},
		"greeting of nothing":    {found: unknown, greeting: `\lc\1\id\1\final\`, want: "gpcm: unexpected answer to a connection"},
		"accepted login":         {found: unknown, greeting: hello, answer: `\lc\2\sesskey\1\id\1\final\`, want: "gpcm: unexpected answer to a login"},
		"another code":           {found: unknown, greeting: hello, answer: `\error\\err\260\fatal\\errmsg\No.\id\1\final\`, want: `"260"`},
		"an answer without id":   {found: unknown, greeting: hello, answer: `\error\\err\265\fatal\\errmsg\No.\final\`, want: `"265"`},
		"the login is forgotten": {found: unknown, greeting: hello, want: "gpcm: no answer to a login"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := map[string]string{"gpsp": recite(t, "", tc.found), "gpcm": recite(t, tc.greeting, tc.answer)}
			trial := &service.Trial{Game: Game, Address: func(name string) string { return address[name] }}
			err := Presence(tc.private)[0].Run(t.Context(), trial)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("presence: %v, want %q", err, tc.want)
			}
		})
	}
}
