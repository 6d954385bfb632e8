package zandronum

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/netserve"
	wire "github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

// game is the wire to game servers: it keeps what they are asked.
type game struct {
	mu      sync.Mutex
	queries []asked
}

type asked struct {
	to    netip.AddrPort
	from  netip.Addr
	query wire.Query
}

func (g *game) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	_, body := wire.ParseKind(wire.Decode(nil, data, 100))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queries = append(g.queries, asked{to, from, wire.ParseQuery(body)})
	return nil
}

func (g *game) take() []asked {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.queries
	g.queries = nil
	return out
}

var (
	one = netip.MustParseAddrPort("192.0.2.1:10666")
	via = netip.MustParseAddr("198.51.100.1")
)

func list(t testing.TB, r *master.Registry, source netip.AddrPort, change func(*master.Server)) {
	t.Helper()
	srv := master.Server{Key: master.Key{Source: source}, Game: wire.Game, Origin: master.FromZandronum, Public: source, Via: via, Seen: time.Now()}
	if change != nil {
		change(&srv)
	}
	var report master.Report
	report.SetRules(r.Names([]string{wire.RuleEnforces, wire.RuleRevision}))
	report.Rule([]byte("1"))
	report.Rule([]byte("1761882777"))
	if err := report.Into(&srv); err != nil {
		t.Fatal(err)
	}
	if err := r.Put(srv); err != nil {
		t.Fatal(err)
	}
}

func newProber() (*Prober, *master.Registry, *game) {
	r := master.NewRegistry(master.Limits{})
	return New(Options{Registry: r}), r, &game{}
}

// everything is an answer with all that a server can tell.
func everything(time uint32) *wire.Info {
	return &wire.Info{
		Time: time, Version: "3.2", Flags: wire.AllFlags, Flags2: wire.AllFlags2,
		Name: "A \x1ccserver\x1c[Gold]!\x01", URL: "http://x", Email: "a@b", Map: "MAP01", MaxClients: 32, MaxPlayers: 16, PWADs: []string{"a.wad", "b.pk3"},
		Mode: wire.CaptureTheFlag, GameName: "DOOM II", IWAD: "doom2.wad", ForcePassword: true, Skill: 3,
		Limits: wire.Limits{Frags: 20, Time: 10, TimeLeft: 4}, TeamDamage: 0.5, NumPlayers: 2,
		Players: []wire.Player{{Name: "\x1cGann", Score: 5, Ping: 30, Team: 0, Minutes: 7}, {Name: "bob", Score: -2, Bot: true, Team: wire.NoTeam}},
		Teams:   2, TeamNames: []string{"Blue", "Red"}, TeamColors: []uint32{0xBF, 0xBF0000}, TeamScores: []int16{3, -1},
		DMFlags: []uint32{1, 2, 3, 4, 5, 6}, Security: 1, OptionalWADs: []uint8{1, 9}, DEH: []string{"p.deh"},
		PWADHashes: []string{"aa", "bb"}, Country: "FIN", ModeName: "Capture the Flag", ModeShortName: "CTF", VoiceChat: 1,
	}
}

func infoMessage(i *wire.Info) []byte {
	return wire.AppendInfo([]byte{0x77, 0x5d, 0x56, 0}, i)
}

// segments cuts an answer as a server does.
func segments(i *wire.Info, size int) (messages [][]byte) {
	body := wire.AppendInfo(nil, i)
	count := (len(body) + size - 1) / size
	for n := range count {
		piece := body[n*size : min((n+1)*size, len(body))]
		messages = append(messages, wire.AppendSegment(nil, wire.Segment{
			Number: byte(n), Count: byte(count), Offset: uint16(n * size), Total: uint16(len(body)), Piece: piece,
		}))
	}
	return messages
}

func (p *Prober) reply(from netip.AddrPort, message []byte) string {
	return p.handle(netserve.Packet{Data: wire.Encode(nil, message), From: from})
}

