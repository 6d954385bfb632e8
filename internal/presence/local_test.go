package presence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/storage"
)

// wantHeard checks the events that a peer received since the last check.
func wantHeard(t *testing.T, what string, p *peer, want ...Event) {
	t.Helper()
	if diff := cmp.Diff(want, p.heard()); diff != "" {
		t.Errorf("%s: profile %d heard (-want +got):\n%s", what, p.profile, diff)
	}
}

func TestWatchersHearEveryStatus(t *testing.T) {
	w := newWorld(t, 4)
	watcher, me, stranger := newPeer(1), newPeer(2), newPeer(3)
	w.watch(t, 1, 2, 4)
	w.enter(t, watcher, KickProfile)
	w.enter(t, stranger, KickProfile)
	w.enter(t, me, KickProfile)
	wantHeard(t, "sign-in", watcher, changed(2, online()))

	playing := Status{State: Playing, Text: "dm1", Location: "gs://x", Product: 11, Rich: &Rich{GameMap: "dm1"}}
	same := playing
	same.Rich = &Rich{GameMap: "dm1"}
	for _, st := range []Status{playing, same} {
		if err := w.SetStatus(t.Context(), me, st); err != nil {
			t.Fatal(err)
		}
	}
	wantHeard(t, "a status, twice", watcher, changed(2, playing))
	if got, ok := w.Status(t.Context(), 2); !ok || !got.Equal(playing) {
		t.Errorf("Status() = %+v, %v", got, ok)
	}
	w.SignOut(t.Context(), me)
	w.SignOut(t.Context(), me)
	wantHeard(t, "sign-out, twice", watcher, changed(2, Status{}))
	if _, ok := w.Status(t.Context(), 2); ok {
		t.Error("Status() after the sign-out = true")
	}
	wantHeard(t, "all the while", stranger)
	wantHeard(t, "all the while", me)
	if err := w.SetStatus(t.Context(), me, playing); !errors.Is(err, ErrNotSignedIn) {
		t.Errorf("SetStatus() after the sign-out = %v, want ErrNotSignedIn", err)
	}
	if err := w.SetInvitable(t.Context(), me, nil); !errors.Is(err, ErrNotSignedIn) {
		t.Errorf("SetInvitable() after the sign-out = %v, want ErrNotSignedIn", err)
	}
}

func TestBlockedSeeNothing(t *testing.T) {
	w := newWorld(t, 4)
	me, blocked, blocker, friend := newPeer(1), newPeer(2), newPeer(3), newPeer(4)
	for _, p := range []*peer{blocked, blocker, friend} {
		w.watch(t, p.profile, 1)
		w.enter(t, p, KickProfile)
	}
	if err := errors.Join(w.store.AddBlock(t.Context(), 1, 2), w.store.AddBlock(t.Context(), 3, 1)); err != nil {
		t.Fatal(err)
	}
	w.enter(t, me, KickProfile)
	w.SignOut(t.Context(), me)
	wantHeard(t, "whom I block", blocked)
	wantHeard(t, "who blocks me", blocker)
	wantHeard(t, "my friend", friend, changed(1, online()), changed(1, Status{}))
}

