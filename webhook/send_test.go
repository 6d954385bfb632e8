package webhook

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

func loopback() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }

// receive serves on loopback and returns the address.
func receive(t *testing.T, serve http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	return s.URL + "/hidden-token"
}

func TestSignature(t *testing.T) {
	seen := make(chan *http.Request, 1)
	body := make(chan []byte, 1)
	h := plain()[0]
	h.URL = receive(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("body: %v", err)
		}
		seen <- r
		body <- b
		w.WriteHeader(http.StatusAccepted)
	})
	h.Allow = loopback()
	if _, err := Try(t.Context(), h, "1.2.3"); err != nil {
		t.Fatalf("Try: %v", err)
	}
	r, b := <-seen, <-body
	stamp := r.Header.Get(HeaderTimestamp)
	if got := r.Header.Get(HeaderSignature); got != Sign(secret, stamp, b) || stamp == "" {
		t.Errorf("signature %q at %q, want that of the body", got, stamp)
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("User-Agent") != "respawnd/1.2.3" {
		t.Errorf("request %s %v", r.Method, r.Header)
	}
	if text := string(b); !strings.Contains(text, `"events":[{"type":"test","time":"`) || !strings.Contains(text, `"hook":"bot"`) {
		t.Errorf("body %s", text)
	}
}

// Made with: printf '1767225600.{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef
func TestSign(t *testing.T) {
	const want = "sha256=539b0e21b535c5201ef7d1453c0a0de4ad132293226de9018be0cfbf0092faa6"
	if got := Sign(secret, "1767225600", []byte(`{"a":1}`)); got != want {
		t.Errorf("Sign = %s, want %s", got, want)
	}
}

func TestPrivateAddresses(t *testing.T) {
	called := make(chan string, 9)
	url := receive(t, func(_ http.ResponseWriter, r *http.Request) { called <- r.Host })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(strings.TrimSuffix(url, "/hidden-token"), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "127.1.2.3", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "169.254.169.254", "10.0.0.1"} {
		h := plain()[0]
		h.URL = "http://" + host + ":" + port + "/hidden-token"
		_, err := Try(t.Context(), h, "1")
		if !errors.Is(err, ErrPrivate) {
			t.Errorf("Try(%s): %v, want %v", host, err, ErrPrivate)
		}
		if err != nil && strings.Contains(err.Error(), "hidden-token") {
			t.Errorf("Try(%s): the error says the URL: %v", host, err)
		}
	}
	if len(called) > 0 {
		t.Errorf("%s was called", <-called)
	}
	h := plain(func(h *Hook) { h.URL, h.Allow = url, loopback() })[0]
	if _, err := Try(t.Context(), h, "1"); err != nil || len(called) != 1 {
		t.Errorf("Try of an allowed address: %v, called %d times; want once", err, len(called))
	}
}

func TestTemporary(t *testing.T) {
	if temporary(ErrPrivate) {
		t.Error("a private address is tried again")
	}
	if !temporary(io.ErrUnexpectedEOF) || !temporary(context.DeadlineExceeded) {
		t.Error("an error of the network is not tried again")
	}
}

func TestPublicAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "223.255.255.1": true, "2606:4700::1111": true, "2a00::1": true, "::ffff:1.1.1.1": true,
		"127.0.0.1": false, "127.255.0.1": false, "10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "172.32.0.1": true,
		"192.168.0.1": false, "169.254.169.254": false, "169.254.170.2": false, "100.100.100.200": false, "168.63.129.16": false,
		"0.0.0.0": false, "0.1.2.3": false, "192.0.0.192": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false, "203.0.113.1": false,
		"224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "fec0::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b:1::1": false,
		"2002:7f00:1::": false, "2001:0:1::1": false, "2001:db8::1": false, "100::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("isPublic(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := 0
	other := receive(t, func(http.ResponseWriter, *http.Request) { elsewhere++ })
	for _, code := range []int{301, 302, 303, 307, 308} {
		h := plain(func(h *Hook) {
			h.URL = receive(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, code) })
			h.Allow = loopback()
		})[0]
		_, err := Try(t.Context(), h, "1")
		if e, ok := errors.AsType[*StatusError](err); !ok || e.Status != code || !strings.Contains(err.Error(), "not followed") {
			t.Errorf("Try with an answer of %d: %v, want the status", code, err)
		}
	}
	if elsewhere != 0 {
		t.Errorf("%d redirects were followed", elsewhere)
	}
}

func TestLongAnswers(t *testing.T) {
	sent := make(chan int64, 1)
	h := plain(func(h *Hook) {
		h.URL = receive(t, func(w http.ResponseWriter, _ *http.Request) {
			n, _ := io.Copy(w, io.LimitReader(endless{}, 256<<20)) // until the other side closes
			sent <- n
		})
		h.Allow = loopback()
	})[0]
	if _, err := Try(t.Context(), h, "1"); err != nil {
		t.Errorf("Try: %v", err)
	}
	if n := <-sent; n >= 256<<20 {
		t.Errorf("all %d bytes of the answer were taken", n)
	}
	h.URL = receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*maxReplyHeader))
	})
	if _, err := Try(t.Context(), h, "1"); err == nil {
		t.Error("Try with an endless header of the answer: nil, want an error")
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestSenderProxy(t *testing.T) {
	if tr := newSender(&plain()[0], "1").client.Transport.(*http.Transport); tr.Proxy != nil {
		t.Error("the transport has a proxy, which would be called in place of a checked address")
	}
}

func TestBadURL(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close() // nothing listens there any more
	for _, bad := range []string{"http://hidden-token\x7f/", "://hidden-token", s.URL + "/hidden-token"} {
		h := plain(func(h *Hook) { h.URL, h.Allow = bad, loopback() })[0]
		if _, err := Try(t.Context(), h, "1"); err == nil || strings.Contains(err.Error(), "hidden-token") {
			t.Errorf("Try(%q): %v, want an error without it", bad, err)
		}
	}
}

func TestBanInJSON(t *testing.T) {
	until := time.Date(2030, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))
	d := delivery{ID: "ID", Time: until.UTC().Truncate(time.Second), Hook: "h", Events: []Event{{
		Kind: BanAdded, Time: stamp(until),
		Ban: describeBan(storage.Ban{
			Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeLists, Reason: "\x1b[31m<b>\u202eevil", By: "cli",
			Added: until.Truncate(time.Second), Expires: until.Truncate(time.Second),
		}),
	}}}
	const want = `{"id":"ID","time":"2030-01-02T02:04:05Z","hook":"h","events":[{"type":"ban.added","time":"2030-01-02T02:04:05Z",` +
		`"ban":{"prefix":"192.0.2.0/24","scope":"lists","reason":"[31m<b>evil","by":"cli","added":"2030-01-02T02:04:05Z","expires":"2030-01-02T02:04:05Z"}}]}` + "\n"
	if got := string(d.encode()); got != want {
		t.Errorf("body:\n got %s\nwant %s", got, want)
	}
}
