package master

import (
	"maps"
	"net/netip"
	"slices"
)

// Hide hides the server under a public address until Unhide, for every origin,
// even if it is listed later. Callers that report the server do not notice it:
// Put, Touch, Update, Report, Remove, Get and At work as before, and the server
// expires as usual. List, Snapshot, Find, All, Counts and Changes leave it out.
// Hide returns false if the address was hidden already. The caller must bound
// the number of hidden addresses.
func (r *Registry) Hide(public netip.AddrPort) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, already := r.hide[public]; already {
		return false
	}
	e, listed := r.byPublicLocked(public)
	if listed {
		r.leave(e)
	}
	r.hide[public] = struct{}{}
	if listed {
		r.reenter(e)
	}
	return true
}

// Unhide undoes Hide. It returns false if the address was not hidden.
func (r *Registry) Unhide(public netip.AddrPort) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, hidden := r.hide[public]; !hidden {
		return false
	}
	e, listed := r.byPublicLocked(public)
	if listed {
		r.leave(e)
	}
	delete(r.hide, public)
	if listed {
		r.reenter(e)
	}
	return true
}

// IsHidden reports whether a public address is hidden, whether a server is there
// or not.
func (r *Registry) IsHidden(public netip.AddrPort) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, hidden := r.hide[public]
	return hidden
}

// reenter puts an entry that left its index into its new one. Its record is
// replaced by one with a new serial.
func (r *Registry) reenter(e *entry) {
	s := *e.server
	e.server = &s
	r.enter(e)
}

// Hidden returns the hidden servers that would be listed now, in no particular
// order.
func (r *Registry) Hidden() []Record {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.appendRecords(&r.hidden, nil)
}

// HiddenAddresses returns the addresses that are hidden, in no particular order,
// whether a server is there or not.
func (r *Registry) HiddenAddresses() []netip.AddrPort {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Keys(r.hide))
}

// Listed returns the record under a key as Get does, but also of a server of another
// node, and not of a hidden one. It is for callers that show the list.
func (r *Registry) Listed(k Key) (*Server, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.bySource[k.Source]
	if !ok || e.server.Key != k || e.game == &r.hidden {
		return nil, false
	}
	return e.server, true
}
