package operator

import (
	"context"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/noun"
)

// Meetings are the numbers of pairs of players that negotiated here, by the kinds of
// their routers.
type Meetings struct {
	Since time.Time      `json:"since,omitzero"` // when counting began; zero: nothing was counted
	Pairs []MeetingCount `json:"pairs"`
}

// MeetingCount is how often pairs with two kinds of routers reached each other, by the
// way.
type MeetingCount struct {
	Routers    [2]string `json:"routers"` // open, cone, symmetric, strict or unknown
	Direct     uint64    `json:"direct"`
	Negotiated uint64    `json:"negotiated"`
	Relayed    uint64    `json:"relayed"`
	Failed     uint64    `json:"failed"`
	Unreported uint64    `json:"unreported"` // old games do not report
}

// GetMeetings returns how players who negotiated on this node reached each other.
var GetMeetings = New(Operation{
	Name: "meetings", Route: "GET /meetings", What: "Show how players who negotiated reached each other", About: noun.Meetings,
}, func(_ context.Context, l *Local, _ None) (Meetings, error) {
	if l.MeetingCounts == nil {
		return Meetings{}, ErrNotRunning
	}
	m := Meetings{Since: l.MeetingCounts.Since().UTC(), Pairs: []MeetingCount{}}
	for _, c := range l.MeetingCounts.Counts() {
		routers := [2]string{c.KindA.String(), c.KindB.String()}
		if n := len(m.Pairs); n == 0 || m.Pairs[n-1].Routers != routers {
			m.Pairs = append(m.Pairs, MeetingCount{Routers: routers})
		}
		m.Pairs[len(m.Pairs)-1].add(c)
	}
	return m, nil
})

func (m *MeetingCount) add(c meeting.Count) {
	switch c.Way {
	case meeting.Direct:
		m.Direct += c.Number
	case meeting.Negotiated:
		m.Negotiated += c.Number
	case meeting.Relayed:
		m.Relayed += c.Number
	case meeting.Failed:
		m.Failed += c.Number
	case meeting.Unreported:
		m.Unreported += c.Number
	}
}