func TestAnswerIsWrittenIntoTheRecord(t *testing.T) {
	for _, how := range []string{"single", "segmented", "segmented backwards"} {
		t.Run(how, func(t *testing.T) {
			p, r, g := newProber()
			list(t, r, one, nil)
			p.look(g, time.Now())
			queries := g.take()
			if len(queries) != 1 || queries[0].to != one || queries[0].from != via {
				t.Fatalf("queries: got %+v", queries)
			}
			q := queries[0].query
			if want := (wire.Query{Flags: wire.AllFlags, Time: q.Time, Flags2: wire.AllFlags2, Segmented: true}); q != want {
				t.Errorf("query: got %+v, want %+v", q, want)
			}
			messages := [][]byte{infoMessage(everything(q.Time))}
			if how != "single" {
				messages = segments(everything(q.Time), 100)
			}
			for i := range messages {
				m := messages[i]
				if how == "segmented backwards" {
					m = messages[len(messages)-1-i]
				}
				if dropped := p.reply(one, m); dropped != "" {
					t.Fatalf("message %d: dropped: %s", i, dropped)
				}
			}
			srv, _ := r.At(one)
			if !srv.Findings.Reachable {
				t.Error("server that answered is not reachable")
			}
			rules := maps.Collect(srv.Rules.All())
			want := map[string]string{
				"enforcesbanlist": "1", "revision": "1761882777", "hostname": "A server!", "gamever": "3.2", "mapname": "MAP01",
				"gametype": "Capture the Flag", "numplayers": "2", "maxplayers": "16", "maxclients": "32", "numbots": "1",
				"numspectators": "0", "password": "1", "joinpassword": "0", "website": "http://x", "email": "a@b",
				"statedcountry": "FIN", "modeshort": "CTF", "mode": "12", "instagib": "0", "buckshot": "0", "skill": "3",
				"botskill": "0", "fraglimit": "20", "timelimit": "10", "timeleft": "4", "duellimit": "0", "pointlimit": "0",
				"winlimit": "0", "teamdamage": "0.5", "dmflags": "1;2;3;4;5;6", "voicechat": "1", "basegame": "DOOM II",
				"iwad": "doom2.wad", "pwads": "a.wad;b.pk3", "pwadhashes": "aa;bb", "optionalpwads": "b.pk3", "dehacked": "p.deh",
			}
			if diff := cmp.Diff(want, rules); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if got := table(srv.Players); !cmp.Equal(got, [][]string{{"ann", "5", "30", "0", "7", "0", "0"}, {"bob", "-2", "0", "", "0", "1", "0"}}) {
				t.Errorf("players: got %q", got)
			}
			if got := table(srv.Teams); !cmp.Equal(got, [][]string{{"Blue", "3", "#0000bf"}, {"Red", "-1", "#bf0000"}}) {
				t.Errorf("teams: got %q", got)
			}
			serial := srv.Serial
			if dropped := p.reply(one, messages[0]); dropped != dropUnasked {
				t.Errorf("the answer once more: dropped %q, want %q", dropped, dropUnasked)
			}
			if again, _ := r.At(one); again.Serial != serial {
				t.Error("the record changed again")
			}
		})
	}
}

func table(t master.Table) (rows [][]string) {
	for r := range t.Rows() {
		var row []string
		for c := range t.Columns() {
			row = append(row, t.Value(r, c))
		}
		rows = append(rows, row)
	}
	return rows
}

func TestServersAreAskedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r, g := newProber()
		list(t, r, one, nil)
		count := 0
		for range 5 * 60 {
			p.look(g, time.Now())
			count += len(g.take())
			time.Sleep(lookEvery)
			// It leaves and comes back all the time.
			r.Remove(master.Key{Source: one})
			p.look(g, time.Now())
			list(t, r, one, nil)
		}
		if count > 5 {
			t.Errorf("%d queries in five minutes, want at most 5", count)
		}
	})
}

