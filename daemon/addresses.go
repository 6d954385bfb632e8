package daemon

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/master"
)

const (
	// networksEvery is the interval at which the networks of this machine are
	// read.
	networksEvery = 30 * time.Second
	// localPause is how long new servers are collected before those that
	// players outside cannot reach get a verdict: other verdicts on them come
	// first.
	localPause = time.Second
)

// localWatch follows the networks of this machine, and notes a verdict on
// servers that all clients get under a loopback address.
type localWatch struct {
	list      *master.Registry
	addresses *advertise.Table
	verdicts  *verdicts.Log
	noting    func(*master.Origin) string // name under which verdicts are noted
	log       zerolog.Logger
	ruled     chan struct{} // of capacity 1: the rules have changed

	// The fields below belong to the goroutine of run.

	serial uint64 // of the last change that was handled
	warned bool
	buf    []master.Change
}

func newLocalWatch(list *master.Registry, addresses *advertise.Table, log *verdicts.Log, noting func(*master.Origin) string, lines zerolog.Logger) *localWatch {
	return &localWatch{list: list, addresses: addresses, verdicts: log, noting: noting, log: lines, ruled: make(chan struct{}, 1)}
}

// run watches until ctx ends. Servers are noted if beyond is set: clients on other
// machines are given their addresses.
func (w *localWatch) run(ctx context.Context, beyond bool) {
	tick := time.NewTicker(networksEvery)
	defer tick.Stop()
	for {
		var moved <-chan struct{} // nil: not watched
		if beyond {
			moved = w.list.Changed(w.serial)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.addresses.SetNetworks(hostnet.AddressesOrNone())
			continue
		case <-w.ruled:
			if beyond {
				w.review()
			}
			continue
		case <-moved:
		}
		if clock.Pause(ctx, localPause) {
			w.look()
		}
	}
}

// look notes the servers that were listed since the last call.
func (w *localWatch) look() {
	var ok bool
	if w.buf, w.serial, ok = w.list.Changes("", w.serial, w.buf[:0]); !ok {
		for _, h := range w.list.All() {
			w.note(h.Server)
		}
		return
	}
	for _, c := range w.buf {
		if c.Kind != master.Added {
			continue
		}
		if h, ok := w.list.Get(c.Key); ok { // it may have left since, or is of another node
			w.note(h)
		}
	}
}

// review notes all listed servers under the present rules.
func (w *localWatch) review() {
	out := false // at least one cannot be reached from outside
	for _, h := range w.list.All() {
		switch {
		case h.Node != "" || !h.Public.Addr().IsLoopback():
		case !w.addresses.Covers(h.Public.Addr()):
			out = true
			w.note(h.Server)
		case w.warned:
			w.verdicts.Note(w.noting(h.Origin), h.Key.Source, h.Game, verdicts.Advertised)
		}
	}
	w.warned = out
}

// setRules puts the rules of the configuration in force.
func (w *localWatch) setRules(rules []advertise.Rule) {
	if !w.addresses.SetRules(rules) {
		return
	}
	wake.Up(w.ruled)
}

func (w *localWatch) note(h *master.Server) {
	if h.Node != "" || !h.Public.Addr().IsLoopback() || w.addresses.Covers(h.Public.Addr()) {
		return
	}
	w.verdicts.Note(w.noting(h.Origin), h.Key.Source, h.Game, verdicts.OnlyHere)
	if !w.warned {
		w.warned = true
		w.log.Warn().Stringer("server", h.Public).
			Msg("game servers on this machine are listed under an address that only this machine and its network reach; set net.advertise_as to the address under which players reach this machine")
	}
}
