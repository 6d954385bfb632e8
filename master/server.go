package master

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Key identifies a reporting server: the source address of its packets and, for
// QR2, the instance key that it chose when it started. A source has at most one
// record; a new instance replaces the old one.
type Key struct {
	Source   netip.AddrPort
	Instance uint32
}

// Server is one listed server. It is immutable once it is listed: callers may
// keep and read it for any length of time. An update is a new value.
type Server struct {
	Key    Key
	Game   string         // lower case, from the catalogue
	Public netip.AddrPort // where it answers queries; the address in lists
	Via    netip.Addr     // our address that it reports to; zero if unknown
	Local  []netip.AddrPort

	// Node is the node of the cluster that the server reports to; empty: this one.
	// Only that node can send to the server, because only its socket passes the
	// server's NAT.
	Node string

	Origin   *Origin // never nil in a list
	NATNeg   bool    // it claims that NAT negotiation reaches it
	Restored bool    // listed from the saved list, without a report since the start
	Query    string  // protocol in which it is queried, if that does not follow from Origin
	Told     string  // name of the other master that it is known from, if Federated
	Vouched  bool    // vouched for by Told, listed without a query of our own
	Findings Findings

	Country string // ISO 3166 alpha-2, upper case; empty if unknown
	Region  string // continent group number of the old protocol; empty if unknown

	Rules   Fields
	Players Table
	Teams   Table

	Lifetime time.Duration // silence after which it leaves the list; 0: the registry's default
	First    time.Time     // when it was listed
	Seen     time.Time     // when this record was reported
	Serial   uint64        // grows with every change of the list; set by the registry
}

// Findings are facts about the server from other sources than its reports.
type Findings struct {
	Reached Reached
	Relayed bool // players reached it through a relay
}

// Reached is how players can reach a server, if known.
type Reached uint8

// The ways to a server, the better ones last. A server behind a filter may
// accept packets only from the address that it reports to: an answer to another
// port of this address proves little about players.
const (
	ReachedUnknown    Reached = iota // not queried yet
	ReachedNo                        // no answer to a port that it never sent to
	ReachedPerhaps                   // answered such a port of the address that it reports to
	ReachedNegotiated                // players reached it by NAT negotiation
	ReachedDirect                    // answered an address that it never sent to
)

var reachedNames = [...]string{"unknown", "no", "perhaps", "negotiated", "direct"}

// String returns the name of r.
func (r Reached) String() string {
	if int(r) < len(reachedNames) {
		return reachedNames[r]
	}
	return reachedNames[ReachedUnknown]
}

// ParseReached is the inverse of String; it returns ReachedUnknown for other
// texts.
func ParseReached(name string) Reached {
	for i, n := range reachedNames {
		if n == name {
			return Reached(i)
		}
	}
	return ReachedUnknown
}

// Direct reports whether players should query and join the server directly. If
// it is uncertain that they can, Direct is true only for a server without NAT
// negotiation.
func (s *Server) Direct() bool {
	return s.Findings.Reached == ReachedDirect || s.Findings.Reached == ReachedPerhaps && !s.NATNeg
}

// Field returns a value by name, without regard to case: the rules, and the
// country and region, which only the master sets (those reported by a server
// are ignored).
func (s *Server) Field(name string) (string, bool) {
	switch FoldName(name) {
	case "country":
		return s.Country, s.Country != ""
	case "region":
		return s.Region, s.Region != ""
	}
	return s.Rules.Get(name)
}

// Names of rules that every answer to an A2S query has.
const (
	RuleAppID      = "appid"
	RuleServerType = "servertype" // dedicated, listen or proxy
	RuleProtocol   = "protocol"   // version of the protocol of the game
)

// SpeaksGameSpy reports whether a browser of GameSpy's may get the server: whether it
// could answer its queries.
func (s *Server) SpeaksGameSpy() bool {
	return !s.SpeaksA2S() && (s.Origin.Query == "" || s.QueryProtocol() != "")
}

// SpeaksA2S reports whether the server answers A2S queries and not those of
// GameSpy's browsers.
func (s *Server) SpeaksA2S() bool {
	if s.Origin.Query != "" {
		return s.Origin.Query == "a2s"
	}
	_, app := s.Rules.Get(RuleAppID)
	_, kind := s.Rules.Get(RuleServerType)
	return app && kind
}

// QueryProtocol returns the protocol in which the server answers queries, such as
// "gs3"; "" if it is unknown.
func (s *Server) QueryProtocol() string {
	if s.Origin.Query == "" {
		return s.Query
	}
	if s.Origin.QueryRule != "" {
		if _, answers := s.Rules.Get(s.Origin.QueryRule); !answers {
			return ""
		}
	}
	return s.Origin.Query
}

// MaxPopulation is the largest number of players that is accepted from a
// server.
const MaxPopulation = 9999

// Population returns how many players the server has: its rule numplayers, or
// the length of its list of players if that is not a number from 0 to
// MaxPopulation.
func (s *Server) Population() int {
	text, _ := s.Rules.Get("numplayers")
	if n, ok := ParsePopulation(text); ok {
		return n
	}
	return min(s.Players.Rows(), MaxPopulation)
}

// ParsePopulation reads a number of players as a server reports it; ok is false
// if it is not a number from 0 to MaxPopulation.
func ParsePopulation(text string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > MaxPopulation {
		return 0, false
	}
	return n, true
}

// IsYes reports whether a reported value means yes: a number other than 0,
// true, yes or on.
func IsYes(value string) bool {
	value = strings.TrimSpace(value)
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(value)
	return err == nil && n != 0
}

// Messenger carries a message from a browser to a listed server. QR2 implements
// it; it never blocks. The error is ErrNotListed if there is no such server or
// it cannot receive messages, ErrBusy if too many messages to it are
// unconfirmed.
type Messenger interface {
	SendToServer(k Key, payload []byte) error
}
