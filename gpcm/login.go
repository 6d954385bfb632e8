package gpcm

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

const (
	// defaultNamespace is the namespace of clients that do not send one.
	defaultNamespace = 1
	// unregistered is sent to a game whose player has no unique nick.
	unregistered = "@unregistered"
	// textOnline is the status text of a player that has not set one.
	textOnline = "Online"
)

// loginStack is the stack size that a login needs, in bytes.
const loginStack = 10 << 10

// growStack grows the stack of the goroutine to the size that a login needs
// while there is little on it. Otherwise it is copied several times during a
// login, which is a tenth of a login's cost. It shrinks by itself later.
//
//go:noinline
func growStack(i uint8) byte {
	var room [loginStack]byte
	return room[i]
}

// login is the command of that name.
func (x *session) login(ctx context.Context, r *request) error {
	growStack(0)
	err := x.checkLogin(ctx, r)
	x.noteLogin(r, err)
	return err
}

// checkLogin signs in a client with valid credentials.
func (x *session) checkLogin(ctx context.Context, r *request) error {
	n := numbers{r: r}
	proof := accounts.Proof{
		Token:           r.text("authtoken"),
		Ticket:          r.text("lt"),
		UniqueNick:      r.text("uniquenick"),
		User:            r.text("user"),
		Partner:         int(n.number("partnerid", 0, 0, storage.MaxAccountID)),
		Namespace:       int(n.number("namespaceid", defaultNamespace, 0, storage.MaxAccountID)),
		ServerChallenge: x.challenge,
		ClientChallenge: r.text("challenge"),
		Response:        r.text("response"),
		Profile:         r.profile("profileid"),
		From:            x.conn.Peer().Addr(),
	}
	status := presence.Status{
		State: presence.Online, Text: textOnline,
		Product: int(n.number("productid", 0, 0, math.MaxInt32)),
		Quiet:   n.bits("quiet"),
	}
	revision := int(n.number("sdkrevision", 0, 0, math.MaxInt32))
	if n.bad {
		return refuse(codeParse)
	}
	l, err := x.server.opt.Accounts.SignIn.CheckProof(ctx, proof)
	if err != nil {
		return err
	}
	game := strings.Clone(r.text("gamename"))
	x.who = who{
		user: l.User, profile: l.Profile.ID, key: newSessionKey(), revision: revision,
		namespace: proof.Namespace, game: game, since: time.Now(), rule: x.server.ruleOf(game),
	}
	return x.signIn(ctx, r, &l, status)
}

// newSessionKey returns a random number above 0.
func newSessionKey() int32 {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		if key := int32(binary.BigEndian.Uint32(b[:]) & math.MaxInt32); key > 0 {
			return key
		}
	}
}

// signIn registers the session with the hub, answers the login and sends
// waiting requests and messages. It looks at the account after the registration:
// one that was banned or deleted or got another password meanwhile is refused. Nothing is
// read for the login after its answer: a failure would end a session that has begun.
func (x *session) signIn(ctx context.Context, r *request, l *accounts.Login, status presence.Status) error {
	if err := x.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	_, err := x.server.opt.Hub.SignIn(ctx, x, x.rule.secondLogin, status)
	switch {
	case errors.Is(err, presence.ErrNoStore):
		x.server.troubled(err, "login refused: the other nodes cannot learn of it")
		return refuse(codeDatabase)
	case errors.Is(err, presence.ErrFull):
		return &refusal{code: codeLogin, text: "The server is full."}
	case err != nil:
		fault.Log(x.server.opt.Log, err).Err(err).Uint32("profile", uint32(x.profile)).Msg("cannot notify buddies of a login")
	}
	err = x.server.opt.Accounts.SignIn.Recheck(ctx, l)
	var requests []presence.BuddyRequest
	var lists storage.Lists
	if err == nil {
		requests, lists, err = x.waiting(ctx, status.Quiet)
	}
	if err != nil {
		x.server.opt.Hub.SignOut(ctx, x)
		return err
	}
	x.signedIn, x.status = true, status
	x.quiet.Store(status.Quiet)
	x.conn.SetState(netserve.StateProtected)
	x.debug(nil).Str("game", x.game).Int("revision", x.revision).Msg("signed in")
	if _, err := x.conn.Write(x.welcome(r, l, &lists)); err != nil {
		return errGone
	}
	x.unread.first = wantsMessages(status.Quiet)
	x.startWriting(ctx)
	x.showRequests(requests)
	x.showMessages()
	x.showBuddies(ctx, &lists)
	x.in.Rest() // most clients are silent from here on
	return nil
}

// waiting reads the open requests to the client, unless its flags refuse them, and its lists.
func (x *session) waiting(ctx context.Context, quiet uint32) (requests []presence.BuddyRequest, lists storage.Lists, err error) {
	if quiet&quietLists == 0 {
		if requests, err = x.openRequests(ctx, time.Time{}); err != nil {
			return nil, storage.Lists{}, err
		}
	}
	lists, err = x.server.opt.Store.Lists(ctx, x.profile)
	return requests, lists, err
}