func TestSecondSignIn(t *testing.T) {
	tests := map[string]struct {
		policy       Policy
		kicked       []bool // the older sessions: same profile, other profile of the user
		watcherHears []Event
	}{
		"kick by profile": {KickProfile, []bool{true, false}, nil},
		"kick by user":    {KickUser, []bool{true, true}, []Event{changed(2, Status{})}},
		"allow":           {Allow, []bool{false, false}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3)
			watcher, same, other, second := newPeer(3), newPeer(1), newPeer(2), newPeer(1)
			other.user = 1
			w.watch(t, 3, 1, 2)
			w.enter(t, same, KickProfile)
			w.enter(t, other, KickProfile)
			w.enter(t, watcher, KickProfile)
			displaced := w.enter(t, second, tt.policy)
			want := 0
			for i, old := range []*peer{same, other} {
				if tt.kicked[i] {
					want++
				}
				if got := len(old.reasons()) == 1 && errors.Is(old.reasons()[0], ErrDisplaced); got != tt.kicked[i] {
					t.Errorf("session %d was kicked for %v, want kicked = %v", i, old.reasons(), tt.kicked[i])
				}
			}
			if len(displaced) != want {
				t.Errorf("SignIn() displaced %d, want %d", len(displaced), want)
			}
			wantHeard(t, "a take-over with the same status", watcher, tt.watcherHears...)
			for i, old := range []*peer{same, other} { // the displaced sessions sign out late
				if tt.kicked[i] {
					w.SignOut(t.Context(), old)
					if err := w.SetStatus(t.Context(), old, Status{State: Away}); !errors.Is(err, ErrNotSignedIn) {
						t.Errorf("SetStatus() of a displaced session = %v, want ErrNotSignedIn", err)
					}
				}
			}
			wantHeard(t, "the late sign-out", watcher)
			if st, ok := w.Status(t.Context(), 1); !ok || st.State != Online {
				t.Errorf("Status() after the take-over = %+v, %v", st, ok)
			}
			if got, want := w.Count(), 4-want; got != want {
				t.Errorf("Count() = %d, want %d", got, want)
			}
		})
	}
}

func TestTakeOverWithAnotherStatusIsHeardOnce(t *testing.T) {
	w := newWorld(t, 2)
	watcher, first, second := newPeer(1), newPeer(2), newPeer(2)
	w.watch(t, 1, 2)
	w.enter(t, watcher, KickProfile)
	w.enter(t, first, KickProfile)
	if err := w.SetStatus(t.Context(), first, Status{State: Away}); err != nil {
		t.Fatal(err)
	}
	watcher.heard()
	w.enter(t, second, KickProfile)
	wantHeard(t, "the take-over", watcher, changed(2, online()))
}

func TestSeveralSessionsOfOneProfile(t *testing.T) {
	w := newWorld(t, 2)
	watcher, a, b := newPeer(1), newPeer(2), newPeer(2)
	b.key = 77
	w.watch(t, 1, 2)
	w.enter(t, watcher, KickProfile)
	w.enter(t, a, Allow)
	w.enter(t, b, Allow)
	if _, err := w.SignIn(t.Context(), a, Allow, online()); !errors.Is(err, ErrSignedIn) {
		t.Errorf("SignIn() of a session that is signed in = %v, want ErrSignedIn", err)
	}
	watcher.heard()
	if ok, err := w.Send(t.Context(), 2, Ticket{"t"}); !ok || err != nil {
		t.Errorf("Send() = %v, %v", ok, err)
	}
	wantHeard(t, "an event", a, Ticket{"t"})
	wantHeard(t, "an event", b, Ticket{"t"})
	for key, want := range map[int32]bool{1002: true, 77: true, 0: false, -1: false, 1001: false} {
		if got := w.CheckKey(t.Context(), 2, key); got != want {
			t.Errorf("CheckKey(%d) = %v, want %v", key, got, want)
		}
	}
	w.SignOut(t.Context(), a)
	wantHeard(t, "one of two signs out", watcher)
	if n := w.KickUser(t.Context(), 2, ErrBanned); n != 1 || len(b.reasons()) != 1 || !errors.Is(b.reasons()[0], ErrBanned) {
		t.Errorf("KickUser() = %d, reasons %v", n, b.reasons())
	}
	if n := w.KickProfile(t.Context(), 2, ErrDeleted); n != 1 {
		t.Errorf("KickProfile() = %d, want 1", n)
	}
	w.SignOut(t.Context(), b)
	wantHeard(t, "the last signs out", watcher, changed(2, Status{}))
	if n := w.KickUser(t.Context(), 2, ErrBanned) + w.KickProfile(t.Context(), 2, ErrBanned); n != 0 {
		t.Errorf("kicked %d sessions that are gone", n)
	}
	if w.CheckKey(t.Context(), 2, 77) {
		t.Error("CheckKey() of a session that is gone = true")
	}
}

