package serverbrowse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestListShowsTheServersOfTheGame(t *testing.T) {
	f := start(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.10:6500", []string{"hostname", "Alpha", "numplayers", "5"}, nil)
	put(t, f.reg, "gmtest", "192.0.2.11:7777", []string{"hostname", "Beta é", "numplayers", "255"}, func(s *master.Server) {
		s.NATNeg, s.Origin = true, zanmaster.Origin
		s.Local = []netip.AddrPort{netip.MustParseAddrPort("192.168.1.5:7778")}
	})
	put(t, f.reg, "other", "192.0.2.12:7777", []string{"hostname", "not mine"}, nil)
	put(t, f.reg, "gmtest", "255.255.255.255:6500", []string{"hostname", "end marker"}, nil)
	b := f.connect(t)
	got := b.ask(request(nil))
	want := Reply{
		Client: netip.MustParseAddr("127.0.0.1"),
		Port:   6500,
		Keys:   []Key{{KeyString, "hostname"}, {KeyByte, "numplayers"}},
		Entries: []Entry{
			{Flags: FlagValues, Public: netip.MustParseAddrPort("192.0.2.10:6500"), Values: []string{"Alpha", "5"}},
			{
				Flags:  FlagValues | FlagNATNeg | FlagPort | FlagLocal | FlagLocalPort,
				Public: netip.MustParseAddrPort("192.0.2.11:7777"),
				Local:  netip.MustParseAddrPort("192.168.1.5:7778"),
				Values: []string{"Beta é", "255"},
			},
		},
	}
	if d := cmp.Diff(want, got, compareAddrs); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
}

func TestCipherOfSeveralRequests(t *testing.T) {
	f := start(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.10:6500", []string{"hostname", "Alpha", "numplayers", "5"}, nil)
	b := f.connect(t)
	for i := range 3 {
		if got := rowsOf(b.ask(request(nil))); got["192.0.2.10:6500"]["hostname"] != "Alpha" {
			t.Fatalf("list %d: %v, want Alpha", i, got)
		}
	}
}

func TestServerThatJustCameIsOnTheNextList(t *testing.T) {
	f := start(t, nil)
	b := f.connect(t)
	for i := range 5 {
		if got := len(b.ask(request(nil)).Entries); got != i {
			t.Fatalf("%d servers, want %d", got, i)
		}
		public := fmt.Sprintf("192.0.2.%d:6500", i+1)
		put(t, f.reg, "gmtest", public, []string{"hostname", public, "numplayers", "1"}, nil)
	}
}

func TestResultLimit(t *testing.T) {
	f := start(t, nil)
	fill(t, f.reg, 30)
	for max, want := range map[uint32]int{0: 30, 1: 1, 7: 7, 30: 30, 31: 30, 0xFFFFFFFF: 30} {
		got := f.connect(t).ask(request(func(r *ListRequest) { r.Options, r.Max = LimitResults, max }))
		if len(got.Entries) != want {
			t.Errorf("limit %d: %d servers, want %d", max, len(got.Entries), want)
		}
	}
}

func TestNoServerListIsTheHeaderAlone(t *testing.T) {
	f := start(t, nil)
	putPlayers(t, f.reg, "gmtest", "192.0.2.10:6500", []string{"hostname", "Alpha"}, nil, nil)
	b := f.connect(t)
	// The real message comes in the same segment as the request that opens the
	// connection.
	r := request(func(r *ListRequest) { r.Options, r.Fields = NoServerList, "" })
	msg, err := r.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.write(AppendInfoRequest(msg, netip.MustParseAddrPort("192.0.2.10:6500")))
	if got := b.reply(r.Options); got.Port != 6500 || got.Error != "" {
		t.Errorf("header %+v", got)
	}
	if p := b.next(); p.Kind != PushServer || p.Entry.Flags&FlagRules == 0 {
		t.Errorf("answer %+v, want the rules of the server", p)
	}
}

func TestMapLoopTellsTheMapAndTheNext(t *testing.T) {
	f := start(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.60:6500", []string{"mapname", "dm1", "nextmap", "dm2"}, nil)
	b := f.connect(t)
	b.ask(request(func(r *ListRequest) { r.Options = NoServerList }))
	unknown := netip.MustParseAddrPort("192.0.2.61:6500")
	asked := netip.MustParseAddrPort("192.0.2.60:6500")
	b.write(AppendMapLoopRequest(AppendMapLoopRequest(nil, unknown), asked))
	p := b.next()
	if p.Kind != PushMapLoop || p.Address != asked || !slices.Equal(p.Maps, []string{"dm1", "dm2"}) {
		t.Errorf("answer %+v, want the two maps of %v", p, asked)
	}
}

func TestAlternateAddressIsEchoed(t *testing.T) {
	f := start(t, nil)
	want := netip.MustParseAddr("10.1.2.3")
	got := f.connect(t).ask(request(func(r *ListRequest) { r.Options, r.Source = AlternateIP, want }))
	if got.Client != want {
		t.Errorf("client address %v, want %v", got.Client, want)
	}
}

func TestBackendFlagsAreThoseOfTheQueriedGame(t *testing.T) {
	f := start(t, nil)
	b := f.connect(t)
	got := b.ask(request(func(r *ListRequest) { r.For = "other" }))
	if b.dec.BackendFlags() != games.QueryChallenge || got.Port != 7777 {
		t.Errorf("flags %#x, port %d; want %#x and 7777", b.dec.BackendFlags(), got.Port, games.QueryChallenge)
	}
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		change  func(*ListRequest)
		options func(*Options)
		want    string
		result  string
	}{
		"unknown game": {
			change: func(r *ListRequest) { r.For = "nosuchgame" },
			want:   "unknown game", result: listNoGame,
		},
		"filter with a mistake": {
			change:  func(r *ListRequest) { r.Filter = "numplayers >" },
			options: func(o *Options) { o.LenientFilter = false },
			want:    "filter: ", result: listBadFilter,
		},
		"filter too long": {
			change: func(r *ListRequest) { r.Filter = strings.Repeat(" ", 1025) },
			want:   "filter too long", result: listBadFilter,
		},
		"filter longer than the option": {
			change:  func(r *ListRequest) { r.Filter = strings.Repeat("1", 21) },
			options: func(o *Options) { o.MaxFilter = 20 },
			want:    "filter too long", result: listBadFilter,
		},
		"too many fields": {
			change: func(r *ListRequest) { r.Fields = manyFields(256) },
			want:   "too many fields", result: listBadFields,
		},
		"filter too expensive": {
			change: func(r *ListRequest) { r.Filter = expensive },
			want:   "filter too expensive", result: listExpensive,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t, test.options)
			for i := range 50 {
				public := fmt.Sprintf("192.0.2.%d:6500", i)
				put(t, f.reg, "gmtest", public, []string{"hostname", strings.Repeat("a", 2000)}, nil)
			}
			b := f.connect(t)
			got := b.ask(request(test.change))
			if !strings.HasPrefix(got.Error, errorPrefix+test.want) || got.Port != errorPort {
				t.Errorf("reply %+v, want the error %q", got, test.want)
			}
			if n := testutil.ToFloat64(f.srv.metrics.lists.WithLabelValues(test.result)); n != 1 {
				t.Errorf("lists with result %s: %v, want 1", test.result, n)
			}
			// The connection stays open.
			if got := b.ask(request(nil)); len(got.Entries) != 50 {
				t.Errorf("list after the refusal: %+v", got)
			}
		})
	}
}

