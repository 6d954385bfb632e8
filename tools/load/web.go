package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// reader fetches pages and JSON over a connection that it keeps.
type reader struct {
	client *http.Client
	base   string
	paths  []string
	next   int
	number *atomic.Int64 // in the place of %23; nil: there is none
}

// webClient returns a client that speaks from an address of its own.
func webClient(from netip.Addr) *http.Client {
	d := &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: timeout}
	return &http.Client{Transport: &http.Transport{DialContext: d.DialContext}}
}

// openReader makes a visitor of all kinds of pages.
func openReader(_ context.Context, w *world, i int) (user, error) {
	return &reader{
		client: webClient(address(groupWeb, i)), base: "http://" + w.daemon.at("web").String(), next: i,
		paths: []string{
			"/", "/servers", "/servers?q=load", "/games", "/games/" + game, "/why", "/api/v1/servers",
			"/api/v1/servers?game=" + game + "&limit=50", "/api/v1/servers?q=map3", "/api/v1/games", "/api/v1/stats",
		},
	}, nil
}

func (r *reader) do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	path := r.paths[r.next%len(r.paths)]
	r.next++
	if r.number != nil {
		path = strings.Replace(path, "%23", strconv.FormatInt(r.number.Add(1), 10), 1)
	}
	body, err := get(ctx, r.client, r.base+path)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}

// get fetches an address, which the caller reads and closes.
func get(ctx context.Context, client *http.Client, url string) (io.ReadCloser, error) {
	return ask(ctx, client, url, "")
}

// ask is get in an encoding, which the caller decodes; empty: the client does.
func ask(ctx context.Context, client *http.Client, url, encoding string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if encoding != "" {
		req.Header.Set("Accept-Encoding", encoding)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s: %s", req.URL.Path, resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}

func (r *reader) close(bool) { r.client.CloseIdleConnections() }

// listener receives the events of the list as server-sent events. They are compressed,
// as browsers ask for them, and not decoded: that would cost more than the daemon does.
type listener struct {
	client *http.Client
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // how the stream ended, once ended is closed
	bytes  atomic.Int64
}

// Write counts bytes.
func (l *listener) Write(b []byte) (int, error) {
	l.bytes.Add(int64(len(b)))
	return len(b), nil
}

func openListener(ctx context.Context, w *world, i int) (user, error) {
	ctx, cancel := context.WithCancel(ctx)
	l := &listener{client: webClient(address(groupWeb, i+1<<12)), cancel: cancel, ended: make(chan struct{})}
	t := time.AfterFunc(timeout, cancel)
	body, err := ask(ctx, l.client, "http://"+w.daemon.at("web").String()+"/api/v1/events", "gzip")
	t.Stop()
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer close(l.ended)
		_, l.err = io.Copy(l, body)
		_ = body.Close()
	}()
	return l, nil
}

// do fails if the stream has ended.
func (l *listener) do(context.Context) error {
	select {
	case <-l.ended:
		return fmt.Errorf("events: %w", errors.Join(l.err, io.ErrUnexpectedEOF))
	default:
		return nil
	}
}

func (l *listener) close(bool) {
	l.cancel()
	<-l.ended
	l.client.CloseIdleConnections()
}
