package records

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
)

// Each change of a table that daemons hold in memory is seen in its revision, also from
// another node, and in no other. It is reported once.
func TestRevisions(t *testing.T) {
	s, eng := sharedStore(t)
	var reported []string
	s.OnChange(func(table string, err error) { reported = append(reported, fmt.Sprint(table, err)) })
	other := Shared{New(eng, Options{Shared: true, Node: "other"})}
	now := time.Now()
	prefix := netip.MustParsePrefix("192.0.2.0/24")
	rule := storage.ChatRuleKey{Kind: storage.ChatBan, Prefix: prefix}
	key := storage.ProductKeyID{Product: 7, Hash: "0123456789abcdef0123456789abcdef"}
	patch := storage.PatchID{Product: 7, Version: "1.0"}
	address := netip.MustParseAddrPort("192.0.2.1:27015")
	var room storage.Room
	for _, step := range []struct {
		table string
		do    func(ctx context.Context) error
	}{
		{storage.TableBans, func(ctx context.Context) error {
			return s.AddBan(ctx, storage.Ban{Prefix: prefix, Scope: storage.ScopeAll, Added: now, Expires: now.Add(-time.Hour)})
		}},
		{storage.TableBans, func(ctx context.Context) error { _, err := s.SweepBans(ctx, now); return err }},
		{storage.TableChatRules, func(ctx context.Context) error {
			return s.PutChatRule(ctx, storage.ChatRule{ChatRuleKey: rule, Added: now})
		}},
		{storage.TableChatRules, func(ctx context.Context) error { return s.RemoveChatRule(ctx, rule) }},
		{storage.TableGames, func(ctx context.Context) error {
			return s.SetGames(ctx, []storage.Game{{Name: "mygame", Doc: []byte("[{name: mygame}]"), Changed: now}})
		}},
		{storage.TableGames, func(ctx context.Context) (err error) {
			room, err = s.PutRoom(ctx, storage.Room{Game: "mygame", Name: "Lobby"})
			return err
		}},
		{storage.TableGames, func(ctx context.Context) error { return s.DeleteRoom(ctx, room.ID) }},
		{storage.TableGames, func(ctx context.Context) error { return s.DeleteGame(ctx, "mygame") }},
		{storage.TableListings, func(ctx context.Context) error {
			return s.AddServer(ctx, storage.AddedServer{Protocol: "a2s", Address: address.String(), Added: now})
		}},
		{storage.TableListings, func(ctx context.Context) error { return s.RemoveAddedServer(ctx, address.String()) }},
		{storage.TableListings, func(ctx context.Context) error {
			return s.HideServer(ctx, storage.HiddenServer{Address: address, Added: now})
		}},
		{storage.TableListings, func(ctx context.Context) error { return s.UnhideServer(ctx, address) }},
		{storage.TableNews, func(ctx context.Context) error {
			return s.PutMotd(ctx, storage.Motd{Game: "mygame", Text: "Hello", Set: now})
		}},
		{storage.TableNews, func(ctx context.Context) error { return s.RemoveMotd(ctx, "mygame") }},
		{storage.TableNews, func(ctx context.Context) error {
			return s.PutPatch(ctx, storage.Patch{PatchID: patch, Name: "1.1", URL: "https://example.org/p", Added: now})
		}},
		{storage.TableNews, func(ctx context.Context) error { return s.RemovePatch(ctx, patch) }},
		{storage.TableKeys, func(ctx context.Context) error {
			return s.PutProductKeys(ctx, []storage.ProductKey{{ProductKeyID: key, Banned: true, Added: now}})
		}},
		{storage.TableKeys, func(ctx context.Context) error { return s.RemoveProductKey(ctx, key) }},
	} {
		before, err := other.Revisions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reported = nil
		if err := step.do(t.Context()); err != nil {
			t.Fatalf("change of %s: %v", step.table, err)
		}
		if want := fmt.Sprint(step.table, nil); len(reported) != 1 || reported[0] != want {
			t.Errorf("a change of %s: %q was reported, want %q", step.table, reported, want)
		}
		after, err := other.Revisions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name := range after {
			if grown := after[name] > before[name]; grown != (name == step.table) {
				t.Errorf("a change of %s: revision of %s from %d to %d", step.table, name, before[name], after[name])
			}
		}
		if after[step.table] == 0 {
			t.Errorf("%s has no revision after a change", step.table)
		}
	}
}

func TestLoneStoreHasNoRevisions(t *testing.T) {
	s := Shared{New(&memory.Engine{}, Options{})}
	now := time.Now()
	if err := s.AddBan(t.Context(), storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeAll, Added: now}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Revisions(t.Context()); len(got) != 0 || err != nil {
		t.Errorf("Revisions() = %v, %v, want none", got, err)
	}
}

// failing is an engine whose steps fail when they are committed.
type failing struct {
	memory.Engine
}

func (e *failing) Update(ctx context.Context, change func(engine.Tx) error) error {
	return errors.Join(e.Engine.Update(ctx, change), storage.ErrUnavailable)
}

// A step that fails when it is committed is reported with its error: it may have been made. One that
// changes nothing is not reported.
func TestChangesThatFail(t *testing.T) {
	s := New(new(failing), Options{})
	var reported []string
	s.OnChange(func(table string, err error) {
		if errors.Is(err, storage.ErrUnavailable) {
			reported = append(reported, table)
		}
	})
	prefix := netip.MustParsePrefix("192.0.2.0/24")
	_, _ = s.RemoveBan(t.Context(), prefix, storage.ScopeAll)
	if len(reported) != 0 {
		t.Errorf("a step that changes nothing: %q was reported", reported)
	}
	_ = s.AddBan(t.Context(), storage.Ban{Prefix: prefix, Scope: storage.ScopeAll, Added: time.Now()})
	if len(reported) != 1 || reported[0] != storage.TableBans {
		t.Errorf("a step that may have been made: %q was reported, want %q", reported, storage.TableBans)
	}
}
