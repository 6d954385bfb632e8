// Package storagetest tests the contract of package storage. Every engine runs
// it from a test of its own. It is not for tests of a particular engine and
// does not know how a store is implemented.
package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// racers is how many goroutines race for one key.
const racers = 16

// Reopener is a store that can be closed and opened again with its content.
// Other stores skip the tests that need it.
type Reopener interface {
	Reopen(t *testing.T) storage.Store
}

// Run runs the contract, or only some groups of it, such as "Users". open returns an empty
// store that closes itself with the test that it is given.
func Run(t *testing.T, open func(t *testing.T) storage.Store, only ...string) {
	t.Helper()
	groups := map[string]map[string]func(*testing.T, storage.Store){
		"Servers":     serverTests(),
		"Games":       gameTests(),
		"Rooms":       roomTests(),
		"Bans":        banTests(),
		"ChatRules":   chatRuleTests(),
		"ProductKeys": productKeyTests(),
		"Files":       fileTests(),
		"News":        newsTests(),
		"PlayReports": playReportTests(),
		"Posts":       postTests(),
		"Listings":    listingTests(),
		"Users":       userTests(),
		"Profiles":    profileTests(),
		"Buddies":     buddyTests(),
		"Sake":        sakeTests(),
		"Matches":     matchTests(),
		"Audit":       auditTests(),
		"Stats":       statTests(),
		"Store":       storeTests(),
	}
	for name, tests := range groups {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, open(t))
				})
			}
		})
	}
}

// storeTests are the tests for every kind of record.
func storeTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"a closed store refuses everything":       testClosed,
		"a cancelled context stops every method":  testCancelled,
		"everything is there after opening again": testReopen,
		"a model agrees after any history":        testModel,
		"a model of accounts agrees as well":      testAccountModel,
	}
}

// calls is every method once, on records that exist in no store.
func calls(s storage.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"SaveServers": func(ctx context.Context) error {
			return errOf(s.SaveServers(ctx, func(func(storage.ListedServer) bool) {}))
		},
		"CompactServers": func(ctx context.Context) error { return s.CompactServers(ctx) },
		"LoadServers":    func(ctx context.Context) error { return firstError(s.LoadServers(ctx)) },
		"SetGames":       func(ctx context.Context) error { return s.SetGames(ctx, []storage.Game{game("late")}) },
		"GetGame":        func(ctx context.Context) error { return errOf(s.GetGame(ctx, "late")) },
		"DeleteGame":     func(ctx context.Context) error { return s.DeleteGame(ctx, "late") },
		"Games":          func(ctx context.Context) error { return firstError(s.Games(ctx)) },
		"PutRoom":        func(ctx context.Context) error { return errOf(s.PutRoom(ctx, room("late", "r"))) },
		"GetRoom":        func(ctx context.Context) error { return errOf(s.GetRoom(ctx, 77)) },
		"DeleteRoom":     func(ctx context.Context) error { return s.DeleteRoom(ctx, 77) },
		"Rooms":          func(ctx context.Context) error { return firstError(s.Rooms(ctx, "")) },
		"Rooms of game":  func(ctx context.Context) error { return firstError(s.Rooms(ctx, "late")) },
		"AddBan":         func(ctx context.Context) error { return s.AddBan(ctx, ban("192.0.2.77/32", storage.ScopeAll)) },
		"RemoveBan": func(ctx context.Context) error {
			_, err := s.RemoveBan(ctx, netip.MustParsePrefix("192.0.2.77/32"), storage.EveryScope)
			return err
		},
		"Bans":      func(ctx context.Context) error { return firstError(s.Bans(ctx)) },
		"SweepBans": func(ctx context.Context) error { return errOf(s.SweepBans(ctx, time.Now())) },
	}
}

