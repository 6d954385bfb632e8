package storagetest

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// RunGrants runs the contract of storage.Grants. open returns an empty store that
// closes itself with the test that it is given.
func RunGrants(t *testing.T, open func(t *testing.T) storage.Grants) {
	t.Helper()
	s := open(t)
	ctx := t.Context()
	expires := time.Unix(1000, 5).UTC()
	grant := func(n byte, profile storage.ProfileID, once bool) storage.Grant {
		return storage.Grant{Kind: storage.GrantTicket, Digest: [32]byte{n, 31: 0xff}, Profile: profile, Challenge: "c", Expires: expires, Once: once}
	}
	add := func(g storage.Grant) {
		t.Helper()
		noErr(t, s.AddGrant(ctx, g, 3))
	}
	for n := range byte(5) {
		add(grant(n, 1, n%2 == 0))
	}
	token := grant(9, 1, true)
	token.Kind = storage.GrantToken
	add(token)
	add(grant(6, 2, true))
	for n, there := range map[byte]bool{0: false, 1: false, 2: true, 3: true, 4: true, 6: true, 9: false} {
		got, err := s.FindGrant(ctx, storage.GrantTicket, [32]byte{n, 31: 0xff})
		if want := grant(n, got.Profile, n%2 == 0); there && (err != nil || got != want) || !there && !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("FindGrant(%d) = %+v, %v, want %v", n, got, err, there)
		}
	}
	var all sync.WaitGroup
	var used atomic.Int32
	for range racers {
		all.Go(func() {
			switch err := s.UseGrant(ctx, storage.GrantTicket, [32]byte{4, 31: 0xff}); {
			case err == nil:
				used.Add(1)
			case !errors.Is(err, storage.ErrNotFound):
				t.Errorf("UseGrant() = %v", err)
			}
		})
	}
	all.Wait()
	if used.Load() != 1 {
		t.Errorf("a grant was used %d times, want once", used.Load())
	}
	for range 2 { // this one is valid more than once
		wantErr(t, s.UseGrant(ctx, storage.GrantTicket, [32]byte{3, 31: 0xff}), nil, "UseGrant()")
	}
	differ(t, "SweepGrants() before the end", must(s.SweepGrants(ctx, expires.Add(-1)))(t), 0)
	wantErr(t, s.RevokeGrants(ctx, 1), nil, "RevokeGrants()")
	wantErr(t, errOf(s.FindGrant(ctx, storage.GrantToken, token.Digest)), storage.ErrNotFound, "FindGrant() of a revoked one")
	differ(t, "SweepGrants() at the end", must(s.SweepGrants(ctx, expires))(t), 1)
	for what, bad := range map[string]func(*storage.Grant){
		"kind": func(g *storage.Grant) { g.Kind = 3 }, "profile": func(g *storage.Grant) { g.Profile = 0 },
		"challenge": func(g *storage.Grant) { g.Challenge = strings.Repeat("c", storage.MaxChallenge+1) },
	} {
		g := grant(7, 1, true)
		bad(&g)
		wantErr(t, s.AddGrant(ctx, g, 1), storage.ErrInvalid, "AddGrant() with a bad %s", what)
	}
}
