package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// stream is an open stream of events.
type stream struct {
	t  testing.TB
	in *bufio.Scanner
}

// events opens the stream of a daemon.
func events(t testing.TB, d *running, lastID string) *stream {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", d.address["web"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	stop := context.AfterFunc(t.Context(), func() { _ = c.Close() })
	t.Cleanup(func() { stop() })
	request := "GET /api/v1/events?game=" + testGame + " HTTP/1.0\r\nHost: x\r\n"
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

// next returns id, kind and data of the next event that has data.
func (s *stream) next() (id, kind string, data struct{ ID, Name, Address, Reason string }) {
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
	d := start(t, t.TempDir())
	live := events(t, d, "")
	live.waitForPlace()
	h := register(t, d, "hostname", "\x1b[31mLive\u202e<script>")
	first, kind, data := live.next()
	if kind != "added" || data.Name != "[31mLive<script>" || data.Address != h.address().String() || data.ID != "qr2-"+strings.Replace(data.Address, ":", "-", 1) {
		t.Errorf("after a server registered: event %s %+v", kind, data)
	}
	h.heartbeat("2")
	last, kind, data := live.next()
	if kind != "removed" || data.Address != h.address().String() {
		t.Errorf("after the server said good-bye: event %s %+v", kind, data)
	}
	if _, kind, _ := events(t, d, first).next(); kind != "removed" {
		t.Errorf("a stream continued after the first event begins with %s, want removed", kind)
	}
	if _, kind, data := events(t, d, "x"+last).next(); kind != "reset" || data.Reason != "restart" {
		t.Errorf("a stream with the id of another run begins with %s %s, want reset restart", kind, data.Reason)
	}
	d.stop() // within its time although streams are open
}

func TestPathsOfTheAPIAnswer(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := register(t, d, "hostname", "Asked for", "numplayers", "3")
	id := "qr2-" + strings.Replace(h.address().String(), ":", "-", 1)
	for path, part := range map[string]string{
		"/api/v1/servers/" + id:              `"player_list":`,
		"/api/v1/servers/" + id + "/history": `"interval_seconds":300`,
		"/api/v1/servers?sort=players":       id,
		"/api/v1/games/" + testGame:          testGame + ".available.gamespy.com",
		"/api/v1/stats":                      `"servers":1,"players":3`,
		"/api/v1/openapi.json":               `"openapi"`,
	} {
		if code, body := get(t, d, "web", http.MethodGet, path, ""); code != http.StatusOK || !strings.Contains(body, part) {
			t.Errorf("GET %s: status %d, want 200 and %q in:\n%.500s", path, code, part, body)
		}
	}
	d.stop()
}

func TestProxyIsBelievedOnlyIfItIsNamed(t *testing.T) {
	t.Parallel()
	ask := func(d *running, forwarded string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.address["web"].String()+"/api/v1/stats", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", forwarded)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: hang}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	slow := []string{variable("web.rate", "1"), variable("web.burst", "2")}
	for name, tc := range map[string]struct {
		env  []string
		want int
	}{
		"no client named":     {slow, http.StatusTooManyRequests},
		"loopback is a proxy": {append(slow, variable("web.trusted_proxies", "127.0.0.1")), http.StatusOK},
	} {
		d := start(t, t.TempDir(), tc.env...)
		code := 0
		for i := range 40 { // so many that some come within a second of each other
			code = max(code, ask(d, fmt.Sprint("198.51.100.", 1+i)))
		}
		if code != tc.want {
			t.Errorf("%s: 40 visitors with a burst of 2: worst status %d, want %d", name, code, tc.want)
		}
		d.stop()
	}
}
