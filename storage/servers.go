package storage

import (
	"context"
	"iter"
	"net/netip"
	"time"
)

// Limits of a Server. They are wider than what one datagram can bring, so that
// nothing a server sends keeps it out of the saved list.
const (
	// MaxServerWord is the longest Game, Origin, Country or Region in bytes.
	MaxServerWord = 64
	// MaxServerLocal is the highest number of local addresses.
	MaxServerLocal = 32
	// MaxServerSections is the highest total of Rules, Players and Teams in
	// bytes.
	MaxServerSections = 128 << 10
)

// Server is one entry of the server list as it was when the list was saved.
type Server struct {
	Source    netip.AddrPort   `json:"source,omitzero"`    // who speaks for the server
	Via       netip.Addr       `json:"via,omitzero"`       // our own address that it talked to
	Instance  uint32           `json:"instance,omitzero"`  // instance key, 0 if its protocol has none
	Game      string           `json:"game"`               // game name
	Origin    string           `json:"origin,omitzero"`    // protocol that brought it
	Public    netip.AddrPort   `json:"public,omitzero"`    // where players connect
	Local     []netip.AddrPort `json:"local,omitempty"`    // addresses inside its own network
	NATNeg    bool             `json:"natneg,omitzero"`    // reachable by NAT negotiation
	Reachable bool             `json:"reachable,omitzero"` // answered a probe
	Country   string           `json:"country,omitzero"`   // country code
	Region    string           `json:"region,omitzero"`    // region code
	Rules     []byte           `json:"rules,omitempty"`    // opaque, NUL-separated
	Players   []byte           `json:"players,omitempty"`  // opaque, NUL-separated
	Teams     []byte           `json:"teams,omitempty"`    // opaque, NUL-separated
	First     time.Time        `json:"first,omitzero"`     // listed since
	Seen      time.Time        `json:"seen,omitzero"`      // last heard of
}

// Check reports whether s keeps the limits; the error matches ErrInvalid.
func (s *Server) Check() error {
	if !s.Source.IsValid() {
		return invalid("server has no source address")
	}
	if err := checkName("server game", s.Game, MaxServerWord); err != nil {
		return err
	}
	if err := checkText("server origin", s.Origin, MaxServerWord); err != nil {
		return err
	}
	if err := checkText("server country", s.Country, MaxServerWord); err != nil {
		return err
	}
	if err := checkText("server region", s.Region, MaxServerWord); err != nil {
		return err
	}
	if len(s.Local) > MaxServerLocal {
		return invalid("server has more than %d local addresses", MaxServerLocal)
	}
	if len(s.Rules)+len(s.Players)+len(s.Teams) > MaxServerSections {
		return invalid("server sections are longer than %d bytes", MaxServerSections)
	}
	return nil
}

// Servers keeps the saved server list, one list as a whole.
type Servers interface {
	// SaveServers replaces the saved list by what servers yields and returns
	// how many records were saved. A reader, and a crash at any moment, sees
	// the old list or the new one, never a mixture. A record that breaks the
	// limits is left out. On an error the old list stays. The memory needed
	// does not grow with the list. Saves wait for each other.
	SaveServers(ctx context.Context, servers iter.Seq[Server]) (n int, err error)

	// LoadServers yields the saved list in the order in which it was saved. A
	// list that is replaced meanwhile is still yielded to its end. A damaged
	// part is one item with an error, the rest follows.
	LoadServers(ctx context.Context) iter.Seq2[Server, error]

	// ServersSavedAt returns when the list was saved, ErrNotFound if it never
	// was.
	ServersSavedAt(ctx context.Context) (time.Time, error)
}
