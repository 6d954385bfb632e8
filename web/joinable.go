package web

import (
	"strings"

	"github.com/respawnd/respawnd/master"
)

// reachView describes how players reach a server.
type reachView struct {
	Word string // one or two words
	Text string // a sentence
	Good bool
}

// joinWords are the words of pages and badges for the ways of joining.
var joinWords = [master.Joinables]string{
	master.JoinUnknown: "not confirmed", master.JoinDirect: "direct", master.JoinNegotiated: "with help",
	master.JoinRelayed: "relayed", master.JoinNo: "not reached",
}

// reached returns the words for how players join a server, and why.
func reached(s *master.Server) reachView {
	j := s.Joinable()
	v := reachView{joinWords[j], reachText(s, j), master.AnyWay.Has(j)}
	if s.Restored {
		v.Word = "no report yet"
	}
	return v
}

// reachText says how it is known.
func reachText(s *master.Server, j master.Joinable) string {
	found := s.Findings.Reached
	switch j {
	case master.JoinDirect:
		if found == master.ReachedPerhaps {
			return "It answers another port of this site, so players can most likely connect to it directly."
		}
		return "Players can connect to it: it answers addresses that it never contacted."
	case master.JoinNegotiated:
		if found == master.ReachedNegotiated {
			return "Players connected to it through NAT negotiation."
		}
		return "It may be behind a router; players connect to it through NAT negotiation."
	case master.JoinRelayed:
		return "Its router does not let all players in; they play through the relay of this site."
	case master.JoinNo:
		return "Players may not be able to connect: it did not answer a port that it never contacted, and it has no NAT negotiation."
	default:
		if s.Restored {
			return "It was listed before the last restart of this site and has not reported since."
		}
		return "Whether players can connect to it is not known."
	}
}

// ways returns the ways of joining in the form of the list.
func ways(now master.JoinableSet) (out []sortView) {
	found := false
	for _, name := range master.JoinableNames() {
		set, _, _ := master.ParseJoinables(name)
		v := sortView{name, joinTitles[name], set == now}
		found = found || v.Selected
		out = append(out, v)
	}
	if now != 0 && !found && now != master.AnyWay { // only a link has it
		out = append(out, sortView{strings.Join(now.Names(), ","), strings.Join(now.Names(), " or "), true})
	}
	return append([]sortView{{strings.Join(master.AnyWay.Names(), ","), "joinable", now == master.AnyWay}}, out...)
}

// joinTitles are the ways of joining in the form of the list, by name.
var joinTitles = map[string]string{
	"direct": "direct", "negotiated": "with help (NAT negotiation)", "relayed": "through the relay", "no": "not reached", "unknown": "not confirmed",
}
