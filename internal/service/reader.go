package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
)

// ErrNoSecret reports that the list of a game cannot be read without its secret.
var ErrNoSecret = errors.New("the secret of this game is not known: `respawnd game add` sets it")

// Reader reads the list of another master in a protocol, at most about Reading.Most
// entries. It may report some and then return an error.
type Reader func(context.Context, *Reading) error

// readers are those of all protocols, by name.
var readers = make(map[string]Reader)

// MasterForm describes the entries of the configuration for masters of a protocol.
type MasterForm = configs.MasterForm

// DeclareReader is configs.DeclareMaster for a protocol with a reader.
func DeclareReader(f MasterForm, r Reader) struct{} {
	readers[f.Protocol] = r
	return configs.DeclareMaster(f)
}

// ReaderOf returns the reader of a protocol; nil: there is none.
func ReaderOf(protocol string) Reader { return readers[protocol] }

// Reading is one reading of the list of another master.
type Reading struct {
	*configs.OtherMaster

	Most  int // entries that are read
	Games *games.Catalog
	Self  string // identity of this daemon

	// Packets opens a socket that receives only from the master, and Conn connects to it.
	Packets func(context.Context) (*netclient.Packets, error)
	Conn    func(context.Context) (net.Conn, error)
	// Tell reports an entry: the protocol in which it is queried, and its game; empty: the
	// server names it.
	Tell func(a netip.AddrPort, query, game string)
}

// TellAll reports the servers of a list, also those before err, which it returns.
func (r *Reading) TellAll(list []netip.AddrPort, query, game string, err error) error {
	for _, a := range list {
		r.Tell(a, query, game)
	}
	return err
}

// Times of single answers.
const (
	readTimeout = 5 * time.Second // without an answer
	readTries   = 3
	lingerFor   = time.Second // after the last packet of a list
)

// Ask opens a socket to the master and calls ask, again if there is no answer.
func (r *Reading) Ask(ctx context.Context, ask func(context.Context, *netclient.Packets) ([]netip.AddrPort, error)) ([]netip.AddrPort, error) {
	p, err := r.Packets(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	for try := 1; ; try++ {
		list, err := ask(netclient.Bound(ctx, readTimeout), p)
		t, timed := errors.AsType[net.Error](err)
		if len(list) > 0 || try == readTries || ctx.Err() != nil || !timed || !t.Timeout() {
			if timed && t.Timeout() {
				err = fmt.Errorf("no whole answer within %v", readTimeout)
			}
			return list, err
		}
	}
}

// List requests a list of packets and reports its servers. parse is that of netclient.List.
func (r *Reading) List(ctx context.Context, request []byte, parse func([]netip.AddrPort, []byte) ([]netip.AddrPort, netclient.Part, error), query, game string) error {
	l := netclient.List{Parse: parse, Max: r.Most, Linger: lingerFor}
	list, err := r.Ask(ctx, func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
		return l.Read(ctx, p, request)
	})
	return r.TellAll(list, query, game, err)
}
