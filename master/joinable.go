package master

import "strings"

// Joinable is how a player gets into a server, as pages, JSON and badges say it: the findings about
// it and its claims, in one word.
type Joinable uint8

// The ways of joining.
const (
	JoinUnknown    Joinable = iota // not known yet
	JoinDirect                     // by its address
	JoinNegotiated                 // by NAT negotiation
	JoinRelayed                    // through a relay, after NAT negotiation
	JoinNo                         // not at all, as known

	Joinables = 5
)

var joinableNames = [Joinables]string{"unknown", "direct", "negotiated", "relayed", "no"}

// String returns the name of j.
func (j Joinable) String() string {
	if int(j) < len(joinableNames) {
		return joinableNames[j]
	}
	return joinableNames[JoinUnknown]
}

// JoinableNames returns the names of all of them, the best first.
func JoinableNames() []string {
	return append(joinableNames[JoinDirect:Joinables:Joinables], joinableNames[JoinUnknown])
}

// Joinable returns how players join the server. Observations count more than its claims; of a
// server that has not reported since a restart nothing is known.
func (s *Server) Joinable() Joinable {
	switch {
	case s.Restored:
		return JoinUnknown
	case s.Direct():
		return JoinDirect
	case s.Findings.Reached == ReachedNegotiated:
		return JoinNegotiated
	case s.Findings.Relayed:
		return JoinRelayed
	case s.NATNeg:
		return JoinNegotiated
	case s.Findings.Reached == ReachedNo:
		return JoinNo
	}
	return JoinUnknown
}

// JoinableSet is a set of ways of joining. The empty one stands for all.
type JoinableSet uint8

// Has reports whether a way is in the set.
func (s JoinableSet) Has(j Joinable) bool { return s == 0 || s>>j&1 == 1 }

// AnyWay is the set of the ways in which players do get in.
const AnyWay JoinableSet = 1<<JoinDirect | 1<<JoinNegotiated | 1<<JoinRelayed

// Names returns the names of the ways in the set, the best first; none if it is empty.
func (s JoinableSet) Names() (names []string) {
	for _, name := range JoinableNames() {
		if one, _, _ := ParseJoinables(name); s&one != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ParseJoinables reads names, separated by commas; none means all. bad is the first
// text that is not a name.
func ParseJoinables(text string) (set JoinableSet, bad string, ok bool) {
	if text == "" {
		return 0, "", true
	}
	for name := range strings.SplitSeq(text, ",") {
		j := Joinable(0)
		for j < Joinables && joinableNames[j] != name {
			j++
		}
		if j == Joinables {
			return 0, name, false
		}
		set |= 1 << j
	}
	return set, "", true
}
