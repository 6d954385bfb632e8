package serverbrowse

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/master"
)

// Bounds of updates.
const (
	// coalesce is how long changes are collected before they are sent, and
	// coalescePerClient how much longer for each subscriber, up to maxCoalesce: a
	// write costs a client's goroutine about 10 microseconds, so that all of them
	// together use a few hundredths of a processor.
	coalesce          = 100 * time.Millisecond
	coalescePerClient = 500 * time.Microsecond
	maxCoalesce       = 500 * time.Millisecond
	// maxOutbox is the number of batches that may wait for a slow client.
	maxOutbox = 256
	// maxTracked is the number of servers tracked over all followed lists above
	// which no further list is followed; followed lists may still grow.
	maxTracked = 2 << 20
	// rememberFrom is the number of a list's subscribers from which the feed
	// finds out what the list itself showed. Up to there it is cheaper to send a
	// server again whose record changed, but nothing that is shown.
	rememberFrom = 4
	// restFactor is the ratio of the pause after a round to the round's
	// duration, so that the feed uses at most a quarter of one processor.
	restFactor = 3
	// unfollowedEvery is the minimum time between log lines about lists that
	// are not followed.
	unfollowedEvery = time.Hour
)

// subscriber is a client that receives updates.
type subscriber struct {
	out  chan *batch // shared and read-only
	slow func()      // called once, when out is full; must not block
}

// follow is a followed list. All its subscribers have been sent the same, so
// every change is encoded once for all.
type follow struct {
	asked   *asked
	sharing []string // games whose servers were in the list; nil: one
	// had is the state of every one of subs: the packed address of each server
	// and the hash of its last push, 0 if it came with the list and is not
	// remembered.
	had        map[uint64]uint64
	remembered bool
	since      uint64 // had includes all changes up to this one, and possibly later ones
	subs       map[*subscriber]struct{}
	// joined are later subscribers, which have the state of their own view. The
	// next round brings them up to date.
	joined  []joiner
	counted int // of had in feed.tracked
}

// joiner is a subscriber that was sent a view with all changes up to since.
type joiner struct {
	sub   *subscriber
	view  *view
	since uint64
}

// feed keeps subscribers informed: one goroutine reads the registry's changes
// for all of them. Its work grows with the number of changes and of different
// lists, not with the number of clients or servers.
type feed struct {
	reg     *master.Registry
	view    func(*asked) (*view, error)
	metrics *metrics
	seed    maphash.Seed
	poke    chan struct{} // capacity 1: a subscriber joined
	max     int           // lists that are followed
	log     zerolog.Logger

	mu       sync.Mutex // guards the fields below and all follows
	followed map[viewKey]*follow
	audience int // subscribers
	tracked  int
	round    round
	pass     []*follow // the lists of the current round
	leftOut  int       // requests whose lists were not followed since the last line of log
	logged   time.Time // time of that line; zero: never
}

func newFeed(opt Options, view func(*asked) (*view, error), m *metrics) *feed {
	return &feed{
		reg:      opt.Registry,
		view:     view,
		metrics:  m,
		max:      opt.MaxFollowed,
		log:      opt.Log,
		seed:     maphash.MakeSeed(),
		poke:     make(chan struct{}, 1),
		followed: make(map[viewKey]*follow),
	}
}