func TestWhoIsAsked(t *testing.T) {
	p, r, g := newProber()
	list(t, r, one, func(s *master.Server) { s.Restored = true })
	list(t, r, netip.MustParseAddrPort("192.0.2.2:1"), func(s *master.Server) { s.Origin = master.Static })
	list(t, r, netip.MustParseAddrPort("192.0.2.3:1"), func(s *master.Server) { s.Game = "gmtest" })
	list(t, r, netip.MustParseAddrPort("192.168.0.4:1"), func(s *master.Server) { s.Public = netip.MustParseAddrPort("203.0.113.1:1") })
	p.look(g, time.Now())
	if got := g.take(); len(got) != 1 || got[0].to != netip.MustParseAddrPort("192.168.0.4:1") {
		t.Errorf("queries: got %+v, want one to the own address of the verified server", got)
	}
}

func TestManyServersAreAskedOverTime(t *testing.T) {
	p, r, g := newProber()
	for i := range 2*atOnce + 10 {
		list(t, r, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 1), nil)
	}
	for _, want := range []int{atOnce, atOnce, 10, 0} {
		p.look(g, time.Now())
		if got := len(g.take()); got != want {
			t.Errorf("queries: got %d, want %d", got, want)
		}
	}
}

func TestBadAnswersChangeNothing(t *testing.T) {
	p, r, g := newProber()
	list(t, r, one, nil)
	p.look(g, time.Now())
	q := g.take()[0].query
	before, _ := r.At(one)
	whole := infoMessage(everything(q.Time))
	piece := segments(everything(q.Time), 100)[1]
	tests := map[string]struct {
		from    netip.AddrPort
		message []byte
		want    string
	}{
		"from a stranger":       {netip.MustParseAddrPort("192.0.2.9:10666"), whole, dropUnasked},
		"from another port":     {netip.AddrPortFrom(one.Addr(), 1), whole, dropUnasked},
		"of another time":       {one, infoMessage(everything(q.Time + 1)), dropForged},
		"too short":             {one, whole[:9], dropMalformed},
		"nothing":               {one, nil, dropMalformed},
		"of another kind":       {one, []byte{1, 2, 3, 4, 5}, dropMalformed},
		"segment that is wrong": {one, piece[:12], dropMalformed},
		"denial of another":     {one, wire.AppendDenial(nil, wire.KindBanned, q.Time+1), dropForged},
		"denial too short":      {one, wire.AppendDenial(nil, wire.KindBanned, q.Time)[:6], dropMalformed},
	}
	for name, tc := range tests {
		if got := p.reply(tc.from, tc.message); got != tc.want {
			t.Errorf("answer %s: dropped %q, want %q", name, got, tc.want)
		}
	}
	if after, _ := r.At(one); after.Serial != before.Serial {
		t.Error("a bad answer changed the record")
	}
	for _, m := range segments(everything(q.Time+1), 100) { // forged, as a whole
		p.reply(one, m)
	}
	if dropped := p.reply(one, whole); dropped != "" {
		t.Errorf("the real answer after them: dropped: %s", dropped)
	}
}

func TestAnswerThatIsCutIsTaken(t *testing.T) {
	p, r, g := newProber()
	list(t, r, one, nil)
	p.look(g, time.Now())
	info := everything(g.take()[0].query.Time)
	message := infoMessage(info)
	if dropped := p.reply(one, message[:80]); dropped != "" {
		t.Fatalf("dropped: %s", dropped)
	}
	srv, _ := r.At(one)
	if name, _ := srv.Rules.Get("hostname"); name != "A server!" {
		t.Errorf("hostname: got %q", name)
	}
}

func TestDenialAndSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, g := newProber()
		reg := prometheus.NewRegistry()
		p := New(Options{Registry: r, Registerer: reg})
		list(t, r, one, nil)
		p.look(g, time.Now())
		q := g.take()[0].query
		if dropped := p.reply(one, wire.AppendDenial(nil, wire.KindTooSoon, q.Time)); dropped != "" {
			t.Fatalf("denial: dropped: %s", dropped)
		}
		reachable := func() bool { srv, _ := r.At(one); return srv.Findings.Reachable }
		if !reachable() {
			t.Error("server that denied is not reachable, although it answered")
		}
		for i := range maxSilent + 1 {
			if !reachable() {
				t.Errorf("not reachable after %d silent queries", i-1)
			}
			time.Sleep(MinEvery)
			p.look(g, time.Now())
		}
		if reachable() {
			t.Errorf("still reachable after %d silent queries", maxSilent)
		}
		want := map[string]float64{"sent": maxSilent + 2, "answered": 0, "denied": 1, "silent": maxSilent}
		if diff := cmp.Diff(want, counted(t, reg)); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
		time.Sleep(MinEvery)
		r.Remove(master.Key{Source: one})
		p.look(g, time.Now())
		if len(p.asked) != 0 {
			t.Error("a server that left is remembered for ever")
		}
	})
}

// counted returns the queries by result.
func counted(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			counts[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return counts
}

// play answers queries on a real socket.
func play(t *testing.T, answer func(wire.Query) [][]byte) netip.AddrPort {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 2000)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, body := wire.ParseKind(wire.Decode(nil, buf[:n], 100))
			for _, m := range answer(wire.ParseQuery(body)) {
				_, _ = c.WriteToUDPAddrPort(wire.Encode(nil, m), from)
			}
		}
	})
	t.Cleanup(func() { _ = c.Close(); wg.Wait() })
	return c.LocalAddr().(*net.UDPAddr).AddrPort()
}

func TestAsk(t *testing.T) {
	tests := map[string]struct {
		answer func(wire.Query) [][]byte
		err    error
	}{
		"single":    {func(q wire.Query) [][]byte { return [][]byte{infoMessage(everything(q.Time))} }, nil},
		"segmented": {func(q wire.Query) [][]byte { return segments(everything(q.Time), 150) }, nil},
		"after garbage": {func(q wire.Query) [][]byte {
			return [][]byte{nil, {1, 2, 3, 4}, infoMessage(everything(q.Time + 1)), infoMessage(everything(q.Time))}
		}, nil},
		"too soon": {func(q wire.Query) [][]byte { return [][]byte{wire.AppendDenial(nil, wire.KindTooSoon, q.Time)} }, ErrTooSoon},
		"banned":   {func(q wire.Query) [][]byte { return [][]byte{wire.AppendDenial(nil, wire.KindBanned, q.Time)} }, ErrBanned},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			info, err := Ask(t.Context(), play(t, tc.answer).String())
			if !errors.Is(err, tc.err) || (err == nil) != (info != nil && info.Map == "MAP01") {
				t.Errorf("Ask: got %+v, %v, want error %v", info, err, tc.err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent := play(t, func(wire.Query) [][]byte { cancel(); return nil })
	if _, err := Ask(ctx, silent.String()); !errors.Is(err, context.Canceled) {
		t.Errorf("Ask of a silent server: %v, want %v", err, context.Canceled)
	}
}

func TestServe(t *testing.T) {
	p, r, _ := newProber()
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	addr := play(t, func(q wire.Query) [][]byte { return segments(everything(q.Time), 200) })
	list(t, r, addr, func(s *master.Server) { s.Via = netip.Addr{} })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, conn) }()
	for {
		srv, _ := r.At(addr)
		if name, _ := srv.Rules.Get("hostname"); name == "A server!" {
			break
		}
		<-r.Changed(srv.Serial)
	}
	cancel()
	if err := errors.Join(<-ended, conn.Close()); err != nil {
		t.Error(err)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(infoMessage(everything(7)))
	for _, m := range segments(everything(7), 300) {
		f.Add(m)
	}
	r := master.NewRegistry(master.Limits{})
	list(f, r, one, nil)
	srv, _ := r.At(one)
	f.Fuzz(func(t *testing.T, message []byte) {
		a := answer{time: 7}
		info, _ := a.take(message)
		if info == nil {
			return
		}
		next := *srv
		if err := describe(r, srv, info).Into(&next); err != nil {
			t.Fatalf("answer of %d bytes does not fit a record: %v", len(message), err)
		}
	})
}
