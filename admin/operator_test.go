package admin

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/rooms"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// forBoth runs a test on operator.Local and through the client.
func forBoth(t *testing.T, test func(t *testing.T, l *operator.Local, op operator.Conn)) {
	t.Helper()
	t.Run("local", func(t *testing.T) { l := newLocal(t); test(t, l, l) })
	t.Run("client", func(t *testing.T) { l := newLocal(t); test(t, l, serve(t, l, testToken)) })
}

var compareAddrs = cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{})

func TestBansComeAndGo(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ctx := t.Context()
		changes := 0
		l.Table.OnChange(func() { changes++ })
		added := time.Now().UTC().Truncate(time.Second)
		one := storage.Ban{
			Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeLists, Reason: "because", By: "me",
			Added: added, Expires: added.Add(24 * time.Hour),
		}
		two := storage.Ban{Prefix: netip.MustParsePrefix("2001:db8::/32"), Scope: storage.ScopeAll, Added: added}
		three := storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopePresence, Added: added}
		for _, b := range []storage.Ban{two, one, three} {
			if err := operator.AddBan.Exec(ctx, op, operator.NewBan(b)); err != nil {
				t.Fatalf("AddBan(%v): %v", b.Prefix, err)
			}
		}
		list, err := operator.ListBans.Call(ctx, op, operator.None{})
		if diff := cmp.Diff([]storage.Ban{one, three, two}, list, compareAddrs); err != nil || diff != "" {
			t.Errorf("Bans: %v (-want +got):\n%s", err, diff)
		}
		if _, yes := l.Table.Check(storage.ScopeLists, netip.MustParseAddr("192.0.2.200"), time.Now()); !yes {
			t.Error("the ban is not in force")
		}
		if n, err := operator.RemoveBan.Call(ctx, op, operator.BanRef{Prefix: one.Prefix, Scope: storage.ScopePresence}); n.Removed != 1 || err != nil {
			t.Errorf("RemoveBan of one scope = %d, %v; want 1", n.Removed, err)
		}
		if n, err := operator.RemoveBan.Call(ctx, op, operator.BanRef{Prefix: one.Prefix, Scope: storage.EveryScope}); n.Removed != 1 || err != nil {
			t.Errorf("RemoveBan = %d, %v; want 1", n.Removed, err)
		}
		if n, err := operator.RemoveBan.Call(ctx, op, operator.BanRef{Prefix: one.Prefix, Scope: storage.EveryScope}); n.Removed != 0 || err != nil {
			t.Errorf("second RemoveBan = %d, %v; want 0", n.Removed, err)
		}
		if changes != 5 {
			t.Errorf("%d changes were told, want 5", changes)
		}
		err = operator.AddBan.Exec(ctx, op, operator.NewBan(storage.Ban{Prefix: netip.MustParsePrefix("10.0.0.1/32"), Scope: storage.ScopeAll}))
		list, _ = operator.ListBans.Call(ctx, op, operator.None{})
		if err != nil || len(list) != 2 || list[0].Added.IsZero() {
			t.Errorf("a ban without time: %v, %+v; want the time of now", err, list)
		}
	})
}

