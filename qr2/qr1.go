package qr2

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// textService is the name under which verdicts on hosts of the text protocol
// are noted.
const textService = "qr1"

// textIntake takes in the text protocol, which came before QR2 and shares its
// port.
type textIntake struct {
	s       *Server
	metrics *textMetrics
	echoes  *netserve.Limiter
	table   textTable
	adopted atomic.Bool // the saved list was read
}

// The echo is bounded more tightly than other packets: two masters that echo
// each other's packets would never stop.
const (
	echoRate  = 1 // per second and address
	echoBurst = 5
	echoSlots = 4096
)

func newTextIntake(s *Server) *textIntake {
	return &textIntake{
		s:       s,
		metrics: newTextMetrics(s.opt.Registerer),
		echoes:  netserve.NewLimiter(netserve.LimiterOptions{Rate: echoRate, Burst: echoBurst, Slots: echoSlots}),
		table:   newTextTable(),
	}
}

// handle takes a packet that begins with a backslash and returns why it was
// dropped.
func (t *textIntake) handle(w netserve.PacketWriter, p netserve.Packet) (dropped uplink.Drop) {
	fields := gamespy.ScanFields(p.Data)
	if !fields.Next() {
		return uplink.Malformed
	}
	switch {
	case ascii.EqualFold(fields.Key(), "heartbeat"):
		return t.heartbeat(w, p)
	case ascii.EqualFold(fields.Key(), "echo") && t.echoed(w, p, fields.Value()):
		return uplink.NotDropped
	case isMasterQuestion(fields.Key(), fields.Value()) && t.s.beacon.knows(p.From):
		return t.s.beacon.answer(w, p)
	case ascii.EqualFold(fields.Key(), "echo"):
		return t.echo(w, p)
	default:
		return t.answer(w, p)
	}
}

// echo sends a packet back to its sender, byte for byte, so that it is of no use
// for reaching others.
func (t *textIntake) echo(w netserve.PacketWriter, p netserve.Packet) uplink.Drop {
	if !t.echoes.Allow(p.From.Addr(), time.Now()) || !t.s.allow(p.From.Addr(), time.Now()) {
		return uplink.Limited
	}
	t.s.send(w, p, p.Data)
	return uplink.NotDropped
}

// textHeartbeat is a parsed heartbeat. The slices are parts of the packet.
type textHeartbeat struct {
	game    []byte
	port    uint16 // on which the host answers queries; 0: the source port
	leaving bool   // perhaps: some games mean a change
	extra   int    // number of further fields
}

// readTextHeartbeat parses \heartbeat\PORT\gamename\NAME and further fields. It
// does not allocate.
func readTextHeartbeat(packet []byte) (h textHeartbeat, err error) {
	for s := gamespy.ScanFields(packet); s.Next(); {
		key, value := s.Key(), s.Value()
		switch {
		case ascii.EqualFold(key, "heartbeat"):
			if h.port == 0 {
				h.port = parsePort(value)
			}
		case ascii.EqualFold(key, "gamename"):
			first(&h.game, value)
		case ascii.EqualFold(key, stateName):
			// 1 is a change. 2, no value and anything else may mean the end.
			h.leaving = string(value) != "0" && string(value) != "1" && string(value) != "3"
		case ascii.EqualFold(key, "final"), ascii.EqualFold(key, "queryid"):
		default:
			if h.extra++; h.extra > master.MaxNames {
				return h, errTooMuch
			}
		}
	}
	if len(h.game) == 0 {
		return h, errNoGame
	}
	return h, nil
}

// parsePort parses a decimal port; 0 if it is invalid.
func parsePort(b []byte) uint16 {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' || n > 65535 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	if n > 65535 {
		return 0
	}
	return uint16(n)
}

// maxExtra is the maximum number of further fields of a heartbeat that are
// kept.
const maxExtra = 64

// furtherFields returns the fields of a heartbeat that describe the server.
func furtherFields(packet []byte) (extra []query.Field) {
	for s := gamespy.ScanFields(packet); s.Next() && len(extra) < maxExtra; {
		switch name := strings.ToLower(string(s.Key())); name {
		case "heartbeat", stateName, "final", "queryid":
		default:
			extra = append(extra, query.Field{Name: string(s.Key()), Value: string(s.Value())})
		}
	}
	return extra
}

