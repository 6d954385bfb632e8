package gpcm

import (
	"context"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// messageCommand is the command that need not wait for the ones of its name before it.
const messageCommand = "bm"

// maxDispatched is the number of messages of one client that may be on their way to other
// nodes at a time.
const maxDispatched = 32

// dispatched is the messages of a client whose receivers' nodes have not answered yet. It
// is used by the session's goroutine.
type dispatched struct {
	room chan struct{}     // has a token for each; nil: there never was one
	last *presence.Passage // nil: there is none
	done chan struct{}     // closed when the last one is settled
}

// dispatch sends a message on its way to another node, and reports whether it did. Its result is handled
// after the results before it.
func (x *session) dispatch(ctx context.Context, r *request, to storage.ProfileID, m presence.Message) bool {
	d := &x.dispatched
	select {
	case <-d.done:
		d.last, d.done = nil, nil
	default:
	}
	p := x.server.opt.Hub.Dispatch(to, m, d.last)
	if p == nil {
		return false
	}
	if d.room == nil {
		d.room = make(chan struct{}, maxDispatched)
	}
	d.room <- struct{}{} // it is given back within the time of an answer
	answered := &request{id: r.id, hasID: r.hasID}
	before, done := d.done, make(chan struct{})
	d.last, d.done = p, done
	go func() {
		defer close(done)
		defer func() { <-d.room }()
		defer x.containPanic()
		delivered, err := p.Wait()
		if before != nil {
			<-before
		}
		err = x.answer(x.server.commands[messageCommand], answered, x.passed(ctx, to, m, delivered, err))
		if err != nil {
			x.Kick(err)
		}
	}()
	return true
}

// settleDispatched waits until every message is delivered, stored or refused.
func (x *session) settleDispatched() {
	d := &x.dispatched
	if d.done != nil {
		<-d.done
		d.last, d.done = nil, nil
	}
}
