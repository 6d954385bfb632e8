package storagetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// SessionModel is a storage.Sessions in memory, for tests of its users and as the
// measure for engines.
type SessionModel struct {
	mu    sync.Mutex // guards the fields below
	down  error
	fence uint64
	runs  map[uint64]*modelRun
	ends  []storage.AccountEnd
}

type modelRun struct {
	node  string
	beats uint64
	mail  storage.Mail
	ended bool
	rows  map[uint64]*modelRow
}

type modelRow struct {
	storage.LiveSession
	displaced bool
}

var _ storage.Sessions = (*SessionModel)(nil)

// NewSessionModel returns an empty model.
func NewSessionModel() *SessionModel {
	return &SessionModel{runs: make(map[uint64]*modelRun)}
}

// Fail makes every method return an error from now on; nil: none does.
func (m *SessionModel) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
}

// Lose removes all runs and sessions, as a crash of an engine may. t is not used.
func (m *SessionModel) Lose(*testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.runs)
}

// Rows returns all sessions that are not displaced, the oldest first.
func (m *SessionModel) Rows() (rows []storage.LiveSession) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.runs {
		for _, row := range r.rows {
			if !row.displaced {
				rows = append(rows, row.LiveSession)
			}
		}
	}
	slices.SortFunc(rows, func(a, b storage.LiveSession) int { return cmp.Compare(a.Fence, b.Fence) })
	return rows
}

// begin locks the model for a step. done unlocks it.
func (m *SessionModel) begin(ctx context.Context) (done func(), err error) {
	m.mu.Lock()
	if err := cmp.Or(ctx.Err(), m.down); err != nil {
		m.mu.Unlock()
		return nil, err
	}
	return m.mu.Unlock, nil
}

func (m *SessionModel) next() uint64 {
	m.fence++
	return m.fence
}

// BeginRun implements storage.Sessions.
func (m *SessionModel) BeginRun(ctx context.Context, node string) (uint64, error) {
	if err := checkNode(node); err != nil {
		return 0, err
	}
	done, err := m.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	for run, r := range m.runs {
		if r.node == node {
			delete(m.runs, run)
		}
	}
	run := m.next()
	m.runs[run] = &modelRun{node: node, rows: make(map[uint64]*modelRow)}
	return run, nil
}

func checkNode(node string) error {
	if node == "" || len(node) > storage.MaxNodeName {
		return storage.ErrInvalid
	}
	return nil
}

// EndRun implements storage.Sessions.
func (m *SessionModel) EndRun(ctx context.Context, run uint64) error {
	done, err := m.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if r := m.runs[run]; r != nil {
		r.ended = true
		clear(r.rows)
	}
	return nil
}

// state returns the run or why it cannot be used. node may be empty.
func (m *SessionModel) state(node string, run uint64) (*modelRun, error) {
	if r := m.runs[run]; r != nil {
		if r.ended {
			return r, storage.ErrConflict
		}
		return r, nil
	}
	for _, r := range m.runs {
		if r.node == node {
			return nil, storage.ErrTaken
		}
	}
	return nil, storage.ErrNotFound
}

