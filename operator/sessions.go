package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// Sessions is the set of signed-in players; a presence.Hub is one.
type Sessions interface {
	KickUser(ctx context.Context, id storage.UserID, reason error) int
	KickProfile(ctx context.Context, id storage.ProfileID, reason error) int
	List(after storage.ProfileID, limit int) (list []presence.SignedIn, more bool)
	Count() int
}

// MaxSessionPage is the approximate maximum number of sessions that SignedIn
// returns.
const MaxSessionPage = 500

// SessionPage is a part of the list of sessions, in the order of profiles.
type SessionPage struct {
	Sessions []Session         `json:"sessions"`
	Total    int               `json:"total"`
	Next     storage.ProfileID `json:"next,omitzero"` // After for the next page; 0: there is none
}

// Session is a signed-in player.
type Session struct {
	Profile    storage.ProfileID `json:"profile"`
	Account    storage.UserID    `json:"account"`
	Nick       string            `json:"nick"`
	UniqueNick string            `json:"uniquenick,omitempty"` // the first one
	Address    netip.AddrPort    `json:"address"`
	Game       string            `json:"game"`
	State      string            `json:"state"`
	Text       string            `json:"text,omitempty"` // status text of the game
	Since      time.Time         `json:"since"`
	Node       string            `json:"node,omitempty"` // of the cluster
}

var stateWords = map[presence.State]string{
	presence.Offline: "appears offline", presence.Online: "online", presence.Playing: "playing",
	presence.Staging: "staging", presence.Chatting: "chatting", presence.Away: "away",
}

// stateWord returns the word for the state that a player set.
func stateWord(s presence.State) string {
	return cmp.Or(stateWords[s], fmt.Sprintf("state %d", int(s)))
}

// SessionQuery selects sessions.
type SessionQuery struct {
	After storage.ProfileID `query:"after"` // profiles above that
	Limit int               `query:"limit"` // how many; 0 or too many: MaxSessionPage
}

// ListSessions returns a page of the signed-in players.
var ListSessions = New(Operation{
	Name: "session list", Route: "GET /sessions", What: "Show the players who are signed in", About: noun.Accounts, AtMost: MaxSessionPage,
}, func(ctx context.Context, l *Local, q SessionQuery) (SessionPage, error) {
	if l.Sessions == nil {
		return SessionPage{}, ErrNotRunning
	}
	if q.Limit <= 0 || q.Limit > MaxSessionPage {
		q.Limit = MaxSessionPage
	}
	list, more := l.Sessions.List(q.After, q.Limit)
	page := SessionPage{Sessions: []Session{}, Total: l.Sessions.Count()} // never null as JSON
	for _, s := range list {
		out := Session{
			Profile: s.Profile, Account: s.User, Address: s.Client.Peer, Game: s.Client.Game,
			State: stateWord(s.Status.State), Text: s.Status.Text, Since: s.Client.Since.UTC(), Node: s.Node,
		}
		p, err := l.Store.GetProfile(ctx, s.Profile)
		switch {
		case err == nil:
			out.Nick = p.Nick
			if len(p.UniqueNicks) > 0 {
				out.UniqueNick = p.UniqueNicks[0].Nick
			}
		case !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrDamaged):
			return SessionPage{}, err
		}
		page.Sessions = append(page.Sessions, out)
	}
	if more {
		page.Next = list[len(list)-1].Profile
	}
	return page, nil
})

// ProfileRef names a profile.
type ProfileRef struct {
	ID storage.ProfileID `path:"id" arg:"PROFILE"`
}

// KickProfile ends the sessions of a profile and returns how many there were.
var KickProfile = New(Operation{
	Name: "session kick", Route: "DELETE /sessions/{id}", What: "Sign out the player with a profile", About: noun.Accounts,
}, func(ctx context.Context, l *Local, in ProfileRef) (Removed, error) {
	if l.Sessions == nil {
		return Removed{}, ErrNotRunning
	}
	n := l.Sessions.KickProfile(ctx, in.ID, presence.ErrKicked)
	if n == 0 {
		return Removed{}, fmt.Errorf("profile %d is not signed in: %w", in.ID, storage.ErrNotFound)
	}
	p, _ := l.Store.GetProfile(ctx, in.ID) // without nick if it was deleted meanwhile
	return Removed{n}, addAudit(ctx, l, uint32(p.User), fmt.Sprintf("profile %d", in.ID), p.Nick)
})

// Waiting counts the messages that wait for players.
type Waiting struct {
	Messages int `json:"messages"`
	Profiles int `json:"profiles"` // for how many
}

// CountWaiting counts the messages that wait for players.
var CountWaiting = New(Operation{
	Name: "message count", Route: "GET /messages", What: "Show how many messages wait for players", About: noun.Accounts,
}, func(ctx context.Context, l *Local, _ None) (w Waiting, err error) {
	w.Messages, w.Profiles, err = l.Store.CountMessages(ctx)
	return w, err
})

// RelayedPair is two players whose packets are passed on here.
type RelayedPair struct {
	Game   string        `json:"game,omitempty"` // empty: not in the catalogue
	Since  time.Time     `json:"since"`
	Last   time.Time     `json:"last,omitzero"` // the last packet; zero: none was passed on
	Client RelayedPlayer `json:"client"`
	Host   RelayedPlayer `json:"host"`
}

// RelayedPlayer is one player of a RelayedPair.
type RelayedPlayer struct {
	Address netip.AddrPort `json:"address"` // without a port until it has come
	Come    bool           `json:"come"`    // it has sent a packet
	Port    uint16         `json:"port"`    // of ours that it sends to
	Packets uint64         `json:"packets"` // of it that were passed on
	Bytes   uint64         `json:"bytes"`
}

// ListRelayed returns the pairs of players that this node relays, the oldest first.
var ListRelayed = New(Operation{
	Name: "relay", Route: "GET /relay", What: "Show the players that are relayed", About: noun.Relays,
}, func(_ context.Context, l *Local, _ None) ([]RelayedPair, error) {
	if l.RelayedPairs == nil {
		return nil, ErrNotRunning
	}
	return append([]RelayedPair{}, l.RelayedPairs()...), nil // never null as JSON
})

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