// heartbeat has a host queried: at once if it is new or was not asked recently,
// else soon. The heartbeat itself proves nothing and does not keep the host listed, for
// its source address may be forged; the answer does both.
func (t *textIntake) heartbeat(w netserve.PacketWriter, p netserve.Packet) uplink.Drop {
	t.metrics.heartbeats.Inc()
	h, err := readTextHeartbeat(p.Data)
	if err != nil {
		if t.s.allow(p.From.Addr(), time.Now()) {
			t.noteText(p.From, "", verdicts.Malformed)
		}
		return uplink.Malformed
	}
	key := master.Key{Source: p.From}
	if h.port != 0 {
		key.Source = netip.AddrPortFrom(p.From.Addr(), h.port)
	}
	if !query.Askable(key.Source) {
		return uplink.Foreign
	}
	if srv, ok := t.s.list.At(key.Source); ok && !srv.Restored {
		switch {
		case srv.Origin == Origin, srv.Origin != OldOrigin && srv.Origin.Query == OldOrigin.Query:
			return uplink.Unexpected // it also uses another protocol, which reports more
		case srv.Origin == OldOrigin && srv.Key == key:
			// Another game on this address is believed once the listed one is
			// silent: this packet may be forged.
			out, known := t.table.again(key.Source, p, h.leaving || !t.sameGame(h.game, srv.Game), time.Now())
			if known {
				t.sendQueries(w, out)
				return uplink.NotDropped
			}
		}
	}
	return t.introduce(w, p, key, h)
}

// sameGame reports whether a host reports the game that it is listed under.
func (t *textIntake) sameGame(said []byte, game string) bool {
	if string(said) == game {
		return true
	}
	g, ok := t.s.opt.Games.LookupBytes(said)
	return ok && g.Name == game
}

// introduce starts the verification of a host, or continues with it.
func (t *textIntake) introduce(w netserve.PacketWriter, p netserve.Packet, key master.Key, h textHeartbeat) uplink.Drop {
	if own := t.s.opt.Own; own.Has(key.Source) || own.Has(p.From) {
		return uplink.Foreign
	}
	// No allowance is taken: a heartbeat that names a game is as long as the query
	// at least, so it cannot be used to flood others, and real hosts at its address would lack its
	// share.
	if t.s.opt.Banned.Has(p.From.Addr()) {
		t.noteText(key.Source, string(h.game), verdicts.Banned)
		return uplink.Banned
	}
	g, ok := t.s.opt.Games.LookupBytes(h.game)
	if !ok {
		t.noteText(key.Source, string(h.game), verdicts.UnknownGame)
		return uplink.UnknownGame
	}
	if !g.Usable() && !g.Policy.NoSecure.Or(false) {
		t.noteText(key.Source, g.Name, verdicts.NoSecret)
		return uplink.NoSecret
	}

	out, fresh, gone := t.table.introduce(key, p, g, t.s.live.Load().MaxPending, time.Now())
	for range gone {
		t.s.opt.Metrics.Drop(uplink.TooManyPending.Error())
	}
	if fresh {
		t.noteText(key.Source, g.Name, verdicts.Heard)
	}
	if len(out) == 0 {
		return uplink.NoBudget
	}
	t.sendQueries(w, out)
	t.noteText(key.Source, g.Name, verdicts.ChallengeSent)
	return uplink.NotDropped
}

func (t *textIntake) noteText(a netip.AddrPort, game string, v verdicts.Verdict) {
	t.s.opt.Verdicts.Note(textService, a, game, v)
}

// The two queries of the text protocol, and their proofs.
const (
	askStatus = `\status\`
	askSecure = `\secure\`
	askEcho   = `\echo\`

	// secureLength is the length of a challenge. Hosts of some engines use no
	// more than this many characters of a longer one.
	secureLength = 6
	// tokenLength is the length of an echo text, of which a challenge is the
	// beginning.
	tokenLength = 8
	// textQuerySize is the size of the first query, for all games.
	textQuerySize = len(askStatus) + len(askSecure) + secureLength
)

// newToken returns a token that cannot be guessed.
func newToken() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never returns an error
	return lettersOf(binary.BigEndian.Uint64(random[:]), tokenLength)
}

// appendTextQuery appends the query for everything, with the proof that the
// host's game can give.
func appendTextQuery(b []byte, noSecure bool, token string) []byte {
	b = append(b, askStatus...)
	if noSecure {
		return append(append(b, askEcho...), token...)
	}
	return append(append(b, askSecure...), token[:secureLength]...)
}
