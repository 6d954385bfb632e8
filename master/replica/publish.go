package replica

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/master"
)

// publish publishes the changes since the last call.
func (r *Replica) publish() {
	var ok bool
	r.changes, r.serial, ok = r.opt.Registry.Changes("", r.serial, r.changes[:0])
	r.sending.Lock()
	defer r.sending.Unlock()
	w := batchWriter{r: r}
	now := time.Now()
	if ok {
		for i := range r.changes {
			w.server(r.changes[i].Key.Source, now)
		}
	} else { // too many changes at once
		own := make(map[netip.AddrPort]bool)
		for _, source := range r.opt.Registry.OwnSources(nil) {
			own[source] = true
			w.server(source, now)
		}
		for source := range r.published {
			if !own[source] {
				w.server(source, now)
			}
		}
	}
	w.flush()
}

// record returns the record that other nodes list for a server of this one.
func (r *Replica) record(source netip.AddrPort) (s *master.Server, claim uint32, ok bool) {
	s, claim, ok = r.opt.Registry.Claimed(source)
	if !ok || r.opt.Shown == nil || !s.Public.Addr().IsLoopback() && !s.Key.Source.Addr().IsLoopback() {
		return s, claim, ok
	}
	at := r.opt.Shown(s.Public)
	if at.Addr().IsLoopback() {
		return nil, 0, false
	}
	shown := *s
	shown.Public, shown.Key.Source, shown.Local = at, at, nil
	return &shown, claim, true
}

// batchWriter collects items and publishes them in batches.
type batchWriter struct {
	r *Replica
	b []byte
}

// server writes the state of a server, if it changed since it was published.
func (w *batchWriter) server(source netip.AddrPort, now time.Time) {
	r := w.r
	old, known := r.published[source]
	s, claim, ok := r.record(source)
	switch {
	case !ok && !known, ok && known && s.Serial == old.serial && s.Key.Source == old.source:
		return
	case known && (!ok || s.Key.Source != old.source):
		delete(r.published, source)
		w.begin()
		w.b = appendRemoved(w.b, old.source)
	}
	if ok {
		r.published[source] = publication{s.Serial, s.Key.Source}
		w.begin()
		w.b = appendServer(w.b, s, claim, now, r.opt.Sources[s.Origin] != nil)
	}
	r.metrics.servers.WithLabelValues("out").Inc()
	if len(w.b) >= partSize {
		w.flush()
	}
}

// begin begins a batch if there is none.
func (w *batchWriter) begin() {
	if len(w.b) == 0 {
		w.b = message{kindBatch, w.r.batches.Add(1)}.append(w.b)
	}
}

// flush publishes the batch. If it cannot be sent, the others notice that its number is
// missing.
func (w *batchWriter) flush() {
	if len(w.b) == 0 {
		return
	}
	w.r.metrics.batches.Inc()
	_ = w.r.opt.Bus.Publish(subject, w.b)
	w.b = w.b[:0]
}
