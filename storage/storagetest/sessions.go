package storagetest

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/storage"
)

// LosingSessions is a storage.Sessions that can lose its runs and sessions, as a crash
// may.
type LosingSessions interface {
	storage.Sessions
	Lose(t *testing.T)
}

// RunSessions runs the contract of storage.Sessions. open returns an empty store that
// closes itself with the test that it is given.
func RunSessions(t *testing.T, open func(t *testing.T) LosingSessions) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, LosingSessions){
		"a later sign-in displaces":              testDisplace,
		"one of many stays":                      testSessionRace,
		"sessions leave":                         testSessionsLeave,
		"runs begin and end":                     testRuns,
		"lost sessions are restored":             testRestore,
		"restored sessions displace each other":  testRestoreOrder,
		"ends of accounts are seen by all":       testAccountEnds,
		"sessions beyond limits are refused":     testSessionLimits,
		"a model of sessions agrees":             testSessionModel,
		"a cancelled context stops the sessions": testSessionsCancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// live returns a session.
func live(run, id uint64, profile, user uint32, d storage.Displaces) storage.LiveSession {
	return storage.LiveSession{Run: run, ID: id, Profile: storage.ProfileID(profile), User: storage.UserID(user), Displaces: d}
}

func beginRun(t *testing.T, s storage.Sessions, node string) uint64 {
	t.Helper()
	run, err := s.BeginRun(t.Context(), node)
	if err != nil || run == 0 {
		t.Fatalf("BeginRun(%s) = %d, %v", node, run, err)
	}
	return run
}

// enterSession adds a session and returns it, and the ids of those that it displaced.
func enterSession(t *testing.T, s storage.Sessions, e storage.LiveSession) (storage.LiveSession, []uint64) {
	t.Helper()
	fence, displaced, err := s.EnterSession(t.Context(), e)
	if err != nil || fence == 0 {
		t.Fatalf("EnterSession(%+v) = %d, %v", e, fence, err)
	}
	e.Fence = fence
	return e, sessionIDs(displaced)
}

func sessionIDs(sessions []storage.LiveSession) (ids []uint64) {
	for _, e := range sessions {
		ids = append(ids, e.ID)
	}
	return ids
}

// wantDisplaced checks the sessions of a run that were displaced.
func wantDisplaced(t *testing.T, what string, s storage.Sessions, node string, run uint64, want ...uint64) {
	t.Helper()
	p, err := s.Beat(t.Context(), node, run, 0, storage.Mail{})
	if err != nil {
		t.Errorf("%s: Beat() = %v", what, err)
	}
	slices.Sort(p.Displaced)
	if diff := gocmp.Diff(want, p.Displaced, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: displaced sessions (-want +got):\n%s", what, diff)
	}
}

func testDisplace(t *testing.T, s LosingSessions) {
	a, b := beginRun(t, s, "a"), beginRun(t, s, "b")
	if b <= a {
		t.Errorf("the run of b is %d, that of a %d", b, a)
	}
	first, _ := enterSession(t, s, live(a, 1, 1, 1, storage.DisplacesProfile))
	enterSession(t, s, live(a, 2, 2, 1, storage.DisplacesProfile)) // another profile of the user
	enterSession(t, s, live(a, 3, 3, 3, storage.DisplacesUser))
	if first.Fence <= b {
		t.Errorf("the first fence is %d, the last run %d", first.Fence, b)
	}
	if _, ids := enterSession(t, s, live(b, 1, 1, 1, storage.DisplacesNone)); ids != nil {
		t.Errorf("a session that displaces none displaced %d", ids)
	}
	second, ids := enterSession(t, s, live(b, 2, 1, 1, storage.DisplacesProfile))
	differ(t, "the profile", ids, []uint64{1, 1})
	if second.Fence <= first.Fence {
		t.Errorf("the second fence is %d, the first %d", second.Fence, first.Fence)
	}
	_, ids = enterSession(t, s, live(b, 3, 2, 1, storage.DisplacesUser))
	differ(t, "the user", ids, []uint64{2, 2})
	wantDisplaced(t, "at a", s, "a", a, 1, 2)
	wantDisplaced(t, "at b", s, "b", b, 1, 2)
	wantDisplaced(t, "at b again", s, "b", b, 1, 2)
	wantErr(t, errOf2(s.EnterSession(t.Context(), live(b, 3, 9, 9, 0))), storage.ErrTaken, "EnterSession() of a used id")
}

func testSessionRace(t *testing.T, s LosingSessions) {
	runs := []uint64{beginRun(t, s, "a"), beginRun(t, s, "b")}
	var all sync.WaitGroup
	var mu sync.Mutex
	var displaced []storage.LiveSession
	for i := range 4 * racers {
		all.Go(func() {
			e := live(runs[i%2], uint64(i+1), uint32(1+i%3), 1, storage.DisplacesUser)
			_, old, err := s.EnterSession(t.Context(), e)
			if err != nil {
				t.Errorf("EnterSession() = %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			displaced = append(displaced, old...)
		})
	}
	all.Wait()
	ids := sessionIDs(displaced)
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 4*racers-1 || len(displaced) != n {
		t.Errorf("%d sessions were displaced, %d different ones, want %d", len(displaced), n, 4*racers-1)
	}
}

func testSessionsLeave(t *testing.T, s LosingSessions) {
	a, b := beginRun(t, s, "a"), beginRun(t, s, "b")
	enterSession(t, s, live(a, 1, 1, 1, 0))
	enterSession(t, s, live(a, 2, 2, 2, 0))
	enterSession(t, s, live(b, 1, 1, 1, 0))
	enterSession(t, s, live(b, 2, 2, 2, 0))
	wantErr(t, s.LeaveSessions(t.Context(), a, []uint64{1, 77}), nil, "LeaveSessions()")
	wantDisplaced(t, "one left", s, "a", a, 2)
	_, ids := enterSession(t, s, live(a, 3, 1, 1, 0))
	differ(t, "the newer session, which the older one did not remove", ids, []uint64{1})
	for _, run := range []uint64{a, b, 1 << 40} {
		wantErr(t, s.LeaveSessions(t.Context(), run, []uint64{1, 2, 3}), nil, "LeaveSessions(%d)", run)
	}
	_, ids = enterSession(t, s, live(b, 3, 1, 1, 0))
	differ(t, "after all left", ids, nil)
}

func testRuns(t *testing.T, s LosingSessions) {
	a, b := beginRun(t, s, "a"), beginRun(t, s, "b")
	enterSession(t, s, live(a, 1, 1, 1, 0))
	for range 3 {
		wantDisplaced(t, "a beat", s, "b", b)
	}
	mail := storage.Mail{Last: 9, To: []storage.ProfileID{1, storage.MaxAccountID, 1}}
	for _, one := range []storage.Mail{mail, {Last: 9}} {
		wantErr(t, errOf(s.Beat(t.Context(), "a", a, 0, one)), nil, "Beat()")
		p, err := s.Beat(t.Context(), "b", b, 0, mail)
		if err != nil {
			t.Errorf("Beat() = %v", err)
		}
		beats := p.Runs[0].Beats
		differ(t, "runs", p.Runs, []storage.NodeRun{{Node: "a", Run: a, Beats: beats, Mail: one}, {Node: "b", Run: b, Beats: 3 + beats, Mail: mail}})
	}
	if _, err := s.Beat(t.Context(), "a", a, 0, storage.Mail{To: make([]storage.ProfileID, storage.MaxMail+1)}); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("Beat() with too many receivers = %v, want ErrInvalid", err)
	}
	later := beginRun(t, s, "a")
	if later <= b {
		t.Errorf("a later run is %d, an earlier one %d", later, b)
	}
	wantErr(t, errOf(s.Beat(t.Context(), "a", a, 0, storage.Mail{})), storage.ErrTaken, "Beat() of an earlier run")
	wantErr(t, errOf(s.RestoreSessions(t.Context(), "a", a, nil)), storage.ErrTaken, "RestoreSessions() of an earlier run")
	wantErr(t, errOf2(s.EnterSession(t.Context(), live(a, 2, 2, 2, 0))), storage.ErrNotFound, "EnterSession() in an earlier run")
	if _, ids := enterSession(t, s, live(b, 1, 1, 1, 0)); ids != nil {
		t.Errorf("a session of an earlier run is left: %d", ids)
	}
	for range 2 {
		wantErr(t, s.EndRun(t.Context(), b), nil, "EndRun()")
	}
	if _, err := s.Beat(t.Context(), "b", b, 0, storage.Mail{}); !errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Beat() of a run that was ended = %v, want ErrConflict", err)
	}
	wantErr(t, errOf2(s.EnterSession(t.Context(), live(b, 2, 1, 1, 0))), storage.ErrConflict, "EnterSession() in a run that was ended")
	if p, err := s.Beat(t.Context(), "a", later, 0, storage.Mail{}); err != nil || len(p.Runs) != 1 {
		t.Errorf("Beat() = %+v, %v, want one run", p, err)
	}
	wantErr(t, errOf(s.RestoreSessions(t.Context(), "b", b, nil)), nil, "RestoreSessions() of a run that was ended")
	wantDisplaced(t, "a run that is back", s, "b", b)
}

func testRestore(t *testing.T, s LosingSessions) {
	a, b := beginRun(t, s, "a"), beginRun(t, s, "b")
	stays, _ := enterSession(t, s, live(a, 1, 1, 1, storage.DisplacesProfile))
	goes, _ := enterSession(t, s, live(a, 2, 2, 2, storage.DisplacesProfile))
	end := must(s.EndSessions(t.Context(), storage.AccountEnd{User: 7}))(t)
	s.Lose(t)
	wantErr(t, errOf(s.Beat(t.Context(), "a", a, 0, storage.Mail{})), storage.ErrNotFound, "Beat() of a lost run")
	wantErr(t, errOf2(s.EnterSession(t.Context(), live(a, 3, 3, 3, 0))), storage.ErrNotFound, "EnterSession() in a lost run")
	noErr(t, errOf(s.RestoreSessions(t.Context(), "b", b, nil)))
	newer, ids := enterSession(t, s, live(b, 1, 2, 2, storage.DisplacesProfile))
	if newer.Fence <= end || ids != nil {
		t.Errorf("after the loss the fence is %d, the last before it %d; displaced %d", newer.Fence, end, ids)
	}
	for range 2 { // the second time they are there
		displaced := must(s.RestoreSessions(t.Context(), "a", a, []storage.LiveSession{stays, goes}))(t)
		differ(t, "overtaken", displaced, []uint64{2})
	}
	_, ids = enterSession(t, s, live(b, 2, 1, 1, storage.DisplacesProfile))
	differ(t, "a restored session", ids, []uint64{1})
	if p, err := s.Beat(t.Context(), "a", a, 0, storage.Mail{}); err != nil || len(p.Ends) != 1 || p.Ends[0].Fence != end {
		t.Errorf("Beat() = %+v, %v, want the end", p, err)
	}
}

func testRestoreOrder(t *testing.T, s LosingSessions) {
	a, b := beginRun(t, s, "a"), beginRun(t, s, "b")
	old, _ := enterSession(t, s, live(a, 1, 1, 1, storage.DisplacesProfile))
	other, _ := enterSession(t, s, live(a, 2, 2, 1, storage.DisplacesNone))
	newer, _ := enterSession(t, s, live(a, 3, 1, 1, storage.DisplacesProfile))
	newest, _ := enterSession(t, s, live(b, 1, 3, 1, storage.DisplacesUser))
	s.Lose(t)
	displaced := must(s.RestoreSessions(t.Context(), "a", a, []storage.LiveSession{old, other, newer}))(t)
	differ(t, "of one node", displaced, []uint64{1})
	differ(t, "RestoreSessions() of the newest", must(s.RestoreSessions(t.Context(), "b", b, []storage.LiveSession{newest}))(t), nil)
	wantDisplaced(t, "after the newest", s, "a", a, 2, 3)
}

func testAccountEnds(t *testing.T, s LosingSessions) {
	a := beginRun(t, s, "a")
	before, _ := enterSession(t, s, live(a, 1, 1, 1, 0))
	var want []storage.AccountEnd
	for i, e := range []storage.AccountEnd{{User: 1, Reason: 2}, {Profile: 9, Reason: 255}} {
		fence, err := s.EndSessions(t.Context(), e)
		if err != nil || fence <= before.Fence {
			t.Errorf("EndSessions() = %d, %v, want above %d", fence, err, before.Fence)
		}
		e.Fence = fence
		want = append(want, e)
		p, err := s.Beat(t.Context(), "a", a, before.Fence, storage.Mail{})
		if err != nil {
			t.Error(err)
		}
		differ(t, "ends", p.Ends, want[:i+1])
	}
	if p, err := s.Beat(t.Context(), "a", a, want[0].Fence, storage.Mail{}); err != nil || len(p.Ends) != 1 {
		t.Errorf("Beat() after the first = %+v, %v, want one end", p, err)
	}
	differ(t, "SweepEnds()", must(s.SweepEnds(t.Context(), want[0].Fence))(t), 1)
	if p, err := s.Beat(t.Context(), "a", a, 0, storage.Mail{}); err != nil || len(p.Ends) != 1 || p.Ends[0] != want[1] {
		t.Errorf("Beat() after the sweep = %+v, %v", p, err)
	}
}

func testSessionLimits(t *testing.T, s LosingSessions) {
	a := beginRun(t, s, "a")
	ok, _ := enterSession(t, s, live(a, 1<<63-1, storage.MaxAccountID, storage.MaxAccountID, 0))
	if err := s.LeaveSessions(t.Context(), a, []uint64{ok.ID}); err != nil {
		t.Error(err)
	}
	for what, e := range map[string]storage.LiveSession{
		"no run": live(0, 1, 1, 1, 0), "no id": live(a, 0, 1, 1, 0), "id too high": live(a, 1<<63, 1, 1, 0),
		"no profile": live(a, 1, 0, 1, 0), "no user": live(a, 1, 1, 0, 0), "rule": live(a, 1, 1, 1, 3),
		"profile too high": live(a, 1, storage.MaxAccountID+1, 1, 0), "user too high": live(a, 1, 1, storage.MaxAccountID+1, 0),
	} {
		wantErr(t, errOf2(s.EnterSession(t.Context(), e)), storage.ErrInvalid, "%s: EnterSession()", what)
		e.Fence = 1
		wantErr(t, errOf(s.RestoreSessions(t.Context(), "a", a, []storage.LiveSession{e})), storage.ErrInvalid, "%s: RestoreSessions()", what)
	}
	for n, want := range map[int]error{storage.MaxNodeName: nil, storage.MaxNodeName + 1: storage.ErrInvalid, 0: storage.ErrInvalid} {
		if _, err := s.BeginRun(t.Context(), strings.Repeat("n", n)); !errors.Is(err, want) {
			t.Errorf("BeginRun() of a name of %d bytes = %v, want %v", n, err, want)
		}
	}
	for _, e := range []storage.AccountEnd{{}, {User: 1, Profile: 1}, {User: storage.MaxAccountID + 1}} {
		wantErr(t, errOf(s.EndSessions(t.Context(), e)), storage.ErrInvalid, "EndSessions(%+v)", e)
	}
	many := make([]storage.LiveSession, storage.MaxSessionsAtOnce+1)
	ids := make([]uint64, len(many))
	for i := range many {
		many[i] = live(a, uint64(i+1), uint32(i+1), uint32(i+1), 0)
		many[i].Fence, ids[i] = uint64(i+1), uint64(i+1)
	}
	wantErr(t, errOf(s.RestoreSessions(t.Context(), "a", a, many)), storage.ErrInvalid, "RestoreSessions() of too many")
	differ(t, "RestoreSessions() of the highest number", must(s.RestoreSessions(t.Context(), "a", a, many[1:]))(t), nil)
	wantErr(t, s.LeaveSessions(t.Context(), a, ids), storage.ErrInvalid, "LeaveSessions() of too many")
	wantErr(t, s.LeaveSessions(t.Context(), a, ids[1:]), nil, "LeaveSessions() of the highest number")
}

func testSessionsCancelled(t *testing.T, s LosingSessions) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, beginErr := s.BeginRun(ctx, "a")
	_, _, enterErr := s.EnterSession(ctx, live(1, 1, 1, 1, 0))
	_, beatErr := s.Beat(ctx, "a", 1, 0, storage.Mail{})
	_, restoreErr := s.RestoreSessions(ctx, "a", 1, nil)
	_, endErr := s.EndSessions(ctx, storage.AccountEnd{User: 1})
	_, sweepErr := s.SweepEnds(ctx, 1)
	for what, err := range map[string]error{
		"BeginRun": beginErr, "EnterSession": enterErr, "Beat": beatErr, "RestoreSessions": restoreErr, "EndSessions": endErr,
		"SweepEnds": sweepErr, "EndRun": s.EndRun(ctx, 1), "LeaveSessions": s.LeaveSessions(ctx, 1, []uint64{1}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s() = %v, want context.Canceled", what, err)
		}
	}
}

