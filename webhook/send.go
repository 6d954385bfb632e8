package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/respawnd/respawnd/internal/cacerts"
)

// Bounds of a request.
const (
	requestTimeout = 15 * time.Second
	tlsTimeout     = 5 * time.Second
	maxReplyHeader = 16 << 10
	maxReply       = 4 << 10 // of the body, which is discarded
)

// StatusError reports an answer with a status other than 2xx.
type StatusError struct {
	Status int
	Code   int           // that Discord gives in addition to a status message; else 0
	After  time.Duration // pause that the response requests; 0: none
}

// Error implements error.
func (e *StatusError) Error() string {
	text := "answered " + strconv.Itoa(e.Status)
	if e.Status/100 == 3 {
		text += ": redirects are not followed"
	}
	return text
}

// temporary reports whether another attempt may succeed.
func temporary(err error) bool {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Status == http.StatusTooManyRequests || e.Status/100 == 5
	}
	return !errors.Is(err, ErrPrivate)
}

// sender makes the requests of one hook.
type sender struct {
	hook   *Hook
	agent  string
	client *http.Client
}

// newSender returns a sender. version is that of the daemon.
func newSender(h *Hook, version string) *sender {
	return &sender{
		hook: h, agent: "respawnd/" + version,
		client: &http.Client{
			Timeout:       requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext:            dialer(h.Allow).DialContext, // and no Proxy
				TLSHandshakeTimeout:    tlsTimeout,
				MaxResponseHeaderBytes: maxReplyHeader,
				DisableKeepAlives:      true, // requests are rare, and every one is checked again
				ForceAttemptHTTP2:      true,
			},
		},
	}
}

// request is a delivery: the same in each attempt, but for the time.
type request struct {
	id   string
	body []byte
}

// compose returns the request for the first events of a list, and their number,
// at least one.
func (s *sender) compose(events []Event, now time.Time) (r request, sent int) {
	r.id = rand.Text()
	if s.hook.Format == Discord {
		r.body, sent = encodeDiscord(events)
		return r, sent
	}
	r.body = delivery{ID: r.id, Time: now.UTC().Truncate(time.Second), Hook: s.hook.Name, Events: events}.encode()
	return r, len(events)
}

var errNoAddress = errors.New("not an address that can be called")

// send makes one attempt. Its errors hold neither the URL nor the secret.
func (s *sender) send(ctx context.Context, r request, now time.Time) error {
	header := make(http.Header)
	if s.hook.Format == JSON {
		stamp := strconv.FormatInt(now.Unix(), 10)
		header.Set(HeaderTimestamp, stamp)
		header.Set(HeaderSignature, Sign(s.hook.Secret, stamp, r.body))
	}
	_, err := s.do(ctx, http.MethodPost, s.hook.URL, header, r.body, maxReply)
	return err
}

// do makes a request and returns up to most bytes of its answer, with an error too.
func (s *sender) do(ctx context.Context, method, to string, header http.Header, body []byte, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, errNoAddress
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.agent)
	cacerts.Ready()
	resp, err := s.client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // e itself contains the URL
		}
		return nil, err
	}
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, most)) // what is cut off counts as what it is
	_ = resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return answer, nil
	}
	return answer, &StatusError{Status: resp.StatusCode, After: retryAfter(resp.Header.Get("Retry-After"))}
}

// retryAfter parses a number of seconds; 0 if it is invalid.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxWait.Seconds()) * float64(time.Second))
}

// Try sends one event of kind Test and returns how long the receiver took.
func Try(ctx context.Context, h Hook, version string) (took time.Duration, err error) {
	began := time.Now()
	s := newSender(&h, version)
	r, _ := s.compose([]Event{{Kind: Test, Time: began.UTC().Truncate(time.Second)}}, began)
	if err := s.send(ctx, r, began); err != nil {
		return 0, fmt.Errorf("webhook %s: %w", h.Name, err)
	}
	return time.Since(began), nil
}

// ErrPrivate means that the name of a hook leads to an address that is not public
// and not allowed.
var ErrPrivate = errors.New("not a public address, and not in its list allow")

const dialTimeout = 5 * time.Second

// dialer returns a dialer that refuses addresses that are neither public nor
// allowed. It checks the address of the connection itself, so that a name
// cannot resolve to another address between check and connection.
func dialer(allow []netip.Prefix) *net.Dialer {
	return &net.Dialer{
		Timeout: dialTimeout,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return ErrPrivate
			}
			a := ap.Addr().WithZone("").Unmap()
			if isPublic(a) || slices.ContainsFunc(allow, func(p netip.Prefix) bool { return p.Contains(a) }) {
				return nil
			}
			return ErrPrivate // the dialer names the address
		},
	}
}

// isPublic reports whether an address is one of the public internet: global
// unicast, and not in a block that is set apart for something else.
func isPublic(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(specialBlocks(), func(p netip.Prefix) bool { return p.Contains(a) })
}

// specialBlocks are the blocks that look global but are not (168.63.129.16 is a
// metadata service for virtual machines), or that embed an IPv4 address that is
// not checked.
func specialBlocks() []netip.Prefix {
	blocks := []string{
		"0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
		"3fff::/20", "5f00::/16", "fec0::/10",
	}
	out := make([]netip.Prefix, len(blocks))
	for i, b := range blocks {
		out[i] = netip.MustParsePrefix(b)
	}
	return out
}
