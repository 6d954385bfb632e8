package storagetest

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/respawnd/respawnd/storage"
)

// entry returns an entry of the audit log.
func entry(subject string) storage.AuditEntry {
	return storage.AuditEntry{
		Time: moment(), Via: storage.ViaPage, By: "Ann", From: netip.MustParseAddr("192.0.2.1"),
		Action: "test.change", Subject: subject, Detail: "why",
	}
}

// addAudit stores an entry by itself.
func addAudit(t *testing.T, s storage.Store, e storage.AuditEntry) storage.AuditEntry {
	t.Helper()
	stored, err := s.AddAudit(t.Context(), e)
	if err != nil {
		t.Fatalf("AddAudit(%+v) = %v", e, err)
	}
	return stored
}

// subjects returns the subjects of a part of the log.
func subjects(t *testing.T, s storage.Store, before uint64) []string {
	t.Helper()
	var out []string
	for _, e := range collect(t, s.AuditLog(t.Context(), before)) {
		out = append(out, e.Subject)
	}
	return out
}

func auditTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"entries come back newest first":                    testAuditOrder,
		"every change stores the entry of its context":      testAuditWithChange,
		"what fails or changes nothing leaves no entry":     testAuditOfNothing,
		"a new record's id is in its entry":                 testAuditID,
		"the oldest entries go when the log is full":        testAuditLimit,
		"a lowered limit holds at once":                     testAuditLowered,
		"players cannot push operators' entries out":        testAuditOfPlayers,
		"texts that are too long or no text are made to be": testAuditTexts,
		"many changes at once leave as many entries":        testAuditRace,
		"messages that wait are counted":                    testCountMessages,
	}
}