// collect returns the values of a sequence, or its first error.
func collect[T any](all iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for v, err := range all {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// welcome returns the answer to a login, the lists before it.
func (x *session) welcome(r *request, l *accounts.Login, lists *storage.Lists) []byte {
	var b []byte
	if x.revision&knowsLists != 0 {
		b = appendList(b, "bdy", lists.Buddies)
		b = appendList(b, "blk", lists.Blocks)
	}
	user := l.User
	if x.rule.noUserID {
		user = 0
	}
	b = appendPair(b, "lc", "2")
	b = appendNumber(b, "sesskey", x.key)
	b = appendPair(b, "proof", l.Proof)
	b = appendNumber(b, "userid", user)
	b = appendNumber(b, "profileid", x.profile)
	switch {
	case l.UniqueNick != "":
		b = appendText(b, "uniquenick", l.UniqueNick)
	case x.namespace > 0:
		b = appendPair(b, "uniquenick", unregistered)
	}
	b = appendPair(b, "lt", x.server.opt.Accounts.Grants.IssueTicket(x.profile))
	return appendReplyEnd(b, r)
}

// appendList appends a list of ids. Clients allocate by the number.
func appendList(b []byte, name string, ids []storage.ProfileID) []byte {
	b = appendNumber(b, name, len(ids))
	b = appendPair(b, "list", "")
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(id), 10)
	}
	return appendFinal(b)
}

// showMessages has the writer send the messages that wait for the client and are
// not held.
func (x *session) showMessages() {
	if wantsMessages(x.status.Quiet) {
		x.give(presence.MessagesWaiting{})
	}
}

// wantsMessages reports whether a client with those flags is sent some kind of message.
func wantsMessages(quiet uint32) bool {
	const all = quietMessages | quietLists
	return quiet&all != all
}

// give queues an event for the client and waits for room before. It reports
// whether the session continues.
func (x *session) give(e presence.Event) bool {
	x.out.waitHalf(x.kicked)
	select {
	case <-x.kicked:
		return false
	default:
		x.out.push(item{event: e})
		return true
	}
}

// openRequests returns the open requests to the client that were made since then.
func (x *session) openRequests(ctx context.Context, since time.Time) (open []presence.BuddyRequest, err error) {
	requests, err := collect(x.server.opt.Store.Requests(ctx, x.profile))
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	now := time.Now()
	for _, q := range requests {
		if q.Expired(now) || q.Sent.Before(since) {
			continue
		}
		relation, err := x.server.opt.Store.Relation(ctx, x.profile, q.From)
		if err != nil {
			return nil, fmt.Errorf("relation: %w", err)
		}
		if !relation.Blocked() {
			open = append(open, presence.BuddyRequest{From: q.From, Reason: q.Reason, Signature: q.Signature, Sent: q.Sent})
		}
	}
	return open, nil
}

func (x *session) showRequests(open []presence.BuddyRequest) {
	for _, q := range open {
		if !x.give(q) {
			return
		}
	}
}

// showBuddies sends the client the statuses of its buddies that it may see. One that was not
// sent its list learns it from them, and so gets all.
func (x *session) showBuddies(ctx context.Context, lists *storage.Lists) {
	hub := x.server.opt.Hub
	for _, id := range lists.Buddies {
		if _, visible := slices.BinarySearch(lists.Watched, id); !visible {
			if x.revision&knowsLists == 0 && !x.give(presence.StatusChanged{From: id}) {
				break
			}
			continue
		}
		if x.revision&knowsLists != 0 {
			if _, there := hub.Status(ctx, id); !there {
				continue
			}
		}
		x.out.waitHalf(x.kicked)
		if !hub.Tell(ctx, x, id) {
			break
		}
	}
}

// newUser is the command newuser.
func (x *session) newUser(ctx context.Context, r *request) error {
	from := x.conn.Peer().Addr()
	if !x.server.mayRegister(from, time.Now()) {
		x.drop(droppedRate)
		return &refusal{code: codeNewUser, text: "Too many registrations, try again in a minute."}
	}
	n := numbers{r: r}
	registration := accounts.Registration{
		Partner:    int(n.number("partnerid", 0, 0, storage.MaxAccountID)),
		Namespace:  int(n.number("namespaceid", defaultNamespace, 0, storage.MaxAccountID)),
		Email:      r.text("email"),
		Nick:       r.text("nick"),
		UniqueNick: r.text("uniquenick"),
		From:       from,
	}
	var ok bool
	registration.Password, _, ok = r.Password()
	if n.bad || !ok {
		return refuse(codeParse)
	}
	p, err := x.server.opt.Accounts.Users.Register(ctx, registration)
	x.noteNewUser(r, err)
	if err != nil {
		return err
	}
	b := appendPair(nil, "nur", "")
	b = appendNumber(b, "userid", p.User)
	b = appendNumber(b, "profileid", p.ID)
	if _, err := x.conn.Write(appendReplyEnd(b, r)); err != nil {
		return errGone
	}
	x.early = 0
	return x.conn.SetReadDeadline(time.Now().Add(x.server.opt.LoginTime))
}