// expensive is a filter that takes far more steps than the budget for one
// server.
var expensive = strings.Repeat("hostname like '%a%a%a%a%a%a%a%a%b' or ", 25) + "1=2"

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `\f%d`, i)
	}
	return b.String()
}

func TestLenientFilterIsIgnored(t *testing.T) {
	f := start(t, nil)
	fill(t, f.reg, 3)
	if got := f.connect(t).ask(request(func(r *ListRequest) { r.Filter = "((" })); len(got.Entries) != 3 {
		t.Errorf("%d servers, want 3", len(got.Entries))
	}
	if n := testutil.ToFloat64(f.srv.metrics.views.Ignored); n != 1 {
		t.Errorf("ignored filters: %v, want 1", n)
	}
}

func TestConnectionsThatMakeNoSenseAreClosed(t *testing.T) {
	from := func(game string) []byte {
		r := request(func(r *ListRequest) { r.From = game })
		b, err := r.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	tests := map[string]struct {
		send   []byte
		reason string
	}{
		"TLS":                       {append([]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01}, make([]byte, 200)...), endedFraming.Error()},
		"HTTP":                      {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), endedFraming.Error()},
		"length 0":                  {[]byte{0, 0, 0}, endedFraming.Error()},
		"length 2":                  {[]byte{0, 2, 0}, endedFraming.Error()},
		"length 4097":               {[]byte{0x10, 0x01, 0}, endedFraming.Error()},
		"list request cut short":    {[]byte{0, 8, 0, 1, 3, 0, 0, 0}, endedBad.Error()},
		"info first":                {AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.1:1")), endedOrder.Error()},
		"message first":             {[]byte{0, 10, 2, 1, 2, 3, 4, 5, 6, 7}, endedOrder.Error()},
		"maploop first":             {AppendMapLoopRequest(nil, netip.MustParseAddrPort("192.0.2.1:1")), endedOrder.Error()},
		"search first":              {[]byte{0, 13, 5, 0, 0, 0, 0, 0, 0, 0, 1, 'a', 0}, endedOrder.Error()},
		"unknown kind first":        {[]byte{0, 3, 99}, endedOrder.Error()},
		"unknown game":              {from("nosuchgame"), endedGame.Error()},
		"game without a secret":     {from("nokey"), endedSecret.Error()},
		"game name too long":        {from(strings.Repeat("g", 300)), endedGame.Error()},
		"request without a NUL end": {append([]byte{0x0F, 0xFF, 0}, bytes.Repeat([]byte{'x'}, 0xFFF-3)...), endedBad.Error()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			m := netserve.NewMetrics(reg, "serverbrowse", reasons...)
			f := start(t, func(o *Options) { o.Metrics = m })
			b := f.connect(t)
			b.write(test.send)
			b.wantClosed()
			wantDropped(t, reg, test.reason)
		})
	}
}

