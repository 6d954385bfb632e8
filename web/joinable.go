package web

import (
	"html/template"
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

// reached returns the words for how players join a server, and why. Without NAT negotiation here,
// one that needs it is like one of which nothing is known.
func reached(s *master.Server, natneg bool) reachView {
	j := s.Joinable()
	if j == master.JoinNegotiated && !natneg {
		j = master.JoinUnknown
	}
	v := reachView{joinWords[j], reachText(s, j, natneg), master.AnyWay.Has(j)}
	if isGuess(s, j) {
		v.Word = guessWord
	}
	if s.Restored {
		v.Word = "no report yet"
	}
	return v
}

// guessWord is the word where JoinDirect is likely and not known.
const guessWord = "probably direct"

// isGuess reports whether that a server is joined in a way is a guess.
func isGuess(s *master.Server, j master.Joinable) bool {
	return j == master.JoinDirect && s.Findings.Reached == master.ReachedPerhaps
}

// reachText says how it is known.
func reachText(s *master.Server, j master.Joinable, natneg bool) string {
	found := s.Findings.Reached
	switch j {
	case master.JoinDirect:
		if isGuess(s, j) {
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
		if !natneg {
			return "Players may not be able to connect: it did not answer a port that it never contacted."
		}
		return "Players may not be able to connect: it did not answer a port that it never contacted, and it has no NAT negotiation."
	default:
		if s.Restored {
			return "It was listed before the last restart of this site and has not reported since."
		}
		return "Whether players can connect to it is not known."
	}
}

// ways returns the ways of joining in the form of the list, as options: those that this
// site has, and the chosen one. Templates would take longer than the rest of the form.
func ways(now master.JoinableSet, natneg, relay bool) template.HTML {
	var b []byte
	if natneg || relay || now == master.AnyWay { // else it is the same as "direct"
		b = appendWay(nil, master.AnyWay, "joinable", now)
	}
	found := now == 0 || now == master.AnyWay
	for _, name := range master.JoinableNames() {
		set, _, _ := master.ParseJoinables(name)
		if off := name == "negotiated" && !natneg || name == "relayed" && !relay; off && set != now {
			continue
		}
		found = found || set == now
		b = appendWay(b, set, joinTitles[name], now)
	}
	if !found { // only a link has it
		b = appendWay(b, now, strings.Join(now.Names(), " or "), now)
	}
	return markup(b) // the names and titles are ours
}

// appendWay writes an option.
func appendWay(b []byte, set master.JoinableSet, title string, now master.JoinableSet) []byte {
	b = append(append(append(b, `<option value="`...), strings.Join(set.Names(), ",")...), '"')
	if set == now {
		b = append(b, " selected"...)
	}
	return append(append(append(b, '>'), title...), "</option>\n"...)
}

// joinTitles are the ways of joining in the form of the list, by name.
var joinTitles = map[string]string{
	"direct": "direct", "negotiated": "with help (NAT negotiation)", "relayed": "through the relay", "no": "not reached", "unknown": "not confirmed",
}
