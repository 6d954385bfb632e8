package storage

import (
	"cmp"
	"context"
	"iter"
	"net/netip"
	"time"
)

// Limits of a Server. They exceed the content of one datagram, so that no
// report keeps a server out of the saved list.
const (
	// MaxServerWord is the longest Game, Origin, Country, Region or Reached in bytes.
	MaxServerWord = 64
	// MaxServerLocal is the highest number of local addresses.
	MaxServerLocal = 32
	// MaxServerSections is the highest total of Report, Rules, Players and Teams
	// in bytes.
	MaxServerSections = 128 << 10
)

// Server is one entry of the server list as it was when the list was saved.
type Server struct {
	Source    netip.AddrPort   `json:"source,omitzero"`    // source address of the server's reports
	Via       netip.Addr       `json:"via,omitzero"`       // our address that it reported to
	Instance  uint32           `json:"instance,omitzero"`  // instance key, 0 if its protocol has none
	Game      string           `json:"game"`               // game name
	Origin    string           `json:"origin,omitzero"`    // protocol that brought it
	Public    netip.AddrPort   `json:"public,omitzero"`    // where players connect
	Local     []netip.AddrPort `json:"local,omitempty"`    // addresses inside its own network
	NATNeg    bool             `json:"natneg,omitzero"`    // reachable by NAT negotiation
	Reachable bool             `json:"reachable,omitzero"` // answered a probe; of lists that were saved without Reached
	Reached   string           `json:"reached,omitzero"`   // how players reach it, if known
	Country   string           `json:"country,omitzero"`   // country code
	Region    string           `json:"region,omitzero"`    // region code
	Report    []byte           `json:"report,omitempty"`   // opaque: its unparsed last report, instead of the three below
	Rules     []byte           `json:"rules,omitempty"`    // opaque, NUL-separated
	Players   []byte           `json:"players,omitempty"`  // opaque, NUL-separated
	Teams     []byte           `json:"teams,omitempty"`    // opaque, NUL-separated
	First     time.Time        `json:"first,omitzero"`     // listed since
	Seen      time.Time        `json:"seen,omitzero"`      // time of the last report
}

// Check returns an error, which matches ErrInvalid, if s exceeds a limit.
func (s *Server) Check() error {
	switch {
	case !s.Source.IsValid():
		return invalid("server has no source address")
	case len(s.Local) > MaxServerLocal:
		return invalid("server has more than %d local addresses", MaxServerLocal)
	case len(s.Report)+len(s.Rules)+len(s.Players)+len(s.Teams) > MaxServerSections:
		return invalid("server sections are longer than %d bytes", MaxServerSections)
	}
	return cmp.Or(
		checkName("server game", s.Game, MaxServerWord), checkText("server origin", s.Origin, MaxServerWord),
		checkText("server country", s.Country, MaxServerWord), checkText("server reached", s.Reached, MaxServerWord),
		checkText("server region", s.Region, MaxServerWord),
	)
}

// ListedServer is one server of a list to save.
type ListedServer struct {
	Source netip.AddrPort // as in the record; a list has each at most once
	Seen   time.Time      // time of the last report; counts instead of the record's
	// Changed reports that the record may differ from the one that the last
	// successful SaveServers saved, or LoadServers yielded, under this Source.
	Changed bool
	// Record returns the record. It is called before the next server is
	// iterated, and only if the record has to be written.
	Record func() Server
}

// SavedServers is the result of a save.
type SavedServers struct {
	Servers int // in the saved list
	Written int // records that were written
}

// Servers keeps the saved server list, one list as a whole.
type Servers interface {
	// SaveServers makes list the saved list: servers that it does not yield are
	// no longer in it. Only records that have changed are written, or all if
	// the saved list is missing, damaged or of an older version. A reader, and
	// a crash at any moment, sees the old list or the new one, never a mixture.
	// Records that exceed a limit are left out. After an error the old list
	// stays. The memory needed does not grow with the list. Saves wait for each
	// other.
	SaveServers(ctx context.Context, list iter.Seq[ListedServer]) (SavedServers, error)

	// CompactServers removes records that later saves have replaced, once they
	// outnumber the others. The saved list does not change, even after an error
	// or a crash.
	CompactServers(ctx context.Context) error

	// LoadServers yields the saved list in no particular order. A list that is
	// replaced meanwhile is still yielded to its end. A damaged part is one
	// item with an error, the rest follows.
	LoadServers(ctx context.Context) iter.Seq2[Server, error]
}
