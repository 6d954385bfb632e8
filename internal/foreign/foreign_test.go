package foreign

import (
	"net/netip"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

func announcement() []byte {
	return zandronum.Encode(nil, zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: []byte("0123456789abcdef0123456789abcdef"), Complete: true, Enforces: true, Revision: 1761882777,
	}))
}

func TestRecognize(t *testing.T) {
	plain := zandronum.AppendChallenge([]byte{0xFF}, zandronum.Challenge{Verification: []byte("x"), Complete: true})
	for name, tt := range map[string]struct {
		packet string
		want   Protocol
	}{
		"nothing":                {"", None},
		"noise":                  {"hello", None},
		"QR2 heartbeat":          {"\x03abcdlocalip0\x00192.168.1.5\x00gamename\x00gmtest\x00\x00", QR2},
		"QR2 without a game":     {"\x03abcdlocalip0\x00192.168.1.5\x00\x00", None},
		"QR2 keepalive":          {"\x08abcd", None},
		"QR1 heartbeat":          {`\heartbeat\26900\gamename\gmtest`, QR1},
		"QR1 in capitals":        {`\HEARTBEAT\26900\GameName\gmtest`, QR1},
		"QR1 query":              {`\status\`, None},
		"CD key":                 {";]aC", CDKey},
		"Zandronum":              {string(announcement()), Zandronum},
		"Zandronum, not coded":   {string(plain), Zandronum},
		"Zandronum's launcher":   {string(zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion))), None},
		"Valve challenge":        {"q", Valve},
		"Valve challenge, nonce": {"q\xFF\x01\x02\x03\x04", Valve},
		"Valve, with a prefix":   {"\xFF\xFF\xFF\xFFq", Valve},
		"Valve heartbeat":        {"0\n\\protocol\\7\\challenge\\5\n", Valve},
		"Valve goodbye":          {"b\n", Valve},
		"Valve browser":          {"1\xFF0.0.0.0:0\x00", None},
		"a word with q":          {"query me", None},
		"Quake III":              {"\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n", Quake3},
		"Quake II":               {"\xFF\xFF\xFF\xFFheartbeat\n\\hostname\\x", Quake2},
		"QuakeWorld":             {"a\n1\n0\n", QuakeWorld},
		"Quake III browser":      {"\xFF\xFF\xFF\xFFgetservers 68 full", None},
	} {
		if got := Recognize([]byte(tt.packet)); got != tt.want {
			t.Errorf("%s: Recognize(%q) = %d, want %d", name, tt.packet, got, tt.want)
		}
	}
}

// No input causes a panic, and a report of one protocol is not taken for
// another's.
func FuzzRecognize(f *testing.F) {
	for _, s := range []string{"", "q", "0\n\\", `\heartbeat\1\gamename\x`, "\x03abcdgamename\x00x\x00", ";", "\xFF\xFF\xFF\xFFheartbeat", string(announcement())} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if got := Recognize(p); got > QuakeWorld || (got == None) != (got.verdict() == verdicts.NotUnderstood) {
			t.Errorf("Recognize(%q) = %d, verdict %v", p, got, got.verdict())
		}
	})
}

func TestNotes(t *testing.T) {
	book := verdicts.NewLog(zerolog.Nop(), 0)
	book.SetPorts(map[verdicts.Verdict]uint16{verdicts.SpeaksZandronum: 15301})
	n := NewNotes(book, "qr2")
	a := netip.MustParseAddrPort("192.0.2.1:10666")
	if n.Foreign(a, []byte("hello"), QR2) || n.Foreign(a, []byte(`\heartbeat\1\gamename\x`), QR2, QR1) {
		t.Error("a packet that is not recognised, or of the service's own protocol, is called foreign")
	}
	if got := book.Of(a.Addr()); len(got) != 0 {
		t.Fatalf("noted %+v, want nothing", got)
	}
	if !n.Foreign(a, announcement(), QR2, QR1) {
		t.Error("an announcement of Zandronum is not foreign to QR2")
	}
	got := book.Of(a.Addr())
	if len(got) != 1 || got[0].Verdict != verdicts.SpeaksZandronum || got[0].Port != 15301 || got[0].Service != "qr2" {
		t.Errorf("noted %+v, want the protocol and its port", got)
	}
	flood := netip.MustParseAddr("192.0.2.2")
	for i := range uint16(2 * noteBurst) { // a stranger
		n.Note(netip.AddrPortFrom(flood, 1+i), verdicts.NotUnderstood)
	}
	if got := len(book.Of(flood)); got > noteBurstPerAddr+noteRatePerAddr || got < noteBurstPerAddr/2 {
		t.Errorf("%d verdicts of one address noted at once, want about %d", got, noteBurstPerAddr)
	}
	got = nil
	for i := range byte(250) { // strangers
		a := netip.AddrFrom4([4]byte{198, 51, 100, i})
		n.Player(a, verdicts.Malformed)
		n.Player(a, verdicts.Malformed)
		got = append(got, book.Of(a)...)
	}
	if len(got) > noteBurst+noteRate || len(got) < noteBurst/4 || got[0].Addr.Port() != 0 {
		t.Errorf("%d verdicts noted at once, want at most about %d, without a port", len(got), noteBurst)
	}
	NewNotes(nil, "qr2").Note(a, verdicts.NotUnderstood) // notes nothing
}