func request1() *ListRequest { r := request(nil); return &r }

// wantDropped fails unless exactly one thing was dropped, for this reason.
func wantDropped(t *testing.T, reg *prometheus.Registry, reason string) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "respawnd_dropped_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if v := m.GetCounter().GetValue(); l.GetName() == "reason" && v > 0 {
					got[l.GetValue()] = v
				}
			}
		}
	}
	if d := cmp.Diff(map[string]float64{reason: 1}, got); d != "" {
		t.Errorf("dropped (-want +got):\n%s", d)
	}
}

func TestMalformedMessageAfterList(t *testing.T) {
	tests := map[string][]byte{
		"info":    {0, 8, 1, 1, 2, 3, 4, 5},
		"message": {0, 6, 2, 1, 2, 3},
		"search":  {0, 12, 5, 0, 0, 0, 0, 0, 0, 0, 1, 'a'},
	}
	for name, msg := range tests {
		f := start(t, nil)
		b := f.connect(t)
		b.ask(request(nil))
		b.write(msg)
		if p, err := b.dec.Push(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %+v, %v; want the connection closed", name, p, err)
		}
	}
}

func TestBannedAddressIsNotServed(t *testing.T) {
	f := start(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return a.IsLoopback() } })
	f.connect(t).wantClosed()
}

func TestBanEndsAnOpenConnection(t *testing.T) {
	var banned atomic.Bool
	f := start(t, func(o *Options) { o.Banned = func(netip.Addr) bool { return banned.Load() } })
	put(t, f.reg, "gmtest", "192.0.2.10:6500", []string{"hostname", "Alpha"}, nil)
	b := f.connect(t)
	b.ask(request(nil))
	banned.Store(true)
	b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.10:6500")))
	if p, err := b.dec.Push(); err == nil {
		t.Errorf("answered with %+v, want the connection closed", p)
	}
}

// A panic in a handler ends only its own connection.
func TestPanicLeavesNoSubscriptionBehind(t *testing.T) {
	var broken atomic.Bool
	f := start(t, func(o *Options) {
		o.Banned = func(netip.Addr) bool {
			if broken.Load() {
				panic("on purpose")
			}
			return false
		}
	})
	b := f.connect(t)
	b.subscribe(nil)
	broken.Store(true)
	b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.10:6500")))
	if p, err := b.dec.Push(); err == nil {
		t.Errorf("answered with %+v, want the connection closed", p)
	}
	f.stop()
	if n := len(f.srv.feed.followed); n != 0 {
		t.Errorf("%d lists are followed after the only subscriber has gone, want none", n)
	}
}