func TestGamesComeAndGo(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ctx := t.Context()
		before, err := operator.ListGames.Call(ctx, op, operator.None{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(operator.GameList(l.Catalogue.Catalog().All()), before, cmpopts.IgnoreFields(games.Game{}, "Source", "Given")); diff != "" {
			t.Errorf("Games (-want +got):\n%s", diff)
		}
		list := []games.Game{
			{
				Name: "ours", Title: "Ours", Secrets: []string{"first1", "second"}, ID: 99, QueryPort: 7777, BackendFlags: 5,
				Rooms: []games.Room{{ID: 9, Name: "Nine", MaxWaiting: 3, Fields: []games.Field{{Key: "k", Value: "v"}}}},
			},
			{Name: "gmtest", Maintenance: true, Given: games.FieldsOf("maintenance")},
		}
		if err := operator.PutGames.Exec(ctx, op, list); err != nil {
			t.Fatal(err)
		}
		ours, ok := l.Catalogue.Catalog().Lookup("ours")
		if diff := cmp.Diff(list[0], ours, cmpopts.IgnoreFields(games.Game{}, "Source", "Given")); !ok || diff != "" {
			t.Errorf("stored game (-want +got):\n%s", diff)
		}
		if g, _ := l.Catalogue.Catalog().Lookup("gmtest"); !g.Maintenance || g.Secret() != "HA6zkS" || g.Source.Origin != games.FromStore {
			t.Errorf("built-in game with a change: %+v", g)
		}
		for _, name := range []string{"ours", "gmtest"} {
			if err := operator.DeleteGame.Exec(ctx, op, operator.GameRef{Game: name}); err != nil {
				t.Errorf("DeleteGame(%s): %v", name, err)
			}
		}
		after, err := operator.ListGames.Call(ctx, op, operator.None{})
		if diff := cmp.Diff(before, after); err != nil || diff != "" {
			t.Errorf("Games after all were taken back: %v (-before +after):\n%s", err, diff)
		}
	})
}

// fullStore is a store in which all rooms of a game but one are taken. Lists
// omit rooms over the limit, so adding one must be refused.
type fullStore struct{ operator.Store }

