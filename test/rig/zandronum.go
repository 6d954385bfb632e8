package rig

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/zanmaster"
)

// Home is the address of servers and launchers.
var Home = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// LineWith returns the first line of a text that holds a part, or "".
func LineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

const (
	// ZanString is the verification string of a game server.
	ZanString = "0123456789abcdef0123456789abcdef"
	// ZanRevision is a current revision.
	ZanRevision = zanmaster.ClientRevision
)

// ZanPeer is a socket that talks to the Zandronum master.
type ZanPeer struct {
	*zanmaster.GameServer
	t     testing.TB
	Asked chan zandronum.Query
}

// NewZanPeer opens a socket on a free port of an address. tell answers queries
// that do not come from the master; nil: none is answered.
func NewZanPeer(t testing.TB, d *Running, at netip.Addr, tell func(zandronum.Query) [][]byte) *ZanPeer {
	t.Helper()
	p := &ZanPeer{t: t, Asked: make(chan zandronum.Query, 64)}
	c := PacketsAt(t, netip.AddrPortFrom(at, 0), d.Address["zanmaster"])
	p.GameServer = zanmaster.NewGameServer(c, ZanString, func(q zandronum.Query) (answer [][]byte) {
		if tell != nil {
			answer = tell(q)
		}
		select {
		case p.Asked <- q:
		default:
		}
		return answer
	})
	var reading sync.WaitGroup
	reading.Go(p.Serve)
	t.Cleanup(func() { _ = c.Close(); reading.Wait() })
	return p
}

// Address returns the address that the peer sends from.
func (p *ZanPeer) Address() netip.AddrPort { return p.Local() }

// Must fails the test if err is not nil.
func (p *ZanPeer) Must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%v: %v", p.Address(), err)
	}
}

// MustSend sends a message.
func (p *ZanPeer) MustSend(message []byte) {
	p.t.Helper()
	p.Must(p.SendMessage(message))
}

// MustNext returns the next message of the master.
func (p *ZanPeer) MustNext(what string) []byte {
	p.t.Helper()
	m, err := p.Next(Wait(p.t))
	if err != nil {
		p.t.Fatalf("%v: no packet from the master: want %s", p.Address(), what)
	}
	return m
}

// WantAnswer fails unless the next message is this answer.
func (p *ZanPeer) WantAnswer(want zandronum.Answer) {
	p.t.Helper()
	m := p.MustNext("an answer")
	if got, err := zandronum.ParseListPacket(m); err != nil || got.Answer != want {
		p.t.Fatalf("%v: answer %x, want %d", p.Address(), m, want)
	}
}

// List asks for the list, in the current form or in the old one.
func (p *ZanPeer) List(old bool) (servers []netip.AddrPort) {
	p.t.Helper()
	request, want := zandronum.AppendListRequest(nil, zandronum.ListVersion), zandronum.AnswerList
	if old {
		request, want = zandronum.AppendQuery(nil, zandronum.Query{}), zandronum.AnswerOldList
	}
	p.MustSend(request)
	for n := 0; ; n++ {
		m := p.MustNext("the list")
		got, err := zandronum.ParseListPacket(m)
		if err != nil || got.Answer != want || int(got.Number) != n {
			p.t.Fatalf("packet %d of the list: %x: %+v, %v", n, m, got, err)
		}
		servers = append(servers, got.Servers...)
		if got.Last {
			return servers
		}
	}
}

// ZanHost is a game server.
type ZanHost struct {
	*ZanPeer
	Enforces bool
}

// NewZanHost returns a server that answers the master's queries with tell.
func NewZanHost(t testing.TB, d *Running, at netip.Addr, tell func(zandronum.Query) [][]byte) *ZanHost {
	t.Helper()
	return &ZanHost{NewZanPeer(t, d, at, tell), true}
}

// MustAnnounce sends the challenge, which is the heartbeat too.
func (h *ZanHost) MustAnnounce() {
	h.t.Helper()
	h.Must(h.Announce(h.Enforces))
}

// Request waits for the verification request.
func (h *ZanHost) Request() zandronum.Verification {
	h.t.Helper()
	v, err := h.AwaitRequest(Wait(h.t))
	h.Must(err)
	return v
}

