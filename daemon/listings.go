package daemon

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"sync"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// listingStore is the part of the store that listings needs.
type listingStore interface {
	AddedServers(context.Context) iter.Seq2[storage.AddedServer, error]
	HiddenServers(context.Context) iter.Seq2[storage.HiddenServer, error]
}

// listings applies the operator's settings for single servers: which are
// queried, and which are hidden.
type listings struct {
	store  listingStore
	list   *master.Registry
	asker  service.Asker
	static func() []storage.AddedServer // of the configuration
	log    zerolog.Logger

	mu sync.Mutex // held while the store is read and applied
}

// take watches the servers that the configuration and the store name, and hides
// those that the store marks as hidden.
func (l *listings) take(ctx context.Context) error {
	if err := l.hide(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.static()
	err := eachStored(l.store.AddedServers(ctx), "servers that were added", l.damaged("added"), func(a storage.AddedServer) {
		list = append(list, a)
	})
	if err != nil {
		return err
	}
	l.asker.Name(list)
	return nil
}

// hide hides the servers that the store marks as hidden, and no others.
func (l *listings) hide(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	hidden := make(map[netip.AddrPort]bool)
	err := eachStored(l.store.HiddenServers(ctx), "servers that were hidden", l.damaged("hidden"), func(h storage.HiddenServer) {
		hidden[h.Address] = true
		l.list.Hide(h.Address)
	})
	if err != nil {
		return err
	}
	for _, a := range l.list.HiddenAddresses() {
		if !hidden[a] {
			l.list.Unhide(a)
		}
	}
	return nil
}

// check returns an error if the added and hidden servers cannot be read from
// the store.
func (l *listings) check(ctx context.Context) error {
	passOver := func(error) {}
	err := eachStored(l.store.AddedServers(ctx), "servers that were added", passOver, func(storage.AddedServer) {})
	if err != nil {
		return err
	}
	return eachStored(l.store.HiddenServers(ctx), "servers that were hidden", passOver, func(storage.HiddenServer) {})
}

// damaged returns a function that reports a damaged record.
func (l *listings) damaged(kind string) func(error) {
	return func(err error) { l.log.Warn().Err(err).Msg("a server that was " + kind + " cannot be read") }
}

// eachStored calls f with every record that can be read, and damaged for each that
// is damaged. Any other error ends it.
func eachStored[T any](records iter.Seq2[T, error], what string, damaged func(error), f func(T)) error {
	for r, err := range records {
		switch {
		case errors.Is(err, storage.ErrDamaged):
			damaged(err)
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		default:
			f(r)
		}
	}
	return nil
}
