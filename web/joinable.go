package web

import (
	"html/template"
	"strings"

	"github.com/respawnd/respawnd/internal/lang"
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
	master.JoinUnknown: lang.Key("not confirmed"), master.JoinDirect: lang.Key("direct"), master.JoinNegotiated: lang.Key("with help"),
	master.JoinRelayed: lang.Key("relayed"), master.JoinNo: lang.Key("not reached"),
}

// reached returns the words for how players join a server, and why. Without NAT negotiation here,
// one that needs it is like one of which nothing is known.
func reached(l *lang.Language, s *master.Server, natneg bool) reachView {
	j := s.Joinable()
	if j == master.JoinNegotiated && !natneg {
		j = master.JoinUnknown
	}
	v := reachView{l.T(joinWords[j]), l.T(reachText(s, j, natneg)), master.AnyWay.Has(j)}
	if isGuess(s, j) {
		v.Word = l.T(guessWord)
	}
	if s.Restored {
		v.Word = l.T("no report yet")
	}
	return v
}

// guessWord is the word where JoinDirect is likely and not known.
var guessWord = lang.Key("probably direct")

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
			return lang.Key("It answers another port of this site, so players can most likely connect to it directly.")
		}
		return lang.Key("Players can connect to it: it answers addresses that it never contacted.")
	case master.JoinNegotiated:
		if found == master.ReachedNegotiated {
			return lang.Key("Players connected to it through NAT negotiation.")
		}
		return lang.Key("It may be behind a router; players connect to it through NAT negotiation.")
	case master.JoinRelayed:
		return lang.Key("Its router does not let all players in; they play through the relay of this site.")
	case master.JoinNo:
		if !natneg {
			return lang.Key("Players may not be able to connect: it did not answer a port that it never contacted.")
		}
		return lang.Key("Players may not be able to connect: it did not answer a port that it never contacted, and it has no NAT negotiation.")
	default:
		if s.Restored {
			return lang.Key("It was listed before the last restart of this site and has not reported since.")
		}
		return lang.Key("Whether players can connect to it is not known.")
	}
}

// ways returns the ways of joining in the form of the list, as options: those that this
// site has, and the chosen one. Templates would take longer than the rest of the form.
func ways(l *lang.Language, now master.JoinableSet, natneg, relay bool) template.HTML {
	var b []byte
	if natneg || relay || now == master.AnyWay { // else it is the same as "direct"
		b = appendWay(nil, master.AnyWay, l.T("joinable"), now)
	}
	found := now == 0 || now == master.AnyWay
	for _, name := range master.JoinableNames() {
		set, _, _ := master.ParseJoinables(name)
		if off := name == "negotiated" && !natneg || name == "relayed" && !relay; off && set != now {
			continue
		}
		found = found || set == now
		b = appendWay(b, set, l.T(joinTitles[name]), now)
	}
	if !found { // only a link has it
		b = appendWay(b, now, strings.Join(now.Names(), " "+l.T("or")+" "), now)
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
	"direct": lang.Key("direct"), "negotiated": lang.Key("with help (NAT negotiation)"), "relayed": lang.Key("through the relay"),
	"no": lang.Key("not reached"), "unknown": lang.Key("not confirmed"),
}