// accountCalls is every method of accounts and buddies that calls lacks.
func accountCalls(s storage.Store) map[string]func(context.Context) error {
	request := storage.Request{From: 77, To: 78, Signature: signature, Sent: moment()}
	message := storage.Message{From: 77, Kind: storage.MessageText, Sent: moment()}
	return map[string]func(context.Context) error{
		"CreateUser": func(ctx context.Context) error {
			_, _, err := s.CreateUser(ctx, user("late@b.c"), profile("Late"))
			return err
		},
		"ImportUsers": func(ctx context.Context) error {
			return s.ImportUsers(ctx, []storage.NewUser{{User: user("late@b.c"), Profiles: []storage.Profile{profile("Late"), {Nick: "Later"}}}})
		},
		"ImportRelations": func(ctx context.Context) error {
			return s.ImportRelations(ctx, 77, []storage.ProfileID{78}, nil)
		},
		"GetUser":       func(ctx context.Context) error { return errOf(s.GetUser(ctx, 77)) },
		"UserByEmail":   func(ctx context.Context) error { return errOf(s.UserByEmail(ctx, 0, "late@b.c")) },
		"UpdateUser":    func(ctx context.Context) error { return errOf(s.UpdateUser(ctx, user("late@b.c"))) },
		"DeleteUser":    func(ctx context.Context) error { return s.DeleteUser(ctx, 77) },
		"Users":         func(ctx context.Context) error { return firstError(s.Users(ctx, 0)) },
		"CountUsers":    func(ctx context.Context) error { return errOf(s.CountUsers(ctx)) },
		"CreateProfile": func(ctx context.Context) error { return errOf(s.CreateProfile(ctx, profile("Late"))) },
		"GetProfile":    func(ctx context.Context) error { return errOf(s.GetProfile(ctx, 77)) },
		"ProfilesOf":    func(ctx context.Context) error { return errOf(s.ProfilesOf(ctx, 77)) },
		"ProfileByNick": func(ctx context.Context) error { return errOf(s.ProfileByNick(ctx, 77, "Late")) },
		"ProfileByUniqueNick": func(ctx context.Context) error {
			_, _, err := s.ProfileByUniqueNick(ctx, 1, "late")
			return err
		},
		"NamespacesOfUniqueNick": func(ctx context.Context) error { return errOf(s.NamespacesOfUniqueNick(ctx, "late")) },
		"ProfileByCDKey":         func(ctx context.Context) error { return errOf(s.ProfileByCDKey(ctx, "gmtest", "d")) },
		"FindProfiles":           func(ctx context.Context) error { return firstError(s.FindProfiles(ctx, storage.ByNick, "Late")) },
		"FindProfiles of nothing": func(ctx context.Context) error {
			return firstError(s.FindProfiles(ctx, storage.ByNick, ""))
		},
		"UpdateProfile":  func(ctx context.Context) error { return errOf(s.UpdateProfile(ctx, profile("Late"))) },
		"DeleteProfile":  func(ctx context.Context) error { return s.DeleteProfile(ctx, 77) },
		"AddBuddy":       func(ctx context.Context) error { return s.AddBuddy(ctx, 77, 78) },
		"RemoveBuddy":    func(ctx context.Context) error { return s.RemoveBuddy(ctx, 77, 78) },
		"Lists":          func(ctx context.Context) error { return errOf(s.Lists(ctx, 77)) },
		"Watchers":       func(ctx context.Context) error { return firstError(s.Watchers(ctx, 77)) },
		"Relation":       func(ctx context.Context) error { return errOf(s.Relation(ctx, 77, 78)) },
		"AddBlock":       func(ctx context.Context) error { return s.AddBlock(ctx, 77, 78) },
		"RemoveBlock":    func(ctx context.Context) error { return s.RemoveBlock(ctx, 77, 78) },
		"Ask":            func(ctx context.Context) error { return s.Ask(ctx, request) },
		"Request":        func(ctx context.Context) error { return errOf(s.Request(ctx, 77, 78)) },
		"Requests":       func(ctx context.Context) error { return firstError(s.Requests(ctx, 77)) },
		"Accept":         func(ctx context.Context) error { return s.Accept(ctx, 77, 78, signature, moment()) },
		"SweepRequests":  func(ctx context.Context) error { return errOf(s.SweepRequests(ctx, moment())) },
		"Leave":          func(ctx context.Context) error { return s.Leave(ctx, 77, message) },
		"Return":         func(ctx context.Context) error { return errOf(s.Return(ctx, 77, []storage.Message{message})) },
		"Messages":       func(ctx context.Context) error { return errOf(s.Messages(ctx, 77, moment())) },
		"ShowMessages":   func(ctx context.Context) error { return s.ShowMessages(ctx, 77, []uint64{1}) },
		"RemoveMessages": func(ctx context.Context) error { return s.RemoveMessages(ctx, 77, []uint64{1}) },
		"CountMessages":  func(ctx context.Context) error { _, _, err := s.CountMessages(ctx); return err },
		"AddAudit":       func(ctx context.Context) error { return errOf(s.AddAudit(ctx, entry("late"))) },
		"AuditLog":       func(ctx context.Context) error { return firstError(s.AuditLog(ctx, 0)) },
		"SweepMessages":  func(ctx context.Context) error { return errOf(s.SweepMessages(ctx, moment())) },
	}
}

