package storagetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

const signature = "0123456789abcdef0123456789abcdef"

func ask(t *testing.T, s storage.Store, from, to storage.ProfileID, sent time.Time) storage.Request {
	t.Helper()
	r := storage.Request{From: from, To: to, Reason: "pl\xe4y?", Signature: signature, Sent: sent}
	noErr(t, s.Ask(t.Context(), r), "Ask", r)
	return r
}

func testRequestLife(t *testing.T, s storage.Store) {
	p := people(t, s, 3)
	a, b := p[0].ID, p[1].ID
	want := ask(t, s, a, b, moment())
	differ(t, "Request", must(s.Request(t.Context(), a, b))(t), want)
	differ(t, "Requests", collect(t, s.Requests(t.Context(), b)), []storage.Request{want})
	differ(t, "Requests to the sender", collect(t, s.Requests(t.Context(), a)), nil)
	noErr(t, s.Accept(t.Context(), a, b, signature, moment()))
	differ(t, "a to b", must(s.Relation(t.Context(), a, b))(t), storage.Relation{Buddy: true})
	wantErr(t, s.Accept(t.Context(), a, b, signature, moment()), storage.ErrNotFound, "second Accept()")
	wantTaken(t, "Ask() of a buddy", s.Ask(t.Context(), want), storage.IndexBuddy)
	ask(t, s, b, a, moment())
	addBuddy(t, s, b, a) // closes the request
	wantErr(t, errOf(s.Request(t.Context(), b, a)), storage.ErrNotFound, "Request() after AddBuddy")
}

func testRequestSignature(t *testing.T, s storage.Store) {
	p := people(t, s, 3)
	a, b, c := p[0].ID, p[1].ID, p[2].ID
	ask(t, s, a, b, moment())
	for name, err := range map[string]error{
		"another signature": s.Accept(t.Context(), a, b, strings.Repeat("0", 32), moment()),
		"a part":            s.Accept(t.Context(), a, b, signature[:31], moment()),
		"nothing":           s.Accept(t.Context(), a, b, "", moment()),
		"wrong profile":     s.Accept(t.Context(), a, c, signature, moment()),
		"the other way":     s.Accept(t.Context(), b, a, signature, moment()),
	} {
		if !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("Accept() with %s = %v, want ErrNotFound", name, err)
		}
	}
	differ(t, "buddies of a", must(s.Lists(t.Context(), a))(t).Buddies, nil)
	wantErr(t, s.Accept(t.Context(), a, b, signature, moment()), nil, "Accept() after all")
}

func testRequestExpiry(t *testing.T, s storage.Store) {
	p := people(t, s, 4)
	end := moment().Add(storage.RequestLife)
	for i := range 3 {
		ask(t, s, p[i].ID, p[3].ID, moment().Add(time.Duration(i-1))) // one ns early, at the instant, one ns late
	}
	wantErr(t, s.Accept(t.Context(), p[1].ID, p[3].ID, signature, end), storage.ErrNotFound, "Accept() at the end")
	wantErr(t, s.Accept(t.Context(), p[1].ID, p[3].ID, signature, end.Add(-1)), nil, "Accept() before the end")
	for _, want := range []int{1, 0} {
		differ(t, "SweepRequests()", must(s.SweepRequests(t.Context(), end))(t), want)
	}
	left := collect(t, s.Requests(t.Context(), p[3].ID))
	if len(left) != 1 || left[0].From != p[2].ID || left[0].Expired(end) {
		t.Errorf("Requests() after the sweep = %+v, want the late one", left)
	}
	wantErr(t, s.RemoveBuddy(t.Context(), p[1].ID, p[3].ID), nil, "the accepted one")
}

func testRequestReplace(t *testing.T, s storage.Store) {
	p := people(t, s, 2)
	a, b := p[0].ID, p[1].ID
	ask(t, s, a, b, moment())
	again := storage.Request{From: a, To: b, Signature: strings.Repeat("f", 32), Sent: moment().Add(time.Hour)}
	noErr(t, s.Ask(t.Context(), again))
	differ(t, "Requests", collect(t, s.Requests(t.Context(), b)), []storage.Request{again})
}

func testRequestFull(t *testing.T, s storage.Store) {
	filled(t, s)
	p := people(t, s, storage.MaxRequestsTo+2)
	me, to := p[0].ID, p[1:]
	asked := func(from, to storage.ProfileID) error {
		return s.Ask(t.Context(), storage.Request{From: from, To: to, Signature: signature, Sent: moment()})
	}
	together(t, storage.MaxRequestsToStrangers, func(i int) error { return asked(me, to[i].ID) })
	over := storage.Request{From: me, To: to[storage.MaxRequestsToStrangers].ID, Signature: signature, Sent: moment()}
	wantErr(t, s.Ask(t.Context(), over), storage.ErrFull, "Ask() of one stranger too many")
	friends := to[storage.MaxRequestsToStrangers : storage.MaxRequestsFrom+1]
	together(t, len(friends), func(i int) error { return s.AddBuddy(t.Context(), friends[i].ID, me) })
	together(t, len(friends)-1, func(i int) error { return asked(me, friends[i].ID) })
	over = storage.Request{From: me, To: to[storage.MaxRequestsFrom].ID, Signature: signature, Sent: moment()}
	wantErr(t, s.Ask(t.Context(), over), storage.ErrFull, "Ask() beyond the limit of who asks")
	ask(t, s, me, to[0].ID, moment()) // one that is there may be renewed
	together(t, len(friends), func(i int) error { return s.RemoveBuddy(t.Context(), friends[i].ID, me) })
	together(t, storage.MaxRequestsTo, func(i int) error { return asked(to[i].ID, me) })
	over = storage.Request{From: to[storage.MaxRequestsTo].ID, To: me, Signature: signature, Sent: moment()}
	wantErr(t, s.Ask(t.Context(), over), storage.ErrFull, "Ask() beyond the limit of who is asked")
	differ(t, "SweepRequests()", must(s.SweepRequests(t.Context(), moment().Add(storage.RequestLife)))(t), 700)
	ask(t, s, to[storage.MaxRequestsTo].ID, me, moment())
}

func testRequestRace(t *testing.T, s storage.Store) {
	p := people(t, s, 2)
	ask(t, s, p[0].ID, p[1].ID, moment())
	oneWon(t, race(func(int) error {
		return s.Accept(t.Context(), p[0].ID, p[1].ID, signature, moment())
	}), storage.ErrNotFound)
	differ(t, "buddies", must(s.Lists(t.Context(), p[0].ID))(t).Buddies, []storage.ProfileID{p[1].ID})
}