func testAuditOrder(t *testing.T, s storage.Store) {
	if got := collect(t, s.AuditLog(t.Context(), 0)); len(got) != 0 {
		t.Errorf("AuditLog() of an empty store = %v", got)
	}
	first := entry("one")
	first.Seq = 1
	want := make([]storage.AuditEntry, 600) // several pages
	want[0] = addAudit(t, s, entry("one"))
	differ(t, "first entry", want[0], first)
	together(t, len(want)-1, func(i int) (err error) { want[1+i], err = s.AddAudit(t.Context(), entry("one")); return err })
	slices.SortFunc(want, func(a, b storage.AuditEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.Reverse(want)
	differ(t, "all entries", collect(t, s.AuditLog(t.Context(), 0)), want)
	differ(t, "entries below the number after the newest", collect(t, s.AuditLog(t.Context(), want[0].Seq+1)), want)
	differ(t, "entries below a number", collect(t, s.AuditLog(t.Context(), 4)), want[597:])
	differ(t, "entries below the oldest", collect(t, s.AuditLog(t.Context(), 1)), nil)
	differ(t, "entries below the highest number", collect(t, s.AuditLog(t.Context(), ^uint64(0))), want)
}

// changes are the methods that operators' changes go through.
func changes(t *testing.T, s storage.Store) []func(context.Context) error {
	var r storage.Room
	var u storage.User
	var p storage.Profile
	prefix := netip.MustParsePrefix("192.0.2.0/24")
	return []func(context.Context) error{
		func(ctx context.Context) error {
			return s.SetGames(ctx, []storage.Game{game("a"), game("b"), game("c")})
		},
		func(ctx context.Context) error { return s.DeleteGame(ctx, "a") },
		func(ctx context.Context) (err error) { r, err = s.PutRoom(ctx, room("b", "Room")); return err },
		func(ctx context.Context) (err error) { r, err = s.PutRoom(ctx, r); return err },
		func(ctx context.Context) error { return s.DeleteRoom(ctx, r.ID) },
		func(ctx context.Context) error { return s.AddBan(ctx, ban(prefix.String(), storage.ScopeAll)) },
		func(ctx context.Context) error { return s.AddBan(ctx, ban(prefix.String(), storage.ScopeLists)) },
		func(ctx context.Context) error {
			n, err := s.RemoveBan(ctx, prefix, storage.EveryScope)
			if n != 2 {
				t.Errorf("RemoveBan() = %d, want 2", n)
			}
			return err
		},
		func(ctx context.Context) error { return s.AddServer(ctx, added("a.example:27015")) },
		func(ctx context.Context) error { return s.RemoveAddedServer(ctx, "a.example:27015") },
		func(ctx context.Context) error { return s.HideServer(ctx, hidden("192.0.2.1:6500")) },
		func(ctx context.Context) error {
			return s.UnhideServer(ctx, netip.MustParseAddrPort("192.0.2.1:6500"))
		},
		func(ctx context.Context) (err error) {
			u, p, err = s.CreateUser(ctx, user("a@b.c"), profile("A"))
			return err
		},
		func(ctx context.Context) (err error) { u, err = s.UpdateUser(ctx, u); return err },
		func(ctx context.Context) (err error) { p, err = s.UpdateProfile(ctx, p); return err },
		func(ctx context.Context) error {
			more := profile("B")
			more.User = u.ID
			_, err := s.CreateProfile(ctx, more)
			return err
		},
		func(ctx context.Context) error { return s.DeleteProfile(ctx, p.ID) },
		func(ctx context.Context) error { return s.DeleteUser(ctx, u.ID) },
	}
}

func testAuditWithChange(t *testing.T, s storage.Store) {
	var want []string
	for i, change := range changes(t, s) {
		name := string(rune('a' + i))
		if err := change(storage.WithAudit(t.Context(), entry(name))); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		want = append([]string{name}, want...)
	}
	differ(t, "entries of one change each", subjects(t, s, 0), want)
	for i, change := range changes(t, s) {
		if err := change(storage.WithoutAudit(storage.WithAudit(t.Context(), entry("no")))); err != nil {
			t.Fatalf("change %d without an entry: %v", i, err)
		}
	}
	differ(t, "entries after changes without one", subjects(t, s, 0), want)
}

func testAuditOfNothing(t *testing.T, s storage.Store) {
	there := putRoom(t, s, room("gmtest", "There"))
	there.Rev = 0
	taken, _ := createUser(t, s, user("a@b.c"), profile("A"))
	ctx := storage.WithAudit(t.Context(), entry("nothing"))
	for name, call := range map[string]func() error{
		"RemoveBan of none": func() error {
			return errOf(s.RemoveBan(ctx, netip.MustParsePrefix("192.0.2.0/24"), storage.EveryScope))
		},
		"SweepBans of none":         func() error { return errOf(s.SweepBans(ctx, moment())) },
		"PutRoom of a taken":        func() error { return errOf(s.PutRoom(ctx, there)) },
		"DeleteGame of none":        func() error { return s.DeleteGame(ctx, "none") },
		"RemoveAddedServer of none": func() error { return s.RemoveAddedServer(ctx, "none.example:1") },
		"DeleteRoom of none":        func() error { return s.DeleteRoom(ctx, 4) },
		"CreateUser of a taken":     func() error { _, _, err := s.CreateUser(ctx, user("a@b.c"), profile("B")); return err },
		"CreateUser with an invalid profile": func() error {
			_, _, err := s.CreateUser(ctx, user("b@b.c"), profile(""))
			return err
		},
		"UpdateUser of an old one": func() error { u := taken; u.Rev += 7; _, err := s.UpdateUser(ctx, u); return err },
		"DeleteUser of none":       func() error { return s.DeleteUser(ctx, 99) },
		"SaveServers": func() error {
			return errOf(s.SaveServers(ctx, WholeList(slices.Values([]storage.Server{server(1)}))))
		},
	} {
		if err := call(); errors.Is(err, storage.ErrClosed) {
			t.Errorf("%s = %v", name, err)
		}
		if got := subjects(t, s, 0); len(got) > 0 {
			t.Fatalf("%s left entries: %v", name, got)
		}
	}
}

func testAuditID(t *testing.T, s storage.Store) {
	ctx := func(name string) context.Context { return storage.WithAudit(t.Context(), entry(name)) }
	u, _, err := s.CreateUser(ctx("user"), user("a@b.c"), profile("A"))
	if err != nil {
		t.Fatal(err)
	}
	more := profile("B")
	more.User = u.ID
	noErr(t, errOf(s.CreateProfile(ctx("profile"), more)))
	r := must(s.PutRoom(ctx("room"), room("gmtest", "Newcomers")))(t)
	want := map[string]uint32{"user": uint32(u.ID), "profile": uint32(u.ID), "room": r.ID}
	got := map[string]uint32{}
	for _, e := range collect(t, s.AuditLog(t.Context(), 0)) {
		got[e.Subject] = e.ID
	}
	differ(t, "ids", got, want)
}

func testAuditLimit(t *testing.T, s storage.Store) {
	s.LimitAudit(3)
	for _, name := range []string{"a", "b", "c"} {
		addAudit(t, s, entry(name))
	}
	differ(t, "a log that is just full", subjects(t, s, 0), []string{"c", "b", "a"})
	noErr(t, s.AddBan(storage.WithAudit(t.Context(), entry("d")), ban("192.0.2.0/24", storage.ScopeAll)))
	differ(t, "a log with one too many", subjects(t, s, 0), []string{"d", "c", "b"})
	s.LimitAudit(0)
	addAudit(t, s, entry("e"))
	differ(t, "a log of the least length", subjects(t, s, 0), []string{"e"})
	s.LimitAudit(3)
	last := addAudit(t, s, entry("f"))
	if last.Seq != 6 {
		t.Errorf("the sixth entry has number %d", last.Seq)
	}
}

func testAuditLowered(t *testing.T, s storage.Store) {
	together(t, 500, func(int) error { return errOf(s.AddAudit(t.Context(), entry("x"))) })
	s.LimitAudit(2)
	differ(t, "a log after its limit was lowered", len(subjects(t, s, 0)), 2)
	for range 10 { // old entries go in parts
		addAudit(t, s, entry("y"))
	}
	s.LimitAudit(1000)
	if got := subjects(t, s, 0); len(got) > 12 {
		t.Errorf("%d entries come back when the limit is raised, want those that were kept", len(got))
	}
}

func testAuditOfPlayers(t *testing.T, s storage.Store) {
	s.LimitAudit(3)
	mine := func(name string) storage.AuditEntry {
		e := entry(name)
		e.Via = storage.ViaPlayer
		return e
	}
	addAudit(t, s, entry("a"))
	for _, name := range []string{"1", "2", "3", "4"} {
		addAudit(t, s, mine(name))
	}
	addAudit(t, s, entry("b"))
	five := addAudit(t, s, mine("5"))
	differ(t, "a log in which players are many", subjects(t, s, 0), []string{"5", "b", "4", "3", "a"})
	differ(t, "its entries below a number", subjects(t, s, five.Seq), []string{"b", "4", "3", "a"})
	addAudit(t, s, entry("c"))
	addAudit(t, s, entry("d"))
	differ(t, "a log in which operators are many", subjects(t, s, 0), []string{"d", "c", "5", "b", "4", "3"})
	s.LimitAudit(1)
	differ(t, "a log with the least room", subjects(t, s, 0), []string{"d", "5"})
	s.LimitAudit(1000)
	together(t, 500, func(int) error {
		_, err := s.AddAudit(t.Context(), mine("x"))
		_, err2 := s.AddAudit(t.Context(), entry("y"))
		return errors.Join(err, err2)
	})
	if n := len(subjects(t, s, 0)); n < 1000 {
		t.Errorf("%d entries of 1000 come back", n)
	}
}

func testAuditTexts(t *testing.T, s storage.Store) {
	long := strings.Repeat("é", 3000)
	e := storage.AuditEntry{
		Action: "a\x1b[31m\n", Subject: long, Detail: long, By: long + "\xff", Via: storage.ViaAPI,
		From: netip.MustParseAddr("::ffff:192.0.2.9"),
	}
	got := addAudit(t, s, e)
	for name, text := range map[string]struct {
		s     string
		limit int
	}{
		"action": {got.Action, storage.MaxAuditAction}, "subject": {got.Subject, storage.MaxAuditSubject},
		"detail": {got.Detail, storage.MaxAuditDetail}, "by": {got.By, storage.MaxAuditBy},
	} {
		if len(text.s) > text.limit || !utf8.ValidString(text.s) || strings.ContainsAny(text.s, "\x1b\n") {
			t.Errorf("%s was stored as %q (%d bytes)", name, text.s, len(text.s))
		}
	}
	if !strings.HasPrefix(got.Subject, "éé") || !strings.HasSuffix(got.Subject, "…") {
		t.Errorf("subject was stored as %q, want its start and an ellipsis", got.Subject)
	}
	if got.Time.IsZero() || got.From.String() != "192.0.2.9" {
		t.Errorf("AddAudit() = %+v, want a time and the IPv4 address", got)
	}
	differ(t, "read back", collect(t, s.AuditLog(t.Context(), 0)), []storage.AuditEntry{got})
}

func testAuditRace(t *testing.T, s storage.Store) {
	errs := race(func(i int) error {
		name := string(rune('a' + i))
		_, _, err := s.CreateUser(storage.WithAudit(t.Context(), entry(name)), user(name+"@b.c"), profile("N"+name))
		if err != nil {
			return err
		}
		return s.AddBan(storage.WithAudit(t.Context(), entry(name)), ban("192.0.2."+string(rune('0'+i%10))+"/32", storage.ScopeAll))
	})
	noErr(t, errors.Join(errs...))
	got := subjects(t, s, 0)
	slices.Sort(got)
	var want []string
	for i := range racers {
		want = append(want, string(rune('a'+i)), string(rune('a'+i)))
	}
	differ(t, "entries", got, want)
}

func testCountMessages(t *testing.T, s storage.Store) {
	_, a := createUser(t, s, user("a@b.c"), profile("A"))
	_, b := createUser(t, s, user("b@b.c"), profile("B"))
	check := func(wantMessages, wantProfiles int) {
		t.Helper()
		messages, profiles, err := s.CountMessages(t.Context())
		if messages != wantMessages || profiles != wantProfiles || err != nil {
			t.Errorf("CountMessages() = %d, %d, %v, want %d, %d", messages, profiles, err, wantMessages, wantProfiles)
		}
	}
	check(0, 0)
	m := storage.Message{From: b.ID, Kind: storage.MessageText, Text: "hi", Sent: moment()}
	leave(t, s, a.ID, m)
	leave(t, s, a.ID, m)
	m.From = a.ID
	leave(t, s, b.ID, m)
	check(3, 2)
	noErr(t, s.RemoveMessages(t.Context(), a.ID, idsOf(must(s.Messages(t.Context(), a.ID, moment()))(t))))
	check(1, 1)
}
