package utmaster

import (
	"math"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/query"
)

// Times and bounds of a game server's connection.
const (
	// askAgain is the time after which the status is asked for again.
	askAgain = time.Second
	// askTimes is how often it is asked for after each state.
	askTimes = 3
	// maxKnown bounds the players whose keys were asked for.
	maxKnown = 1024
	// lowestPort is the lowest port that is queried: lower ones belong to services of
	// the system.
	lowestPort = 1024
)

// The usual ports, as distances from the game port, and that one.
const (
	usualGamePort   = 7777
	queryDistance   = 1
	gameSpyDistance = 10
)

// phase is how far a game server has come.
type phase uint8

const (
	awaitsMode phase = iota
	probing
	running
)

// policy holds the settings that a link uses. They are those at its start.
type policy struct {
	probe, unproved, shortPorts, askKeys bool
	wait                                 time.Duration
}

// link is the state of a game server's connection. It has no socket and no clock: each event
// returns its effects.
type link struct {
	policy
	peer       netip.Addr
	version    int32
	statistics bool // it wants match ids
	code       int32
	challenge  string // for keys of players

	phase  phase
	mode   Mode
	from   [probeKinds]uint16 // ports from which probes were answered
	until  time.Time          // end of probing
	proved bool

	state   *State // the last one; nil: none came yet
	asked   int    // how often the status was asked for in this round
	next    time.Time
	reached bool // the query port answered a port that it never sent to

	matched bool                // a match id was sent
	players map[string]struct{} // whose keys were asked for
}

// effects are the actions that a link requests.
type effects struct {
	send  []byte         // over TCP
	ask   netip.AddrPort // send statusQuery there; zero: nowhere
	list  bool           // list the server, or renew its record
	mute  bool           // the server does not answer and is not proved
	found bool           // packets from ports that it never sent to are proved to reach it
	key   *PlayerKey     // a player has this key
	other int            // the kind of a message that is not used; -1: none
}

// message takes a message of the server. The error is one of the codec.
func (l *link) message(p []byte, now time.Time) (e effects, err error) {
	e.other = -1
	if l.phase == awaitsMode {
		if l.mode, err = ParseMode(p); err != nil {
			return e, err
		}
		e.send = l.begin(now)
		return e, nil
	}
	if len(p) == 0 {
		return e, ErrCut
	}
	switch kind, rest := p[0], p[1:]; kind {
	case sayState:
		s, err := parseState(rest, l.version)
		if err != nil {
			return e, err
		}
		l.news(&s, &e, now)
	case sayPlayerKey:
		k, err := parsePlayerKey(rest)
		if err != nil {
			return e, err
		}
		e.key = &k
	case sayPackages:
		if l.statistics {
			e.send = l.match()
		}
	case sayStatistics, sayStillHere, sayOption:
		e.other = int(kind)
	default:
		return e, ErrKind
	}
	return e, nil
}

// begin sends the probes, or the ports at once.
func (l *link) begin(now time.Time) []byte {
	if !l.probe {
		return l.finish()
	}
	l.phase, l.until = probing, now.Add(l.wait)
	b := Probe{probeQuery, l.code}.appendTo(nil)
	b = Probe{probeGame, l.code}.appendTo(b)
	if l.mode.GameSpy {
		b = Probe{probeGameSpy, l.code}.appendTo(b)
	}
	return b
}

// finish sends the ports.
func (l *link) finish() []byte {
	l.phase = running
	if l.shortPorts && l.version < modern {
		return appendShortPorts(nil, l.ports().Game)
	}
	return l.ports().appendTo(nil)
}

// ports returns the ports of the server: those from which probes came, else the usual
// ones.
func (l *link) ports() (p Ports) {
	base := int32(usualGamePort)
	if l.state != nil && validPort(l.state.Port) {
		base = l.state.Port
	}
	if l.from[probeGame] != 0 {
		base = int32(l.from[probeGame])
	}
	pick := func(socket int, distance int32) uint16 {
		if port := l.from[socket]; port != 0 {
			return port
		}
		return uint16(min(base+distance, math.MaxUint16))
	}
	return Ports{Query: pick(probeQuery, queryDistance), Game: uint16(base), GameSpy: pick(probeGameSpy, gameSpyDistance)}
}

func validPort(n int32) bool { return n > 0 && n <= math.MaxUint16 }

// news takes a state.
func (l *link) news(s *State, e *effects, now time.Time) {
	first := l.state == nil
	l.state = s
	e.list = l.proved || l.unproved
	if first || !l.proved {
		l.asked = 0
		l.askStatus(e, now)
	}
	if l.statistics && l.version < modern && !l.matched {
		e.send = append(e.send, l.match()...)
	}
	if l.askKeys && l.phase == running {
		e.send = append(e.send, l.challenges(s.Clients)...)
	}
}

// askStatus asks the query port for its status, if it may.
func (l *link) askStatus(e *effects, now time.Time) {
	at := netip.AddrPortFrom(l.peer, l.ports().Query)
	l.asked++
	l.next = now.Add(askAgain)
	if query.Askable(at) && at.Port() >= lowestPort {
		e.ask = at
	}
}

// match sends the id of a match: statistics go nowhere, so that any number will do.
func (l *link) match() []byte {
	l.matched = true
	return appendMatch(nil, 1+l.code&0xFFFF)
}

// challenges asks for the keys of new players.
func (l *link) challenges(clients []string) (b []byte) {
	for _, c := range clients {
		if _, known := l.players[c]; known {
			continue
		}
		if len(l.players) >= maxKnown {
			clear(l.players)
		}
		if l.players == nil {
			l.players = make(map[string]struct{})
		}
		l.players[c] = struct{}{}
		b = appendKeyChallenge(b, c, l.challenge)
	}
	return b
}

// probed takes the answer to a probe, which came from a port of the server's address.
func (l *link) probed(socket byte, port uint16) (e effects) {
	e.other = -1
	if l.phase == awaitsMode || int(socket) >= probeKinds || l.from[socket] != 0 {
		return e
	}
	l.from[socket], l.proved = port, true
	if l.phase == running { // too late for the ports message
		e.list = l.state != nil
		return e
	}
	if l.from[probeQuery] != 0 && l.from[probeGame] != 0 && (l.from[probeGameSpy] != 0 || !l.mode.GameSpy) {
		e.send = l.finish()
	}
	return e
}

// answered takes the answer to a question for the status.
func (l *link) answered() (e effects) {
	e.other = -1
	e.list, e.found = !l.proved && l.state != nil, l.state != nil
	l.proved, l.reached = true, true
	return e
}

// tick performs the work that is due.
func (l *link) tick(now time.Time) (e effects) {
	e.other = -1
	switch {
	case l.phase == probing && !now.Before(l.until):
		e.send = l.finish()
	case l.waiting() && !now.Before(l.next):
		if l.asked < askTimes {
			l.askStatus(&e, now)
		} else {
			l.asked, e.mute = askTimes+1, !l.proved
		}
	}
	return e
}

// waiting reports whether an answer to a question for the status is waited for.
func (l *link) waiting() bool {
	return !l.reached && l.state != nil && l.asked > 0 && l.asked <= askTimes
}

// due returns when tick has something to do; zero: not before the next event.
func (l *link) due() time.Time {
	switch {
	case l.phase == probing:
		return l.until
	case l.waiting():
		return l.next
	default:
		return time.Time{}
	}
}
