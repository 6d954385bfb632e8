package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

const (
	// networksEvery is how often the networks of this machine are looked up again.
	networksEvery = 30 * time.Second
	// localPause is how long new servers are collected before it is noted which of
	// them players outside cannot reach: other verdicts on them come first.
	localPause = time.Second
)

// advertised returns the rules of the configuration.
func advertised(cfg *services.Config) []advertise.Rule {
	var rules []advertise.Rule
	for _, a := range cfg.Advertised() {
		rules = append(rules, advertise.Rule{From: a.From, As: a.As})
	}
	return rules
}

// keepAddresses follows the networks of this machine, and notes servers whose
// address reaches too few, until ctx ends.
func (d *daemon) keepAddresses(ctx context.Context) {
	tick := time.NewTicker(networksEvery)
	defer tick.Stop()
	watch := localWatch{daemon: d}
	for {
		var moved <-chan struct{} // nil: it does not matter
		if d.beyondLoopback() {
			moved = d.registry.Changed(watch.serial)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.addresses.SetNetworks(addressesOrNone())
			continue
		case <-d.ruled:
			if d.beyondLoopback() {
				watch.review()
			}
			continue
		case <-moved:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(localPause):
		}
		watch.look()
	}
}

// beyondLoopback reports whether a service that tells addresses of servers is
// open to other machines.
func (d *daemon) beyondLoopback() bool {
	tells := []string{"serverbrowse", "legacylist", "zanmaster", "valvemaster", "ssq", "web"}
	return slices.ContainsFunc(d.services, func(s service) bool {
		at, err := netip.ParseAddrPort(fmt.Sprint(s.address))
		return slices.Contains(tells, s.name) && err == nil && !at.Addr().Unmap().IsLoopback()
	})
}

// localWatch looks for servers that are listed under a loopback address to
// everybody. It belongs to one goroutine.
type localWatch struct {
	daemon *daemon
	serial uint64 // of the last change that was looked at
	warned bool
	buf    []master.Change
}

// look notes the servers that came since the last look.
func (w *localWatch) look() {
	d := w.daemon
	var ok bool
	if w.buf, w.serial, ok = d.registry.Changes("", w.serial, w.buf[:0]); !ok {
		for _, h := range d.registry.All() {
			w.note(h.Server)
		}
		return
	}
	for _, c := range w.buf {
		if c.Kind != master.Added {
			continue
		}
		if h, ok := d.registry.Get(c.Key); ok { // it may have left since
			w.note(h)
		}
	}
}

// review notes again, under other rules, the servers that are listed.
func (w *localWatch) review() {
	d := w.daemon
	out := false // there is one that players outside cannot reach
	for _, h := range d.registry.All() {
		switch {
		case !h.Public.Addr().IsLoopback():
		case !d.addresses.Covers(h.Public.Addr()):
			out = true
			w.note(h.Server)
		case w.warned:
			d.book.Note(noting(h.Origin), h.Key.Source, h.Game, verdicts.Advertised)
		}
	}
	w.warned = out
}

// setRules puts the rules of the configuration in force.
func (d *daemon) setRules(rules []advertise.Rule) {
	if !d.addresses.SetRules(rules) {
		return
	}
	select {
	case d.ruled <- struct{}{}:
	default: // it is going to be seen
	}
}

func (w *localWatch) note(h *master.Server) {
	d := w.daemon
	if !h.Public.Addr().IsLoopback() || d.addresses.Covers(h.Public.Addr()) {
		return
	}
	d.book.Note(noting(h.Origin), h.Key.Source, h.Game, verdicts.OnlyHere)
	if !w.warned {
		w.warned = true
		d.log.Warn().Stringer("server", h.Public).
			Msg("game servers on this machine are listed under an address that only this machine and its network reach; set net.advertise_as to the address under which players reach this machine")
	}
}

// noting returns the service that notes verdicts on servers of an origin.
func noting(o master.Origin) string {
	switch o {
	case master.FromZandronum:
		return "zanmaster"
	case master.FromValve:
		return "valvemaster"
	case master.Static:
		return "probe"
	default:
		return o.String()
	}
}