func TestMessagesMayArriveByteByByte(t *testing.T) {
	f := start(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.10:6500", []string{"hostname", "Alpha"}, nil)
	b := f.connect(t)
	r := request(nil)
	msg, err := r.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	msg = AppendInfoRequest(msg, netip.MustParseAddrPort("192.0.2.99:1"))
	for i := range msg {
		b.write(msg[i : i+1])
	}
	if got := b.reply(0); len(got.Entries) != 1 {
		t.Errorf("list %+v, want one server", got)
	}
	if p := b.next(); p.Entry.Public.String() != "192.0.2.99:1" || p.Entry.Flags != FlagPort {
		t.Errorf("answer about an unknown server: %+v", p)
	}
}

func TestInfoHasEverything(t *testing.T) {
	f := start(t, nil)
	putPlayers(t, f.reg, "other", "192.0.2.10:6500",
		[]string{"hostname", "Full", "mapname", "", "country", "XX", "Region", "9"}, []string{"Joe", "Ann"}, []string{"Red"})
	b := f.connect(t)
	b.ask(request(func(r *ListRequest) { r.Options = NoServerList }))
	b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.10:6500")))
	got := b.next().Entry
	want := Entry{
		Flags:  FlagRules,
		Public: netip.MustParseAddrPort("192.0.2.10:6500"),
		Rules: []Rule{
			{"hostname", "Full"},
			{"mapname", ""},
			{"country", "DE"},
			{"team_t0", "Red"},
			{"player_0", "Joe"},
			{"score_0", "7"},
			{"player_1", "Ann"},
			{"score_1", "7"},
		},
	}
	if d := cmp.Diff(want, got, compareAddrs); d != "" {
		t.Errorf("info (-want +got):\n%s", d)
	}
}

// messenger records the messages that it gets.
type messenger struct {
	mu  sync.Mutex
	got []string
	err error
}

func (m *messenger) SendToServer(k master.Key, p []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = append(m.got, fmt.Sprintf("%v %s", k.Source, p))
	return m.err
}

func TestMessagesReachListedServersOnly(t *testing.T) {
	m := &messenger{}
	f := start(t, func(o *Options) { o.Messenger, o.MessageBurst, o.MessageRate = m, 3, 0 })
	put(t, f.reg, "gmtest", "192.0.2.10:6500", []string{"hostname", "Alpha"}, func(s *master.Server) {
		s.Key.Source = netip.MustParseAddrPort("192.0.2.10:41000")
	})
	b := f.connect(t)
	b.ask(request(func(r *ListRequest) { r.Options = NoServerList }))
	listed, stranger := netip.MustParseAddrPort("192.0.2.10:6500"), netip.MustParseAddrPort("192.0.2.11:6500")
	send := func(to netip.AddrPort, data string) {
		msg, err := AppendMessage(nil, to, []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		b.write(msg[:9])
		b.write(msg[9:])
	}
	longest := strings.Repeat("x", maxRelay)
	send(listed, "HELLO")
	send(stranger, "HELLO")
	send(listed, longest+"x")
	send(listed, "")
	send(listed, longest)
	send(listed, "one too many")
	b.write(AppendInfoRequest(nil, listed))
	b.next() // everything before it has been handled
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := cmp.Diff([]string{"192.0.2.10:41000 HELLO", "192.0.2.10:41000 " + longest}, m.got); d != "" {
		t.Errorf("delivered (-want +got):\n%s", d)
	}
	for result, want := range map[string]float64{messageSent: 2, messageUnknown: 1, messageSize: 2, messageRate: 1} {
		if got := testutil.ToFloat64(f.srv.metrics.messages.WithLabelValues(result)); got != want {
			t.Errorf("messages with result %s: %v, want %v", result, got, want)
		}
	}
}

func TestMessageRefusalsAreCounted(t *testing.T) {
	for result, err := range map[string]error{
		messageUnknown: master.ErrNotListed, messageBusy: master.ErrBusy, messageError: os.ErrClosed,
	} {
		f := start(t, func(o *Options) { o.Messenger = &messenger{err: err} })
		put(t, f.reg, "gmtest", "192.0.2.10:6500", []string{"hostname", "Alpha"}, nil)
		b := f.connect(t)
		b.ask(request(func(r *ListRequest) { r.Options = NoServerList }))
		msg, _ := AppendMessage(nil, netip.MustParseAddrPort("192.0.2.10:6500"), []byte("x"))
		b.write(AppendInfoRequest(msg, netip.MustParseAddrPort("192.0.2.10:6500")))
		b.next()
		if got := testutil.ToFloat64(f.srv.metrics.messages.WithLabelValues(result)); got != 1 {
			t.Errorf("messages with result %s: %v, want 1", result, got)
		}
	}
}

func TestRooms(t *testing.T) {
	f := start(t, func(o *Options) {
		o.Rooms = func(game string) []games.Room {
			return []games.Room{{ID: 9, Name: "From the store", MaxWaiting: 20}, {ID: 2158, Name: "again"}, {ID: 0xFFFFFFFF, Name: "end"}}
		}
		o.Waiting = func(id uint32) int { return map[uint32]int{9: 12}[id] }
	})
	for i, groupid := range []string{"2157", "2157", "2158", "0", "x", ""} {
		put(t, f.reg, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i+1), []string{"groupid", groupid, "numplayers", "3"}, nil)
	}
	tests := map[string]struct {
		fields, filter string
		want           map[string]map[string]string
	}{
		"standard fields": {
			want: map[string]map[string]string{
				"0.0.8.109:6500": {"hostname": "Lobby 1", "numwaiting": "0", "maxwaiting": "50", "numservers": "2", "numplayers": "6"},
				"0.0.8.110:6500": {"hostname": "Lobby 2", "numwaiting": "0", "maxwaiting": "100", "numservers": "1", "numplayers": "3"},
				"0.0.0.9:6500":   {"hostname": "From the store", "numwaiting": "12", "maxwaiting": "20", "numservers": "0", "numplayers": "0"},
			},
		},
		"own fields": {
			fields: `\groupid\roomType\nosuch`, filter: "roomtype = 'casual'",
			want: map[string]map[string]string{"0.0.8.109:6500": {"groupid": "2157", "roomType": "casual", "nosuch": ""}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := f.connect(t).ask(request(func(r *ListRequest) {
				r.Options, r.Fields, r.Filter = SendGroups, test.fields, test.filter
			}))
			for _, e := range got.Entries {
				if e.Flags != FlagValues {
					t.Errorf("flags %#x, want %#x", e.Flags, FlagValues)
				}
			}
			if d := cmp.Diff(test.want, rowsOf(got)); d != "" {
				t.Errorf("rooms (-want +got):\n%s", d)
			}
		})
	}
}

func TestPlayerSearch(t *testing.T) {
	f := start(t, nil)
	putPlayers(t, f.reg, "gmtest", "192.0.2.1:6500", nil, []string{"Joe", "Joey"}, nil)
	putPlayers(t, f.reg, "other", "192.0.2.2:7777", nil, []string{"joe", "Billy Joe"}, nil)
	putPlayers(t, f.reg, "gmtest", "192.0.2.3:6500", nil, []string{"J\xf6rg", "J\xe4rg"}, nil) // not in UTF-8
	tests := map[string]struct {
		search PlayerSearch
		want   []string
	}{
		"whole name":       {PlayerSearch{Name: "jOe"}, []string{"Joe"}},
		"all games":        {PlayerSearch{Options: SearchAllGames, Name: "joe"}, []string{"Joe", "joe"}},
		"start of a name":  {PlayerSearch{Options: SearchPrefix, Name: "joe"}, []string{"Joe", "Joey"}},
		"end of a name":    {PlayerSearch{Options: SearchAllGames | SearchSuffix, Name: "joe"}, []string{"Joe", "joe", "Billy Joe"}},
		"part of a name":   {PlayerSearch{Options: SearchAllGames | SearchSubstring, Name: "oe"}, []string{"Joe", "Joey", "joe", "Billy Joe"}},
		"limit":            {PlayerSearch{Options: SearchSubstring, Name: "oe", Max: 1}, []string{"Joe"}},
		"unknown":          {PlayerSearch{Name: "unknown"}, nil},
		"part without bit": {PlayerSearch{Name: "oe"}, nil},
		"other code page":  {PlayerSearch{Name: "j\xf6RG"}, []string{"J\xf6rg"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := f.connect(t)
			b.ask(request(func(r *ListRequest) { r.Options = NoServerList }))
			msg, err := test.search.AppendTo(nil)
			if err != nil {
				t.Fatal(err)
			}
			b.write(msg)
			p := b.next()
			var got []string
			for _, player := range p.Players {
				got = append(got, player.Name)
				if player.Seen != 1_700_000_000 {
					t.Errorf("seen at %d", player.Seen)
				}
			}
			if d := cmp.Diff(test.want, got); d != "" || !p.Final {
				t.Errorf("found, final %v (-want +got):\n%s", p.Final, d)
			}
		})
	}
}

func TestSlowReaderGetsTheWholeList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const servers = 3000
		f := startPipe(t, nil)
		fill(t, f.reg, servers)
		b := f.connect(t)
		if err := b.conn.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		b.conn = slowConn{b.conn}
		begin := time.Now()
		if got := b.ask(request(func(r *ListRequest) { r.Fields = nineFields })); len(got.Entries) != servers {
			t.Errorf("%d servers, want %d", len(got.Entries), servers)
		}
		if took := time.Since(begin); took < 15*time.Second {
			t.Errorf("the list was read in %v, want longer than a write may take", took)
		}
	})
}

