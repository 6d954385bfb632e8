package storagetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func added(address string) storage.AddedServer {
	return storage.AddedServer{Address: address, Protocol: "a2s", Game: "cstrike", By: "admin", Added: moment()}
}

func hidden(address string) storage.HiddenServer {
	return storage.HiddenServer{Address: netip.MustParseAddrPort(address), Reason: "fake players", By: "admin", Added: moment()}
}

func addServer(t *testing.T, s storage.Store, a storage.AddedServer) {
	t.Helper()
	noErr(t, s.AddServer(t.Context(), a), "AddServer", a)
}

func hideServer(t *testing.T, s storage.Store, h storage.HiddenServer) {
	t.Helper()
	noErr(t, s.HideServer(t.Context(), h), "HideServer", h)
}

// listingCalls is every method of listings.
func listingCalls(s storage.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"AddServer":         func(ctx context.Context) error { return s.AddServer(ctx, added("late.example:27015")) },
		"RemoveAddedServer": func(ctx context.Context) error { return s.RemoveAddedServer(ctx, "late.example:27015") },
		"AddedServers":      func(ctx context.Context) error { return firstError(s.AddedServers(ctx)) },
		"HideServer":        func(ctx context.Context) error { return s.HideServer(ctx, hidden("192.0.2.77:6500")) },
		"UnhideServer": func(ctx context.Context) error {
			return s.UnhideServer(ctx, netip.MustParseAddrPort("192.0.2.77:6500"))
		},
		"HiddenServers": func(ctx context.Context) error { return firstError(s.HiddenServers(ctx)) },
	}
}

func listingTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"add, replace, remove":                  testAddedLife,
		"hide, replace, unhide":                 testHiddenLife,
		"added servers are bounded":             testAddedBound,
		"hidden servers are bounded":            testHiddenBound,
		"records beyond the limits are refused": testListingLimits,
	}
}

func testAddedLife(t *testing.T, s storage.Store) {
	one, two := added("192.0.2.1:27015"), added("a.example:27015")
	addServer(t, s, two)
	addServer(t, s, one)
	two.Protocol, two.Game = "gs1", ""
	addServer(t, s, two)
	differ(t, "added servers", collect(t, s.AddedServers(t.Context())), []storage.AddedServer{one, two})
	for _, want := range []error{nil, storage.ErrNotFound} {
		if err := s.RemoveAddedServer(t.Context(), one.Address); !errors.Is(err, want) {
			t.Errorf("RemoveAddedServer() = %v, want %v", err, want)
		}
	}
	differ(t, "added servers after removing", collect(t, s.AddedServers(t.Context())), []storage.AddedServer{two})
}

func testHiddenLife(t *testing.T, s storage.Store) {
	h := hidden("192.0.2.1:27015")
	hideServer(t, s, h)
	h.Address, h.Reason = netip.MustParseAddrPort("[::ffff:192.0.2.1]:27015"), "changed"
	hideServer(t, s, h)
	h.Address = netip.MustParseAddrPort("192.0.2.1:27015")
	differ(t, "hidden servers", collect(t, s.HiddenServers(t.Context())), []storage.HiddenServer{h})
	for _, want := range []error{nil, storage.ErrNotFound} {
		if err := s.UnhideServer(t.Context(), h.Address); !errors.Is(err, want) {
			t.Errorf("UnhideServer() = %v, want %v", err, want)
		}
	}
	differ(t, "hidden servers after unhiding", collect(t, s.HiddenServers(t.Context())), nil)
}

func testAddedBound(t *testing.T, s storage.Store) {
	filled(t, s)
	together(t, storage.MaxAddedServers, func(i int) error { return s.AddServer(t.Context(), added(fmt.Sprintf("192.0.2.1:%d", 1+i))) })
	wantErr(t, s.AddServer(t.Context(), added("192.0.2.2:1")), storage.ErrFull, "AddServer() on a full store")
	addServer(t, s, added("192.0.2.1:1"))
}

func testHiddenBound(t *testing.T, s storage.Store) {
	filled(t, s)
	together(t, storage.MaxHiddenServers, func(i int) error { return s.HideServer(t.Context(), hidden(fmt.Sprintf("192.0.2.1:%d", 1+i))) })
	wantErr(t, s.HideServer(t.Context(), hidden("192.0.2.2:1")), storage.ErrFull, "HideServer() on a full store")
	hideServer(t, s, hidden("192.0.2.1:1"))
}

func testListingLimits(t *testing.T, s storage.Store) {
	edge := added(strings.Repeat("h", storage.MaxServerAddress-6) + ":65535")
	edge.Protocol, edge.Game = strings.Repeat("p", storage.MaxServerWord), strings.Repeat("g", storage.MaxServerWord)
	edge.By = strings.Repeat("b", storage.MaxListingBy)
	addServer(t, s, edge)
	for name, spoil := range map[string]func(*storage.AddedServer){
		"long address":  func(a *storage.AddedServer) { a.Address = "h" + a.Address },
		"no address":    func(a *storage.AddedServer) { a.Address = "" },
		"no port":       func(a *storage.AddedServer) { a.Address = "a.example" },
		"no host":       func(a *storage.AddedServer) { a.Address = ":27015" },
		"port 0":        func(a *storage.AddedServer) { a.Address = "a.example:0" },
		"port 65536":    func(a *storage.AddedServer) { a.Address = "a.example:65536" },
		"newline":       func(a *storage.AddedServer) { a.Address = "a\nb:27015" },
		"no protocol":   func(a *storage.AddedServer) { a.Protocol = "" },
		"long protocol": func(a *storage.AddedServer) { a.Protocol += "p" },
		"long game":     func(a *storage.AddedServer) { a.Game += "g" },
		"long author":   func(a *storage.AddedServer) { a.By += "b" },
	} {
		a := edge
		spoil(&a)
		wantErr(t, s.AddServer(t.Context(), a), storage.ErrInvalid, "%s: AddServer()", name)
	}
	h := hidden("[2001:db8::1]:65535")
	h.Reason, h.By = strings.Repeat("r", storage.MaxHiddenReason), strings.Repeat("b", storage.MaxListingBy)
	hideServer(t, s, h)
	for name, spoil := range map[string]func(*storage.HiddenServer){
		"no address":  func(h *storage.HiddenServer) { h.Address = netip.AddrPort{} },
		"port 0":      func(h *storage.HiddenServer) { h.Address = netip.AddrPortFrom(h.Address.Addr(), 0) },
		"long reason": func(h *storage.HiddenServer) { h.Reason += "r" },
		"newline":     func(h *storage.HiddenServer) { h.Reason = "a\nb" },
		"long author": func(h *storage.HiddenServer) { h.By += "b" },
	} {
		spoiled := h
		spoil(&spoiled)
		wantErr(t, s.HideServer(t.Context(), spoiled), storage.ErrInvalid, "%s: HideServer()", name)
	}
}
