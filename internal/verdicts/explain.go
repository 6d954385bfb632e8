package verdicts

import (
	"cmp"
	"time"

	"github.com/respawnd/respawnd/internal/lang"
)

// Explanation puts a verdict into words for players and operators.
type Explanation struct {
	// Kind of the message: "heartbeat", "registration".
	What string
	// Cause describes the event and its effect.
	Cause string
	// Advice is the remedy. Empty: none is needed.
	Advice string
	// Good means that the server is not missing for this reason.
	Good bool

	// Lasting replaces Advice when the verdict comes again and again, and waiting
	// does not help. Empty: it does not differ.
	Lasting string
}

// lastsFrom is how long a verdict has to be repeated until it gets the advice for
// those that last.
const lastsFrom = 2 * time.Minute

// lasts reports whether waiting does not help against the verdict.
func (e *Entry) lasts() bool { return e.Times > 1 && e.Last.Sub(e.First) >= lastsFrom }

// Explain puts the verdict into words. Of the network they contain only Detail.
func (e Entry) Explain() Explanation { return e.ExplainIn(nil) }

// ExplainIn is Explain in a language.
func (e Entry) ExplainIn(l *lang.Language) Explanation {
	t := e.Verdict.text()
	x := t.Explanation
	switch {
	case !t.elsewhere:
	case e.Port == 0:
		x.Advice = SpeaksOther.text().Advice
	default:
		x.Advice = l.T(lang.Key("Use port %1: this master accepts them there."), int(e.Port))
	}
	own := speakers[e.Service]
	y := own.Texts[e.Verdict]
	cause := l.T(cmp.Or(y.Cause, x.Cause))
	if e.Detail != "" {
		cause += ": " + e.Detail
	}
	advice := cmp.Or(y.Advice, x.Advice)
	if e.lasts() {
		advice = cmp.Or(y.Lasting, y.Advice, x.Lasting, x.Advice)
	}
	return Explanation{
		What:   l.T(cmp.Or(y.What, x.What, own.What, "heartbeat")),
		Cause:  cause,
		Advice: l.T(advice),
		Good:   x.Good,
	}
}

// Speaker is a service whose verdicts differ from those of most services.
type Speaker struct {
	What   string                  // arrives there; empty: heartbeats
	Player bool                    // its verdicts are about players, see OfPlayer
	Texts  map[Verdict]Explanation // non-empty fields replace those of most services
}

var speakers = make(map[string]Speaker)

// Speak declares the words of a service. It is called while packages are initialized, and returns
// something so that a variable can be its caller.
func Speak(service string, s Speaker) struct{} {
	speakers[service] = s
	return struct{}{}
}

// OfPlayer reports whether the verdicts of a service are about players and not
// about servers. They belong in a Log of their own, where they cannot displace
// verdicts on servers, and on no public page.
func OfPlayer(service string) bool { return speakers[service].Player }

// SignInTexts are for services for players who sign in or manage accounts.
var SignInTexts = map[Verdict]Explanation{
	Banned: {Cause: "the address is banned from signing in"},
	Limited: {
		Cause:  "too many connections, wrong passwords or requests came from this address, or for this account",
		Advice: "Wait some minutes. The operator can raise gpcm.max_per_addr or gpsp.max_per_addr, or add the network to net.trusted.",
	},
	MalformedRequest: {Advice: "Check that the game's sign-in and search ports point at the right services."},
}

// ListTexts are for services for server browsers that request lists.
var ListTexts = map[Verdict]Explanation{
	UnknownGame: {Cause: "this master does not know the game that the browser requests, or its own game"},
	NoSecret:    {Cause: "the game of the browser is known, but not its secret key, and without it the list cannot be encrypted for the browser"},
	WrongResponse: {
		Cause:  "the browser and this master have different secret keys for the browser's game",
		Advice: "Check which game it claims to be. The operator can correct the key: respawnd game add NAME --secret KEY.",
	},
	Banned: {Cause: "the address is banned from the lists"},
	Limited: {
		Cause:  "too many connections came from this address at once, or too many lists were requested on one connection",
		Advice: "Wait a moment between two lists. The operator can raise max_per_addr of that service or add the network to net.trusted.",
	},
	MalformedRequest: {Advice: "Check that the game's master port points here and at no other service."},
}
