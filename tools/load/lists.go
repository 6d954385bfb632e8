package main

import (
	"cmp"
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
)

// Contents of requests: nine fields, and three comparisons that all servers pass.
const (
	listFields = `\hostname\gametype\gamever\mapname\numplayers\maxplayers\gamemode\gamevariant\password`
	listFilter = "gametype='arena' and gamever='1.1' and numplayers>=0"
)

// browser asks for server lists, each on a connection of its own.
type browser struct {
	w    *world
	i    int
	want int // servers; below 0: any number

	wait   time.Duration // for an answer; 0: timeout
	filter func() string // nil: listFilter
	bytes  int           // of the last answer, with its header
	first  time.Duration // from the dialling to the first byte of the last answer
}

// timedConn records the arrival of its first byte, and counts bytes.
type timedConn struct {
	net.Conn
	b     *browser
	began time.Time
}

func (c *timedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.b.bytes == 0 {
		c.b.first = time.Since(c.began)
	}
	c.b.bytes += n
	return n, err
}

func openBrowser(_ context.Context, w *world, i int) (user, error) {
	return &browser{w: w, i: i, want: -1}, nil
}

// browse opens a connection, reads the list and counts its servers.
func (b *browser) browse(ctx context.Context, o serverbrowse.Option) (*serverbrowse.Client, error) {
	filter, began := listFilter, time.Now()
	if b.filter != nil {
		filter = b.filter()
	}
	conn, err := dialTCP(ctx, address(groupBrowsers, b.i), b.w.daemon.at("serverbrowse"))
	if err != nil {
		return nil, err
	}
	b.bytes = 0
	c := serverbrowse.NewClient(&timedConn{conn, b, began}, secret)
	reply, err := c.List(netclient.Bound(context.Background(), cmp.Or(b.wait, timeout)), serverbrowse.NewRequest(game, filter, listFields, o))
	if err == nil && b.want >= 0 && len(reply.Entries) != b.want {
		err = errListLength
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (b *browser) do(ctx context.Context) error {
	c, err := b.browse(ctx, serverbrowse.FieldsForAll)
	if err != nil {
		return err
	}
	return c.Close()
}

func (b *browser) close(bool) {}

// taker requests lists and reads them without deciphering them, which costs far less
// than a browser does.
type taker struct {
	*browser
	size int // of a whole list that was deciphered
}

// do reads to the end of the connection, which follows the list because there can be no
// second request.
func (t *taker) do(ctx context.Context) error {
	conn, err := dialTCP(ctx, address(groupBrowsers, t.i), t.w.daemon.at("serverbrowse"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	r := serverbrowse.NewRequest(game, listFilter, listFields, serverbrowse.FieldsForAll)
	request, err := r.AppendTo(nil)
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Now().Add(cmp.Or(t.wait, timeout))); err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, conn)
	if err == nil && int(n) < t.size-t.size/8 {
		err = errListLength
	}
	return err
}

// watcher stays connected after its list and follows changes.
type watcher struct {
	*serverbrowse.Client
	ended chan struct{}
	err   error // error that ended the updates, once ended is closed
	heard atomic.Int64
}

func openWatcher(ctx context.Context, w *world, i int) (user, error) { return watch(ctx, w, i, nil) }

// watch opens a watcher with a filter of its own; nil: listFilter.
func watch(ctx context.Context, w *world, i int, filter func() string) (user, error) {
	const options = serverbrowse.FieldsForAll | serverbrowse.PushUpdates
	c, err := (&browser{w: w, i: i + 1<<12, want: -1, filter: filter}).browse(ctx, options)
	if err != nil {
		return nil, err
	}
	x := &watcher{Client: c, ended: make(chan struct{})}
	go x.follow(context.WithoutCancel(ctx)) // until it is closed
	return x, nil
}

// follow reads updates until the connection is closed.
func (x *watcher) follow(ctx context.Context) {
	defer close(x.ended)
	for x.err == nil {
		if _, x.err = x.Next(ctx); x.err == nil {
			x.heard.Add(1)
		}
	}
}

// do fails if the connection has ended.
func (x *watcher) do(context.Context) error {
	select {
	case <-x.ended:
		return x.err
	default:
		return nil
	}
}

func (x *watcher) close(bool) {
	_ = x.Close()
	<-x.ended
}

// oldBrowser asks for lists as games from before 2004 do.
type oldBrowser struct {
	browser
	enctype int
}

func openOldBrowser(_ context.Context, w *world, i int) (user, error) {
	return &oldBrowser{browser{w: w, i: i, want: -1}, 2 * (i % 2)}, nil
}

func (b *oldBrowser) do(ctx context.Context) error {
	conn, err := dialTCP(ctx, address(groupOldBrowsers, b.i), b.w.daemon.at("legacylist"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	r := legacylist.Request{Engine: game, Secret: secret, Enctype: b.enctype, Mode: legacylist.Compact, Game: game}
	servers, err := r.Ask(soon(), conn)
	if err == nil && b.want >= 0 && len(servers) != b.want {
		err = errListLength
	}
	return err
}
