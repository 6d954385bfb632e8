// Package foreign recognises game servers that report to the wrong port. A
// service passes it the packets that it drops, and the verdict on their sender
// names the protocol and the port where it belongs.
//
// It sends nothing, keeps no packet and does not decide about servers.
package foreign

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// Protocol is a protocol in which game servers report.
type Protocol uint8

// The protocols that are recognised.
const (
	None       Protocol = iota // none of them
	QR2                        // heartbeats of GameSpy's SDK
	QR1                        // text heartbeats of GameSpy's older SDK
	CDKey                      // checks of CD keys of GameSpy's SDK
	Zandronum                  // announcements to Zandronum's master
	Valve                      // challenge requests, heartbeats and goodbyes to Valve's master
	Quake3                     // heartbeats of Quake III and its relatives
	Quake2                     // those of Quake 2 and its relatives
	QuakeWorld                 // those of QuakeWorld
)

// maxCoded is the length in bytes of the longest packet that is tried as a
// Zandronum announcement. Real ones have fewer than 50.
const maxCoded = 128

// Recognize returns the protocol of a packet, judged by its first bytes and the
// fields that every report in that protocol has.
func Recognize(p []byte) Protocol {
	switch {
	case len(p) == 0:
		return None
	case p[0] == ';':
		return CDKey
	case hasFold(p, `\heartbeat\`):
		return QR1
	case p[0] == 0x03 && len(p) > 5 && bytes.Contains(p[5:], []byte("gamename\x00")):
		return QR2
	case bytes.HasPrefix(p, []byte("\xFF\xFF\xFF\xFFheartbeat")):
		if isBeat(quake2.Two, p) {
			return Quake2
		}
		return Quake3
	case isValve(bytes.TrimPrefix(p, []byte("\xFF\xFF\xFF\xFF"))):
		return Valve
	case isZandronum(p):
		return Zandronum
	case isBeat(quake2.World, p):
		return QuakeWorld
	default:
		return None
	}
}

func hasFold(p []byte, prefix string) bool {
	return len(p) >= len(prefix) && bytes.EqualFold(p[:len(prefix)], []byte(prefix))
}

// isValve recognises 'q' followed by up to five bytes, '0' followed by a text
// of pairs, and 'b'.
func isValve(p []byte) bool {
	switch {
	case len(p) == 0:
		return false
	case p[0] == 'q':
		return len(p) == 1 || len(p) <= 6 && p[1] == 0xFF
	case p[0] == '0':
		return bytes.HasPrefix(p, []byte("0\n\\"))
	default:
		return bytes.Equal(p, []byte("b\n")) || bytes.HasPrefix(p, []byte("b\n\\"))
	}
}

func isZandronum(p []byte) bool {
	if len(p) > maxCoded || p[0] > 7 && p[0] != 0xFF {
		return false
	}
	var buf [2 * maxCoded]byte
	kind, body := zandronum.ParseKind(zandronum.Decode(buf[:0], p, len(buf)))
	return kind == zandronum.KindChallenge && zandronum.ParseChallenge(body).Complete
}

func isBeat(f quake2.Form, p []byte) bool {
	kind, _, ok := f.Cut(p)
	return ok && kind == quake2.KindHeartbeat
}

var protocolVerdicts = map[Protocol]verdicts.Verdict{
	QR2: verdicts.SpeaksQR2, QR1: verdicts.SpeaksQR1, CDKey: verdicts.SpeaksCDKey, Zandronum: verdicts.SpeaksZandronum,
	Valve: verdicts.SpeaksValve, Quake3: verdicts.SpeaksQuake3, Quake2: verdicts.SpeaksQuake2, QuakeWorld: verdicts.SpeaksQuakeWorld,
}

// verdict returns the verdict on a server that speaks a protocol to a service of
// another one.
func (p Protocol) verdict() verdicts.Verdict {
	if v, ok := protocolVerdicts[p]; ok {
		return v
	}
	return verdicts.NotUnderstood
}

// Verdicts on dropped packets are noted at this rate at most: they cost
// strangers one packet each and must not push the verdicts on real servers out
// of the log. One address cannot use up the budget of all.
const (
	noteRate  = 20 // per second
	noteBurst = 200

	noteRatePerAddr  = 1
	noteBurstPerAddr = 20
	noteSlots        = 1 << 12 // addresses remembered
)

// Notes notes the verdicts of one service on packets that it dropped. It is safe
// for concurrent use.
type Notes struct {
	book    *verdicts.Log
	service string
	ration  *rate.Limiter
	perAddr *netserve.Limiter
}

// NewNotes returns Notes of a service.
func NewNotes(book *verdicts.Log, service string) *Notes {
	return &Notes{
		book, service, rate.NewLimiter(noteRate, noteBurst),
		netserve.NewLimiter(netserve.LimiterOptions{Rate: noteRatePerAddr, Burst: noteBurstPerAddr, Slots: noteSlots}),
	}
}

// Player is Note for the address of a player, without its port.
func (n *Notes) Player(a netip.Addr, v verdicts.Verdict) { n.Note(netip.AddrPortFrom(a, 0), v) }

// Note notes a verdict, unless there were too many.
func (n *Notes) Note(a netip.AddrPort, v verdicts.Verdict) {
	if n.book == nil {
		return
	}
	if now := time.Now(); n.perAddr.Allow(a.Addr(), now) && n.ration.AllowN(now, 1) {
		n.book.Note(n.service, a, "", v)
	}
}

// Foreign notes that a packet is of another protocol, if it is recognised and is
// not one of those that the service speaks itself. It reports whether it is.
func (n *Notes) Foreign(a netip.AddrPort, packet []byte, own ...Protocol) bool {
	p := Recognize(packet)
	if p == None || slices.Contains(own, p) {
		return false
	}
	n.Note(a, p.verdict())
	return true
}

// maxSample is the number of bytes of a message that a verdict shows.
const maxSample = 48

// Unknown notes that a message could not be understood, with its first bytes, so that
// an operator can report them.
func (n *Notes) Unknown(a netip.AddrPort, p []byte) {
	if n.book == nil {
		return
	}
	if now := time.Now(); n.perAddr.Allow(a.Addr(), now) && n.ration.AllowN(now, 1) {
		n.book.NoteSample(n.service, a, Sample(p))
	}
}

// Sample returns the first bytes of a message as text of visible characters: others are
// escaped as in Go.
func Sample(p []byte) string {
	text := strconv.QuoteToASCII(string(p[:min(len(p), maxSample)]))
	text = text[1 : len(text)-1]
	if len(p) > maxSample {
		text += "..."
	}
	return text
}
