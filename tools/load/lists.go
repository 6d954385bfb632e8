package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
)

// What is asked for: nine fields, and three comparisons that all servers pass.
const (
	listFields = `\hostname\gametype\gamever\mapname\numplayers\maxplayers\gamemode\gamevariant\password`
	listFilter = "gametype='arena' and gamever='1.1' and numplayers>=0"
)

// browser asks for server lists, each on a connection of its own.
type browser struct {
	w    *world
	i    int
	want int // servers; below 0: any number
}

func openBrowser(_ context.Context, w *world, i int) (user, error) {
	return &browser{w: w, i: i, want: -1}, nil
}

// browse opens a connection and reads the list.
func (b *browser) browse(ctx context.Context, o serverbrowse.Option) (net.Conn, *serverbrowse.Decoder, error) {
	conn, err := dialTCP(ctx, address(groupBrowsers, b.i), b.w.daemon.at("serverbrowse"))
	if err != nil {
		return nil, nil, err
	}
	d, err := b.list(conn, o)
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	return conn, d, nil
}

// list asks for a list on a connection, deciphers it and counts its servers.
func (b *browser) list(conn net.Conn, o serverbrowse.Option) (*serverbrowse.Decoder, error) {
	req := serverbrowse.ListRequest{
		Protocol: 1, Encoding: 3, For: game, From: game, Filter: listFilter, Fields: listFields, Options: o,
	}
	_, _ = rand.Read(req.Challenge[:]) // never returns an error
	message, err := req.AppendTo(nil)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(message); err != nil {
		return nil, err
	}
	d, err := serverbrowse.NewDecoder(conn, secret, req.Challenge)
	if err != nil {
		return nil, err
	}
	reply, err := d.Reply(o)
	switch {
	case err != nil:
		return nil, err
	case reply.Error != "":
		return nil, fmt.Errorf("list refused: %q", reply.Error)
	case b.want >= 0 && len(reply.Entries) != b.want:
		return nil, errListLength
	}
	return d, nil
}

func (b *browser) do(ctx context.Context) error {
	conn, _, err := b.browse(ctx, serverbrowse.FieldsForAll)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (b *browser) close(bool) {}

// watcher stays connected after its list and is told what changes.
type watcher struct {
	conn  net.Conn
	ended chan struct{}
	err   error // what ended the updates, once ended is closed
}

func openWatcher(ctx context.Context, w *world, i int) (user, error) {
	const options = serverbrowse.FieldsForAll | serverbrowse.PushUpdates
	conn, d, err := (&browser{w: w, i: i + 1<<12, want: -1}).browse(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		_ = conn.Close()
		return nil, err
	}
	x := &watcher{conn: conn, ended: make(chan struct{})}
	go func() {
		defer close(x.ended)
		echo := []byte{0, 3, byte(serverbrowse.KindKeepalive)}
		for x.err == nil {
			var p serverbrowse.Push
			if p, x.err = d.Push(); x.err == nil && p.Kind == serverbrowse.PushKeepalive {
				_, x.err = conn.Write(echo)
			}
		}
	}()
	return x, nil
}

// do fails if the connection has ended.
func (x *watcher) do(context.Context) error {
	select {
	case <-x.ended:
		return fmt.Errorf("updates: %w", x.err)
	default:
		return nil
	}
}

func (x *watcher) close(bool) {
	_ = x.conn.Close()
	<-x.ended
}

// oldBrowser asks for lists as games from before 2004 do.
type oldBrowser struct {
	browser
	enctype int
}

func openOldBrowser(_ context.Context, w *world, i int) (user, error) {
	return &oldBrowser{browser{w, i, -1}, 2 * (i % 2)}, nil
}

func (b *oldBrowser) do(ctx context.Context) error {
	conn, err := dialTCP(ctx, address(groupOldBrowsers, b.i), b.w.daemon.at("legacylist"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var greeting [legacylist.GreetingLen]byte
	if _, err := io.ReadFull(conn, greeting[:]); err != nil {
		return err
	}
	challenge, err := legacylist.ParseGreeting(greeting[:])
	if err != nil {
		return err
	}
	r := legacylist.Request{Engine: game, Secret: secret, Enctype: b.enctype, Mode: legacylist.Compact, Game: game}
	request, err := r.AppendTo(nil, challenge)
	if err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	stream, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	list, err := r.Decode(challenge, stream)
	if err != nil {
		return err
	}
	servers, err := legacylist.ParseCompact(list)
	if err == nil && b.want >= 0 && len(servers) != b.want {
		err = errListLength
	}
	return err
}
