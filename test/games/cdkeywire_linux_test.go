package games

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cdkey"
	"github.com/respawnd/respawnd/test/rig"
)

// recordedCDKey are the recorded packets of game servers and the answers of the
// service, in the order of the recording.
func recordedCDKey(t *testing.T) (asked [][]byte, answers map[string]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "cdkey", "testdata", "recorded.json"))
	rig.Must(t, err)
	var r struct {
		Packets []struct {
			Dir   string `json:"dir"`
			Clear string `json:"clear"`
			Wire  string `json:"wire_hex"`
		} `json:"packets"`
	}
	rig.Must(t, json.Unmarshal(data, &r))
	answers = make(map[string]string)
	for _, p := range r.Packets {
		wire, err := hex.DecodeString(p.Wire)
		rig.Must(t, err)
		switch {
		case p.Dir == "C>S" && strings.HasPrefix(p.Clear, `\auth\`):
			asked = append(asked, wire)
		case strings.HasPrefix(p.Clear, `\uok\`), strings.HasPrefix(p.Clear, `\unok\`):
			_, skey, _ := strings.Cut(p.Clear, `\skey\`)
			skey, _, _ = strings.Cut(skey, `\`)
			answers[skey] = string(wire)
		}
	}
	return asked, answers
}

// Recorded questions are answered as recorded in strict mode, and all accepted in
// permissive mode. The port of QR2 ignores them.
func TestRecordedCDKeys(t *testing.T) {
	t.Parallel()
	asked, answers := recordedCDKey(t)
	for _, mode := range []string{cdkey.Permissive, cdkey.Strict} {
		t.Run(mode, func(t *testing.T) {
			d := rig.Start(t, t.TempDir(), rig.Variable("cdkey.mode", mode))
			d.Cli("cdkey", "add", "--product", "461", "AAAA-BBBB-CCCC-DDDD")
			same := 0
			for i, wire := range asked {
				c := newWirePeer(t, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
				c.tell(t, d.Address["qr2"], wire)
				got, from := c.MustAsk(t, d.Address["cdkey"], wire)
				if from != d.Address["cdkey"] {
					t.Fatalf("question %d is answered by %v", i, from)
				}
				clear := string(rig.GamespyXOR(string(got)))
				_, skey, _ := strings.Cut(clear, `\skey\`)
				skey, _, _ = strings.Cut(skey, `\`)
				switch want, recorded := answers[skey]; {
				case mode == cdkey.Permissive:
					if !strings.HasPrefix(clear, `\uok\`) {
						t.Errorf("question %d: answer %q, want uok", i, clear)
					}
				case recorded:
					same++
					if want != string(got) {
						t.Errorf("question %d: answer %q, want as recorded", i, clear)
					}
				}
			}
			if mode == cdkey.Strict && same != len(answers) {
				t.Errorf("%d answers compared, want %d", same, len(answers))
			}
			d.Stop()
		})
	}
}

// A second server that asks for a key in use is refused once the first one has proved
// that its player is still there, and let in after it said that the player has left.
func TestCDKeyInUse(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("cdkey.mode", cdkey.Strict))
	const key = "AAAA-BBBB-CCCC-DDDD"
	d.Cli("cdkey", "add", "--product", "461", key)
	at, hash := d.Address["cdkey"], cdkey.HashOf(key)
	first, second := newWirePeer(t, netip.AddrFrom4([4]byte{127, 44, 0, 1})), newWirePeer(t, netip.AddrFrom4([4]byte{127, 44, 0, 2}))
	want := func(got []byte, text string) {
		t.Helper()
		if clear := string(rig.GamespyXOR(string(got))); !strings.HasPrefix(clear, text) {
			t.Fatalf("got %q, want %q", clear, text)
		}
	}
	got, _ := first.MustAsk(t, at, rig.CdKeyAuth(key, 461, 1))
	want(got, `\uok\\cd\`+hash+`\skey\1`)
	for range 20 { // pays for the question
		first.tell(t, at, rig.GamespyXOR(`\ka\`))
	}
	// asked has the first server asked about its player, and returns the number and the
	// challenge of the question.
	asked := func(skey int) (number, challenge string) {
		t.Helper()
		second.tell(t, at, rig.CdKeyAuth(key, 461, skey))
		question, _ := first.Read(t)
		want(question, `\ison\\cd\`+hash)
		fields := strings.Split(string(rig.GamespyXOR(string(question))), `\`)
		return fields[slices.Index(fields, "skey")+1], fields[slices.Index(fields, "pch")+1]
	}
	number, challenge := asked(2)
	proof := fmt.Sprintf("%s%08x%x", hash, 70000, md5.Sum([]byte(challenge+strconv.Itoa(70000%65535)+key)))
	first.tell(t, at, rig.GamespyXOR(`\uon\\skey\`+number+`\seed\\proof\`+proof))
	got, _ = second.Read(t)
	want(got, `\unok\\cd\`+hash+`\skey\2\errmsg\`)
	number, _ = asked(3)
	first.tell(t, at, rig.GamespyXOR(`\uoff\\skey\`+number))
	got, _ = second.Read(t)
	want(got, `\uok\\cd\`+hash+`\skey\3`)
	d.Stop()
}

// wirePeer is a socket of a game server.
type wirePeer struct{ rig.Flooder }

func newWirePeer(t *testing.T, at netip.Addr) wirePeer {
	t.Helper()
	return wirePeer{rig.NewFlooder(t, at)}
}

// tell sends a packet.
func (p wirePeer) tell(t *testing.T, to netip.AddrPort, b []byte) {
	t.Helper()
	_, err := p.Conn.WriteToUDPAddrPort(b, to)
	rig.Must(t, err)
}

// Read returns the next packet and where it came from.
func (p wirePeer) Read(t *testing.T) ([]byte, netip.AddrPort) {
	t.Helper()
	rig.Must(t, p.Conn.SetReadDeadline(time.Now().Add(rig.Hang)))
	buf := make([]byte, 1<<12)
	n, from, err := p.Conn.ReadFromUDPAddrPort(buf)
	rig.Must(t, err)
	return buf[:n], from
}

// MustAsk sends a packet and returns the answer.
func (p wirePeer) MustAsk(t *testing.T, to netip.AddrPort, b []byte) ([]byte, netip.AddrPort) {
	t.Helper()
	p.tell(t, to, b)
	return p.Read(t)
}
