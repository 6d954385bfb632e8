package qr2

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

// capture is a recorded exchange of an original host and a master.
type capture struct {
	Name    string     `json:"name"`
	About   string     `json:"about"`
	Packets []recorded `json:"packets"`
}

type recorded struct {
	T    float64 `json:"t"`
	From string  `json:"from"`
	Hex  string  `json:"hex"`
}

func (r recorded) bytes(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(r.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func captures(t testing.TB) []capture {
	t.Helper()
	b, err := os.ReadFile("testdata/captures.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []capture
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 11 {
		t.Fatalf("%d recorded scenarios, want 11", len(list))
	}
	return list
}

// ofKind returns the packets of one side that are of a kind.
func (c capture) ofKind(t testing.TB, from string, k Kind) [][]byte {
	t.Helper()
	var out [][]byte
	for _, r := range c.Packets {
		b := r.bytes(t)
		body := b
		if from == "master" {
			body = bytes.TrimPrefix(b, []byte{0xFE, 0xFD})
		}
		if r.From == from && len(body) > 0 && Kind(body[0]) == k {
			out = append(out, b)
		}
	}
	return out
}

func TestRecordedResponsesProveTheirHosts(t *testing.T) {
	pairs := 0
	for _, c := range captures(t) {
		var asked []byte
		for _, r := range c.Packets {
			b := r.bytes(t)
			switch {
			case r.From == "master" && bytes.HasPrefix(b, []byte{0xFE, 0xFD, byte(KindChallenge)}):
				asked = b
			case r.From == "host" && Kind(b[0]) == KindChallenge:
				text := string(asked[replyHeader : len(asked)-1])
				if !gamespy.CheckResponse(secret, text, b[header:]) {
					t.Errorf("%s: the answer %q to %q is not taken", c.Name, b[header:], text)
				}
				if gamespy.CheckResponse("HA6zkT", text, b[header:]) {
					t.Errorf("%s: the answer to %q proves another secret", c.Name, text)
				}
				pairs++
			}
		}
	}
	if pairs < 6 {
		t.Errorf("%d recorded responses, want at least 6", pairs)
	}
}

// reply is a host's answer to the query for everything.
type queryReply struct {
	rules          map[string]string
	players, teams [][]string // the first row has the names
}

// readReply reads the answer to the query FF FF FF, whose tables are laid out
// as those of a heartbeat. One that was cut at 1,400 bytes has no tables.
func readReply(b []byte) queryReply {
	q := queryReply{rules: make(map[string]string)}
	text := func() string {
		s, rest, _ := bytes.Cut(b, []byte{0})
		b = rest
		return string(s)
	}
	for name := text(); name != ""; name = text() {
		q.rules[name] = text()
	}
	table := func() [][]string {
		if len(b) < 2 {
			return nil
		}
		rows := int(binary.BigEndian.Uint16(b))
		b = b[2:]
		var names []string
		for name := text(); name != ""; name = text() {
			names = append(names, name)
		}
		out := [][]string{names}
		for range rows {
			var row []string
			for range names {
				row = append(row, text())
			}
			out = append(out, row)
		}
		return out
	}
	q.players = table()
	q.teams = table()
	return q
}

func tableOf(t master.Table) [][]string {
	if t.Columns() == 0 {
		return nil
	}
	var out [][]string
	for row := -1; row < t.Rows(); row++ {
		var cells []string
		for column := range t.Columns() {
			if row < 0 {
				cells = append(cells, t.Names().Name(column))
			} else {
				cells = append(cells, t.Value(row, column))
			}
		}
		out = append(out, cells)
	}
	return out
}

// record parses a heartbeat into a record.
func recordOf(t testing.TB, list *master.Registry, b []byte, hint *master.Server) master.Server {
	t.Helper()
	s, _, err := read(list, b, hint)
	if err != nil {
		t.Fatalf("read(%q): %v", b, err)
	}
	return s
}

// A host's heartbeat must match its answer to the query for everything at nearly the
// same time.
func TestHeartbeatsMatchAnswers(t *testing.T) {
	compared := 0
	for _, c := range captures(t) {
		replies := c.ofKind(t, "host", KindQuery)
		i := slices.IndexFunc(replies, func(b []byte) bool { // the key of the query for everything
			return bytes.HasPrefix(b[1:], []byte("abce"))
		})
		if i < 0 {
			continue
		}
		compared++
		want := readReply(replies[i][header:])
		list := master.NewRegistry(master.Limits{})
		s := recordOf(t, list, c.ofKind(t, "host", KindHeartbeat)[0], nil)
		for name, value := range want.rules {
			if got, ok := s.Rules.Get(name); !ok || got != value {
				t.Errorf("%s: rule %s: got %q %v, want %q", c.Name, name, got, ok, value)
			}
		}
		if c.Name == "big" { // too long for a heartbeat
			if s.Players.Columns() != 0 || s.Teams.Columns() != 0 {
				t.Errorf("big: tables in a heartbeat that has none")
			}
			continue
		}
		if diff := cmp.Diff(want.players, tableOf(s.Players)); diff != "" {
			t.Errorf("%s: players (-want +got):\n%s", c.Name, diff)
		}
		if diff := cmp.Diff(want.teams, tableOf(s.Teams)); diff != "" {
			t.Errorf("%s: teams (-want +got):\n%s", c.Name, diff)
		}
	}
	if compared < 3 {
		t.Errorf("compared %d scenarios, want at least 3", compared)
	}
}

func TestRecordedHeartbeatIsParsed(t *testing.T) {
	var normal, adderror capture
	for _, c := range captures(t) {
		switch c.Name {
		case "normal":
			normal = c
		case "adderror":
			adderror = c
		}
	}
	list := master.NewRegistry(master.Limits{})
	beats := normal.ofKind(t, "host", KindHeartbeat)
	s := recordOf(t, list, beats[1], nil)
	wantRules := []string{
		"localip0=127.0.0.1", "localport=11111", "natneg=1", "gamename=gmtest", "publicip=16777343", "publicport=11111",
		"hostname=Test Server", "gamever=2.00", "hostport=25000", "mapname=gmtmap1", "gametype=arena", "numplayers=4",
		"numteams=2", "maxplayers=32", "gamemode=openplaying", "gravity=800", "rankingon=",
	}
	var rules []string
	for name, value := range s.Rules.All() {
		rules = append(rules, name+"="+value)
	}
	if diff := cmp.Diff(wantRules, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	wantPlayers := [][]string{
		{"player_", "score_", "ping_", "team_", "time_"},
		{"Joe Player", "0", "50", "0", "100"},
		{"L33t 0n3", "10", "51", "1", ""},
		{"Raptor", "20", "52", "0", "102"},
		{"Gr81", "30", "53", "1", "103"},
	}
	if diff := cmp.Diff(wantPlayers, tableOf(s.Players)); diff != "" {
		t.Errorf("players (-want +got):\n%s", diff)
	}
	wantTeams := [][]string{{"team_t", "score_t", "avgping_t"}, {"Red", "0", "60"}, {"Blue", "7", "61"}}
	if diff := cmp.Diff(wantTeams, tableOf(s.Teams)); diff != "" {
		t.Errorf("teams (-want +got):\n%s", diff)
	}
	f, err := peek(beats[1])
	if err != nil {
		t.Fatal(err)
	}
	if f.state != stateChanged || !f.natNeg || string(f.game) != "gmtest" {
		t.Errorf("state %d, natneg %v, game %q; want 1, true, gmtest", f.state, f.natNeg, f.game)
	}
	if got := fmt.Sprint(f.local(netip.Addr{}, nil)); got != "[127.0.0.1:11111]" {
		t.Errorf("local addresses: got %s, want [127.0.0.1:11111]", got)
	}
	if state := peekState(t, beats[3]); state != stateLeaving {
		t.Errorf("state of the last heartbeat: got %d, want %d", state, stateLeaving)
	}
	s = recordOf(t, list, adderror.ofKind(t, "host", KindHeartbeat)[0], nil)
	if value, ok := s.Rules.Get("unknown"); !ok || value != "" || s.Players.Columns() != 5 || s.Players.Rows() != 0 {
		t.Errorf("a host with a key that has no name: rule %q %v, %d columns, %d rows", value, ok, s.Players.Columns(), s.Players.Rows())
	}
}

// daemon is a Server on real sockets.
type daemon struct {
	*intake
	addr netip.AddrPort
}

func startDaemon(t *testing.T, change func(*Options)) *daemon {
	t.Helper()
	in := newIntake(t, change)
	conn := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- in.Serve(ctx, conn, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &daemon{in, conn.LocalAddr()}
}

func listen(t testing.TB) *netserve.PacketConn {
	t.Helper()
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// player replays the host's side of a recording over a real socket.
type player struct {
	t      *testing.T
	d      *daemon
	conn   *net.UDPConn
	key    master.Key
	secret string
}

func newPlayer(t *testing.T, d *daemon, instance uint32) *player {
	t.Helper()
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(d.addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &player{t, d, conn, master.Key{Source: conn.LocalAddr().(*net.UDPAddr).AddrPort(), Instance: instance}, secret}
}

func (p *player) send(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// receive returns the next packet of a kind.
func (p *player) receive(k Kind) []byte {
	p.t.Helper()
	buf := make([]byte, 2048)
	for {
		n, err := p.conn.Read(buf)
		if err != nil {
			p.t.Fatalf("waiting for a packet of kind %#x: %v", byte(k), err)
		}
		if got := (sent{data: buf[:n]}); got.kind() == k {
			return bytes.Clone(buf[:n])
		}
	}
}

// settle waits until all that was sent before was handled: an availability
// check is answered behind it.
func (p *player) settle() {
	p.t.Helper()
	p.send([]byte("\x09\x00\x00\x00\x00gmtest\x00"))
	p.receive(KindAvailable)
}

// TestRecordedScenariosReplay plays the host's side of every recording against
// the service. The challenge is not the recorded one, so its answer is computed.
func TestRecordedScenariosReplay(t *testing.T) {
	for _, c := range captures(t) {
		if strings.HasPrefix(c.Name, "available") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel() // messages are repeated after a while
			flags := uint16(0)
			if c.Name == "prequery" {
				flags = games.QueryChallenge
			}
			d := startDaemon(t, func(o *Options) {
				if err := o.Games.Replace([]games.Game{{Name: "gmtest", Secrets: []string{secret}, BackendFlags: flags}}); err != nil {
					t.Fatal(err)
				}
			})
			first := c.ofKind(t, "host", KindHeartbeat)[0]
			p := newPlayer(t, d, binary.BigEndian.Uint32(first[1:]))
			p.replay(c)
		})
	}
}

func (p *player) replay(c capture) {
	t := p.t
	t.Helper()
	var lastKey uint32
	for i, r := range c.Packets {
		b := r.bytes(t)
		if r.From == "master" {
			if sent := (sent{data: b}); sent.kind() == KindMessage && bytes.Equal(b[3:7], p.instance()) && len(b) <= MaxReply {
				lastKey = p.relay(b[replyHeader+4:])
			}
			continue
		}
		switch Kind(b[0]) {
		case KindHeartbeat:
			state := peekState(t, b)
			p.send(b)
			if _, ok := p.d.list.Get(p.key); !ok && state != stateLeaving {
				p.prove(b)
			}
			p.settle()
			srv, ok := p.d.list.Get(p.key)
			if ok == (state == stateLeaving) {
				t.Fatalf("packet %d, a heartbeat with state %d: listed %v", i, state, ok)
			}
			if ok {
				p.compare(srv, recordOf(t, p.d.list, b, nil))
			}
		case KindKeepalive:
			p.send(b)
			if got, want := p.receive(KindKeepalive), append([]byte{0xFE, 0xFD}, b...); !bytes.Equal(got, want) {
				t.Errorf("packet %d: reply to the keepalive: got %x, want %x", i, got, want)
			}
		case KindReceipt:
			p.send(binary.BigEndian.AppendUint32(slices.Clone(b[:header]), lastKey))
			p.settle()
			p.d.mu.Lock()
			waiting := len(p.d.messages.waiting)
			p.d.mu.Unlock()
			if waiting != 0 {
				t.Errorf("packet %d: %d messages wait after their receipt", i, waiting)
			}
		case KindAvailable: // an answer to an address check; here it is a question
			p.send(b)
			p.receive(KindAvailable)
		default:
			p.send(b) // answers to queries of the recorded master
		}
	}
	if _, ok := p.d.list.Get(p.key); ok {
		t.Error("still listed at the end of the recording")
	}
}

func (p *player) instance() []byte { return binary.BigEndian.AppendUint32(nil, p.key.Instance) }

func peekState(t *testing.T, b []byte) state {
	t.Helper()
	f, err := peek(b)
	if err != nil {
		t.Fatal(err)
	}
	return f.state
}

// prove answers the challenge that follows a heartbeat.
func (p *player) prove(heartbeat []byte) {
	t := p.t
	t.Helper()
	c := p.receive(KindChallenge)
	if len(c) != challengeSize || c[len(c)-1] != 0 || bytes.IndexByte(c, 0) < 0 || !bytes.Equal(c[3:7], p.instance()) {
		t.Fatalf("challenge: got %x", c)
	}
	text := string(c[replyHeader : len(c)-1])
	options := "00"
	if g, _ := p.d.games.Lookup("gmtest"); g.QueryChallenge() {
		options = "80"
	}
	a := p.key.Source.Addr().As4()
	if want := fmt.Sprintf("%s%02X%02X%02X%02X%04X", options, a[0], a[1], a[2], a[3], p.key.Source.Port()); text[6:] != want {
		t.Errorf("options and address in the challenge: got %s, want %s", text[6:], want)
	}
	if _, ok := p.d.list.Get(p.key); ok {
		t.Fatal("listed before it proved its address")
	}
	answer := append(heartbeat[:0:0], byte(KindChallenge))
	answer = append(answer, p.instance()...)
	p.send(append(append(answer, gamespy.Response(p.secret, text)...), 0))
	if got, want := p.receive(KindRegistered), append([]byte{0xFE, 0xFD, byte(KindRegistered)}, p.instance()...); !bytes.Equal(got, want) {
		t.Errorf("word of the registration: got %x, want %x", got, want)
	}
}

func (p *player) compare(got *master.Server, want master.Server) {
	p.t.Helper()
	if got.Public != p.key.Source || got.Game != "gmtest" || got.Origin != Origin || got.Via != p.d.addr.Addr() {
		p.t.Errorf("record: public %v, game %s, origin %v, via %v", got.Public, got.Game, got.Origin, got.Via)
	}
	if diff := cmp.Diff(pairs(want.Rules), pairs(got.Rules)); diff != "" {
		p.t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tableOf(want.Players), tableOf(got.Players)); diff != "" {
		p.t.Errorf("players (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tableOf(want.Teams), tableOf(got.Teams)); diff != "" {
		p.t.Errorf("teams (-want +got):\n%s", diff)
	}
}

func pairs(f master.Fields) (out []string) {
	for name, value := range f.All() {
		out = append(out, name, value)
	}
	return out
}

// relay has a message carried to the host and returns its key. It waits for a
// second copy if the message was carried before.
func (p *player) relay(data []byte) uint32 {
	t := p.t
	t.Helper()
	if err := p.d.SendToServer(p.key, data); err != nil {
		t.Fatalf("SendToServer: %v", err)
	}
	m := p.receive(KindMessage)
	if !bytes.Equal(m[3:7], p.instance()) || !bytes.Equal(m[replyHeader+4:], data) {
		t.Fatalf("message: got %x, want %x for %x", m, data, p.instance())
	}
	if again := p.receive(KindMessage); !bytes.Equal(again, m) {
		t.Errorf("second copy: got %x, want %x", again, m)
	}
	return binary.BigEndian.Uint32(m[replyHeader:])
}

func TestRecordedAvailabilityChecks(t *testing.T) {
	for _, c := range captures(t) {
		if !strings.HasPrefix(c.Name, "available") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			ask, want := c.Packets[0].bytes(t), c.Packets[1].bytes(t)
			d := startDaemon(t, func(o *Options) {
				g := games.Game{Name: "gmtest", Secrets: []string{secret}, DisabledServices: uint32(want[6])}
				if err := o.Games.Replace([]games.Game{g}); err != nil {
					t.Fatal(err)
				}
			})
			p := newPlayer(t, d, 0)
			p.send(ask)
			if got := p.receive(KindAvailable); !bytes.Equal(got, want) {
				t.Errorf("answer to %x: got %x, want %x", ask, got, want)
			}
		})
	}
}