func (s fullStore) Rooms(ctx context.Context, game string) iter.Seq2[storage.Room, error] {
	return func(yield func(storage.Room, error) bool) {
		for i := range rooms.MaxStored - 1 {
			if !yield(storage.Room{ID: uint32(1000 + i), Game: "gmtest", Name: "Lobby"}, nil) {
				return
			}
		}
		for r, err := range s.Store.Rooms(ctx, game) {
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestRoomLimit(t *testing.T) {
	l, ctx := newLocal(t), t.Context()
	last, err := l.Store.PutRoom(ctx, storage.Room{ID: 999, Game: "gmtest", Name: "Lobby"})
	if err != nil {
		t.Fatal(err)
	}
	l.Store = fullStore{l.Store}
	l.Catalogue.Store = l.Store
	if err := l.Catalogue.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range []uint32{0, 10_000} {
		r, err := operator.PutRoom.Call(ctx, l, operator.NewRoom{ID: id, Game: "gmtest", Name: "One too many"})
		if !errors.Is(err, operator.ErrBadRequest) || !strings.Contains(err.Error(), strconv.Itoa(rooms.MaxStored)) {
			t.Errorf("PutRoom of room %d = %+v, %v; want a refusal that names the bound", id, r, err)
		}
	}
	last.Name = "Another name"
	if _, err := operator.PutRoom.Call(ctx, l, operator.NewRoom(last)); err != nil {
		t.Errorf("PutRoom of a room that is there: %v", err)
	}
	if _, err := operator.PutRoom.Call(ctx, l, operator.NewRoom{Game: "nokey", Name: "Lobby"}); err != nil {
		t.Errorf("PutRoom for another game: %v", err)
	}
}

func TestRoomsComeAndGo(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ctx := t.Context()
		room := storage.Room{ID: 4711, Game: "GMTEST", Name: "Lobby", MaxWaiting: 50, Fields: []storage.Field{{Name: "a", Value: "b"}}}
		stored, err := operator.PutRoom.Call(ctx, op, operator.NewRoom(room))
		if err != nil {
			t.Fatal(err)
		}
		room.Game, room.Rev = "gmtest", stored.Rev
		if diff := cmp.Diff(room, stored); diff != "" || stored.Rev == 0 {
			t.Errorf("PutRoom (-want +got):\n%s", diff)
		}
		want := []games.Room{{ID: 4711, Name: "Lobby", MaxWaiting: 50, Fields: []games.Field{{Key: "a", Value: "b"}}}}
		if diff := cmp.Diff(want, l.Catalogue.Rooms("gmtest")); diff != "" {
			t.Errorf("rooms in force (-want +got):\n%s", diff)
		}
		for game, n := range map[string]int{"": 1, "gmtest": 1, "rooms": 0} {
			if list, err := operator.ListRooms.Call(ctx, op, operator.GameQuery{Game: game}); err != nil || len(list) != n {
				t.Errorf("Rooms(%q) = %d rooms, %v; want %d", game, len(list), err, n)
			}
		}
		if err := operator.DeleteRoom.Exec(ctx, op, operator.RoomRef{ID: 4711}); err != nil || len(l.Catalogue.Rooms("gmtest")) != 0 {
			t.Errorf("DeleteRoom: %v, %d rooms are left", err, len(l.Catalogue.Rooms("gmtest")))
		}
		for range 3 {
			if r, err := operator.PutRoom.Call(ctx, op, operator.NewRoom{Game: "gmtest", Name: "Any"}); err != nil || r.ID == 0 || r.ID == 1 || r.ID == 2 {
				t.Errorf("PutRoom without number: %d, %v; want one that the catalogue leaves free", r.ID, err)
			}
		}
	})
}

func TestServersAndVerdicts(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ctx := t.Context()
		put(t, l, "rooms", "192.0.2.9:6500", "hostname", "R")
		put(t, l, "gmtest", "192.0.2.2:6500", "hostname", "B\x1b", "numplayers", "1", "maxplayers", "8")
		put(t, l, "gmtest", "192.0.2.1:6500", "hostname", "A")
		list, err := operator.ListServers.Call(ctx, op, operator.ServerQuery{Game: ""})
		if err != nil || len(list) != 3 {
			t.Fatalf("Servers: %d, %v; want 3", len(list), err)
		}
		var order []string
		for _, s := range list {
			order = append(order, s.Game+" "+s.Address.String())
		}
		if !slices.IsSorted(order) {
			t.Errorf("servers come in the order %q", order)
		}
		b := list[1]
		if b.Name != "B\x1b" || b.Players != "1" || b.MaxPlayers != "8" || !b.Reachable || !b.NATNeg || b.Restored || b.Origin != "qr2" || b.Last.IsZero() {
			t.Errorf("server %+v", b)
		}
		for game, n := range map[string]int{"gmtest": 2, "rooms": 1, "none": 0} {
			if list, err := operator.ListServers.Call(ctx, op, operator.ServerQuery{Game: game}); err != nil || len(list) != n {
				t.Errorf("Servers(%q) = %d, %v; want %d", game, len(list), err, n)
			}
		}

		peer := netip.MustParseAddrPort("192.0.2.1:6500")
		l.ServerLog.Note("qr2", peer, "gmtest", verdicts.ChallengeSent)
		l.ServerLog.Note("qr2", peer, "gmtest", verdicts.Listed)
		l.ServerLog.Note("qr2", peer, "gmtest", verdicts.Unreachable)
		l.ServerLog.Note("qr2", netip.MustParseAddrPort("192.0.2.7:1"), "x", verdicts.UnknownGame)
		for addr, want := range map[netip.Addr][]string{
			peer.Addr():                             {"listed", "not reachable from a new address"},
			netip.MustParseAddr("::ffff:192.0.2.1"): {"listed", "not reachable from a new address"},
			netip.MustParseAddr("192.0.2.99"):       nil,
			{}:                                      {"unknown game", "not reachable from a new address"},
		} {
			list, err := operator.ListVerdicts.Call(ctx, op, operator.Address{Addr: addr})
			var got []string
			for _, v := range list {
				got = append(got, v.Verdict)
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("Verdicts(%v): %v (-want +got):\n%s", addr, err, diff)
			}
		}
	})
}

// Errors match the same values, locally and through the client.
func TestUnlistedServers(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		put(t, l, "gmtest", "192.0.2.1:6500")
		hidden := netip.MustParseAddrPort("192.0.2.2:10666")
		l.Unlisted = func() []operator.Listed {
			return []operator.Listed{{Game: "zandronum", Address: hidden, Hidden: "why not"}}
		}
		for game, n := range map[string]int{"": 2, "gmtest": 1, "zandronum": 1, "none": 0} {
			list, err := operator.ListServers.Call(t.Context(), op, operator.ServerQuery{Game: game})
			if err != nil || len(list) != n {
				t.Errorf("Servers(%q) = %d, %v; want %d", game, len(list), err, n)
			}
			for _, s := range list {
				if (s.Hidden == "why not") != (s.Address == hidden) {
					t.Errorf("Servers(%q): %+v", game, s)
				}
			}
		}
	})
}

