package main

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/zanmaster"
)

const (
	// zanString is the verification string of a game server.
	zanString = "0123456789abcdef0123456789abcdef"
	// zanRevision is a current revision.
	zanRevision = zanmaster.ClientRevision
)

// zanPeer is a socket that talks to the Zandronum master.
type zanPeer struct {
	*zanmaster.GameServer
	t     testing.TB
	asked chan zandronum.Query
}

// newZanPeer opens a socket on a free port of an address. tell answers queries
// that do not come from the master; nil: none is answered.
func newZanPeer(t testing.TB, d *running, at netip.Addr, tell func(zandronum.Query) [][]byte) *zanPeer {
	t.Helper()
	p := &zanPeer{t: t, asked: make(chan zandronum.Query, 64)}
	c := packetsAt(t, netip.AddrPortFrom(at, 0), d.address["zanmaster"])
	p.GameServer = zanmaster.NewGameServer(c, zanString, func(q zandronum.Query) (answer [][]byte) {
		if tell != nil {
			answer = tell(q)
		}
		select {
		case p.asked <- q:
		default:
		}
		return answer
	})
	var reading sync.WaitGroup
	reading.Go(p.Serve)
	t.Cleanup(func() { _ = c.Close(); reading.Wait() })
	return p
}

func (p *zanPeer) address() netip.AddrPort { return p.Local() }

func (p *zanPeer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%v: %v", p.address(), err)
	}
}

func (p *zanPeer) send(message []byte) {
	p.t.Helper()
	p.must(p.SendMessage(message))
}

// next returns the next message of the master.
func (p *zanPeer) next(what string) []byte {
	p.t.Helper()
	m, err := p.Next(wait(p.t))
	if err != nil {
		p.t.Fatalf("%v: no packet from the master: want %s", p.address(), what)
	}
	return m
}

// wantAnswer fails unless the next message is this answer.
func (p *zanPeer) wantAnswer(want zandronum.Answer) {
	p.t.Helper()
	m := p.next("an answer")
	if got, err := zandronum.ParseListPacket(m); err != nil || got.Answer != want {
		p.t.Fatalf("%v: answer %x, want %d", p.address(), m, want)
	}
}

// list asks for the list, in the current form or in the old one.
func (p *zanPeer) list(old bool) (servers []netip.AddrPort) {
	p.t.Helper()
	request, want := zandronum.AppendListRequest(nil, zandronum.ListVersion), zandronum.AnswerList
	if old {
		request, want = zandronum.AppendQuery(nil, zandronum.Query{}), zandronum.AnswerOldList
	}
	p.send(request)
	for n := 0; ; n++ {
		m := p.next("the list")
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

// zanHost is a game server.
type zanHost struct {
	*zanPeer
	enforces bool
}

func newZanHost(t testing.TB, d *running, at netip.Addr, tell func(zandronum.Query) [][]byte) *zanHost {
	t.Helper()
	return &zanHost{newZanPeer(t, d, at, tell), true}
}

// announce sends the challenge, which is the heartbeat too.
func (h *zanHost) announce() {
	h.t.Helper()
	h.must(h.Announce(h.enforces))
}

// request waits for the verification request.
func (h *zanHost) request() zandronum.Verification {
	h.t.Helper()
	v, err := h.AwaitRequest(wait(h.t))
	h.must(err)
	return v
}

// verify answers a verification request and receives the ban list.
func (h *zanHost) verify(v zandronum.Verification) zandronum.BanList {
	h.t.Helper()
	h.must(h.Verify(v))
	l, _ := h.banList()
	return l
}

// register verifies the server and returns its ban list.
func (h *zanHost) register() zandronum.BanList {
	h.t.Helper()
	h.announce()
	return h.verify(h.request())
}

// banList receives all parts of a ban list, in their order, and acknowledges
// it.
func (h *zanHost) banList() (l zandronum.BanList, parts int) {
	h.t.Helper()
	l, parts, err := h.AwaitBanList(wait(h.t))
	h.must(err)
	return l, parts
}

// wantZanList fails unless a launcher that has not asked before sees these
// servers and no others.
func wantZanList(t testing.TB, launcher *zanPeer, hosts ...*zanHost) {
	t.Helper()
	got, want := []string{}, []string{}
	for _, a := range launcher.list(false) {
		got = append(got, a.String())
	}
	for _, h := range hosts {
		want = append(want, h.address().String())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the launcher sees %q, want %q", got, want)
	}
}

// noWindow lets an address ask for the list as often as it wants.
var noWindow = variable("zanmaster.list_window", "0s")

// startZan is start for a daemon that does not query servers.
func startZan(t testing.TB, dir string, more ...string) *running {
	t.Helper()
	return start(t, dir, append([]string{variable("zanmaster.query", "false")}, more...)...)
}

// zanInfo is the status of a server.
func zanInfo(name string) *zandronum.Info {
	return &zandronum.Info{
		Version: "3.3-test", Flags: zandronum.AllFlags, Flags2: zandronum.AllFlags2,
		Name: name, Map: "MAP01", MaxClients: 16, MaxPlayers: 8, PWADs: []string{"one.wad", "two.pk3"}, Mode: zandronum.CaptureTheFlag,
		GameName: "DOOM II", IWAD: "doom2.wad", NumPlayers: 2,
		Players: []zandronum.Player{{Name: "\x1cGAnn", Score: 5, Ping: 30, Team: 0}, {Name: "Bob\x1b[2J", Score: -2, Bot: true, Team: 1}},
		Teams:   2, TeamNames: []string{"Blue", "Red"}, TeamColors: []uint32{0xFF, 0xFF0000}, TeamScores: []int16{3, 1},
		DMFlags: []uint32{1, 2, 3, 4, 5, 6}, Security: 1, ModeName: "Capture the Flag", ModeShortName: "CTF", PWADHashes: []string{"aa", "bb"},
	}
}

// tells answers queries, in pieces of some bytes; 0: in one message.
func tells(info *zandronum.Info, size int) func(zandronum.Query) [][]byte {
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

// zanRecord is a server in the public JSON.
type zanRecord struct {
	Game, Origin, Name, Address, Map string
	Players                          int
	Rules                            map[string]string
	PlayerList                       []map[string]string `json:"player_list"`
}

// zanRecords returns the Zandronum servers of the public JSON by address.
func zanRecords(t testing.TB, d *running) map[string]zanRecord {
	t.Helper()
	code, body := get(t, d, "web", http.MethodGet, "/api/v1/servers?game="+zandronum.Game+"&full=1", "")
	var answer struct{ Servers []zanRecord }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK {
		t.Fatalf("GET /api/v1/servers: status %d, %v:\n%.500s", code, err, body)
	}
	records := make(map[string]zanRecord)
	for _, r := range answer.Servers {
		records[r.Address] = r
	}
	return records
}

// eventually repeats look until it succeeds, at growing intervals, so that the
// processor time is left to the daemon.
func eventually(t testing.TB, what string, look func() bool) {
	t.Helper()
	end := time.Now().Add(hang)
	for pause := time.Millisecond; !look(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come about", what)
		}
		<-time.After(pause)
	}
}
