package api

import (
	"context"
	"crypto/rand"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/master"
)

const (
	// feedPause is how long changes are collected before they are sent
	// together. Changes of one server within it are one event.
	feedPause = 250 * time.Millisecond
	// maxBatchChanges and maxBatch bound a batch: entries of the change log,
	// and approximate bytes.
	maxBatchChanges = 1000
	maxBatch        = 1 << 20
	// usualEvent is the approximate size of an event in bytes.
	usualEvent = 1 << 10
	// maxCatchUp is the maximum number of missed changes that a stream is sent.
	// For more, reading the list again is less work for both sides.
	maxCatchUp = 5000
	// keptBatches and keptBytes bound the batches kept for slow streams. For a
	// stream that lags further, events are encoded separately.
	keptBatches = 64
	keptBytes   = 8 << 20
)

// batch holds the events of the list after one serial, up to another. It is shared by
// all streams and immutable but for its forms.
type batch struct {
	from, to uint64
	text     []byte
	events   []eventEnd
	spots    []spot // private addresses in the text
	forms    forms
}

// eventEnd is the end of an event in the text of a batch. An event without a game
// is for all streams.
type eventEnd struct {
	game string
	end  int
}

// feed turns the change log of the list into events, once for all streams, and
// counts the streams. Nothing is written while there are none.
type feed struct {
	lister *lister
	epoch  string // part of every event id: serials begin again with each start
	wake   chan struct{}

	mu      sync.Mutex // guards the fields below
	to      uint64     // of the newest batch
	batches []*batch   // without gaps; the last one ends at to
	moved   chan struct{}
	over    chan struct{} // closed when no more will come
	streams int
}

func newFeed(l *lister) *feed {
	return &feed{
		lister: l, epoch: strings.ToLower(rand.Text()[:8]), wake: make(chan struct{}, 1),
		moved: make(chan struct{}), over: make(chan struct{}),
	}
}

// join counts a stream and returns its serial, the newest one. Every stream that
// joined must leave.
func (f *feed) join() (at uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.streams == 0 {
		f.to, f.batches = f.lister.registry.LastSerial(), nil
		wake.Up(f.wake)
	}
	f.streams++
	return f.to
}

// leave removes a stream, and with the last one the state kept for them.
func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.streams--; f.streams == 0 {
		f.batches = nil
	}
}

// len returns the number of streams.
func (f *feed) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.streams
}

// run writes batches until ctx ends. Streams end with it.
func (f *feed) run(ctx context.Context) {
	defer close(f.over)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		if f.len() == 0 {
			select {
			case <-ctx.Done():
				return
			case <-f.wake:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-f.lister.registry.Changed(f.newest()):
		}
		pause.Reset(feedPause)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		f.advance()
	}
}

func (f *feed) newest() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.to
}

// advance writes the next batch and wakes the streams.
func (f *feed) advance() {
	from := f.newest()
	b := f.write(from, f.lister.registry.LastSerial())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.to != from || f.streams == 0 { // all streams left, and perhaps others came
		return
	}
	f.to = b.to
	f.batches = append(f.batches, b)
	for len(f.batches) > 1 && (len(f.batches) > keptBatches || f.held() > keptBytes) {
		f.batches = slices.Delete(f.batches, 0, 1)
	}
	close(f.moved)
	f.moved = make(chan struct{})
}

// held returns the bytes of text in batches. mu is held.
func (f *feed) held() (n int) {
	for _, b := range f.batches {
		n += len(b.text) + b.forms.bytes()
	}
	return n
}

// heldBytes is held for a metric.
func (f *feed) heldBytes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held()
}

// next returns the batch that begins at a serial. If there is none, wait is
// closed when there may be; it is nil if the serial is not a boundary of
// batches, and the stream has to catch up to the serial now separately.
func (f *feed) next(at uint64) (b *batch, now uint64, wait <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at == f.to {
		return nil, f.to, f.moved
	}
	i, found := slices.BinarySearchFunc(f.batches, at, func(b *batch, at uint64) int {
		switch {
		case b.from < at:
			return -1
		case b.from > at:
			return 1
		}
		return 0
	})
	if !found {
		return nil, f.to, nil
	}
	return f.batches[i], f.to, nil
}

// write encodes the changes after a serial, up to another or to as many as fit
// into a batch. If that is more than maxCatchUp, or the change log does not
// reach back, it is a reset.
func (f *feed) write(from, to uint64) *batch {
	changes, _, ok := f.lister.registry.Changes("", from, nil)
	if !ok || from > to || to-from > maxCatchUp {
		return f.reset(from, to, resetGap)
	}
	changes = changes[:min(uint64(len(changes)), to-from, maxBatchChanges)]
	for {
		b := &batch{from: from, to: from + uint64(len(changes))}
		f.encode(b, changes)
		if len(b.text) <= maxBatch || len(changes) <= 1 {
			return b
		}
		changes = changes[:len(changes)/2]
	}
}

