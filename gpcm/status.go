package gpcm

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
)

// Kinds of events that a player can suppress.
const (
	quietMessages = 1
	quietUTMs     = 2
	quietLists    = 4 // requests, authorisations, revocations
)

// maxState is the highest state of a status. The clients' library defines 0 to
// 5, games use higher ones.
const maxState = 255

// setStatus is the command status.
func (x *session) setStatus(ctx context.Context, r *request) error {
	state, ok := r.number("status", -1, 0, maxState)
	if !ok || state < 0 {
		return refuse(codeStatus)
	}
	next := x.status
	next.State, next.Rich = presence.State(state), nil
	next.Text = carry(r.text("statstring"), maxStatusText)
	next.Location = carry(r.text("locstring"), maxStatusText)
	return x.change(ctx, next)
}

// setRichStatus is the command statusinfo.
func (x *session) setRichStatus(ctx context.Context, r *request) error {
	n := numbers{r: r}
	state := n.number("state", -1, 0, maxState)
	rich := presence.Rich{
		HostIP:      n.bits("hostip"),
		PrivateIP:   n.bits("hprivip"),
		QueryPort:   int(n.number("qport", 0, 0, math.MaxUint16)),
		HostPort:    int(n.number("hport", 0, 0, math.MaxUint16)),
		Flags:       n.bits("sessflags"),
		Text:        carry(r.text("richstatus"), maxStatusText),
		GameType:    carry(r.text("gametype"), maxGameText),
		GameVariant: carry(r.text("gamevariant"), maxGameText),
		GameMap:     carry(r.text("gamemapname"), maxGameText),
	}
	if n.bad || state < 0 {
		return refuse(codeStatus)
	}
	next := x.status
	next.State, next.Rich = presence.State(state), &rich
	next.Text, next.Location = rich.Text, ""
	return x.change(ctx, next)
}

func (x *session) change(ctx context.Context, next presence.Status) error {
	next.Text, next.Location = strings.Clone(next.Text), strings.Clone(next.Location)
	if next.Rich != nil {
		r := *next.Rich
		for _, s := range []*string{&r.Text, &r.GameType, &r.GameVariant, &r.GameMap} {
			*s = strings.Clone(*s) // the stored value is larger
		}
		next.Rich = &r
	}
	err := x.server.opt.Hub.SetStatus(ctx, x, next)
	if errors.Is(err, presence.ErrNotSignedIn) {
		return nil // displaced; the end is on its way
	}
	x.status = next
	x.quiet.Store(next.Quiet)
	return err
}

// setQuiet is the command quiet. Suppressed events are delivered when it is cleared.
func (x *session) setQuiet(ctx context.Context, r *request) error {
	flags, ok := r.bits("quiet")
	if !ok {
		x.drop(droppedValue)
		return nil
	}
	was, since := x.status.Quiet, x.quietSince
	if was&quietLists == 0 && flags&quietLists != 0 {
		x.quietSince = time.Now()
	}
	next := x.status
	next.Quiet = flags
	if err := x.change(ctx, next); err != nil {
		return err
	}
	if was&quietLists != 0 && flags&quietLists == 0 {
		open, err := x.openRequests(ctx, since)
		if err != nil {
			return err
		}
		x.showRequests(open)
	}
	if was&^flags&(quietMessages|quietLists) != 0 {
		x.showMessages()
	}
	return nil
}

// inviteTo is the command inviteto: the products that the client can be invited
// to.
func (x *session) inviteTo(ctx context.Context, r *request) error {
	var products []int
	for word := range strings.SplitSeq(r.text("products"), ",") {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n < 0 || slices.Contains(products, int(n)) {
			continue
		}
		if products = append(products, int(n)); len(products) == presence.MaxInvitable {
			break
		}
	}
	err := x.server.opt.Hub.SetInvitable(ctx, x, products)
	if errors.Is(err, presence.ErrNotSignedIn) {
		return nil
	}
	return err
}
