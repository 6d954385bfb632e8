package natnegtest

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/natneg"
)

// The times of the original client.
const (
	initEvery   = 500 * time.Millisecond
	initSends   = 12
	partnerWait = 60 * time.Second
	pingEvery   = 700 * time.Millisecond
	pingSends   = 9
	settle      = 5 * time.Second        // from the meeting to the report, in version 3
	sayEvery    = 200 * time.Millisecond // not the original's
	saySends    = 15
)

// reports returns how often, and how many times, the client of a version repeats its report.
func reports(version byte) (every time.Duration, sends int) {
	if version == 3 {
		return time.Second, 7
	}
	return 500 * time.Millisecond, 6
}

// Player is a client that negotiates once, as the original one of its version
// does. The fields are set before Run.
type Player struct {
	Net     Net
	Local   netip.AddrPort    // of its negotiation socket
	Game    netip.AddrPort    // of the socket of its game; zero: it has none
	Servers [3]netip.AddrPort // natneg1, natneg2, natneg3
	Cookie  uint32
	Index   byte
	Name    string // of the game
	Version byte   // 1 to 4; 0: 4
	// Deaf is whether it does not return the tests of its router. The original ones of version
	// 3 and 4 return them.
	Deaf bool
	// Repeats is how many times as often as the original it sends packets again before it gives
	// up, for players on a busy machine; 0: 1.
	Repeats int
	// Linger is how long it continues to answer its partner when it is done.
	Linger time.Duration
	// Says is the text that it sends to its partner once connected, as a game would, several
	// times within three seconds; empty: nothing.
	Says string
}

// End is how a negotiation ended for a player.
type End int

// The ends.
const (
	Connected   End = iota
	NoPartner       // no partner came: the server reported it, or its own wait ended
	InitTimeout     // its inits were not confirmed, or the server reported that they stopped
	PingTimeout     // it got an address, but there was no answer
	Stopped         // the context ended
)

// String returns the name of the end.
func (e End) String() string {
	return [...]string{"connected", "no partner", "init timeout", "ping timeout", "stopped"}[e]
}

// Result is the result of a player.
type Result struct {
	End       End
	Told      netip.AddrPort // the address in the first connect
	Remote    netip.AddrPort // where its partner really is, if connected
	Connects  int            // that came
	Confirmed bool           // its report was
	Heard     string         // text of its partner, from Remote
}

// datagram is a datagram received by a player.
type datagram struct {
	data []byte
	from netip.AddrPort
	game bool // to the socket of the game
}

// negotiator is a Player at work.
type negotiator struct {
	*Player
	sock, gameSock Socket // the same if the game has none
	unacked        map[natneg.PortType]bool
	result         Result
	paired, heard  bool // got an address; received data of its partner
	answered       bool // its partner received its data
	over           bool
}

// Run negotiates until the end, or until ctx ends.
func (p *Player) Run(ctx context.Context) (Result, error) {
	in := make(chan datagram, 256)
	open := func(at netip.AddrPort, game bool) (Socket, error) {
		return p.Net.Open(at, func(data []byte, from netip.AddrPort) {
			select {
			case in <- datagram{append([]byte(nil), data...), from, game}:
			default: // lost
			}
		})
	}
	sock, err := open(p.Local, false)
	if err != nil {
		return Result{}, fmt.Errorf("negotiation socket: %w", err)
	}
	defer sock.Close()
	n := &negotiator{Player: p, sock: sock, gameSock: sock, unacked: make(map[natneg.PortType]bool)}
	if p.Game.IsValid() {
		if n.gameSock, err = open(p.Game, true); err != nil {
			return Result{}, fmt.Errorf("game socket: %w", err)
		}
		defer n.gameSock.Close()
	}
	n.run(ctx, in)
	return n.result, nil
}

// run is the life of a negotiation: inits, wait, pings, report.
func (n *negotiator) run(ctx context.Context, in <-chan datagram) {
	for _, t := range n.portTypes() {
		n.unacked[t] = true
	}
	n.result.End = InitTimeout
	factor := max(n.Repeats, 1)
	n.repeat(ctx, in, initSends*factor, initEvery, n.sendInits, func() bool { return n.paired || n.over || len(n.unacked) == 0 })
	if len(n.unacked) == 0 && !n.paired && !n.over {
		n.result.End = NoPartner
		n.repeat(ctx, in, 1, partnerWait, func() {}, func() bool { return n.paired || n.over })
	}
	if !n.paired || ctx.Err() != nil {
		n.stopped(ctx)
		return
	}
	n.result.End = PingTimeout
	n.repeat(ctx, in, pingSends*factor, pingEvery, n.ping, n.met)
	if n.met() {
		n.result.End = Connected
	}
	never := func() bool { return false }
	if n.version() == 3 && n.met() {
		n.repeat(ctx, in, 1, settle, func() {}, never)
	}
	if n.version() >= 3 {
		every, sends := reports(n.version())
		n.repeat(ctx, in, sends*factor, every, n.report, func() bool { return n.result.Confirmed })
	}
	if n.met() && n.Says != "" {
		n.repeat(ctx, in, saySends, sayEvery, func() { n.gameSock.Send([]byte(n.Says), n.result.Remote) }, never)
	}
	if n.Linger > 0 {
		n.repeat(ctx, in, 1, n.Linger, func() {}, never)
	}
	n.stopped(ctx)
}

