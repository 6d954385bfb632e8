package natneg

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/nettest"
)

// captured is a packet of an original client or of a server that it accepted.
// Fields that the type does not have are nil.
type captured struct {
	Hex        string  `json:"hex"`
	Type       string  `json:"type_name"`
	Version    byte    `json:"version"`
	Cookie     uint32  `json:"cookie"`
	PortType   *byte   `json:"porttype"`
	Index      *byte   `json:"clientindex"`
	GamePort   *int    `json:"usegameport"`
	LocalIP    *string `json:"localip"`
	LocalPort  *uint16 `json:"localport"`
	Game       *string `json:"gamename"`
	RemoteIP   *string `json:"remote_ip"`
	RemotePort *uint16 `json:"remote_port"`
	GotData    *byte   `json:"gotyourdata"`
	Finished   *byte   `json:"finished"`
	SeenIP     *string `json:"seen_ip"`
	SeenPort   *uint16 `json:"seen_port"`
	Result     *byte   `json:"result"`
	NATType    *byte   `json:"nattype_le"`
}

var typeNames = map[string]Type{
	"INIT": TypeInit, "INITACK": TypeInitAck, "ERTTEST": TypeTest, "ERTACK": TypeTestAck,
	"CONNECT": TypeConnect, "CONNECT_ACK": TypeConnectAck, "CONNECT_PING": TypePing,
	"ADDRESS_CHECK": TypeAddressCheck, "ADDRESS_REPLY": TypeAddressReply, "NATIFY_REQUEST": TypeNATTest,
	"REPORT": TypeReport, "REPORT_ACK": TypeReportAck, "PREINIT": TypeQueue, "PREINIT_ACK": TypeQueueAck,
}

func readJSON[T any](t testing.TB, name string) []T {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// parsed is any body in a form that can be compared, and appended again.
type parsed struct {
	fields   map[string]any
	appendTo func(b []byte) []byte
}

// parseBody reads the body of any type that has one.
func parseBody(h Header, body []byte) (p parsed, ok bool) {
	switch h.Type {
	case TypeInit:
		i, ok := ParseInit(h.Version, body)
		return parsed{map[string]any{
			"port type": byte(i.PortType), "index": i.Index, "game port": i.GamePort, "addr": i.Local, "game": string(i.Game),
		}, func(b []byte) []byte { return i.AppendTo(b, h.Version) }}, ok
	case TypeInitAck, TypeConnectAck:
		a, ok := ParseAck(h.Version, body)
		fields := map[string]any{"index": a.Index}
		if h.Type == TypeInitAck {
			fields["port type"] = byte(a.PortType)
		}
		return parsed{fields, func(b []byte) []byte { return a.AppendTo(b, h.Version) }}, ok
	case TypeTest, TypeTestAck:
		x, ok := ParseTest(body)
		return parsed{map[string]any{"port type": byte(x.PortType)}, x.AppendTo}, ok
	case TypeConnect, TypePing:
		c, ok := ParseConnect(body)
		return parsed{map[string]any{"addr": c.Remote, "got data": c.GotData, "finished": c.Finished}, c.AppendTo}, ok
	case TypeAddressCheck, TypeNATTest:
		c, ok := ParseCheck(body)
		return parsed{map[string]any{"port type": byte(c.PortType)}, c.AppendTo}, ok
	case TypeAddressReply:
		a, ok := ParseAddressReply(body)
		return parsed{map[string]any{"port type": byte(a.PortType), "addr": a.Seen}, a.AppendTo}, ok
	case TypeReport:
		r, ok := ParseReport(body)
		name, _, _ := bytes.Cut(r.Game[:], []byte{0})
		return parsed{map[string]any{
			"index": r.Index, "result": r.Result, "nat": r.nat(), "game": string(name),
		}, r.AppendTo}, ok
	case TypeReportAck:
		a, ok := ParseReportAck(body)
		return parsed{nil, a.AppendTo}, ok
	case TypeQueue, TypeQueueAck:
		q, ok := ParseQueue(body)
		return parsed{nil, q.AppendTo}, ok
	default:
		return parsed{}, false
	}
}

func TestCapturedPacketsRoundTrip(t *testing.T) {
	types := make(map[Type]bool)
	for _, c := range readJSON[captured](t, "packets.json") {
		want := nettest.Unhex(t, c.Hex)
		h, body, err := ParseHeader(want)
		if err != nil || h != (Header{c.Version, typeNames[c.Type], c.Cookie}) {
			t.Errorf("ParseHeader(%s): got %+v, %v, want %s", c.Hex, h, err, c.Type)
			continue
		}
		p, ok := parseBody(h, body)
		if !ok {
			t.Errorf("%s %s: not read", c.Type, c.Hex)
			continue
		}
		types[h.Type] = true
		if got := p.appendTo(h.AppendTo(nil)); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", c.Type, got, want)
		}
		c.check(t, h.Type, p.fields)
	}
	for name, typ := range typeNames {
		if !types[typ] {
			t.Errorf("no captured packet is a %s", name)
		}
	}
}

