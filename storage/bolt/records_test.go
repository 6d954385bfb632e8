package bolt

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/enginetest"
	"github.com/respawnd/respawnd/storage/records"
	"github.com/respawnd/respawnd/storage/storagetest"
)

func TestEngine(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) engine.Engine {
		t.Helper()
		return openFree(t)
	})
}

// reopenable is a store in a file, with the method with which storagetest opens it again.
type reopenable struct {
	*records.Store
	path string
}

func (r reopenable) Reopen(t *testing.T) storage.Store {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	return openStore(t, r.path)
}

// openStore opens a store in a file, which is verified after the test.
func openStore(t *testing.T, path string) reopenable {
	t.Helper()
	return reopenable{records.New(openAt(t, path), records.Options{}), path}
}

func TestStore(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store {
		t.Helper()
		return openStore(t, filepath.Join(t.TempDir(), "respawnd.db"))
	})
}

// What older versions stored is found in every way, and added to.
func TestRecordsOfOlderFiles(t *testing.T) {
	for schema := range migrations() {
		t.Run(fmt.Sprintf("schema %d", schema), func(t *testing.T) {
			s := openStore(t, oldFile(t, fmt.Sprintf("schema%d.db", schema))).Store
			checkOldLists(t, s, schema)
			users, profiles := 1, 1
			switch {
			case schema >= 7:
				users, profiles = 3, 4
			case schema >= 3:
				users, profiles = 2, 3
			}
			if schema >= 3 {
				checkOldAccount(t, s)
			}
			u, p, err := s.CreateUser(t.Context(), storage.User{Email: "a@b.c"}, storage.Profile{Nick: "A"})
			if err != nil || int(u.ID) != users || int(p.ID) != profiles {
				t.Errorf("CreateUser() in an upgraded file = %+v, %+v, %v", u, p, err)
			}
			block := storage.StatBlockID{Game: "gmtest", Profile: p.ID, Kind: storage.StatPublicWrite}
			if _, err := s.EditStatBlock(t.Context(), block, 1, time.Now(), func([]byte) ([]byte, error) { return []byte("x"), nil }); err != nil {
				t.Errorf("EditStatBlock() in an upgraded file = %v", err)
			}
			if e, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test"}); err != nil || (e.Seq == 1) != (schema < 3) {
				t.Errorf("AddAudit() in an upgraded file = %+v, %v", e, err)
			}
			if schema >= 7 {
				checkOldGames(t, s)
				checkOldServers(t, s)
			}
		})
	}
}

// checkOldLists checks the game, the room, the ban and the CD key of an older file.
func checkOldLists(t *testing.T, s *records.Store, schema int) {
	t.Helper()
	g, err := s.GetGame(t.Context(), "gmtest")
	if err != nil || string(g.Doc) != "name: gmtest\n" || g.Rev != 1 {
		t.Errorf("GetGame() = %+v, %v", g, err)
	}
	err = s.SetGames(t.Context(), []storage.Game{g})
	if next, lost := s.GetGame(t.Context(), "gmtest"); err != nil || lost != nil || next.Rev <= g.Rev {
		t.Errorf("SetGames() of an old game = %v, then %+v, %v", err, next, lost)
	}
	r, err := s.GetRoom(t.Context(), 3)
	if err != nil || r.Name != "Newcomers" || !slices.Equal(r.Fields, []storage.Field{{Name: "motd", Value: "hi"}}) {
		t.Errorf("GetRoom() = %+v, %v", r, err)
	}
	var rooms, bans []string
	for r, err := range s.Rooms(t.Context(), "gmtest") {
		rooms = append(rooms, fmt.Sprint(r.ID, err))
	}
	for b, err := range s.Bans(t.Context()) {
		bans = append(bans, fmt.Sprintf("%v %v %s %v", b.Prefix, b.Scope, b.Reason, err))
	}
	if got := fmt.Sprint(rooms[:1], bans); got != "[3 <nil>] [192.0.2.0/24 lists flood <nil>]" {
		t.Errorf("rooms and bans = %s", got)
	}
	keys := 0
	for k, err := range s.ProductKeys(t.Context()) {
		if keys++; err != nil || k.Product != 461 || !k.Banned {
			t.Errorf("ProductKeys() has %+v, %v", k, err)
		}
	}
	if (keys == 1) != (schema >= 5) {
		t.Errorf("%d CD keys in an upgraded file of schema %d", keys, schema)
	}
}

// checkOldAccount checks that the account of an older file is found in every way.
func checkOldAccount(t *testing.T, s *records.Store) {
	t.Helper()
	var found []string
	add := func(what any, err error) { found = append(found, fmt.Sprint(what, err)) }
	u, err := s.UserByEmail(t.Context(), 0, "ANN@example.com")
	add(u.ID, err)
	p, err := s.ProfileByNick(t.Context(), 1, "ben")
	add(p.Nick, err)
	p, u, err = s.ProfileByUniqueNick(t.Context(), 1, "ann")
	add(p.Nick, err)
	add(u.ID, err)
	for p, err := range s.FindProfiles(t.Context(), storage.ByNick, "ann") {
		add(p.Nick, err)
	}
	profiles, err := s.ProfilesOf(t.Context(), 1)
	add(len(profiles), err)
	lists, err := s.Lists(t.Context(), 1)
	add(lists.Buddies[0], err)
	messages, _, err := s.CountMessages(t.Context())
	add(messages, err)
	users, err := s.CountUsers(t.Context())
	add(users, err)
	for e, err := range s.AuditLog(t.Context(), 0) {
		if e.Via != storage.ViaPlayer {
			add(e.Action, err)
		}
	}
	const want = "[1 <nil> Ben<nil> Ann<nil> 1 <nil> Ann<nil> 2 <nil> 2 <nil> 1 <nil> 1 <nil> test<nil>]"
	if got := fmt.Sprint(found); got != want {
		t.Errorf("the account of an older file = %s, want %s", got, want)
	}
}