// allCalls is every method once.
func allCalls(s storage.Store) map[string]func(context.Context) error {
	all := make(map[string]func(context.Context) error)
	for _, of := range []func(storage.Store) map[string]func(context.Context) error{
		calls, accountCalls, listingCalls, chatRuleCalls, productKeyCalls, fileCalls, newsCalls, playReportCalls, postCalls, sakeCalls, statCalls, matchCalls,
	} {
		maps.Copy(all, of(s))
	}
	return all
}

func testClosed(t *testing.T, s storage.Store) {
	all := allCalls(s)
	for range 2 {
		noErr(t, s.Close())
	}
	for name, call := range all {
		wantErr(t, call(t.Context()), storage.ErrClosed, "%s on a closed store", name)
	}
}

func testCancelled(t *testing.T, s storage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range allCalls(s) {
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context = %v, want context.Canceled", name, err)
		}
	}
	if got := collect(t, s.Games(t.Context())); len(got) != 0 {
		t.Errorf("a cancelled SetGames stored %v", got)
	}
	if got := collect(t, s.Users(t.Context(), 0)); len(got) != 0 {
		t.Errorf("a cancelled CreateUser stored %v", got)
	}
}

func testReopen(t *testing.T, s storage.Store) {
	again, ok := s.(Reopener)
	if !ok {
		t.Skip("this engine cannot open a store again")
	}
	servers := []storage.Server{server(1), server(2)}
	save(t, s, servers)
	g := putGame(t, s, game("gmtest"))
	r := putRoom(t, s, room("gmtest", "Newcomers"))
	b := ban("192.0.2.0/24", storage.ScopeLists)
	addBan(t, s, b)
	muted := chatRule(storage.ChatMute, 7, "#gpg!12")
	putChatRule(t, s, muted)
	sold := productKey(461, "a")
	putProductKeys(t, s, sold)
	welcome, newer := motd("gmtest"), patch(461, "1.0")
	putMotd(t, s, welcome)
	putPatch(t, s, newer)
	named, unseen := added("a.example:27015"), hidden("192.0.2.1:6500")
	addServer(t, s, named)
	hideServer(t, s, unseen)
	u, p := createUser(t, s, user("a@b.c"), profile("A"))
	_, other := createUser(t, s, user("b@b.c"), profile("B"))
	addBuddy(t, s, p.ID, other.ID)
	uploaded := createFile(t, s, file(p.ID, "a", 10))
	asked := ask(t, s, other.ID, p.ID, moment())
	message := storage.Message{From: other.ID, Kind: storage.MessageText, Text: "hi", Sent: moment()}
	leave(t, s, p.ID, message)
	saved := makeSake(t, s, levels(), p.ID, sakeFields()...)
	noted := addAudit(t, s, entry("before"))
	kept := setBlock(t, s, blockID(p.ID, 1), second(0), "data")
	putScore(t, s, scoreOf(p.ID, 7))
	played := report(1, "pairs")
	played.ID = putReport(t, s, played, storage.ReportResult{Stored: true})
	fought := putMatch(t, s, match(p.ID, other.ID))

	s = again.Reopen(t)
	differ(t, "servers", collect(t, s.LoadServers(t.Context())), servers)
	differ(t, "games", collect(t, s.Games(t.Context())), []storage.Game{g})
	differ(t, "rooms", collect(t, s.Rooms(t.Context(), "gmtest")), []storage.Room{r})
	differ(t, "bans", collect(t, s.Bans(t.Context())), []storage.Ban{b})
	differ(t, "chat rules", collect(t, s.ChatRules(t.Context())), []storage.ChatRule{muted})
	differ(t, "CD keys", collect(t, s.ProductKeys(t.Context())), []storage.ProductKey{sold})
	differ(t, "messages of the day", collect(t, s.Motds(t.Context())), []storage.Motd{welcome})
	differ(t, "patches", collect(t, s.Patches(t.Context())), []storage.Patch{newer})
	differ(t, "files", collect(t, s.Files(t.Context(), 0)), []storage.File{uploaded})
	differ(t, "usage of files", usage(t, s, 0), storage.FileUsage{Files: 1, Bytes: 10})
	differ(t, "added servers", collect(t, s.AddedServers(t.Context())), []storage.AddedServer{named})
	differ(t, "hidden servers", collect(t, s.HiddenServers(t.Context())), []storage.HiddenServer{unseen})
	differ(t, "user", must(s.UserByEmail(t.Context(), 0, u.Email))(t), u)
	differ(t, "profile", must(s.GetProfile(t.Context(), p.ID))(t), p)
	differ(t, "buddies", must(s.Lists(t.Context(), p.ID))(t).Buddies, []storage.ProfileID{other.ID})
	differ(t, "requests", collect(t, s.Requests(t.Context(), p.ID)), []storage.Request{asked})
	differ(t, "messages", waiting(t, s, p.ID, moment()), []storage.Message{message})
	differ(t, "SAKE records", must(s.SakeRecords(t.Context(), levels(), []uint32{saved}))(t)[0].Fields, sakeFields())
	differ(t, "audit log", collect(t, s.AuditLog(t.Context(), 0)), []storage.AuditEntry{noted})
	differ(t, "blocks", collect(t, s.StatBlocks(t.Context(), p.ID)), []storage.StatBlock{kept})
	differ(t, "scores", collect(t, s.ScoresOf(t.Context(), p.ID)), []storage.Score{scoreOf(p.ID, 7)})
	differ(t, "reports", collect(t, s.Reports(t.Context(), "gmtest", 0)), []storage.Report{played})
	differ(t, "matches", collect(t, s.OpenMatches(t.Context())), []storage.Match{fought})
	if next := addAudit(t, s, entry("after")); next.Seq != noted.Seq+1 {
		t.Errorf("AddAudit() gave out number %d after %d", next.Seq, noted.Seq)
	}
	if next, _ := createUser(t, s, user("c@b.c"), profile("C")); next.ID <= u.ID {
		t.Errorf("CreateUser() gave out id %d after %d", next.ID, u.ID)
	}
	if next := putRoom(t, s, room("gmtest", "Old hands")); next.ID == r.ID {
		t.Errorf("PutRoom() gave out id %d again", r.ID)
	}
	wantErr(t, errOf(s.PutRoom(t.Context(), r)), nil, "PutRoom() with the revision from before")
}