// slowConn reads seven bytes at a time, 7,000 in a second.
type slowConn struct{ net.Conn }

func (c slowConn) Read(p []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return c.Conn.Read(p[:min(len(p), 7)])
}

func TestClientThatNeverReadsIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		m := netserve.NewMetrics(reg, "serverbrowse")
		f := startPipe(t, func(o *Options) { o.Write, o.Metrics = 30*time.Second, m })
		fill(t, f.reg, 10)
		c, err := f.dial()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		msg, _ := request1().AppendTo(nil)
		if _, err := c.Write(msg); err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Second)
		if _, err := c.Write([]byte{0}); err == nil {
			t.Error("connection still open after the time for one write")
		}
		wantDropped(t, reg, "slow_reader")
	})
}

func TestQuietClientIsAskedAndThenDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		m := netserve.NewMetrics(reg, "serverbrowse")
		f := startPipe(t, func(o *Options) { o.KeepAlive, o.Metrics = 30*time.Second, m })
		b := f.connect(t)
		b.ask(request(nil))
		begin := time.Now()
		for range 5 { // as long as it answers it stays
			if p := b.next(); p.Kind != PushKeepalive {
				t.Fatalf("got %+v, want a keepalive", p)
			}
			b.write([]byte{0, 4, 3, 3})
		}
		if got := time.Since(begin); got != 123*time.Second { // the first one comes early
			t.Errorf("five keepalives took %v, want 123s", got)
		}
		b.next()
		b.write([]byte{0}) // half a message is not a sign of life
		b.next()
		if _, err := b.dec.Push(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after two keepalives without an answer: %v, want the end", err)
		}
		if got := time.Since(begin); got != 213*time.Second {
			t.Errorf("dropped after %v, want 213s", got)
		}
		synctest.Wait()
		wantDropped(t, reg, endedGone.Error())
	})
}

