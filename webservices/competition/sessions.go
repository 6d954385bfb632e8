package competition

import (
	"cmp"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Limits of sessions.
const (
	// maxSessions is how many sessions there may be. An older one without a report
	// gives way to a new one of the same profile only.
	maxSessions = 20_000
	// maxPerProfile is how many sessions one profile may have made. The one that was
	// used least recently gives way.
	maxPerProfile = 16
	// sessionTime is how long a session is kept without a request.
	sessionTime = 6 * time.Hour
)

// The errors of sessions, which are results of requests.
var (
	errNoSession   = errors.New("there is no such session")
	errNotInIt     = errors.New("the connection is not yours")
	errSessions    = errors.New("too many sessions")
	errFullSession = errors.New("the session has no room for more players")
	errSecond      = errors.New("another report was sent before")
	errReport      = errors.New("the report cannot be read")
)

// session is a session of players and the match that they report.
type session struct {
	mu sync.Mutex // held while the match is stored; guards match
	// match is the match until the first report. Then it has an ID, and of the rest only
	// Game, Outcome and First: the store has the others.
	match storage.Match

	// The fields below belong to sessions.
	owner storage.ProfileID
	used  time.Time
	open  bool // it has a report and is not settled
}

type sessions struct {
	mu sync.Mutex
	by map[GUID]*session
	of map[storage.ProfileID][]GUID // those that a profile made
}

func newSessions() *sessions {
	return &sessions{by: make(map[GUID]*session), of: make(map[storage.ProfileID][]GUID)}
}

// len returns how many sessions there are.
func (t *sessions) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.by)
}

func (t *sessions) add(id GUID, s *session, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own := t.of[s.owner]; s.owner != 0 && len(own) >= maxPerProfile {
		idle := slices.DeleteFunc(slices.Clone(own), func(g GUID) bool { return t.by[g].open })
		if len(idle) == 0 {
			return errSessions
		}
		t.remove(slices.MinFunc(idle, func(a, b GUID) int { return cmp.Compare(t.by[a].used.UnixNano(), t.by[b].used.UnixNano()) }))
	}
	if len(t.by) >= maxSessions {
		return errSessions
	}
	s.used = now
	t.by[id] = s
	if s.owner != 0 {
		t.of[s.owner] = append(t.of[s.owner], id)
	}
	return nil
}

// remove removes a session. The caller holds mu.
func (t *sessions) remove(id GUID) {
	s := t.by[id]
	if s == nil {
		return
	}
	delete(t.by, id)
	own := slices.DeleteFunc(t.of[s.owner], func(g GUID) bool { return g == id })
	if len(own) == 0 {
		delete(t.of, s.owner)
		return
	}
	t.of[s.owner] = own
}

// get returns a session of a game and notes its use.
func (t *sessions) get(id GUID, now time.Time) (*session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.by[id]
	if s == nil {
		return nil, errNoSession
	}
	s.used = now
	return s, nil
}

// setOpen records whether a session has a match that is open.
func (t *sessions) setOpen(s *session, open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.open = open
}

// sweep removes the sessions that were not used for sessionTime, and returns those with
// open matches.
func (t *sessions) sweep(now time.Time) (open []*session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, s := range t.by {
		switch {
		case s.open:
			open = append(open, s)
		case now.Sub(s.used) >= sessionTime:
			t.remove(id)
		}
	}
	return open
}

// join adds a connection of a player to a match. host reports whether the player made the
// session and claims to be authoritative.
func join(m *storage.Match, p player, conn GUID, host bool) error {
	i := slices.IndexFunc(m.Sides, func(s storage.MatchSide) bool { return s.Profile == p.profile })
	if i < 0 {
		if len(m.Sides) >= storage.MaxMatchSides {
			return errFullSession
		}
		m.Sides = append(m.Sides, storage.MatchSide{Profile: p.profile, Nick: p.nick})
		i = len(m.Sides) - 1
	}
	s := &m.Sides[i]
	if len(s.Conns) >= storage.MaxMatchConns {
		s.Conns = slices.Delete(s.Conns, 0, 1)
	}
	s.Conns = append(slices.Clone(s.Conns), conn.String())
	s.Host = s.Host || host
	return nil
}

// GUID is the id of a session or of a connection. As a text it has hyphens, and the
// digits of its bytes in their order.
type GUID [16]byte

// newGUID returns a random id.
func newGUID(rand io.Reader) (g GUID, err error) {
	_, err = io.ReadFull(rand, g[:])
	return g, err
}

// String returns the id in lower case.
func (g GUID) String() string {
	h := hex.EncodeToString(g[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ParseGUID reads an id, in whatever case.
func ParseGUID(s string) (g GUID, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return g, false
	}
	_, err := hex.Decode(g[:], []byte(s[:8]+s[9:13]+s[14:18]+s[19:23]+s[24:]))
	return g, err == nil
}