func TestErrorKinds(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ctx := t.Context()
		kept, err := operator.PutRoom.Call(ctx, op, operator.NewRoom{ID: 50, Game: "gmtest", Name: "Kept"})
		if err != nil {
			t.Fatal(err)
		}
		stale := kept
		kept.Name = "Renamed"
		if _, err := operator.PutRoom.Call(ctx, op, operator.NewRoom(kept)); err != nil {
			t.Fatal(err)
		}
		everybody := storage.Ban{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Scope: storage.ScopeAll}
		tests := map[string]struct {
			got  error
			want []error // any of them
			text string
		}{
			"game that is not ours": {operator.DeleteGame.Exec(ctx, op, operator.GameRef{Game: "gmtest"}), []error{storage.ErrNotFound}, "gmtest"},
			"no such game":          {operator.DeleteGame.Exec(ctx, op, operator.GameRef{Game: "no/such game?"}), []error{storage.ErrNotFound}, "no/such game?"},
			"no such room":          {operator.DeleteRoom.Exec(ctx, op, operator.RoomRef{ID: 999}), []error{storage.ErrNotFound}, "999"},
			"bad name":              {operator.PutGames.Exec(ctx, op, []games.Game{{Name: "bad name"}}), []error{operator.ErrBadRequest}, "bad name"},
			"same game twice":       {operator.PutGames.Exec(ctx, op, []games.Game{{Name: "twice"}, {Name: "twice"}}), []error{operator.ErrBadRequest}, "twice"},
			"room twice in games": {
				operator.PutGames.Exec(ctx, op, []games.Game{{Name: "ours", Rooms: []games.Room{{ID: 9, Name: "Clash"}}}, {Name: "too", Rooms: []games.Room{{ID: 9, Name: "Clash"}}}}),
				[]error{operator.ErrBadRequest},
				"room 9",
			},
			"room that was added in a game": {
				operator.PutGames.Exec(ctx, op, []games.Game{{Name: "ours", Rooms: []games.Room{{ID: 50, Name: "Clash"}}}}), []error{operator.ErrBadRequest}, "50",
			},
			"room of an unknown game": {second(operator.PutRoom.Call(ctx, op, operator.NewRoom{Game: "none", Name: "X"})), []error{operator.ErrBadRequest}, "none"},
			"number of the catalogue": {second(operator.PutRoom.Call(ctx, op, operator.NewRoom{ID: 1, Game: "gmtest", Name: "X"})), []error{operator.ErrBadRequest}, "rooms"},
			"number that is taken":    {second(operator.PutRoom.Call(ctx, op, operator.NewRoom{ID: 50, Game: "gmtest", Name: "X"})), []error{storage.ErrTaken, storage.ErrConflict}, "50"},
			"room changed by others":  {second(operator.PutRoom.Call(ctx, op, operator.NewRoom(stale))), []error{storage.ErrConflict}, "50"},
			"room without name":       {second(operator.PutRoom.Call(ctx, op, operator.NewRoom{Game: "gmtest"})), []error{operator.ErrBadRequest, storage.ErrInvalid}, "name"},
			"ban of everybody":        {operator.AddBan.Exec(ctx, op, operator.NewBan(everybody)), []error{operator.ErrBadRequest, bans.ErrEverybody}, "everybody"},
			"ban without scope":       {operator.AddBan.Exec(ctx, op, operator.NewBan(storage.Ban{Prefix: netip.MustParsePrefix("10.0.0.0/8")})), []error{operator.ErrBadRequest, storage.ErrInvalid}, ""},
			"ban with a long reason":  {operator.AddBan.Exec(ctx, op, operator.NewBan(storage.Ban{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Scope: storage.ScopeAll, Reason: strings.Repeat("x", storage.MaxBanReason+1)})), []error{operator.ErrBadRequest, storage.ErrInvalid}, "reason"},
		}
		for name, tc := range tests {
			if !slices.ContainsFunc(tc.want, func(want error) bool { return errors.Is(tc.got, want) }) || !strings.Contains(tc.got.Error(), tc.text) {
				t.Errorf("%s: error %v, want one of %v with %q in it", name, tc.got, tc.want, tc.text)
			}
		}
		if list, _ := operator.ListBans.Call(ctx, op, operator.None{}); len(list) != 0 {
			t.Errorf("bans that were refused are in force: %+v", list)
		}
	})
}

