package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

// stream is an open stream of events.
type stream struct {
	t  testing.TB
	in *bufio.Scanner
}

// events opens the stream of a daemon.
func events(t testing.TB, d *rig.Running, lastID string) *stream {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", d.Address["web"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	stop := context.AfterFunc(t.Context(), func() { _ = c.Close() })
	t.Cleanup(func() { stop() })
	request := "GET /api/v1/events?game=" + rig.TestGame + " HTTP/1.0\r\nHost: x\r\n"
	if lastID != "" {
		request += "Last-Event-ID: " + lastID + "\r\n"
	}
	if _, err := c.Write([]byte(request + "\r\n")); err != nil {
		t.Fatal(err)
	}
	s := &stream{t: t, in: bufio.NewScanner(c)}
	if line := s.line(); line != "HTTP/1.0 200 OK" {
		t.Fatalf("GET /api/v1/events: %q, want 200", line)
	}
	for s.line() != "" {
	}
	return s
}

func (s *stream) line() string {
	s.t.Helper()
	if !s.in.Scan() {
		s.t.Fatalf("the stream ended: %v", s.in.Err())
	}
	return s.in.Text()
}

// MustNext returns id, kind and data of the next event that has data.
func (s *stream) MustNext() (id, kind string, data struct{ ID, Name, Address, Reason string }) {
	s.t.Helper()
	for {
		name, value, _ := strings.Cut(s.line(), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			if err := json.Unmarshal([]byte(value), &data); err != nil {
				s.t.Fatalf("event %s: %v", value, err)
			}
			return id, kind, data
		}
	}
}

// waitForPlace reads until the stream is subscribed to the list.
func (s *stream) waitForPlace() {
	s.t.Helper()
	for !strings.HasPrefix(s.line(), "id: ") {
	}
}

func TestEventsOfTheDaemonFollowGameServers(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	live := events(t, d, "")
	live.waitForPlace()
	h := rig.Register(t, d, "hostname", "\x1b[31mLive\u202e<script>")
	first, kind, data := live.MustNext()
	if kind != "added" || data.Name != "[31mLive<script>" || data.Address != h.Address().String() || data.ID != "qr2-"+strings.Replace(data.Address, ":", "-", 1) {
		t.Errorf("after a server registered: event %s %+v", kind, data)
	}
	h.MustHeartbeat("2")
	last, kind, data := live.MustNext()
	if kind != "removed" || data.Address != h.Address().String() {
		t.Errorf("after the server said good-bye: event %s %+v", kind, data)
	}
	if _, kind, _ := events(t, d, first).MustNext(); kind != "removed" {
		t.Errorf("a stream continued after the first event begins with %s, want removed", kind)
	}
	if _, kind, data := events(t, d, "x"+last).MustNext(); kind != "reset" || data.Reason != "restart" {
		t.Errorf("a stream with the id of another run begins with %s %s, want reset restart", kind, data.Reason)
	}
	d.Stop() // within its time although streams are open
}

func TestPathsOfTheAPIAnswer(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.Register(t, d, "hostname", "Asked for", "numplayers", "3")
	id := "qr2-" + strings.Replace(h.Address().String(), ":", "-", 1)
	for path, part := range map[string]string{
		"/api/v1/servers/" + id:              `"player_list":`,
		"/api/v1/servers/" + id + "/history": `"interval_seconds":300`,
		"/api/v1/servers?sort=players":       id,
		"/api/v1/games/" + rig.TestGame:      rig.TestGame + ".available.gamespy.com",
		"/api/v1/stats":                      `"servers":1,"players":3`,
		"/api/v1/openapi.json":               `"openapi"`,
	} {
		if code, body := rig.Get(t, d, "web", http.MethodGet, path, ""); code != http.StatusOK || !strings.Contains(body, part) {
			t.Errorf("GET %s: status %d, want 200 and %q in:\n%.500s", path, code, part, body)
		}
	}
	d.Stop()
}

func TestProxyIsBelievedOnlyIfItIsNamed(t *testing.T) {
	t.Parallel()
	ask := func(d *rig.Running, forwarded string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.Address["web"].String()+"/api/v1/stats", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", forwarded)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: rig.Hang}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	slow := []string{rig.Variable("web.rate", "1"), rig.Variable("web.burst", "2")}
	for name, tc := range map[string]struct {
		env  []string
		want int
	}{
		"no client named":     {slow, http.StatusTooManyRequests},
		"loopback is a proxy": {append(slow, rig.Variable("web.trusted_proxies", "127.0.0.1")), http.StatusOK},
	} {
		d := rig.Start(t, t.TempDir(), tc.env...)
		code := 0
		for i := range 40 { // so many that some come within a second of each other
			code = max(code, ask(d, fmt.Sprint("198.51.100.", 1+i)))
		}
		if code != tc.want {
			t.Errorf("%s: 40 visitors with a burst of 2: worst status %d, want %d", name, code, tc.want)
		}
		d.Stop()
	}
}
