package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func motd(game string) storage.Motd {
	return storage.Motd{Game: game, Text: "Welcome\nback", By: "admin", Set: moment()}
}

func patch(product int, version string) storage.Patch {
	return storage.Patch{
		PatchID: storage.PatchID{Product: product, Version: version}, Name: "1.1", File: 4242,
		URL: "http://example.org/p.exe", Lockout: true, By: "admin", Added: moment(),
	}
}

func putMotd(t *testing.T, s storage.Store, m storage.Motd) {
	t.Helper()
	noErr(t, s.PutMotd(t.Context(), m), "PutMotd", m)
}

func putPatch(t *testing.T, s storage.Store, p storage.Patch) {
	t.Helper()
	noErr(t, s.PutPatch(t.Context(), p), "PutPatch", p)
}

// newsCalls is every method of news.
func newsCalls(s storage.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"PutMotd":     func(ctx context.Context) error { return s.PutMotd(ctx, motd("late")) },
		"RemoveMotd":  func(ctx context.Context) error { return s.RemoveMotd(ctx, "late") },
		"Motds":       func(ctx context.Context) error { return firstError(s.Motds(ctx)) },
		"PutPatch":    func(ctx context.Context) error { return s.PutPatch(ctx, patch(77, "late")) },
		"RemovePatch": func(ctx context.Context) error { return s.RemovePatch(ctx, patch(77, "late").PatchID) },
		"Patches":     func(ctx context.Context) error { return firstError(s.Patches(ctx)) },
	}
}

func newsTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"messages: put, replace, remove":        testMotdLife,
		"patches: put, replace, remove":         testPatchLife,
		"records beyond the limits are refused": testNewsLimits,
		"there are so many":                     testNewsFull,
	}
}

func testMotdLife(t *testing.T, s storage.Store) {
	first, second := motd("gmtest"), motd("swat4")
	putMotd(t, s, second)
	putMotd(t, s, first)
	differ(t, "messages", collect(t, s.Motds(t.Context())), []storage.Motd{first, second})
	first.Text = "Other"
	putMotd(t, s, first)
	differ(t, "messages after replacing", collect(t, s.Motds(t.Context())), []storage.Motd{first, second})
	for _, want := range []error{nil, storage.ErrNotFound} {
		if err := s.RemoveMotd(t.Context(), "gmtest"); !errors.Is(err, want) {
			t.Errorf("RemoveMotd() = %v, want %v", err, want)
		}
	}
	differ(t, "messages after removing", collect(t, s.Motds(t.Context())), []storage.Motd{second})
}

func testPatchLife(t *testing.T, s storage.Store) {
	first, second, third := patch(1, "1.0"), patch(1, "1.1"), patch(10001, "1.0")
	for _, p := range []storage.Patch{third, second, first} {
		putPatch(t, s, p)
	}
	second.Lockout, second.URL, second.File = false, "", 0
	putPatch(t, s, second)
	differ(t, "patches", collect(t, s.Patches(t.Context())), []storage.Patch{first, second, third})
	for _, want := range []error{nil, storage.ErrNotFound} {
		if err := s.RemovePatch(t.Context(), first.PatchID); !errors.Is(err, want) {
			t.Errorf("RemovePatch() = %v, want %v", err, want)
		}
	}
	differ(t, "patches after removing", collect(t, s.Patches(t.Context())), []storage.Patch{second, third})
}

func testNewsLimits(t *testing.T, s storage.Store) {
	m, p := motd(strings.Repeat("g", storage.MaxMotdGame)), patch(1<<31-1, strings.Repeat("v", storage.MaxVersion))
	m.Text, p.Name = strings.Repeat("t", storage.MaxNewsValue), strings.Repeat("n", storage.MaxNewsValue)
	p.URL = "http://example.org/" + strings.Repeat("u", storage.MaxNewsValue-19)
	putMotd(t, s, m)
	putPatch(t, s, p)
	for name, change := range map[string]func(*storage.Motd){
		"no game":         func(m *storage.Motd) { m.Game = "" },
		"game too long":   func(m *storage.Motd) { m.Game += "g" },
		"no text":         func(m *storage.Motd) { m.Text = "" },
		"text too long":   func(m *storage.Motd) { m.Text += "t" },
		"backslash":       func(m *storage.Motd) { m.Text = `a\b` },
		"control":         func(m *storage.Motd) { m.Text = "a\x01" },
		"author too long": func(m *storage.Motd) { m.By = strings.Repeat("b", storage.MaxListingBy+1) },
	} {
		m := m
		change(&m)
		wantErr(t, s.PutMotd(t.Context(), m), storage.ErrInvalid, "%s: PutMotd()", name)
	}
	for name, change := range map[string]func(*storage.Patch){
		"negative product":  func(p *storage.Patch) { p.Product = -1 },
		"no version":        func(p *storage.Patch) { p.Version = "" },
		"version too long":  func(p *storage.Patch) { p.Version += "v" },
		"no name":           func(p *storage.Patch) { p.Name = "" },
		"name too long":     func(p *storage.Patch) { p.Name += "n" },
		"backslash in name": func(p *storage.Patch) { p.Name = `1\newver` },
		"line in name":      func(p *storage.Patch) { p.Name = "a\nb" },
		"address too long":  func(p *storage.Patch) { p.URL += "u" },
		"address of a disk": func(p *storage.Patch) { p.URL = "file:///etc/passwd" },
		"space in address":  func(p *storage.Patch) { p.URL = "http://example.org/a b" },
		"negative file":     func(p *storage.Patch) { p.File = -1 },
		"author too long":   func(p *storage.Patch) { p.By = strings.Repeat("b", storage.MaxListingBy+1) },
	} {
		p := p
		change(&p)
		wantErr(t, s.PutPatch(t.Context(), p), storage.ErrInvalid, "%s: PutPatch()", name)
	}
	differ(t, "messages", collect(t, s.Motds(t.Context())), []storage.Motd{m})
	differ(t, "patches", collect(t, s.Patches(t.Context())), []storage.Patch{p})
}

func testNewsFull(t *testing.T, s storage.Store) {
	filled(t, s)
	together(t, storage.MaxMotds, func(i int) error { return s.PutMotd(t.Context(), motd(fmt.Sprint("g", i))) })
	together(t, storage.MaxPatches, func(i int) error { return s.PutPatch(t.Context(), patch(i, "1.0")) })
	putMotd(t, s, motd("g0"))
	putPatch(t, s, patch(0, "1.0"))
	wantErr(t, s.PutMotd(t.Context(), motd("more")), storage.ErrFull, "PutMotd() beyond the limit")
	wantErr(t, s.PutPatch(t.Context(), patch(storage.MaxPatches, "1.0")), storage.ErrFull, "PutPatch() beyond the limit")
}
