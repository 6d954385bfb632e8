package admin

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/storage"
)

func TestAddAndHideServers(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ctx := t.Context()
		changes := 0
		l.ServersChanged = func(context.Context) error { changes++; return nil }
		l.StaticServers = func() []storage.AddedServer {
			return []storage.AddedServer{{Address: "192.0.2.9:27015", Protocol: "a2s"}}
		}
		l.AskedServers = func() []operator.AskedServer {
			return []operator.AskedServer{{Address: "a.example:27015", Answers: true}, {Address: "192.0.2.9:27015", Why: "no answer"}}
		}
		l.CheckAdded = func(a *storage.AddedServer) error {
			if a.Protocol == "quake9" {
				return errors.New("no such protocol")
			}
			return nil
		}
		when := time.Now().UTC().Truncate(time.Second)
		a := storage.AddedServer{Address: "a.example:27015", Protocol: "a2s", Game: "cstrike", By: "me", Added: when}
		h := storage.HiddenServer{Address: netip.MustParseAddrPort("192.0.2.1:6500"), Reason: "fake", By: "me", Added: when}
		if err := errors.Join(operator.AddServer.Exec(ctx, op, operator.NewServer{Address: a.Address, Protocol: a.Protocol, Game: a.Game, By: a.By, Added: a.Added}), operator.HideServer.Exec(ctx, op, operator.NewHidden(h))); err != nil {
			t.Fatal(err)
		}
		want := operator.Kept{Static: l.StaticServers(), Added: []storage.AddedServer{a}, Hidden: []storage.HiddenServer{h}, Asked: l.AskedServers()}
		got, err := operator.ListKept.Call(ctx, op, operator.None{})
		if diff := cmp.Diff(want, got, compareAddrs); err != nil || diff != "" {
			t.Errorf("KeptServers: %v (-want +got):\n%s", err, diff)
		}
		if a, ok := got.Of("192.0.2.9:27015"); !ok || a.Answers || a.Why != "no answer" {
			t.Errorf("Of the silent server: %+v, %v", a, ok)
		}
		for what, err := range map[string]error{
			"an unknown protocol": operator.AddServer.Exec(ctx, op, operator.NewServer{Address: "a.example:1", Protocol: "quake9"}),
			"no address":          operator.AddServer.Exec(ctx, op, operator.NewServer{Protocol: "a2s"}),
			"a long reason":       operator.HideServer.Exec(ctx, op, operator.NewHidden(storage.HiddenServer{Address: h.Address, Reason: string(make([]byte, 2000))})),
		} {
			if !errors.Is(err, operator.ErrBadRequest) && !errors.Is(err, storage.ErrInvalid) {
				t.Errorf("%s: %v, want a refusal", what, err)
			}
		}
		if r, err := operator.RemoveServer.Call(ctx, op, operator.ServerRef{Address: a.Address}); err != nil || !r.Forgotten || r.Listed {
			t.Errorf("RemoveServer = %+v, %v", r, err)
		}
		if err := operator.UnhideServer.Exec(ctx, op, operator.HiddenRef{Address: h.Address}); err != nil {
			t.Errorf("UnhideServer: %v", err)
		}
		if changes != 4 {
			t.Errorf("told of %d changes, want 4", changes)
		}
		var actions []string
		for e, err := range l.Store.AuditLog(ctx, 0) {
			if err != nil {
				t.Fatal(err)
			}
			actions = append(actions, e.Action+" "+e.Subject+" "+e.Detail)
		}
		slices.Sort(actions)
		if diff := cmp.Diff([]string{
			"server.add a.example:27015 a2s cstrike", "server.hide 192.0.2.1:6500 fake",
			"server.remove a.example:27015 forgotten", "server.unhide 192.0.2.1:6500 ",
		}, actions); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
		for what, err := range map[string]error{
			"RemoveServer": func() error {
				_, err := operator.RemoveServer.Call(ctx, op, operator.ServerRef{Address: a.Address})
				return err
			}(), "UnhideServer": operator.UnhideServer.Exec(ctx, op, operator.HiddenRef{Address: h.Address}),
		} {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("%s again: %v, want ErrNotFound", what, err)
			}
		}
		if _, err := operator.RemoveServer.Call(ctx, op, operator.ServerRef{Address: "192.0.2.9:27015"}); !errors.Is(err, operator.ErrBadRequest) {
			t.Errorf("RemoveServer of one from the configuration: %v, want ErrBadRequest", err)
		}
	})
}

func TestRemoveServer(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		a := netip.MustParseAddrPort("192.0.2.1:6500")
		put := func() {
			t.Helper()
			srv := master.Server{Key: master.Key{Source: a}, Public: a, Game: "gmtest", Origin: qr2.Origin, Seen: time.Now()}
			if err := l.Registry.Put(srv); err != nil {
				t.Fatal(err)
			}
		}
		put()
		if r, err := operator.RemoveServer.Call(t.Context(), op, operator.ServerRef{Address: a.String()}); err != nil || r.Forgotten || !r.Listed || l.Registry.Len() != 0 {
			t.Errorf("RemoveServer = %+v, %v; %d listed", r, err, l.Registry.Len())
		}
		if entries := l.ServerLog.Of(a.Addr()); len(entries) != 1 || entries[0].Verdict != verdicts.Removed {
			t.Errorf("verdicts: %+v", entries)
		}
		put()
		l.Registry.Hide(a)
		list, err := operator.ListServers.Call(t.Context(), op, operator.ServerQuery{Game: ""})
		if err != nil || len(list) != 1 || list[0].Hidden != verdicts.Concealed.String() || list[0].Address != a {
			t.Errorf("Servers = %+v, %v; want the hidden one", list, err)
		}
		if r, err := operator.RemoveServer.Call(t.Context(), op, operator.ServerRef{Address: a.String()}); err != nil || !r.Listed || l.Registry.Len() != 0 {
			t.Errorf("RemoveServer of a hidden one = %+v, %v", r, err)
		}
	})
}

func TestAddServerLimit(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		l.ServersChanged = func(context.Context) error { return storage.ErrFull }
		if err := operator.AddServer.Exec(t.Context(), op, operator.NewServer{Address: "a.example:1", Protocol: "a2s"}); !errors.Is(err, storage.ErrFull) && !errors.Is(err, storage.ErrConflict) {
			t.Errorf("AddServer: %v, want a conflict", err)
		}
	})
}
