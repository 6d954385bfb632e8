package gpcm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// mailboxPause is how long after a failure the mailbox of a client is read again.
const mailboxPause = 2 * time.Second

// unread is a mailbox that is not read yet: the login is under way, an earlier session is
// ending, or the database is away. Newer messages wait behind its own, within the bounds of a
// flight.
type unread struct {
	first  bool            // it was not looked into yet
	again  *time.Timer     // nil: there is nothing to read
	from   time.Time       // when it may be read
	ending <-chan struct{} // it is read after that, see endings; nil: it need not wait
	behind []presence.Event
	weight int // of behind
}

// stop ends the timer.
func (u *unread) stop() {
	if u.again != nil {
		u.again.Stop()
		u.again = nil
	}
}

// mailbox appends the waiting messages that are not held and not in flight.
// They stay in the store until they have arrived.
func (p *page) mailbox(ctx context.Context) error {
	if p.unread.again != nil && time.Now().Before(p.unread.from) || p.afterEnding() {
		return nil
	}
	messages, err := p.waiting(ctx)
	switch {
	case ctx.Err() != nil:
		return errShutdown
	case away(err):
		p.mailboxLater(err)
		return nil
	case err != nil:
		return fmt.Errorf("%w: messages: %w", errDatabase, err)
	}
	if err := p.stored(ctx, messages); err != nil {
		return err
	}
	p.unread.first = false
	p.unread.stop()
	return p.release(ctx)
}

func (p *page) waiting(ctx context.Context) ([]storage.Message, error) {
	flush, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	if err := p.server.opt.Hub.Flush(flush, p.profile); err != nil {
		return nil, err
	}
	return p.server.opt.Store.Messages(ctx, p.profile, p.now)
}

// waits reports whether newer messages wait until the mailbox has been read.
func (u *unread) waits() bool { return u.first || u.again != nil || u.ending != nil }

// afterEnding reports whether the mailbox is read later, when earlier sessions of the player
// have put back what they did not deliver.
func (p *page) afterEnding() bool {
	over := p.server.endings.over(p.profile)
	if over != nil && over != p.unread.ending {
		p.writer.Go(func() {
			select {
			case <-over:
			case <-p.kicked:
			}
			p.out.push(item{event: presence.MessagesWaiting{}})
		})
	}
	p.unread.ending = over
	return over != nil
}

// mailboxLater has the mailbox read again after a pause.
func (p *page) mailboxLater(err error) {
	level := zerolog.WarnLevel // the database is slow; nothing is lost
	if errors.Is(err, storage.ErrUnavailable) {
		level = zerolog.DebugLevel // the daemon has logged it
	}
	p.server.trouble.Line(p.server.opt.Log.WithLevel(level)).Err(err).Msg("mailbox not read, it is tried again")
	p.unread.from = time.Now().Add(mailboxPause)
	if p.unread.again == nil {
		p.unread.again = time.AfterFunc(mailboxPause, func() { p.out.push(item{event: presence.MessagesWaiting{}}) })
		return
	}
	p.unread.again.Reset(mailboxPause)
}

func (p *page) stored(ctx context.Context, messages []storage.Message) error {
	var over, again, fresh []uint64
	for i := range messages {
		m := &messages[i]
		e := restored(m)
		switch {
		case p.flight.has(m.ID) || held(e, p.quiet.Load()):
			continue
		case !p.given.add(e):
			if !p.flight.adopt(e, m.ID) {
				over = append(over, m.ID)
			}
			continue
		case m.Kind == storage.MessageRevoked && p.server.buddyAgain(ctx, p.profile, m.From):
			over = append(over, m.ID)
			continue
		}
		if err := p.track(ctx, e, m.ID); err != nil {
			return err
		}
		if m.Again {
			again = append(again, m.ID)
		} else if !m.Shown {
			fresh = append(fresh, m.ID)
		}
		if err := p.flushIfLong(); err != nil {
			return err
		}
	}
	p.removeMessages(ctx, over)
	p.messagesShown(ctx, fresh)
	return p.onceMore(ctx, again)
}

// messagesShown notes that messages of the mailbox were sent: they take no room from new ones
// until they have arrived.
func (x *session) messagesShown(ctx context.Context, ids []uint64) {
	if err := x.server.opt.Store.ShowMessages(ctx, x.profile, ids); err != nil && ctx.Err() == nil {
		x.server.troubled(err, "messages of a mailbox not marked as sent")
	}
}

// onceMore writes the page and removes messages in it from the mailbox that may have been
// delivered before: another session of the player must not send them a third time. Those
// that have not arrived in the end are put back.
func (p *page) onceMore(ctx context.Context, ids []uint64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	if p.removeMessages(ctx, ids) {
		p.flight.removed(ids)
	}
	return nil
}

// afterMailbox appends an event, or queues it while the mailbox cannot be read. If there
// is no room for more, all of them go first.
func (p *page) afterMailbox(ctx context.Context, e presence.Event) error {
	if r := presence.ReceiptOf(e); r != nil && !p.given.add(e) {
		r.Settle()
		return nil
	}
	u := &p.unread
	if !u.waits() || !tracked(e) {
		return p.track(ctx, e, 0)
	}
	weight := item{event: e}.weight()
	if len(u.behind) < maxFlight && u.weight+weight <= maxFlightWeight {
		u.behind, u.weight = append(u.behind, e), u.weight+weight
		return nil
	}
	if err := p.release(ctx); err != nil {
		return err
	}
	return p.track(ctx, e, 0)
}

// release appends the events that waited behind the mailbox.
func (p *page) release(ctx context.Context) error {
	u := &p.unread
	for len(u.behind) > 0 {
		if err := p.track(ctx, u.behind[0], 0); err != nil {
			return err
		}
		u.behind = u.behind[1:]
		if err := p.flushIfLong(); err != nil {
			return err
		}
	}
	u.behind, u.weight = nil, 0
	return nil
}
