package gpsp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/storage"
)

// oddStore is a store that finds a fixed number of profiles, or fails.
type oddStore struct {
	Store
	profiles int   // with ids from 1; all have the same user
	err      error // of everything else
}

func (o *oddStore) FindProfiles(_ context.Context, _ storage.ProfileIndex, nick string) iter.Seq2[storage.Profile, error] {
	return func(yield func(storage.Profile, error) bool) {
		for i := range o.profiles {
			if !yield(storage.Profile{ID: storage.ProfileID(i + 1), User: 1, Nick: nick}, nil) {
				return
			}
		}
		if o.err != nil {
			yield(storage.Profile{}, o.err)
		}
	}
}

func (o *oddStore) Watchers(context.Context, storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) {
		for i := range o.profiles {
			if !yield(storage.ProfileID(i+1), nil) {
				return
			}
		}
		if o.err != nil {
			yield(0, o.err)
		}
	}
}

func (o *oddStore) Lists(context.Context, storage.ProfileID) (l storage.Lists, err error) {
	for i := range o.profiles {
		l.Buddies = append(l.Buddies, storage.ProfileID(i+1))
	}
	return l, o.err
}

func (o *oddStore) GetUser(_ context.Context, id storage.UserID) (storage.User, error) {
	return storage.User{ID: id, Email: "everybody@example.com"}, o.err
}

func (o *oddStore) UserByEmail(context.Context, int, string) (storage.User, error) {
	return storage.User{ID: 1}, o.err
}

func (o *oddStore) GetProfile(_ context.Context, id storage.ProfileID) (storage.Profile, error) {
	if id == 3 {
		return storage.Profile{}, storage.ErrDeleted
	}
	return storage.Profile{ID: id, User: 1, Nick: "Same"}, o.err
}

// perform carries out a request without a connection.
func (f *fixture) perform(t testing.TB, text string) (string, error) {
	t.Helper()
	cut, _, _ := gamespy.CutFinal([]byte(text))
	m, err := gamespy.ParseMessage(cut)
	if err != nil {
		t.Fatal(err)
	}
	c := f.srv.commands[m.Name()]
	var w reply
	_, err = f.srv.perform(t.Context(), &c, &request{Message: m, from: netip.MustParseAddr("192.0.2.1"), live: f.srv.live.Load()}, &w)
	return string(w.end()), err
}

