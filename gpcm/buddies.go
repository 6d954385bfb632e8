package gpcm

import (
	"context"
	"errors"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// requestPause is the time after a buddy request during which further ones of
// the same player to the same receiver are not shown.
const requestPause = time.Minute

// addBuddy is the command of that name: the client asks another to be its
// buddy.
func (x *session) addBuddy(ctx context.Context, r *request) error {
	to := r.profile("newprofileid")
	switch to {
	case 0:
		return refuse(codeAddBuddyNew)
	case x.profile:
		return &refusal{code: codeAddBuddyNew, text: "You cannot be your own buddy."}
	}
	relation, err := x.server.opt.Store.Relation(ctx, x.profile, to)
	switch {
	case err != nil:
		return err
	case relation.Buddy:
		return refuse(codeAddBuddyAlready)
	case relation.Blocks:
		return refuse(codeAddBuddyBlocked)
	case relation.BlockedBy:
		return droppedBlocked // the other notices nothing, and neither does the client
	}
	if x.rule.autoAccept {
		if done, err := x.acceptMutual(ctx, to); done || err != nil {
			return err
		}
	}
	if shown, err := x.askedJustNow(ctx, to); shown || err != nil {
		return err
	}
	q := storage.Request{
		From: x.profile, To: to, Reason: requestReason(r.text("reason")),
		Signature: accounts.NewSignature(), Sent: time.Now(),
	}
	err = x.server.opt.Store.Ask(ctx, q)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return refuse(codeAddBuddyNew)
	case errors.Is(err, storage.ErrTaken):
		return refuse(codeAddBuddyAlready)
	case errors.Is(err, storage.ErrFull):
		return &refusal{code: codeAddBuddy, text: "Too many requests wait for an answer."}
	case err != nil:
		return err
	}
	if st, _ := x.server.opt.Hub.Status(ctx, to); st.Quiet&quietLists != 0 {
		return nil // it waits in the store
	}
	_, err = x.server.opt.Hub.Send(ctx, to, presence.BuddyRequest{
		From: q.From, Reason: q.Reason, Signature: q.Signature, Sent: q.Sent,
	})
	return unlessUnreachable(err)
}

// askedJustNow reports whether the client has sent a request to another profile
// within requestPause. That request is kept: its receiver has seen it, with its
// signature, or will at the next sign-in.
func (x *session) askedJustNow(ctx context.Context, to storage.ProfileID) (bool, error) {
	last, err := x.server.opt.Store.Request(ctx, x.profile, to)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	age := time.Since(last.Sent)
	return 0 <= age && age < requestPause, nil // a clock that was set back silences no player
}

// acceptMutual makes buddies of the client and a player with an open request to
// it. It returns false if there is no such request.
func (x *session) acceptMutual(ctx context.Context, other storage.ProfileID) (done bool, err error) {
	store, now := x.server.opt.Store, time.Now()
	q, err := store.Request(ctx, other, x.profile)
	if errors.Is(err, storage.ErrNotFound) || err == nil && q.Expired(now) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = store.AddBuddy(ctx, x.profile, other)
	if errors.Is(err, storage.ErrFull) {
		return true, &refusal{code: codeAddBuddy, text: "The list is full."}
	}
	if err != nil && !errors.Is(err, storage.ErrTaken) {
		return true, err
	}
	err = store.Accept(ctx, other, x.profile, q.Signature, now)
	x.server.listsChanged(x.profile)
	if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrFull) {
		return true, err
	}
	if err == nil {
		if err := x.server.authorized(ctx, other, x.profile); err != nil {
			return true, err
		}
	}
	return true, x.server.authorized(ctx, x.profile, other)
}

// authAdd is the command of that name: the client accepts a request.
func (x *session) authAdd(ctx context.Context, r *request) error {
	from := r.profile("fromprofileid")
	if from == 0 || from == x.profile {
		return refuse(codeAuthAddFrom)
	}
	relation, err := x.server.opt.Store.Relation(ctx, x.profile, from)
	switch {
	case err != nil:
		return err
	case relation.Blocks:
		return refuse(codeAuthAddBlocked)
	case relation.BlockedBy:
		return droppedBlocked
	}
	err = x.server.opt.Store.Accept(ctx, from, x.profile, r.text("sig"), time.Now())
	switch {
	case errors.Is(err, storage.ErrNotFound):
		if _, err := x.server.opt.Store.GetProfile(ctx, from); errors.Is(err, storage.ErrNotFound) {
			return refuse(codeAuthAddFrom)
		}
		return refuse(codeAuthAddSignature)
	case errors.Is(err, storage.ErrFull):
		return &refusal{code: codeAuthAdd, text: "The list of that profile is full."}
	case err != nil:
		return err
	}
	x.server.listsChanged(x.profile)
	return x.server.authorized(ctx, from, x.profile)
}