// history is a random history of a store of sessions and of the model. Fences differ,
// their order does not.
type history struct {
	t      *testing.T
	engine LosingSessions
	model  *SessionModel
	random *rand.Rand
	runs   map[string][2]uint64                // of nodes, in the engine and in the model
	own    map[string][][2]storage.LiveSession // sessions of nodes
	lastID uint64
}

func testSessionModel(t *testing.T, s LosingSessions) {
	h := &history{
		t: t, engine: s, model: NewSessionModel(), random: rand.New(rand.NewPCG(1, 2)), // a history that can be repeated
		runs: make(map[string][2]uint64), own: make(map[string][][2]storage.LiveSession),
	}
	nodes := []string{"a", "b", "c"}
	for _, node := range nodes {
		h.begin(node)
	}
	for range 400 {
		node := nodes[h.random.IntN(len(nodes))]
		switch n := h.random.IntN(40); {
		case n == 0:
			h.begin(node)
		case n == 1:
			h.same("EndRun()", s.EndRun(t.Context(), h.runs[node][0]), h.model.EndRun(t.Context(), h.runs[node][1]))
		case n == 2:
			s.Lose(t)
			h.model.Lose(t)
		case n < 8:
			h.restore(node)
		case n < 14:
			h.leave(node)
		case n < 20:
			h.beat(node)
		default:
			h.enter(node)
		}
		if t.Failed() {
			return
		}
	}
}