// Reasons of a reset.
const (
	resetGap     = "gap"     // more happened than is sent afterwards
	resetRestart = "restart" // the id is of another run, or none of ours
)

// reset returns a batch after which a client has to read the list again.
func (f *feed) reset(from, to uint64, reason string) *batch {
	b := &batch{from: from, to: to}
	b.text = f.appendHead(b.text, to, "reset")
	b.text = append(b.text, `{"reason":"`+reason+"\"}\n\n"...)
	b.events = []eventEnd{{"", len(b.text)}}
	return b
}

// id returns the id of an event. A client that sends it back continues after
// it.
func (f *feed) id(serial uint64) string { return f.epoch + "-" + strconv.FormatUint(serial, 10) }

// parseID is the inverse of id.
func (f *feed) parseID(id string) (serial uint64, ok bool) {
	digits, ours := strings.CutPrefix(id, f.epoch+"-")
	serial, err := strconv.ParseUint(digits, 10, 64)
	return serial, ours && err == nil
}

// appendHead writes an event up to its data.
func (f *feed) appendHead(b []byte, serial uint64, kind string) []byte {
	b = append(b, "id: "...)
	b = append(b, f.id(serial)...)
	b = append(b, "\nevent: "...)
	b = append(b, kind...)
	return append(b, "\ndata: "...)
}

// who identifies a server in the change log; with another game it is another
// server.
type who struct {
	origin *master.Origin
	public netip.AddrPort
	game   string
}

// effect is the combined effect of several changes of a server.
type effect struct {
	who
	serial          uint64 // of the last change
	existed, exists bool
}

// effects sums changes up, in the order in which each server changed last.
func effects(changes []master.Change) []effect {
	at := make(map[who]int, len(changes))
	var out []effect
	for _, c := range changes {
		w := who{c.Origin, c.Public, c.Game}
		i, known := at[w]
		if !known {
			i = len(out)
			at[w] = i
			out = append(out, effect{who: w, existed: c.Kind != master.Added})
		}
		out[i].serial, out[i].exists = c.Serial, c.Kind != master.Removed
	}
	slices.SortFunc(out, func(a, b effect) int {
		if a.serial < b.serial {
			return -1
		}
		return 1
	})
	return out
}

// encode encodes the events of a batch. A server is sent in its present state,
// which may be newer than the change. One that left since is skipped: that
// event follows.
func (f *feed) encode(b *batch, changes []master.Change) {
	e := newEncoder(make([]byte, 0, min(len(changes)*usualEvent, maxBatch)), nil)
	rd := newReader(f.lister)
	for _, c := range effects(changes) {
		kind := master.Changed
		switch {
		case !c.existed && !c.exists:
			continue
		case !c.existed:
			kind = master.Added
		case !c.exists:
			kind = master.Removed
		}
		start := len(e.buf)
		e.buf = f.appendHead(e.buf, c.serial, kind.String())
		switch r, listed := rd.row(c.who); {
		case kind == master.Removed:
			from, to := e.appendRemoved(c.who)
			b.mark(from, to, c.public, appendHostPort)
		case listed:
			e.appendServer(r, false)
			b.mark(e.at, e.until, c.public, r.appendAddress)
		default:
			e.buf = e.buf[:start]
			continue
		}
		e.buf = append(e.buf, "\n\n"...)
		b.events = append(b.events, eventEnd{c.game, len(e.buf)})
	}
	b.text = e.buf
}

// row reads a single server.
func (rd *reader) row(w who) (*Row, bool) {
	h, ok := rd.lister.registry.FindRecord(w.public)
	if !ok || h.Origin != w.origin || h.Game != w.game {
		return nil, false
	}
	row := newRow(rd.read(h.Server), h.LastSeen)
	return &row, true
}

// appendRemoved encodes the removal of a server. It returns the start and end
// of its address in the text.
func (e *encoder) appendRemoved(w who) (from, to int) {
	b := append(e.buf, `{"id":"`...)
	b = master.AppendID(b, w.origin.Name, w.public)
	b = append(b, `","game":`...)
	b = appendString(b, w.game)
	b = append(b, ',')
	from = len(b)
	b = appendHostPort(b, w.public)
	to = len(b)
	e.buf = append(b, '}')
	return from, to
}