func TestSearchHasPages(t *testing.T) {
	for name, tc := range map[string]struct {
		there int
		pages []int
	}{
		"unknown":             {0, []int{0}},
		"one page":            {PageSize, []int{PageSize}},
		"one more":            {PageSize + 1, []int{PageSize, 1}},
		"three pages":         {2*PageSize + 6, []int{PageSize, PageSize, 6}},
		"as many as it looks": {MaxCandidates, append(fullPages(MaxCandidates/PageSize), MaxCandidates%PageSize)},
		"more than it looks":  {MaxCandidates + 1, append(fullPages(MaxCandidates/PageSize), MaxCandidates%PageSize)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Store = &oddStore{Store: o.Store, profiles: tc.there} })
			next, seen := 1, 0
			for i, want := range tc.pages {
				got, err := f.perform(t, fmt.Sprintf(`\search\\namespaceid\1\partnerid\0\nick\Same\skip\%d\final\`, seen))
				if err != nil || acceptable("search", got) != nil {
					t.Fatalf("page %d: %v, %v", i, err, acceptable("search", got))
				}
				rows := strings.Count(got, `\bsr\`)
				if more := strings.HasSuffix(got, `\more\1\final\`); rows != want || more != (i+1 < len(tc.pages)) {
					t.Errorf("page %d has %d rows, more: %v; want %d", i, rows, more, want)
				}
				for range rows {
					if !strings.Contains(got, fmt.Sprintf(`\bsr\%d\nick\Same`, next)) {
						t.Fatalf("page %d does not have profile %d", i, next)
					}
					next++
				}
				seen += rows
			}
		})
	}
}

func fullPages(n int) (pages []int) {
	for range n {
		pages = append(pages, PageSize)
	}
	return pages
}

func TestListsOfBuddiesAreBounded(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Store = &oddStore{Store: o.Store, profiles: 3 * MaxOthers} })
	f.populate(t)
	asks := map[string]string{
		"others":      `\others\\sesskey\70001\profileid\1001\namespaceid\1\final\`,
		"otherslist":  `\otherslist\\sesskey\70001\profileid\1001\namespaceid\1\opids\` + strings.Repeat("1|", 2*MaxOthers) + `\final\`,
		"profilelist": `\profilelist\\sesskey\70001\profileid\1001\searchprofileid\1001\maxresults\2147483647\final\`,
	}
	for command, text := range asks {
		got, err := f.perform(t, text)
		if err != nil || acceptable(command, got) != nil {
			t.Fatalf("%s: %v, %v", command, err, acceptable(command, got))
		}
		if rows := strings.Count(got, `\o\`); rows != MaxOthers {
			t.Errorf("%s has %d rows, want %d", command, rows, MaxOthers)
		}
		if command == "others" && strings.Contains(got, `\o\3\`) {
			t.Errorf("others has a profile that was deleted meanwhile")
		}
	}
}

func TestBrokenStoreIsLogged(t *testing.T) {
	broken := errors.New("the disk is on fire")
	log := new(nettest.Log)
	f := start(t, func(o *Options) {
		o.Store = &oddStore{Store: o.Store, profiles: 5, err: broken}
		o.Log = zerolog.New(log)
	})
	f.populate(t)
	const database = `\error\\err\4\errmsg\the request cannot be answered now\final\`
	for text, want := range map[string]string{
		`\valid\\email\a@example.com\final\`:                                                database,
		`\search\\nick\a\final\`:                                                            database,
		`\search\\email\a@example.com\final\`:                                               database,
		`\others\\sesskey\70001\profileid\1001\final\`:                                      database,
		`\otherslist\\sesskey\70001\profileid\1001\opids\7\final\`:                          database,
		`\profilelist\\sesskey\70001\profileid\1001\searchprofileid\7\final\`:               database,
		`\profilelist\\sesskey\70001\profileid\1001\searchprofileid\1001\final\`:            database,
		`\pmatch\\productid\11\final\`:                                                      database,
		`\check\\nick\Unknown\email\alice@example.com\pass\secret\partnerid\0\final\`:       `\cur\3586\final\`,
		`\newuser\\nick\Alice\email\alice@example.com\pass\secret\namespaceid\0\x\1\final\`: `\nur\513\pid\1001\final\`,
	} {
		if got := f.ask(t, text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if n := strings.Count(log.String(), broken.Error()); n != 8 {
		t.Errorf("the log has the error %d times, want 8:\n%s", n, log)
	}
	if got := metrictest.Value(t, f.metrics, "respawnd_gpsp_requests_total", resultError); got != 8 {
		t.Errorf("%v requests were counted as errors, want 8", got)
	}
}

// The store may be closed under the last requests.
func TestClosedStoreHasCodesInTheReply(t *testing.T) {
	f := newFixture(t, nil)
	f.populate(t)
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`\check\\nick\Alice\email\alice@example.com\pass\secret\final\`:       `\cur\3584\final\`,
		`\newuser\\nick\A\email\a@example.com\pass\a\namespaceid\0\final\`:    `\nur\512\final\`,
		`\nicks\\email\alice@example.com\pass\secret\namespaceid\1\final\`:    `\error\\err\4\errmsg\the request cannot be answered now\final\`,
		`\searchunique\\uniquenick\AliceU\namespaces\1\final\`:                `\error\\err\4\errmsg\the request cannot be answered now\final\`,
		`\uniquesearch\\preferrednick\Zed\namespaceid\1\final\`:               `\error\\err\4\errmsg\the request cannot be answered now\final\`,
		`\otherslist\\sesskey\70001\profileid\1001\opids\1002\final\`:         `\error\\err\4\errmsg\the request cannot be answered now\final\`,
		`\profilelist\\sesskey\70001\profileid\1001\searchprofileid\7\final\`: `\error\\err\4\errmsg\the request cannot be answered now\final\`,
	} {
		if got, err := f.perform(t, text); got != want || err == nil {
			t.Errorf("%s: %q, %v; want %q and an error", text, got, err, want)
		}
	}
}