// equal compares records: times by instant, addresses by value, nil and empty
// slices as equal.
func equal() cmp.Options {
	return cmp.Options{
		cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal)), // byte by byte takes seconds
	}
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// differ reports how got differs from want.
func differ[R any](t tester, what string, got, want R) {
	t.Helper()
	if diff := cmp.Diff(want, got, equal()); diff != "" {
		t.Errorf("%s differ (-want +got):\n%s", what, diff)
	}
}

// wantErr reports an error that does not match want, nil if it is to be none. what and args say
// what returned it.
func wantErr(t tester, err, want error, what string, args ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", fmt.Sprintf(what, args...), err, want)
	}
}

// errOf returns the error of a result.
func errOf[V any](_ V, err error) error { return err }

// errOf2 returns the error of two results.
func errOf2[V, W any](_ V, _ W, err error) error { return err }

// noErr ends the test after an error. what says what returned it.
func noErr(t tester, err error, what ...any) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v %v", what, err)
	}
}

// collect returns all records of an iteration that has no errors.
func collect[R any](t tester, seq iter.Seq2[R, error]) []R {
	t.Helper()
	var all []R
	for record, err := range seq {
		if err != nil {
			t.Fatalf("after %d records: %v", len(all), err)
		}
		all = append(all, record)
	}
	return all
}

// firstError returns the first error of an iteration.
func firstError[R any](seq iter.Seq2[R, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// large leaves a test of many records out of the short run.
func large(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("stores many records")
	}
}

// Distant is a store whose steps take round trips. Tests that only fill it up to a limit
// are left out: limits belong to the records, which are the same over every engine.
type Distant interface{ Distant() }

// filled leaves a test that fills a store up to a limit out where that takes long.
func filled(t *testing.T, s storage.Store) {
	t.Helper()
	racetest.Skip(t, "stores many records")
	if _, distant := s.(Distant); distant {
		t.Skip("stores many records, each in round trips")
	}
}

// atOnce is how many calls together makes at once.
const atOnce = 64

// together calls f(0) to f(n-1), many at once, which is quicker than in turn where
// an engine shares the cost of a transaction. None may fail.
func together(t tester, n int, f func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, atOnce) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				errs[i] = f(int(i))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v", err)
	}
}

// race runs f from many goroutines at once and returns the errors.
func race(f func(i int) error) []error {
	errs := make([]error, racers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// oneWon checks that one racer got nil and every other the same refusal.
func oneWon(t *testing.T, errs []error, refusal error) {
	t.Helper()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, refusal):
			t.Errorf("racer %d: %v, want nil or %v", i, err, refusal)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d racers won, want 1", won, len(errs))
	}
}

// moment is a time that is awkward to store: another zone, nanoseconds.
func moment() time.Time {
	return time.Date(2026, 11, 20, 23, 59, 59, 123456789, time.FixedZone("east", 5*3600))
}
