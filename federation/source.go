package federation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/operator"
)

// Times of readings.
const (
	readTimeout = 30 * time.Second // of a whole list
	firstWithin = 5 * time.Second  // of the start, so that masters are not read all at once
	retryFirst  = 30 * time.Second // after a failure; twice as long after each further one
	retryMost   = 30 * time.Minute // unless masters are read less often anyway
	maxError    = 200              // characters of an error that are shown
)

// settings are the values of the configuration in force.
type settings struct {
	every, expire time.Duration
	max           int
}

// source reads one master. Its goroutine ends with its context.
type source struct {
	master configs.OtherMaster
	order  atomic.Int32 // in the configuration
	table  *table
	fetch  fetcher
	live   *atomic.Pointer[settings]
	mine   func(name string) bool // this node reads the master
	log    zerolog.Logger

	told  atomic.Int64 // candidates
	ended atomic.Bool

	mu    sync.Mutex // guards the fields below
	state operator.OtherMaster
	seen  map[netip.AddrPort]struct{} // in the present reading; nil: none is under way
	tally map[string]int              // refused in it, by reason
}

func newSource(m configs.OtherMaster, order int, t *table, live *atomic.Pointer[settings]) *source {
	s := &source{master: m, table: t, live: live, log: t.log, mine: func(string) bool { return true }}
	s.order.Store(int32(order))
	s.state = operator.OtherMaster{
		Name: m.Name, Protocol: m.Protocol, Address: m.Address, Game: m.Game, Verified: m.Verified,
		State: operator.MasterWaiting, Refused: map[string]int{},
	}
	t.metrics.begin(m.Name)
	return s
}

// run reads the master until ctx ends.
func (s *source) run(ctx context.Context) {
	defer s.end()
	wait := rand.N(firstWithin) // it spreads load
	for {
		s.setNext(time.Now().Add(wait))
		if !s.rest(ctx, wait) {
			return
		}
		if !s.mine(s.master.Name) {
			s.setState(operator.MasterElse)
			bounded, cancel := context.WithTimeout(ctx, readTimeout)
			s.fetch.note(bounded, s)
			cancel()
			wait = jittered(s.live.Load().every)
			continue
		}
		wait = s.turn(ctx)
	}
}

// end removes the servers that the master named.
func (s *source) end() {
	s.ended.Store(true)
	s.fetch.close()
}

// rest waits, and meanwhile follows the changes of a master that offers them. It returns
// false if ctx has ended.
func (s *source) rest(ctx context.Context, wait time.Duration) bool {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	s.fetch.follow(bounded, s)
	<-bounded.Done()
	return ctx.Err() == nil
}

// turn reads the master once and returns the time to the next reading.
func (s *source) turn(ctx context.Context) time.Duration {
	live := s.live.Load()
	began := time.Now()
	s.begin()
	bounded, cancel := context.WithTimeout(ctx, readTimeout)
	result, err := s.fetch.read(bounded, s, live.max)
	cancel()
	if errors.Is(err, netclient.ErrTooLong) {
		s.refuse(refusedTooMany)
		result, err = resultRead, nil
	}
	if ctx.Err() != nil {
		return 0
	}
	if result == resultUnchanged {
		s.table.renew(s, s.readAt(), time.Now())
	}
	return s.finish(result, err, live, began)
}

func (s *source) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.tally = make(map[netip.AddrPort]struct{}), make(map[string]int)
	s.state.Next = time.Time{}
	if s.state.State == operator.MasterWaiting || s.state.State == operator.MasterElse {
		s.state.State = operator.MasterReading
	}
}

// tell handles an entry of the list.
func (s *source) tell(f found) {
	s.mu.Lock()
	seen := s.seen
	s.mu.Unlock()
	if seen != nil { // only this goroutine uses the map
		if _, again := seen[f.addr]; again {
			s.refuse(refusedRepeated)
			return
		}
		seen[f.addr] = struct{}{}
	}
	if why := s.table.tell(s, f, time.Now()); why != "" {
		s.refuse(why)
	}
}

// refuse counts a refused entry.
func (s *source) refuse(why string) {
	s.table.metrics.refusals.WithLabelValues(s.master.Name, why).Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tally != nil {
		s.tally[why]++
	}
}

// finish ends a reading and returns the time to the next one.
func (s *source) finish(result string, err error, live *settings, began time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	if result != resultUnchanged || err != nil {
		st.Refused = s.tally
	}
	s.seen, s.tally = nil, nil
	if err == nil {
		s.table.metrics.reads.WithLabelValues(s.master.Name, result).Inc()
		s.table.metrics.success.WithLabelValues(s.master.Name).Set(float64(time.Now().Unix()))
		if st.Failures > 0 {
			s.log.Info().Str("master", s.master.Name).Int("failures", st.Failures).Int64("servers", s.told.Load()).Msg("another master answers again")
		}
		left := leftOut(st.Refused, live.max)
		if left != "" && (st.Error == "" || st.Failures > 0) {
			s.log.Warn().Str("master", s.master.Name).Str("problem", left).Msg("the list of another master is used only in part")
		}
		st.State, st.Error, st.Failures, st.Read = operator.MasterRead, left, 0, began
		return jittered(live.every)
	}
	s.table.metrics.reads.WithLabelValues(s.master.Name, resultFailed).Inc()
	st.State, st.Error = operator.MasterFailing, clean.Line(err.Error(), maxError)
	wait := min(retryFirst<<min(st.Failures, 10), max(retryMost, live.every))
	if st.Failures++; st.Failures == 1 {
		s.log.Warn().Str("master", s.master.Name).Str("address", s.master.Address).Err(errors.New(st.Error)).
			Msg("another master cannot be read; it is tried again")
	}
	return jittered(wait)
}

// leftOut describes the entries of a reading that limits of this daemon kept out, "" if there
// are none.
func leftOut(refused map[string]int, most int) string {
	var parts []string
	if refused[refusedTooMany] > 0 {
		parts = append(parts, fmt.Sprintf("the list was cut at federation.max_per_master (%d)", most))
	}
	if n := refused[refusedForbidden]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d not queried: probe.max_servers is reached, or they may not be", n))
	}
	if n := refused[refusedFull]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d beyond the limit of %d for all masters", n, maxCandidates))
	}
	return strings.Join(parts, "; ")
}

// jittered returns a time that differs by up to a tenth, so that readings do not stay in
// step.
func jittered(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5+1) }

func (s *source) setNext(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Next = at
}

func (s *source) setState(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.State = state
}

// readAt returns when the last reading began that did not fail.
func (s *source) readAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Read
}

// now returns the state of the master. listed is the number of its servers in the list.
func (s *source) now(listed int) operator.OtherMaster {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Refused = maps.Clone(s.state.Refused)
	st.Told, st.Listed = int(s.told.Load()), listed
	return st
}