// checkOldGames checks the totals of what games stored in testdata/schema7.db.
func checkOldGames(t *testing.T, s *records.Store) {
	t.Helper()
	sake, err := s.CountSake(t.Context())
	if sake.Records != 2 || sake.Bytes == 0 || err != nil {
		t.Errorf("CountSake() = %+v, %v, want 2 records", sake, err)
	}
	stats, err := s.StatTotals(t.Context())
	if stats.Blocks != 2 || stats.BlockBytes != 9 || stats.Reports != 1 || stats.ReportBytes == 0 || err != nil {
		t.Errorf("StatTotals() = %+v, %v, want the block and the report, and a block of 1 byte", stats, err)
	}
	files, err := s.FileUsage(t.Context(), 0)
	if files != (storage.FileUsage{Files: 2, Bytes: 77}) || err != nil {
		t.Errorf("FileUsage() = %+v, %v, want 2 files of 77 bytes", files, err)
	}
	if mark, err := s.CopyMark(t.Context()); mark != "a copy" || err != nil {
		t.Errorf("CopyMark() = %q, %v", mark, err)
	}
	if room, err := s.PutRoom(t.Context(), storage.Room{Game: "gmtest", Name: "Third"}); room.ID != storage.FirstFreeRoomID+1 || err != nil {
		t.Errorf("PutRoom() = %+v, %v, want the second id that is given", room, err)
	}
	if m, err := s.GetMatch(t.Context(), 1); m.Game != "gmtest" || err != nil {
		t.Errorf("GetMatch() = %+v, %v", m, err)
	}
}

// checkOldServers checks the server list of testdata/schema7.db, and saves another.
func checkOldServers(t *testing.T, s *records.Store) {
	t.Helper()
	load := func() string {
		var found []string
		for v, err := range s.LoadServers(t.Context()) {
			found = append(found, fmt.Sprint(v.Source, err))
		}
		slices.Sort(found)
		return strings.Join(found, ", ")
	}
	if got := load(); got != "192.0.2.1:6500 <nil>, 192.0.2.1:6501 <nil>" {
		t.Errorf("LoadServers() = %s", got)
	}
	one := func(yield func(storage.Server) bool) {
		yield(storage.Server{Source: netip.MustParseAddrPort("192.0.2.9:1"), Game: "gmtest", First: time.Now(), Seen: time.Now()})
	}
	if _, err := s.SaveServers(t.Context(), storagetest.WholeList(one)); err != nil {
		t.Fatal(err)
	}
	if got := load(); got != "192.0.2.9:1 <nil>" {
		t.Errorf("LoadServers() after a save = %s", got)
	}
}

// A list of an older version, in JSON and without an index, is read, and the
// first save writes it in the present form although no record has changed.
func TestListOfOlderVersion(t *testing.T) {
	path := copyFile(t, filepath.Join("testdata", "wholelist.db"), filepath.Join(t.TempDir(), "respawnd.db"))
	s := openStore(t, path).Store
	first := time.Date(2026, 11, 1, 11, 0, 0, 0, time.UTC)
	seen := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	one, two, three := netip.MustParseAddrPort("192.0.2.1:6500"), netip.MustParseAddrPort("[2001:db8::2%eth0]:6500"), netip.MustParseAddrPort("192.0.2.3:6500")
	want := []storage.Server{
		{
			Source: one, Via: netip.MustParseAddr("198.51.100.1"), Instance: 1, Game: "gmtest", Origin: "qr2", Public: one,
			Local: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:6500")}, NATNeg: true, Reachable: true, Country: "NZ", Region: "32",
			Rules: []byte("hostname\x00One\x00\x00"), First: first, Seen: seen.Add(500 * time.Millisecond),
		},
		{Source: two, Game: "gmtest", Origin: "static", Public: netip.MustParseAddrPort("[2001:db8::2]:6500"), First: first, Seen: seen.Add(time.Second)},
		{Source: three, Instance: 3, Game: "gmtest", Origin: "qr2", Public: three, First: first, Seen: seen.Add(2 * time.Second)},
	}
	check := func(when string, s *records.Store) {
		t.Helper()
		var got []storage.Server
		for v, err := range s.LoadServers(t.Context()) {
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			got = append(got, v)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{}, netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("the old list", s)

	asked := 0
	saved, err := s.SaveServers(t.Context(), func(yield func(storage.ListedServer) bool) {
		for i := range want {
			record := func() storage.Server { asked++; return want[i] }
			if !yield(storage.ListedServer{Source: want[i].Source, Seen: want[i].Seen, Record: record}) {
				return
			}
		}
	})
	if want := (storage.SavedServers{Servers: 3, Written: 3}); saved != want || err != nil || asked != 3 {
		t.Errorf("SaveServers() = %+v, %v, want %+v", saved, err, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, path).Store
	check("the new list", s)
}