func TestSilenceIsBoundedByTheOptions(t *testing.T) {
	tests := map[string]struct {
		keepAlive, idle time.Duration
		keepalives      int
		after           time.Duration
		reason          string
	}{
		"shorter than a keepalive":     {30 * time.Second, 20 * time.Second, 1, 20 * time.Second, endedIdle.Error()},
		"as long as a keepalive":       {30 * time.Second, 30 * time.Second, 1, 30 * time.Second, endedIdle.Error()},
		"between two keepalives":       {30 * time.Second, 40 * time.Second, 2, 40 * time.Second, endedIdle.Error()},
		"longer than keepalives allow": {30 * time.Second, time.Hour, 3, 90 * time.Second, endedGone.Error()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reg := prometheus.NewRegistry()
				m := netserve.NewMetrics(reg, "serverbrowse")
				f := startPipe(t, func(o *Options) { o.KeepAlive, o.Idle, o.Metrics = test.keepAlive, test.idle, m })
				b := f.connect(t)
				b.ask(request(nil))
				begin := time.Now()
				for range test.keepalives {
					b.next()
				}
				if p, err := b.dec.Push(); !errors.Is(err, io.ErrUnexpectedEOF) || time.Since(begin) != test.after {
					t.Errorf("%+v, %v after %v, want the end after %v", p, err, time.Since(begin), test.after)
				}
				synctest.Wait()
				wantDropped(t, reg, test.reason)
			})
		})
	}
}

func TestFirstByteTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = time.Minute
		f := startPipe(t, func(o *Options) { o.FirstByte = most })
		b := f.connect(t)
		time.Sleep(most - time.Second)
		if got := b.ask(request(nil)); got.Port != 6500 {
			t.Errorf("reply %+v to a request a second before it is too late", got)
		}
	})
}

func TestFirstMessageTime(t *testing.T) {
	const firstByte = 10 * time.Second // the default
	tests := map[string]struct {
		send   []byte
		after  time.Duration
		reason string
	}{
		"nothing": {nil, firstByte, "first_byte_timeout"},
		"a part":  {[]byte{0, 50, 0}, firstByte + firstMessage, endedFirst.Error()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reg := prometheus.NewRegistry()
				m := netserve.NewMetrics(reg, "serverbrowse")
				f := startPipe(t, func(o *Options) { o.Metrics = m })
				b := f.connect(t)
				begin := time.Now()
				if test.send != nil {
					b.write(test.send)
				}
				b.wantClosed()
				if got := time.Since(begin); got != test.after {
					t.Errorf("closed after %v, want %v", got, test.after)
				}
				synctest.Wait()
				wantDropped(t, reg, test.reason)
			})
		})
	}
}

func TestListsPerConnectionAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		b := f.connect(t)
		for range listBurst {
			b.ask(request(nil))
		}
		msg, _ := request1().AppendTo(nil)
		b.write(msg)
		if _, err := b.dec.Push(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("one list too many: %v, want the connection closed", err)
		}
	})
}

func TestConnectionsEndWithTheService(t *testing.T) {
	f := start(t, nil)
	fill(t, f.reg, 5)
	for range 5 {
		f.connect(t).ask(request(func(r *ListRequest) { r.Options = PushUpdates }))
	}
	// The end of the test stops the service and waits for it.
}

func TestFrameLengthAtItsLimits(t *testing.T) {
	for n, want := range map[int]error{2: errLength, 3: nil, 4096: nil, 4097: errLength} {
		msg := make([]byte, max(n, 3))
		binary.BigEndian.PutUint16(msg, uint16(n))
		msg[2] = byte(KindKeepalive)
		f := frameReader{r: bytes.NewReader(append(msg, msg...))}
		for range 2 {
			kind, body, err := f.next()
			if !errors.Is(err, want) || err == nil && (kind != KindKeepalive || len(body) != n-3) {
				t.Errorf("message of %d bytes: %v, %d bytes, %v; want %v", n, kind, len(body), err, want)
			}
		}
	}
}

func TestPlayerSearchIsBounded(t *testing.T) {
	reg := newTestRegistry()
	players := make([]string, maxFound+1)
	for i := range players {
		players[i] = "Joe"
	}
	putPlayers(t, reg, "gmtest", "192.0.2.1:6500", nil, players, nil)
	srv := New(Options{Config: testConfig(), Listing: part.Listing{Registry: reg, Games: testGames(t)}})
	for most, want := range map[uint32]int{0: maxFound, 1: 1, maxFound: maxFound, maxFound + 1: maxFound, 0xFFFFFFFF: maxFound} {
		found, ok := srv.search(netip.MustParseAddr("192.0.2.99"), "gmtest", PlayerSearch{Name: "joe", Max: most})
		if got := len(found); got != want || !ok {
			t.Errorf("at most %d: %d found, %v, want %d", most, got, ok, want)
		}
	}
}

func TestLongestFilterIsRead(t *testing.T) {
	f := start(t, func(o *Options) { o.LenientFilter = false })
	fill(t, f.reg, 1)
	got := f.connect(t).ask(request(func(r *ListRequest) { r.Filter = "1=1" + strings.Repeat(" ", 1021) }))
	if len(got.Entries) != 1 {
		t.Errorf("reply %+v, want one server", got)
	}
}
