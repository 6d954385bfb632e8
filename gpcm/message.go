package gpcm

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// message is the command bm.
func (x *session) message(ctx context.Context, r *request) error {
	kind, _ := r.number("bm", 0, 0, math.MaxInt32)
	quiet := uint32(quietUTMs)
	switch presence.MessageKind(kind) {
	case presence.Text:
		quiet = quietMessages
	case presence.UTM, presence.Ping, presence.Pong:
	case kindExtended:
		return refuse(codeMessageExtended)
	default:
		x.drop(droppedKind)
		return refuse(codeMessage)
	}
	to, now := r.profile("t"), time.Now()
	if to == 0 {
		return refuse(codeMessageNotBuddy)
	}
	relation, err := x.relation(ctx, to, now)
	switch {
	case err != nil:
		return err
	case !relation.Buddy && !relation.BuddyOf:
		x.server.metrics.message(messageRefused)
		return refuse(codeMessageNotBuddy)
	case relation.Blocked():
		x.server.metrics.message(messageBlocked)
		return droppedBlocked // the sender notices nothing
	}
	m := presence.Message{
		From: x.profile, Kind: presence.MessageKind(kind),
		Text: carry(r.tail, storage.MaxMessageText), Sent: now, Number: presence.NextNumber(),
	}
	x.server.inOrder(ctx, x.profile, to)
	st, there := x.server.opt.Hub.Status(ctx, to)
	reachable := there && st.Quiet&quiet == 0
	if reachable && x.dispatch(ctx, r, to, m) {
		return nil
	}
	x.settleDispatched() // those before it may be stored now
	if reachable {
		delivered, err := x.server.opt.Hub.Send(ctx, to, m)
		return x.passed(ctx, to, m, delivered, err)
	}
	if m.Kind != presence.Text {
		x.server.metrics.message(messageOffline)
		return refuse(codeMessageOffline)
	}
	return x.store(ctx, to, m, false)
}

// passed handles the result of a message to a signed-in player. It is called in the order
// of the messages.
func (x *session) passed(ctx context.Context, to storage.ProfileID, m presence.Message, delivered bool, err error) error {
	switch {
	case errors.Is(err, presence.ErrUnreachable) && m.Kind == presence.Text:
		return x.store(ctx, to, m, true)
	case errors.Is(err, presence.ErrUnreachable):
		x.server.metrics.message(messageOffline)
		return refuse(codeMessageOffline)
	case err != nil:
		return err
	case delivered:
		x.server.metrics.message(messageSent)
		return nil
	}
	if _, there := x.server.opt.Hub.Status(ctx, to); there { // but cannot take more
		x.server.metrics.message(messageRefused)
		return refuse(codeMessage)
	}
	if m.Kind != presence.Text {
		x.server.metrics.message(messageOffline)
		return refuse(codeMessageOffline)
	}
	return x.store(ctx, to, m, false)
}

// store stores a message for an offline player. again: it may have been delivered.
func (x *session) store(ctx context.Context, to storage.ProfileID, m presence.Message, again bool) error {
	kept, _ := presence.Stored(m)
	kept.Again = again
	x.server.inOrder(ctx, x.profile, to)
	if again { // also if this node stops too
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
	}
	err := x.server.opt.Hub.Leave(ctx, to, kept)
	switch {
	case errors.Is(err, storage.ErrFull):
		x.server.metrics.message(messageRefused)
		return &refusal{code: codeMessage, text: "Too many messages wait for that player."}
	case errors.Is(err, storage.ErrNotFound):
		return refuse(codeMessageNotBuddy)
	case err != nil:
		return err
	}
	x.server.metrics.message(messageStored)
	return nil
}

// restored is the inverse of presence.Stored.
func restored(m *storage.Message) presence.Event {
	switch m.Kind {
	case storage.MessageAuthorized:
		return presence.BuddyAuthorized{From: m.From, Sent: m.Sent, Number: m.Number}
	case storage.MessageRevoked:
		return presence.BuddyRevoked{From: m.From, Sent: m.Sent, Number: m.Number}
	default:
		return presence.Message{From: m.From, Kind: presence.Text, Text: m.Text, Sent: m.Sent, Number: m.Number}
	}
}

// notify sends a profile a change of its list, at once or at its next sign-in.
func (s *Server) notify(ctx context.Context, from, to storage.ProfileID, e presence.Event) error {
	s.inOrder(ctx, from, to)
	again := false
	if st, there := s.opt.Hub.Status(ctx, to); there && !held(e, st.Quiet) {
		delivered, err := s.opt.Hub.Send(ctx, to, e)
		again = errors.Is(err, presence.ErrUnreachable)
		if delivered || err != nil && !again {
			return err
		}
	}
	m, ok := presence.Stored(e)
	if !ok {
		return nil
	}
	m.Again = again
	err := s.opt.Hub.Leave(ctx, to, m)
	if errors.Is(err, storage.ErrFull) || errors.Is(err, storage.ErrNotFound) {
		return nil // the list itself is right
	}
	return err
}

// held reports whether an event must be held back for a player with those
// flags.
func held(e presence.Event, quiet uint32) bool {
	switch e := e.(type) {
	case presence.Message:
		return e.Kind == presence.Text && quiet&quietMessages != 0
	case presence.BuddyRequest, presence.BuddyAuthorized, presence.BuddyRevoked:
		return quiet&quietLists != 0
	}
	return false
}

// buddyAgain reports whether a profile is on a list again; a client would
// remove it after an old revocation.
func (s *Server) buddyAgain(ctx context.Context, owner, buddy storage.ProfileID) bool {
	relation, err := s.opt.Store.Relation(ctx, owner, buddy)
	return err == nil && relation.Buddy
}

// invite is the command pinvite. Any signed-in player may be invited.
func (x *session) invite(ctx context.Context, r *request) error {
	to := r.profile("profileid")
	product, ok := r.number("productid", -1, 0, math.MaxInt32)
	if to == 0 || !ok || product < 0 {
		return droppedValue
	}
	relation, err := x.relation(ctx, to, time.Now())
	if err != nil {
		return err
	}
	if relation.Blocked() {
		return droppedBlocked
	}
	_, err = x.server.opt.Hub.Send(ctx, to, presence.Invite{
		From: x.profile, Product: int(product), Location: strings.Clone(carry(r.tail, maxLocation)),
	})
	return unlessUnreachable(err)
}

// unlessUnreachable returns the error of Hub.Send for an event that need not arrive.
func unlessUnreachable(err error) error {
	if errors.Is(err, presence.ErrUnreachable) {
		return nil
	}
	return err
}