func TestSlowPeer(t *testing.T) {
	w := newWorld(t, 4)
	slow, quick, me := newPeer(1), newPeer(2), newPeer(3)
	slow.room = 1
	for _, p := range []*peer{slow, quick} {
		w.watch(t, p.profile, 3)
		w.enter(t, p, KickProfile)
	}
	w.enter(t, me, KickProfile)
	for i := range 10 {
		if err := w.SetStatus(t.Context(), me, Status{State: Playing, Text: fmt.Sprint(i)}); err != nil {
			t.Errorf("SetStatus() with a slow watcher = %v", err)
		}
	}
	if n := len(quick.heard()); n != 11 {
		t.Errorf("the quick watcher heard %d, want 11", n)
	}
	if ok, err := w.Send(t.Context(), 1, Ticket{}); ok || err != nil {
		t.Errorf("Send() to a full queue = %v, %v, want false", ok, err)
	}
	if ok, err := w.Send(t.Context(), 4, Ticket{}); ok || err != nil {
		t.Errorf("Send() to an unknown profile = %v, %v, want false", ok, err)
	}
	if w.Tell(t.Context(), slow, 3) {
		t.Error("Tell() to a full queue = true")
	}
	r := prometheus.NewRegistry()
	r.MustRegister(w.metrics.refused)
	if got := metrictest.Value(t, r, "respawnd_presence_events_refused_total"); got != 12 {
		t.Errorf("%v events were refused, want 12", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Send(ctx, 2, Ticket{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Send() with a cancelled context = %v", err)
	}
}

func TestTellShowAndHide(t *testing.T) {
	w := newWorld(t, 3)
	me, other := newPeer(1), newPeer(2)
	w.enter(t, me, KickProfile)
	w.enter(t, other, KickProfile)
	if !w.Tell(t.Context(), me, 2) || !w.Tell(t.Context(), me, 3) {
		t.Error("Tell() = false")
	}
	wantHeard(t, "Tell", me, changed(2, online()), changed(3, Status{}))
	w.Show(t.Context(), 1, 2)
	w.Hide(t.Context(), 1, 2)
	w.Show(t.Context(), 3, 2) // no session is there
	wantHeard(t, "Show and Hide", me, changed(2, online()), changed(2, Status{}))
}

func TestMatch(t *testing.T) {
	w := newWorld(t, 6)
	for i := 1; i <= 5; i++ {
		p := newPeer(i)
		w.enter(t, p, KickProfile)
		st := online()
		st.Product = 11
		switch i {
		case 2:
			st.Product = 12
		case 3:
			st.State = Offline // only appears so
		case 4:
			st.Product = 0
			many := make([]int, MaxInvitable+1)
			many[MaxInvitable-1], many[MaxInvitable] = 11, 13
			if err := w.SetInvitable(t.Context(), p, many); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.SetStatus(t.Context(), p, st); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(all []Present) (ids []storage.ProfileID) {
		for _, p := range all {
			ids = append(ids, p.Profile)
		}
		return ids
	}
	for _, tt := range []struct {
		product, limit int
		want           []storage.ProfileID
	}{
		{11, 10, []storage.ProfileID{1, 4, 5}},
		{11, 2, []storage.ProfileID{1, 4}},
		{11, 0, nil},
		{11, -1, nil},
		{12, 10, []storage.ProfileID{2}},
		{13, 10, nil},
		{99, 10, nil},
	} {
		if diff := cmp.Diff(tt.want, ids(w.Match(t.Context(), tt.product, tt.limit))); diff != "" {
			t.Errorf("Match(%d, %d) (-want +got):\n%s", tt.product, tt.limit, diff)
		}
	}
}

func TestHubIsFullAtItsLimit(t *testing.T) {
	w := newWorld(t, 3)
	w.SetMaxSessions(2)
	w.enter(t, newPeer(1), KickProfile)
	second := newPeer(2)
	w.enter(t, second, KickProfile)
	third := newPeer(3)
	if _, err := w.SignIn(t.Context(), third, KickProfile, online()); !errors.Is(err, ErrFull) {
		t.Errorf("SignIn() beyond the limit = %v, want ErrFull", err)
	}
	if len(w.enter(t, newPeer(2), KickProfile)) != 1 {
		t.Error("a take-over in a full hub displaced no session")
	}
	w.SignOut(t.Context(), second) // displaced already
	w.SignOut(t.Context(), third)  // never came in
	if n := w.Count(); n != 2 {
		t.Errorf("Count() = %d, want 2", n)
	}
	w.SetMaxSessions(3)
	w.enter(t, third, KickProfile)
	w.SetMaxSessions(1) // existing sessions stay
	if _, err := w.SignIn(t.Context(), newPeer(4), KickProfile, online()); !errors.Is(err, ErrFull) || w.Count() != 3 {
		t.Errorf("SignIn() beyond a lowered limit = %v with %d sessions, want ErrFull with 3", err, w.Count())
	}
}

// deaf is a store that cannot be read.
type deaf struct {
	noMail
	err error
}

func (d deaf) Watchers(context.Context, storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) {
		if d.err != nil {
			yield(0, d.err)
		}
	}
}

func TestStoreThatCannotBeRead(t *testing.T) {
	disk := errors.New("disk on fire")
	l := New(deaf{err: disk}, Options{})
	p := newPeer(1)
	if _, err := l.SignIn(t.Context(), p, KickProfile, online()); !errors.Is(err, disk) {
		t.Errorf("SignIn() = %v, want the error of the store", err)
	}
	if _, ok := l.Status(t.Context(), 1); !ok {
		t.Error("the session is not signed in")
	}
	if err := l.SetStatus(t.Context(), p, online()); !errors.Is(err, disk) {
		t.Errorf("SetStatus() with the status that no watcher heard = %v, want the error of the store", err)
	}
	l.SignOut(t.Context(), p)
	if l.Count() != 0 || len(l.profiles)+len(l.users) != 0 {
		t.Errorf("%d sessions, %d profiles, %d users are left", l.Count(), len(l.profiles), len(l.users))
	}
}

func TestSignOutAfterContext(t *testing.T) {
	w := newWorld(t, 2)
	watcher, me := newPeer(1), newPeer(2)
	w.watch(t, 1, 2)
	w.enter(t, watcher, KickProfile)
	w.enter(t, me, KickProfile)
	watcher.heard()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.SignOut(ctx, me)
	wantHeard(t, "the sign-out", watcher, changed(2, Status{}))
}

func TestMetricsAreRegistered(t *testing.T) {
	r := prometheus.NewRegistry()
	l := New(deaf{}, Options{Registerer: r})
	if _, err := l.SignIn(t.Context(), newPeer(1), KickProfile, online()); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	if got := metrictest.Value(t, r, "respawnd_sessions"); got != 1 {
		t.Errorf("respawnd_sessions = %v, want 1", got)
	}
}

func TestPolicyHasWords(t *testing.T) {
	if got := fmt.Sprint(KickProfile, KickUser, Allow); got != "profile user allow" {
		t.Errorf("policies are %s", got)
	}
}

// TestLastStatusWins lets sessions of a few profiles come, go and change. The
// last status that each watcher received must be the final one.
func TestLastStatusWins(t *testing.T) {
	const profiles, watchers, rounds = 4, 3, 200
	w := newWorld(t, profiles+watchers)
	var looking []*peer
	for i := range watchers {
		p := newPeer(profiles + 1 + i)
		for id := 1; id <= profiles; id++ {
			w.watch(t, p.profile, storage.ProfileID(id))
		}
		w.enter(t, p, KickProfile)
		looking = append(looking, p)
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for round := range rounds {
				p := newPeer(1 + (worker+round)%profiles)
				policy := []Policy{KickProfile, Allow, KickUser}[round%3]
				if _, err := w.SignIn(t.Context(), p, policy, Status{State: Online, Text: fmt.Sprint(worker, round)}); err != nil {
					t.Errorf("SignIn() = %v", err)
				}
				err := w.SetStatus(t.Context(), p, Status{State: Playing, Text: fmt.Sprint(worker, round)})
				if err != nil && !errors.Is(err, ErrNotSignedIn) {
					t.Errorf("SetStatus() = %v", err)
				}
				w.Tell(t.Context(), looking[round%watchers], p.profile)
				if round < rounds-1 || worker%2 == 0 {
					w.SignOut(t.Context(), p)
				}
			}
		})
	}
	wg.Wait()
	for _, p := range looking {
		last := map[storage.ProfileID]Status{}
		for _, e := range p.heard() {
			if st, ok := e.(StatusChanged); ok {
				last[st.From] = st.Status
			}
		}
		for id := storage.ProfileID(1); id <= profiles; id++ {
			want, _ := w.Status(t.Context(), id)
			if got := last[id]; !got.Equal(want) {
				t.Errorf("watcher %d heard of %d last %+v, want %+v", p.profile, id, got, want)
			}
		}
	}
}

func TestSessions(t *testing.T) {
	w := newWorld(t, 4)
	if list, more := w.List(0, 10); len(list) != 0 || more {
		t.Errorf("List() of an unknown one = %v, %v", list, more)
	}
	for _, id := range []storage.ProfileID{3, 1, 4, 3} {
		s := &peer{profile: id, user: storage.UserID(id), key: int32(id), room: -1}
		if _, err := w.SignIn(t.Context(), s, Allow, Status{State: Playing, Text: "dm1"}); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		after storage.ProfileID
		limit int
		want  []storage.ProfileID
		more  bool
	}{
		"all":                            {0, 10, []storage.ProfileID{1, 3, 3, 4}, false},
		"just all":                       {0, 4, []storage.ProfileID{1, 3, 3, 4}, false},
		"a page":                         {0, 1, []storage.ProfileID{1}, true},
		"a page that ends inside of one": {0, 2, []storage.ProfileID{1, 3, 3}, true},
		"the next":                       {3, 2, []storage.ProfileID{4}, false},
		"behind all":                     {4, 2, nil, false},
	}
	for name, tc := range tests {
		list, more := w.List(tc.after, tc.limit)
		var got []storage.ProfileID
		for _, s := range list {
			got = append(got, s.Profile)
			if s.Status.Text != "dm1" || s.Client.Game != "gmtest" || s.User != storage.UserID(s.Profile) {
				t.Errorf("%s: List() has %+v", name, s)
			}
		}
		if !slices.Equal(got, tc.want) || more != tc.more {
			t.Errorf("%s: List(%d, %d) = %v, %v, want %v, %v", name, tc.after, tc.limit, got, more, tc.want, tc.more)
		}
	}
}

// deafStore cannot return the watchers of a profile.
type deafStore struct{ noMail }

func (deafStore) Watchers(context.Context, storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) { yield(0, errors.New("disk on fire")) }
}

func TestLogHoldsNoTexts(t *testing.T) {
	var log bytes.Buffer
	l := New(deafStore{}, Options{Log: zerolog.New(&log).Level(zerolog.TraceLevel)})
	p := newPeer(1)
	status := Status{State: Online, Text: "gone-fishing", Location: "at-the-lake"}
	_, err := l.SignIn(t.Context(), p, KickProfile, status)
	_, _ = fmt.Fprintln(&log, err)
	_, err = l.Send(t.Context(), p.profile, Message{From: 2, Text: "how-are-you"})
	_, _ = fmt.Fprintln(&log, err)
	l.SignOut(t.Context(), p)
	for _, text := range []string{"gone-fishing", "at-the-lake", "how-are-you", fmt.Sprint(p.key)} {
		if strings.Contains(log.String(), text) {
			t.Errorf("the log has %q in it:\n%s", text, &log)
		}
	}
	if !strings.Contains(log.String(), "cannot notify watchers") {
		t.Errorf("the log says nothing of the failure:\n%s", &log)
	}
}
