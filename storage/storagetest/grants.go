package storagetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// GrantModel is a storage.Grants in memory.
type GrantModel struct {
	mu  sync.Mutex // guards the field below
	all []storage.Grant
}

var _ storage.Grants = (*GrantModel)(nil)

// AddGrant implements storage.Grants.
func (m *GrantModel) AddGrant(ctx context.Context, g storage.Grant, most int) error {
	if err := errors.Join(g.Check(), ctx.Err()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, g)
	n := 0
	for i, o := range slices.Backward(m.all) {
		if o.Profile == g.Profile && o.Kind == g.Kind {
			if n++; n > most {
				m.all = slices.Delete(m.all, i, i+1)
			}
		}
	}
	return nil
}

func (m *GrantModel) index(kind storage.GrantKind, digest [32]byte) int {
	return slices.IndexFunc(m.all, func(g storage.Grant) bool { return g.Kind == kind && g.Digest == digest })
}

// FindGrant implements storage.Grants.
func (m *GrantModel) FindGrant(ctx context.Context, kind storage.GrantKind, digest [32]byte) (storage.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.index(kind, digest)
	if i < 0 || ctx.Err() != nil {
		return storage.Grant{}, errors.Join(storage.ErrNotFound, ctx.Err())
	}
	return m.all[i], nil
}

// UseGrant implements storage.Grants.
func (m *GrantModel) UseGrant(ctx context.Context, kind storage.GrantKind, digest [32]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.index(kind, digest)
	if i < 0 || ctx.Err() != nil {
		return errors.Join(storage.ErrNotFound, ctx.Err())
	}
	if m.all[i].Once {
		m.all = slices.Delete(m.all, i, i+1)
	}
	return nil
}

// RevokeGrants implements storage.Grants.
func (m *GrantModel) RevokeGrants(ctx context.Context, id storage.ProfileID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() == nil {
		m.all = slices.DeleteFunc(m.all, func(g storage.Grant) bool { return g.Profile == id })
	}
	return ctx.Err()
}

// SweepGrants implements storage.Grants.
func (m *GrantModel) SweepGrants(ctx context.Context, now time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.all)
	if ctx.Err() == nil {
		m.all = slices.DeleteFunc(m.all, func(g storage.Grant) bool { return !now.Before(g.Expires) })
	}
	return n - len(m.all), ctx.Err()
}

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
		if err := s.AddGrant(ctx, g, 3); err != nil {
			t.Fatalf("AddGrant() = %v", err)
		}
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
		if err := s.UseGrant(ctx, storage.GrantTicket, [32]byte{3, 31: 0xff}); err != nil {
			t.Errorf("UseGrant() = %v", err)
		}
	}
	if n, err := s.SweepGrants(ctx, expires.Add(-1)); n != 0 || err != nil {
		t.Errorf("SweepGrants() before the end = %d, %v", n, err)
	}
	if err := s.RevokeGrants(ctx, 1); err != nil {
		t.Errorf("RevokeGrants() = %v", err)
	}
	if _, err := s.FindGrant(ctx, storage.GrantToken, token.Digest); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("FindGrant() of a revoked one = %v, want ErrNotFound", err)
	}
	if n, err := s.SweepGrants(ctx, expires); n != 1 || err != nil {
		t.Errorf("SweepGrants() at the end = %d, %v, want 1", n, err)
	}
	for what, bad := range map[string]func(*storage.Grant){
		"kind": func(g *storage.Grant) { g.Kind = 3 }, "profile": func(g *storage.Grant) { g.Profile = 0 },
		"challenge": func(g *storage.Grant) { g.Challenge = strings.Repeat("c", storage.MaxChallenge+1) },
	} {
		g := grant(7, 1, true)
		bad(&g)
		if err := s.AddGrant(ctx, g, 1); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("AddGrant() with a bad %s = %v, want ErrInvalid", what, err)
		}
	}
}