func second(_ storage.Room, err error) error { return err }

// One bad record rejects the whole list, however long it is.
func TestPutGamesRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		big := games.Game{Name: "big"} // its document exceeds a record of the store
		for i := range games.MaxRooms {
			big.Rooms = append(big.Rooms, games.Room{ID: uint32(1000 + i), Name: strings.Repeat("r", games.MaxTextLen)})
		}
		for name, bad := range map[string]games.Game{"not a secret": {Name: "bad", Secrets: []string{"x"}}, "too big": big} {
			list := make([]games.Game, 0, storage.MaxGamesAtOnce+2)
			for i := range storage.MaxGamesAtOnce + 1 {
				list = append(list, games.Game{Name: "g" + strings.Repeat("x", i%20) + string(rune('a'+i/20)), Secrets: []string{"abcdef"}})
			}
			if err := operator.PutGames.Exec(t.Context(), op, append(list, bad)); err == nil {
				t.Errorf("%s: PutGames took the list", name)
			}
			if err := l.Catalogue.Reload(t.Context()); err != nil {
				t.Errorf("%s: Reload: %v", name, err)
			}
			if n := l.Catalogue.Catalog().Len(); n != 3 {
				t.Errorf("%s: %d games are known after a list that was refused, want 3", name, n)
			}
		}
	})
}

func TestServersWithoutDaemon(t *testing.T) {
	l := newLocal(t)
	l.Registry, l.ServerLog = nil, nil
	if _, err := operator.ListServers.Call(t.Context(), l, operator.ServerQuery{Game: ""}); !errors.Is(err, operator.ErrNotRunning) {
		t.Errorf("Servers: %v, want ErrNotRunning", err)
	}
	if _, err := operator.ListVerdicts.Call(t.Context(), l, operator.Address{Addr: netip.Addr{}}); !errors.Is(err, operator.ErrNotRunning) {
		t.Errorf("Verdicts: %v, want ErrNotRunning", err)
	}
}

func TestBackup(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		token := filepath.Join(t.TempDir(), "token of another name")
		if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		l.Files = map[string]string{"admin.token": token, "missing": token + ".none"}
		var b bytes.Buffer
		if _, err := operator.Backup.Call(t.Context(), op, operator.None{}, &b); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		m, err := backup.Read(&b, dir, func(string) bool { return true }, nil)
		if err != nil || len(m.Files) != 2 || m.Version != "test" {
			t.Fatalf("backup %+v, %v; want 2 files of version test", m, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "admin.token")); err != nil || string(got) != "secret" {
			t.Errorf("token in the backup: %q, %v", got, err)
		}
		left, err := os.ReadDir(l.DataDir)
		left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return e.Name() == "account.key" })
		if err != nil || len(left) != 0 {
			t.Errorf("beside the key the data folder holds %v, %v; want nothing", left, err)
		}
	})
}

func TestMeetings(t *testing.T) {
	forBoth(t, func(t *testing.T, _ *operator.Local, op operator.Conn) {
		m, err := operator.GetMeetings.Call(t.Context(), op, operator.None{})
		want := []operator.MeetingCount{{Routers: [2]string{"cone", "symmetric"}, Negotiated: 1}, {Routers: [2]string{"symmetric", "symmetric"}, Relayed: 1}}
		if diff := cmp.Diff(want, m.Pairs); diff != "" || err != nil || m.Since.IsZero() {
			t.Errorf("since %v, %v (-want +got):\n%s", m.Since, err, diff)
		}
	})
	if _, err := operator.GetMeetings.Call(t.Context(), new(operator.Local), operator.None{}); !errors.Is(err, operator.ErrNotRunning) {
		t.Errorf("without a daemon: %v", err)
	}
}