// EnterSession implements storage.Sessions.
func (m *SessionModel) EnterSession(ctx context.Context, s storage.LiveSession) (uint64, []storage.LiveSession, error) {
	if err := s.Check(); err != nil {
		return 0, nil, err
	}
	done, err := m.begin(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	r, err := m.state("", s.Run)
	if err != nil {
		return 0, nil, err
	}
	if r.rows[s.ID] != nil {
		return 0, nil, storage.ErrTaken
	}
	s.Fence = m.next()
	displaced := m.displace(&s)
	r.rows[s.ID] = &modelRow{LiveSession: s}
	return s.Fence, displaced, nil
}

// displace marks the sessions that s displaces and returns them, the oldest first.
func (m *SessionModel) displace(s *storage.LiveSession) (displaced []storage.LiveSession) {
	for _, r := range m.runs {
		for _, row := range r.rows {
			if !row.displaced && s.Over(&row.LiveSession) {
				row.displaced = true
				displaced = append(displaced, row.LiveSession)
			}
		}
	}
	slices.SortFunc(displaced, func(a, b storage.LiveSession) int { return cmp.Compare(a.Fence, b.Fence) })
	return displaced
}

// LeaveSessions implements storage.Sessions.
func (m *SessionModel) LeaveSessions(ctx context.Context, run uint64, ids []uint64) error {
	if len(ids) > storage.MaxSessionsAtOnce {
		return storage.ErrInvalid
	}
	done, err := m.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if r := m.runs[run]; r != nil {
		for _, id := range ids {
			delete(r.rows, id)
		}
	}
	return nil
}

// Beat implements storage.Sessions.
func (m *SessionModel) Beat(ctx context.Context, node string, run, after uint64, mail storage.Mail) (storage.Pulse, error) {
	if len(mail.To) > storage.MaxMail {
		return storage.Pulse{}, storage.ErrInvalid
	}
	done, err := m.begin(ctx)
	if err != nil {
		return storage.Pulse{}, err
	}
	defer done()
	own, err := m.state(node, run)
	if err != nil {
		return storage.Pulse{}, err
	}
	own.beats++
	own.mail = storage.Mail{Last: mail.Last, To: slices.Clone(mail.To)}
	var p storage.Pulse
	for id, row := range own.rows {
		if row.displaced {
			p.Displaced = append(p.Displaced, id)
		}
	}
	for _, e := range m.ends {
		if e.Fence > after && len(p.Ends) < storage.MaxAccountEnds {
			p.Ends = append(p.Ends, e)
		}
	}
	for run, r := range m.runs {
		if !r.ended {
			p.Runs = append(p.Runs, storage.NodeRun{Node: r.node, Run: run, Beats: r.beats, Mail: r.mail})
		}
	}
	slices.SortFunc(p.Runs, func(a, b storage.NodeRun) int { return cmp.Compare(a.Node, b.Node) })
	return p, nil
}

// RestoreSessions implements storage.Sessions.
func (m *SessionModel) RestoreSessions(ctx context.Context, node string, run uint64, sessions []storage.LiveSession) ([]uint64, error) {
	if err := checkRestored(node, run, sessions); err != nil {
		return nil, err
	}
	done, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := m.state(node, run)
	switch {
	case errors.Is(err, storage.ErrTaken):
		return nil, err
	case r == nil:
		r = &modelRun{node: node, rows: make(map[uint64]*modelRow)}
		m.runs[run] = r
	}
	r.ended = false
	m.fence = max(m.fence, run)
	var displaced []uint64
	for _, s := range sessions {
		m.fence = max(m.fence, s.Fence)
		switch {
		case r.rows[s.ID] != nil:
		case m.overtaken(&s) || slices.ContainsFunc(sessions, func(n storage.LiveSession) bool { return n.Over(&s) }):
			displaced = append(displaced, s.ID)
		default:
			m.displace(&s)
			r.rows[s.ID] = &modelRow{LiveSession: s}
		}
	}
	return displaced, nil
}

// overtaken reports whether a session that is there displaces s.
func (m *SessionModel) overtaken(s *storage.LiveSession) bool {
	for _, r := range m.runs {
		for _, row := range r.rows {
			if row.Over(s) {
				return true
			}
		}
	}
	return false
}

func checkRestored(node string, run uint64, sessions []storage.LiveSession) error {
	if len(sessions) > storage.MaxSessionsAtOnce {
		return storage.ErrInvalid
	}
	for i := range sessions {
		if err := sessions[i].Check(); err != nil {
			return err
		}
		if sessions[i].Run != run || sessions[i].Fence == 0 {
			return storage.ErrInvalid
		}
	}
	return checkNode(node)
}

// EndSessions implements storage.Sessions.
func (m *SessionModel) EndSessions(ctx context.Context, e storage.AccountEnd) (uint64, error) {
	if err := e.Check(); err != nil {
		return 0, err
	}
	done, err := m.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	e.Fence = m.next()
	m.ends = append(m.ends, e)
	return e.Fence, nil
}

// SweepEnds implements storage.Sessions.
func (m *SessionModel) SweepEnds(ctx context.Context, upto uint64) (int, error) {
	done, err := m.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	before := len(m.ends)
	m.ends = slices.DeleteFunc(m.ends, func(e storage.AccountEnd) bool { return e.Fence <= upto })
	return before - len(m.ends), nil
}