// check compares the fields with the ones that were captured with the packet.
func (c *captured) check(t *testing.T, typ Type, got map[string]any) {
	t.Helper()
	want := make(map[string]any)
	if c.PortType != nil && typ != TypeTestAck {
		want["port type"] = *c.PortType
	}
	addr := func(ip *string, port *uint16) {
		if ip != nil {
			want["addr"] = netip.AddrPortFrom(netip.MustParseAddr(*ip), *port)
		}
	}
	addr(c.LocalIP, c.LocalPort)
	addr(c.RemoteIP, c.RemotePort)
	addr(c.SeenIP, c.SeenPort)
	if slices.Contains([]Type{TypeInit, TypeInitAck, TypeConnectAck, TypeReport}, typ) {
		want["index"] = *c.Index
	}
	if c.Game != nil {
		want["game"] = *c.Game
	}
	if c.GamePort != nil && typ == TypeInit {
		want["game port"] = *c.GamePort == 1
	}
	if c.GotData != nil {
		want["got data"], want["finished"] = *c.GotData, *c.Finished
	}
	if typ == TypeReport {
		want["result"], want["nat"] = *c.Result, *c.NATType
	}
	for name, v := range want {
		if diff := cmp.Diff(v, got[name], cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
			t.Errorf("%s %s, %s (-want +got):\n%s", c.Type, c.Hex, name, diff)
		}
	}
}

func TestBodyThatIsTooShortIsRefused(t *testing.T) {
	tests := map[string]struct {
		typ     Type
		version byte
		min     int // bytes
	}{
		"init of version 1":    {TypeInit, 1, 3},
		"init":                 {TypeInit, 2, 9},
		"receipt of version 1": {TypeInitAck, 1, 3},
		"receipt":              {TypeConnectAck, 4, 9},
		"NAT test":             {TypeTest, 4, 9},
		"connect":              {TypeConnect, 4, 8},
		"address check":        {TypeAddressCheck, 4, 9},
		"address reply":        {TypeAddressReply, 4, 9},
		"report":               {TypeReport, 4, 11},
		"report receipt":       {TypeReportAck, 4, 9},
		"queue":                {TypeQueue, 4, 6},
	}
	for name, tc := range tests {
		for size := range 100 {
			_, ok := parseBody(Header{Version: tc.version, Type: tc.typ}, make([]byte, size))
			if ok != (size >= tc.min) {
				t.Errorf("%s of %d bytes: got %v, want it from %d bytes on", name, size, ok, tc.min)
			}
		}
	}
}

func TestHeadersOfNoPacketAreRefused(t *testing.T) {
	good := Header{3, TypeInit, 77}.AppendTo(nil)
	change := func(i int, v byte) []byte {
		b := bytes.Clone(good)
		b[i] = v
		return b
	}
	tests := map[string]struct {
		packet []byte
		want   error
	}{
		"nothing":     {nil, ErrShort},
		"11 bytes":    {good[:11], ErrShort},
		"12 bytes":    {good, nil},
		"other magic": {change(5, 0xB3), ErrMagic},
		"version 0":   {change(6, 0), ErrVersion},
		"version 1":   {change(6, 1), nil},
		"version 4":   {change(6, 4), nil},
		"version 5":   {change(6, 5), ErrVersion},
		"version 255": {change(6, 255), ErrVersion},
	}
	for name, tc := range tests {
		if _, _, err := ParseHeader(tc.packet); !errors.Is(err, tc.want) {
			t.Errorf("ParseHeader of %s: got %v, want %v", name, err, tc.want)
		}
	}
}

func TestReportsOfBothByteOrdersTellTheNAT(t *testing.T) {
	tests := map[[4]byte]meeting.Kind{
		{0, 0, 0, 0}:    meeting.Open,
		{1, 0, 0, 0}:    meeting.Open,
		{0, 0, 0, 2}:    meeting.Cone,
		{3, 0, 0, 0}:    meeting.Cone,
		{0, 0, 0, 4}:    meeting.Cone,
		{5, 0, 0, 0}:    meeting.Symmetric,
		{0, 0, 0, 5}:    meeting.Symmetric,
		{6, 0, 0, 0}:    meeting.Unknown,
		{0, 0, 0, 6}:    meeting.Unknown,
		{0, 1, 0, 0}:    meeting.Unknown,
		{255, 9, 9, 99}: meeting.Unknown,
	}
	for field, want := range tests {
		r := Report{NATType: field}
		if got := kindOfReport(r.nat()); got != want {
			t.Errorf("NAT type %v: got %v, want %v", field, got, want)
		}
	}
}

func TestGameNameWithoutNULCounts(t *testing.T) {
	b := Init{Game: []byte("gmtest")}.AppendTo(nil, 3)
	i, ok := ParseInit(3, b[:len(b)-1])
	if !ok || string(i.Game) != "gmtest" {
		t.Errorf("got %q, %v, want gmtest", i.Game, ok)
	}
}

func FuzzPackets(f *testing.F) {
	for _, c := range readJSON[captured](f, "packets.json") {
		f.Add(nettest.Unhex(f, c.Hex))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, body, err := ParseHeader(data)
		if err != nil {
			return
		}
		p, ok := parseBody(h, body)
		if !ok {
			return
		}
		written := p.appendTo(h.AppendTo(nil))
		h2, body2, err := ParseHeader(written)
		if err != nil || h2 != h {
			t.Fatalf("header of %x: got %+v, %v, want %+v", written, h2, err, h)
		}
		p2, ok := parseBody(h2, body2)
		if !ok || !bytes.Equal(p2.appendTo(h2.AppendTo(nil)), written) {
			t.Fatalf("%x was written as %x, which is not read as the same", data, written)
		}
	})
}