func (n *negotiator) stopped(ctx context.Context) {
	if ctx.Err() != nil {
		n.result.End = Stopped
	}
}

// repeat sends a number of times and takes datagrams during a pause after each, until
// done returns true or ctx ends.
func (n *negotiator) repeat(ctx context.Context, in <-chan datagram, times int, pause time.Duration, send func(), done func() bool) {
	t := time.NewTicker(pause)
	defer t.Stop()
	for range times {
		if done() {
			return
		}
		send()
		for due := false; !due && !done(); {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				due = true
			case d := <-in:
				n.take(d)
			}
		}
	}
}

// take handles a datagram.
func (n *negotiator) take(d datagram) {
	h, body, err := natneg.ParseHeader(d.data)
	if err != nil && d.game == n.Game.IsValid() && d.from == n.result.Remote {
		n.result.Heard = string(d.data)
	}
	if err != nil || h.Cookie != n.Cookie {
		return
	}
	switch h.Type {
	case natneg.TypeInitAck:
		if a, ok := natneg.ParseAck(h.Version, body); ok {
			delete(n.unacked, a.PortType)
		}
	case natneg.TypeTest:
		if t, ok := natneg.ParseTest(body); ok && !n.Deaf {
			n.sock.Send(t.AppendTo(n.header(natneg.TypeTestAck)), d.from)
		}
	case natneg.TypeConnect:
		if c, ok := natneg.ParseConnect(body); ok {
			n.connect(c, d.from)
		}
	case natneg.TypePing:
		if c, ok := natneg.ParseConnect(body); ok {
			n.pinged(c, d.from)
		}
	case natneg.TypeReportAck:
		n.result.Confirmed = true
	default: // a client knows no others
	}
}

// connect takes our word. Only the first one counts, every one is confirmed.
func (n *negotiator) connect(c natneg.Connect, from netip.AddrPort) {
	n.result.Connects++
	switch c.Finished {
	case natneg.FinishedNoOne:
		n.over, n.result.End = true, NoPartner
		return
	case natneg.FinishedHalfWay:
		n.over, n.result.End = true, InitTimeout
		return
	}
	b := n.header(natneg.TypeConnectAck)
	ack := natneg.Ack{PortType: 0x20, Index: n.Index, Rest: [7]byte{0, 0, 0x20, 0x20, 0x20, 0x20, 0x20}}
	n.sock.Send(ack.AppendTo(b, n.version()), from)
	if n.paired {
		return
	}
	n.paired = true
	n.result.Told = c.Remote
	if !n.result.Remote.IsValid() {
		n.result.Remote = c.Remote
	}
}

// pinged handles a ping: it switches to the partner's real address and answers.
func (n *negotiator) pinged(c natneg.Connect, from netip.AddrPort) {
	n.result.Remote = from
	n.heard = true
	n.answered = n.answered || c.GotData == 1
	if n.paired && c.Finished == 0 {
		n.ping()
	}
}

// met reports whether each of the two has received data of the other.
func (n *negotiator) met() bool { return n.heard && n.answered }

func (n *negotiator) ping() {
	c := natneg.Connect{Remote: n.result.Remote}
	if n.heard {
		c.GotData = 1
	}
	if n.met() {
		c.Finished = 1
	}
	n.gameSock.Send(c.AppendTo(n.header(natneg.TypePing)), n.result.Remote)
}

func (n *negotiator) report() {
	r := natneg.Report{Index: n.Index, NATType: [4]byte{6}}
	if n.result.End == Connected {
		r.Result = 1
	}
	copy(r.Game[:], n.Name)
	n.sock.Send(r.AppendTo(n.header(natneg.TypeReport)), n.Servers[0])
}

// sendInits sends the inits that are not confirmed.
func (n *negotiator) sendInits() {
	for _, t := range n.portTypes() {
		if n.unacked[t] {
			n.sendInit(t)
		}
	}
}

func (n *negotiator) sendInit(t natneg.PortType) {
	i := natneg.Init{
		PortType: t, Index: n.Index, GamePort: n.Game.IsValid(), Game: []byte(n.Name),
		Local: netip.AddrPortFrom(n.Local.Addr(), 0),
	}
	sock, to := n.sock, n.Servers[0]
	switch t {
	case natneg.PortGame:
		sock = n.gameSock
	case natneg.PortNN1:
	case natneg.PortNN2, natneg.PortNN3:
		to = n.Servers[t-1]
		i.Local = n.gameSock.Addr()
	}
	sock.Send(i.AppendTo(n.header(natneg.TypeInit), n.version()), to)
}

func (n *negotiator) header(t natneg.Type) []byte {
	return natneg.Header{Version: n.version(), Type: t, Cookie: n.Cookie}.AppendTo(nil)
}

func (n *negotiator) version() byte {
	if n.Version == 0 {
		return 4
	}
	return n.Version
}

// portTypes returns the port types of which the player sends inits.
func (n *negotiator) portTypes() []natneg.PortType {
	all := []natneg.PortType{natneg.PortGame, natneg.PortNN1, natneg.PortNN2, natneg.PortNN3}
	last := natneg.PortNN3
	switch n.version() {
	case 1:
		last = natneg.PortNN1
	case 2:
		last = natneg.PortNN2
	}
	first := natneg.PortNN1
	if n.Game.IsValid() {
		first = natneg.PortGame
	}
	return all[first : last+1]
}