// join returns a view and subscribes a client to the changes after it. ok is
// false if there are too many followed lists; then the client gets only the
// view, until its next request.
func (f *feed) join(a *asked, sub *subscriber) (v *view, ok bool, err error) {
	before := f.reg.LastSerial()
	v, err = f.view(a)
	if err != nil {
		return nil, false, err
	}
	since := v.changes
	if f.reg.Serial(a.key.game) == v.serial {
		since = max(since, before) // nothing of the game has changed since then
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	to := f.followed[a.followed()]
	if to == nil {
		if to = f.follow(a, v, since); to == nil {
			f.unfollowed()
			return v, false, nil
		}
		to.subs[sub] = struct{}{}
	} else {
		to.joined = append(to.joined, joiner{sub, v, since})
	}
	f.attend(1)
	wake.Up(f.poke)
	return v, true, nil
}

// followed returns the key of the followed list. Updates have all fields, even
// if the list did not have them for all servers.
func (a *asked) followed() viewKey {
	key := a.key
	key.all = false
	return key
}

// unfollowed counts a list that is not followed, and logs that at most every
// unfollowedEvery.
func (f *feed) unfollowed() {
	f.metrics.unfollowed.Inc()
	f.leftOut++
	now := time.Now()
	if !f.logged.IsZero() && now.Sub(f.logged) < unfollowedEvery {
		return
	}
	f.log.Warn().Int("followed", len(f.followed)).Int("max_followed", f.max).Int("servers", f.tracked).Int("max_servers", maxTracked).
		Int("requests", f.leftOut).Msg("too many different lists are followed: browsers get lists without updates")
	f.leftOut, f.logged = 0, now
}

// follow starts to follow a list; nil if there are too many.
func (f *feed) follow(a *asked, v *view, since uint64) *follow {
	if len(f.followed) >= f.max || f.tracked+v.entries() > maxTracked {
		return nil
	}
	to := &follow{
		asked:   a,
		sharing: v.sharing,
		had:     make(map[uint64]uint64, v.entries()),
		since:   since,
		subs:    make(map[*subscriber]struct{}),
	}
	v.addresses(a.key.port, func(at uint64) { to.had[at] = 0 })
	f.followed[a.followed()] = to
	f.metrics.followed.Set(float64(len(f.followed)))
	f.count(to)
	return to
}

func (f *feed) count(to *follow) {
	f.tracked += len(to.had) - to.counted
	to.counted = len(to.had)
}

// attend counts subscribers that come or leave.
func (f *feed) attend(more int) {
	f.audience += more
	f.metrics.audience.Set(float64(f.audience))
}

// leave ends a subscription; it may have ended already.
func (f *feed) leave(a *asked, sub *subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	to := f.followed[a.followed()]
	if to == nil {
		return
	}
	f.drop(to, sub)
	if len(to.subs)+len(to.joined) == 0 {
		delete(f.followed, a.followed())
		f.metrics.followed.Set(float64(len(f.followed)))
		f.tracked -= to.counted
	}
}

func (f *feed) drop(to *follow, sub *subscriber) {
	if _, ok := to.subs[sub]; ok {
		delete(to.subs, sub)
		f.attend(-1)
		return
	}
	for i := range to.joined {
		if to.joined[i].sub == sub {
			to.joined = append(to.joined[:i], to.joined[i+1:]...)
			f.attend(-1)
			return
		}
	}
}

// run sends updates until ctx ends.
func (f *feed) run(ctx context.Context) {
	wait := time.NewTimer(coalesce)
	defer wait.Stop()
	rest := coalesce
	for {
		var moved <-chan struct{}
		if since, some := f.oldest(); some {
			moved = f.reg.Changed(since)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.poke:
			continue
		case <-moved:
		}
		wait.Reset(rest)
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		began := time.Now()
		f.update()
		rest = f.rest(time.Since(began))
	}
}

// rest returns how long changes are collected after a round that took so long.
func (f *feed) rest(took time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	collect := min(coalesce+time.Duration(f.audience)*coalescePerClient, maxCoalesce)
	return max(collect, restFactor*took)
}

// oldest returns the change up to which all subscribers are up to date; those
// with an old view may be behind their list.
func (f *feed) oldest() (since uint64, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, to := range f.followed {
		if at := to.oldest(); !some || at < since {
			since, some = at, true
		}
	}
	return since, some
}

// oldest returns the change up to which all subscribers of the list are up to
// date.
func (to *follow) oldest() uint64 {
	since := to.since
	for i := range to.joined {
		since = min(since, to.joined[i].since)
	}
	return since
}

// update brings all followed lists up to date. Clients may join and leave
// between any two of them.
func (f *feed) update() {
	f.mu.Lock()
	f.pass = slices.AppendSeq(f.pass[:0], maps.Values(f.followed))
	f.mu.Unlock()
	for _, to := range f.pass {
		f.mu.Lock()
		if f.followed[to.asked.followed()] == to {
			f.updateOne(to)
		}
		f.mu.Unlock()
	}
	clear(f.pass)
}
