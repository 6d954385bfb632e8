package probe

import (
	"context"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
)

// Status is the status that a server reports.
type Status = query.Status

// maxKept bounds the answers that are kept for reuse.
const maxKept = 1024

// waiting is for callers that wait for the end of a visit.
type waiting struct {
	done   chan struct{} // closed once the fields below are set
	status query.Status
	err    error
}

// finish delivers the result of a visit; a nil w has no waiting callers.
func (w *waiting) finish(st query.Status, err error) {
	if w != nil {
		w.status, w.err = st, err
		close(w.done)
	}
}

// answers are kept for a few seconds.
type answers map[netip.AddrPort]kept

type kept struct {
	status query.Status
	at     time.Time
}

func newAnswers() answers { return make(answers) }

func (a answers) put(from netip.AddrPort, st query.Status, now time.Time) {
	for old := range a {
		if len(a) < maxKept {
			break
		}
		delete(a, old)
	}
	a[from] = kept{st, now}
}

func (a answers) get(from netip.AddrPort, now time.Time) (query.Status, bool) {
	k, ok := a[from]
	return k.status, ok && now.Sub(k.at) < fresh
}

func (a answers) sweep(now time.Time) {
	for from, k := range a {
		if now.Sub(k.at) >= fresh {
			delete(a, from)
		}
	}
}

// Status returns the status of the listed server with a public address: at most
// ten seconds old or, if its protocol forbids a query so soon, from the list.
// Concurrent callers for the same server share one visit. It waits for the
// answer or until ctx ends. The caller must not modify the slices of the
// status. The error is master.ErrNotListed, ErrForbidden, ErrUnknownProtocol,
// ErrBusy, ErrNotServing, ErrNoAnswer, ErrTooMuch, ErrTooSoon, ErrBanned or
// that of ctx.
func (p *Prober) Status(ctx context.Context, public netip.AddrPort) (Status, error) {
	srv, ok := p.opt.Registry.Find(public)
	if !ok {
		return Status{}, master.ErrNotListed
	}
	at := public
	if srv.Origin.AtSource {
		at = srv.Key.Source
	}
	if !p.may(at) {
		return Status{}, ErrForbidden
	}
	w, st, err := p.join(srv, at, time.Now())
	if w == nil {
		return st, err
	}
	select {
	case <-w.done:
		return w.status, w.err
	case <-ctx.Done():
		return Status{}, ctx.Err()
	}
}

// talkFor begins a talk with a listed server. p.mu is held.
func (p *Prober) talkFor(srv *master.Server, t *target) (talk, Protocol) {
	if t != nil && t.wanted() {
		return newTalk(t.protocol(), true), t.protocol()
	}
	known, err := ParseProtocol(srv.QueryProtocol())
	own := srv.Origin.Query != ""
	switch {
	case err != nil && own:
		return nil, 0
	case err != nil, known == GS3 && !own:
		return newGameSpyTalk(query.Binary, query.Text), GS3
	case known == GS3 && own:
		if g, _ := p.opt.Games.Lookup(srv.Game); g.QueryChallenge() {
			return newGameSpyTalk(query.BinaryChallenged), GS3
		}
		return newGameSpyTalk(query.Binary), GS3
	default:
		return newTalk(known, true), known
	}
}

// join returns the open visit to a server, after beginning one if there is
// none. It returns nil if there is an answer already, or the server cannot be
// queried.
func (p *Prober) join(srv *master.Server, at netip.AddrPort, now time.Time) (*waiting, Status, error) {
	p.mu.Lock()
	if st, ok := p.kept.get(at, now); ok {
		p.mu.Unlock()
		return nil, st, nil
	}
	t := p.table.targets[at]
	if t != nil && t.visit != nil {
		if t.wait == nil {
			t.wait = &waiting{done: make(chan struct{})}
		}
		w := t.wait
		p.mu.Unlock()
		return w, Status{}, nil
	}
	conn := p.conn
	tk, protocol := p.talkFor(srv, t)
	if st, done, err := p.cannot(srv, t, tk, protocol, now); done {
		p.mu.Unlock()
		return nil, st, err
	}
	t = p.table.get(at, now)
	t.wait = &waiting{done: make(chan struct{})}
	w := t.wait
	p.visit(t, tk, protocol, now)
	out := p.out
	p.out = nil
	p.mu.Unlock()
	p.send(conn, out)
	return w, Status{}, nil
}

// cannot returns the result if a server cannot be queried now. p.mu is held.
func (p *Prober) cannot(srv *master.Server, t *target, tk talk, protocol Protocol, now time.Time) (st Status, done bool, err error) {
	switch {
	case tk == nil:
		return Status{}, true, ErrUnknownProtocol
	case p.conn == nil:
		return Status{}, true, ErrNotServing
	case t != nil && !t.asked.IsZero() && now.Sub(t.asked) < protocol.least():
		if t.silent > 0 {
			return Status{}, true, ErrNoAnswer
		}
		return recorded(srv), true, nil
	case p.table.visits >= p.maxOpen || !p.rate.AllowN(now, 1):
		p.metrics.refused(refusedBusy)
		return Status{}, true, ErrBusy
	}
	return Status{}, false, nil
}

func recorded(srv *master.Server) Status {
	var st Status
	for name, value := range srv.Rules.All() {
		st.Rules = append(st.Rules, query.Field{Name: name, Value: value})
	}
	table := func(t master.Table) (out query.Table) {
		for c := range t.Columns() {
			out.Columns = append(out.Columns, t.Names().Name(c))
		}
		for r := range t.Rows() {
			row := make([]string, len(out.Columns))
			for c := range row {
				row[c] = t.Value(r, c)
			}
			out.Rows = append(out.Rows, row)
		}
		return out
	}
	st.Players, st.Teams = table(srv.Players), table(srv.Teams)
	return st
}