// same compares two errors.
func (h *history) same(what string, got, want error) {
	h.t.Helper()
	for _, e := range []error{storage.ErrNotFound, storage.ErrConflict, storage.ErrTaken} {
		if errors.Is(got, e) != errors.Is(want, e) || (got == nil) != (want == nil) {
			h.t.Errorf("%s = %v, the model has %v", what, got, want)
			return
		}
	}
}

func (h *history) begin(node string) {
	h.runs[node] = [2]uint64{beginRun(h.t, h.engine, node), beginRun(h.t, h.model, node)}
	h.own[node] = nil
}

func (h *history) enter(node string) {
	h.lastID++
	user := uint32(1 + h.random.IntN(3))
	e := live(h.runs[node][0], h.lastID, 10*user+uint32(h.random.IntN(2)), user, storage.Displaces(h.random.IntN(3)))
	m := e
	m.Run = h.runs[node][1]
	fence, got, err := h.engine.EnterSession(h.t.Context(), e)
	modelFence, want, wantErr := h.model.EnterSession(h.t.Context(), m)
	h.same("EnterSession()", err, wantErr)
	differ(h.t, "displaced", sessionIDs(got), sessionIDs(want))
	if err == nil {
		e.Fence, m.Fence = fence, modelFence
		h.own[node] = append(h.own[node], [2]storage.LiveSession{e, m})
	}
}