// authorized informs a profile that another accepted its request, and of that
// one's status.
func (s *Server) authorized(ctx context.Context, to, by storage.ProfileID) error {
	if err := s.notify(ctx, by, to, presence.BuddyAuthorized{From: by, Sent: time.Now(), Number: presence.NextNumber()}); err != nil {
		return err
	}
	s.opt.Hub.Show(ctx, to, by)
	return nil
}

// delBuddy is the command of that name: the client takes another profile off its list.
func (x *session) delBuddy(ctx context.Context, r *request) error {
	other := r.profile("delprofileid")
	if other == 0 {
		return refuse(codeDelBuddyNot)
	}
	err := x.server.opt.Store.RemoveBuddy(ctx, x.profile, other)
	switch {
	case missing(err):
		return refuse(codeDelBuddyNot)
	case err != nil:
		return err
	}
	x.server.listsChanged(x.profile)
	if !x.rule.symmetricDelete {
		return nil
	}
	if err := x.leaveList(ctx, other); !missing(err) {
		return err
	}
	return nil
}

// revoke is the command of that name: the client takes itself off the list of
// another profile.
func (x *session) revoke(ctx context.Context, r *request) error {
	other := r.profile("profileid")
	if other == 0 {
		return refuse(codeRevokeNot)
	}
	err := x.leaveList(ctx, other)
	if missing(err) {
		return refuse(codeRevokeNot)
	}
	return err
}

// leaveList takes the client off the list of another profile and notifies that.
func (x *session) leaveList(ctx context.Context, other storage.ProfileID) error {
	if err := x.server.opt.Store.RemoveBuddy(ctx, other, x.profile); err != nil {
		return err
	}
	x.server.listsChanged(x.profile)
	return x.server.notify(ctx, x.profile, other, presence.BuddyRevoked{From: x.profile, Sent: time.Now(), Number: presence.NextNumber()})
}

// missing reports whether an entry does not exist or is not possible.
func missing(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrInvalid)
}

// addBlock is the command of that name.
func (x *session) addBlock(ctx context.Context, r *request) error {
	other := r.profile("profileid")
	switch other {
	case 0:
		return &refusal{code: codeAddBlock, text: "There is no such profile."}
	case x.profile:
		return &refusal{code: codeAddBlock, text: "You cannot block yourself."}
	}
	err := x.server.opt.Store.AddBlock(ctx, x.profile, other)
	switch {
	case errors.Is(err, storage.ErrTaken):
		return refuse(codeAddBlockAlready)
	case errors.Is(err, storage.ErrFull):
		return &refusal{code: codeAddBlock, text: "The list is full."}
	case missing(err):
		return &refusal{code: codeAddBlock, text: "There is no such profile."}
	case err != nil:
		return err
	}
	x.server.listsChanged(x.profile)
	relation, err := x.server.opt.Store.Relation(ctx, x.profile, other)
	if err == nil && relation.BuddyOf {
		x.server.opt.Hub.Hide(ctx, other, x.profile)
	}
	return err // the client itself ignores the status of profiles that it blocks
}

// removeBlock is the command of that name.
func (x *session) removeBlock(ctx context.Context, r *request) error {
	other := r.profile("profileid")
	if other == 0 {
		return refuse(codeRemoveBlockNot)
	}
	err := x.server.opt.Store.RemoveBlock(ctx, x.profile, other)
	switch {
	case missing(err):
		return refuse(codeRemoveBlockNot)
	case err != nil:
		return err
	}
	x.server.listsChanged(x.profile)
	relation, err := x.server.opt.Store.Relation(ctx, x.profile, other)
	if err != nil || relation.BlockedBy {
		return err
	}
	if relation.BuddyOf {
		x.server.opt.Hub.Show(ctx, other, x.profile)
	}
	if relation.Buddy {
		x.server.opt.Hub.Show(ctx, x.profile, other)
	}
	return nil
}