// MustVerify answers a verification request and receives the ban list.
func (h *ZanHost) MustVerify(v zandronum.Verification) zandronum.BanList {
	h.t.Helper()
	h.Must(h.Verify(v))
	l, _ := h.BanList()
	return l
}

// MustRegister verifies the server and returns its ban list.
func (h *ZanHost) MustRegister() zandronum.BanList {
	h.t.Helper()
	h.MustAnnounce()
	return h.MustVerify(h.Request())
}

// BanList receives all parts of a ban list, in their order, and acknowledges
// it.
func (h *ZanHost) BanList() (l zandronum.BanList, parts int) {
	h.t.Helper()
	l, parts, err := h.AwaitBanList(Wait(h.t))
	h.Must(err)
	return l, parts
}

// WantZanList fails unless a launcher that has not asked before sees these
// servers and no others.
func WantZanList(t testing.TB, launcher *ZanPeer, hosts ...*ZanHost) {
	t.Helper()
	got, want := []string{}, []string{}
	for _, a := range launcher.List(false) {
		got = append(got, a.String())
	}
	for _, h := range hosts {
		want = append(want, h.Address().String())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the launcher sees %q, want %q", got, want)
	}
}

// NoWindow lets an address ask for the list as often as it wants.
var NoWindow = Variable("zanmaster.list_window", "0s")

// StartZan is start for a daemon that does not query servers.
func StartZan(t testing.TB, dir string, more ...string) *Running {
	t.Helper()
	return Start(t, dir, append([]string{Variable("zanmaster.query", "false")}, more...)...)
}

// ZanInfo is the status of a server.
func ZanInfo(name string) *zandronum.Info {
	return &zandronum.Info{
		Version: "3.3-test", Flags: zandronum.AllFlags, Flags2: zandronum.AllFlags2,
		Name: name, Map: "MAP01", MaxClients: 16, MaxPlayers: 8, PWADs: []string{"one.wad", "two.pk3"}, Mode: zandronum.CaptureTheFlag,
		GameName: "DOOM II", IWAD: "doom2.wad", NumPlayers: 2,
		Players: []zandronum.Player{{Name: "\x1cGAnn", Score: 5, Ping: 30, Team: 0}, {Name: "Bob\x1b[2J", Score: -2, Bot: true, Team: 1}},
		Teams:   2, TeamNames: []string{"Blue", "Red"}, TeamColors: []uint32{0xFF, 0xFF0000}, TeamScores: []int16{3, 1},
		DMFlags: []uint32{1, 2, 3, 4, 5, 6}, Security: 1, ModeName: "Capture the Flag", ModeShortName: "CTF", PWADHashes: []string{"aa", "bb"},
	}
}

// Tells answers queries, in pieces of some bytes; 0: in one message.
func Tells(info *zandronum.Info, size int) func(zandronum.Query) [][]byte {
	return func(q zandronum.Query) (messages [][]byte) {
		i := *info
		i.Time = q.Time
		if size == 0 {
			return [][]byte{zandronum.AppendInfo(binary.LittleEndian.AppendUint32(nil, uint32(zandronum.KindInfo)), &i)}
		}
		body := zandronum.AppendInfo(nil, &i)
		count := (len(body) + size - 1) / size
		for n := range count {
			messages = append(messages, zandronum.AppendSegment(nil, zandronum.Segment{
				Number: byte(n), Count: byte(count), Offset: uint16(n * size), Total: uint16(len(body)),
				Piece: body[n*size : min((n+1)*size, len(body))],
			}))
		}
		return messages
	}
}

// ZanRecord is a server in the public JSON.
type ZanRecord struct {
	Game, Origin, Name, Address, Map string
	Players                          int
	Rules                            map[string]string
	PlayerList                       []map[string]string `json:"player_list"`
}

// Eventually repeats look until it succeeds, at growing intervals, so that the
// processor time is left to the daemon.
func Eventually(t testing.TB, what string, look func() bool) {
	t.Helper()
	end := time.Now().Add(Hang)
	for pause := time.Millisecond; !look(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come about", what)
		}
		<-time.After(pause)
	}
}