func (h *history) leave(node string) {
	if len(h.own[node]) == 0 {
		return
	}
	i := h.random.IntN(len(h.own[node]))
	id := []uint64{h.own[node][i][0].ID}
	h.own[node] = slices.Delete(h.own[node], i, i+1)
	h.same("LeaveSessions()", h.engine.LeaveSessions(h.t.Context(), h.runs[node][0], id), h.model.LeaveSessions(h.t.Context(), h.runs[node][1], id))
}

func (h *history) beat(node string) {
	p, err := h.engine.Beat(h.t.Context(), node, h.runs[node][0], 0, storage.Mail{})
	m, wantErr := h.model.Beat(h.t.Context(), node, h.runs[node][1], 0, storage.Mail{})
	h.same("Beat()", err, wantErr)
	slices.Sort(p.Displaced)
	slices.Sort(m.Displaced)
	differ(h.t, "displaced in a beat", p.Displaced, m.Displaced)
	if len(p.Runs) != len(m.Runs) {
		h.t.Errorf("runs are %+v, the model has %+v", p.Runs, m.Runs)
	}
}

func (h *history) restore(node string) {
	var e, m []storage.LiveSession
	for _, both := range h.own[node] {
		e, m = append(e, both[0]), append(m, both[1])
	}
	got, err := h.engine.RestoreSessions(h.t.Context(), node, h.runs[node][0], e)
	want, wantErr := h.model.RestoreSessions(h.t.Context(), node, h.runs[node][1], m)
	h.same("RestoreSessions()", err, wantErr)
	slices.SortFunc(got, cmp.Compare)
	slices.SortFunc(want, cmp.Compare)
	differ(h.t, "displaced by a restoration", got, want)
}
