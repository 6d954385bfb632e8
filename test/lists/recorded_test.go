package lists

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

type hexBytes []byte

func (h *hexBytes) UnmarshalText(p []byte) (err error) {
	*h, err = hex.DecodeString(string(p))
	return err
}

// recorded is a recording of programs with the original client library.
type recorded struct {
	Browsers map[string]struct {
		Challenge      hexBytes
		Options        serverbrowse.Option
		Filter, Fields string
		Messages       []hexBytes
	}
	Hosts map[string][]hexBytes // packets of game servers
}

func loadRecorded(t *testing.T) recorded {
	t.Helper()
	var r recorded
	if err := json.Unmarshal([]byte(rig.ReadFile(t, filepath.Join("testdata", "recorded.json"))), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Browsers) != 25 || len(r.Hosts) != 8 {
		t.Fatalf("%d browsers and %d hosts are recorded, want 25 and 8", len(r.Browsers), len(r.Hosts))
	}
	return r
}

// recordedServer is the address in recorded messages about one server.
var recordedServer = []byte{192, 0, 2, 10, 0x19, 0x64}

// aimAt puts another address into a recorded message.
func aimAt(msg []byte, a netip.AddrPort) []byte {
	ip := a.Addr().As4()
	return bytes.Replace(msg, recordedServer, append(ip[:], byte(a.Port()>>8), byte(a.Port())), 1)
}

func TestRecordedBrowsersAreAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rig.Cli(t, rig.TestEnv(dir), "game", "room", "add", rig.TestGame, "The lobby", "--id", "4711")
	d := rig.Start(t, dir, rig.Variable("serverbrowse.rate", "1000"), rig.Variable("serverbrowse.burst", "1000"))
	arena := rig.Register(t, d, "hostname", "Arena", "gametype", "arena", "numplayers", "4", "maxplayers", "8", "hostport", "25000")
	empty := rig.Register(t, d, "hostname", "Empty", "gametype", "arena", "numplayers", "0", "maxplayers", "8", "hostport", "25001")
	ctf := rig.NewHost(t, d.Address["qr2"], "hostname", "Flags", "gametype", "ctf", "numplayers", "2", "maxplayers", "8", "hostport", "25002")
	ctf.OwnPlayers = []string{"Joe", "Jane"}
	ctf.MustRegister()
	all := []*rig.Host{arena, empty, ctf}
	want := map[string][]*rig.Host{ // requests that do not list every host
		"filt": {arena}, "push": {arena, ctf}, "error": {}, "error2": {}, "error3": {},
	}
	for name, rec := range loadRecorded(t).Browsers {
		messages := make([][]byte, len(rec.Messages))
		for i, m := range rec.Messages {
			messages[i] = aimAt(m, ctf.Address())
		}
		for how, segments := range map[string][][]byte{
			"message by message": messages,
			"in one segment":     {bytes.Join(messages, nil)},
			"byte by byte":       slices.Collect(slices.Chunk(bytes.Join(messages, nil), 1)),
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				relayed := len(ctf.Messages)
				ctf.T = t
				b := rig.Browse(t, d)
				defer func() { _ = b.Conn.Close() }()
				b.MustSetChallenge(rec.Challenge)
				for _, s := range segments {
					b.Write(s)
				}
				r := b.MustReply(rec.Options)
				client := netip.MustParseAddr("127.0.0.1")
				if rec.Options&serverbrowse.AlternateIP != 0 {
					client = netip.MustParseAddr("10.1.2.3")
				}
				if r.Error != "" || r.Client != client || r.Port != 6500 {
					t.Errorf("reply for %v with port %d and error %q, want %v and 6500", r.Client, r.Port, r.Error, client)
				}
				hosts, some := want[name]
				if !some {
					hosts = all
				}
				checkRecordedReply(t, r, rec.Options, rec.Fields, hosts)
				switch name {
				case "aux", "auxsrv":
					if p := b.MustNext(); p.Kind != serverbrowse.PushServer || p.Entry.Public != ctf.Address() || len(p.Entry.Rules) == 0 {
						t.Errorf("answer to the question for a server: %+v, want the rules of %v", p, ctf.Address())
					}
				case "msg", "cookie":
					ctf.Expect(qr2.KindMessage)
					msg := messages[1]
					if got := ctf.Messages[relayed]; !bytes.Equal(got, msg[9:]) {
						t.Errorf("the host got %x, want %x", got, msg[9:])
					}
				case "psearch":
					if p := b.MustNext(); p.Kind != serverbrowse.PushPlayers || !p.Final {
						t.Errorf("answer to a player search: %+v", p)
					}
				}
			})
		}
	}
	d.Stop()
}

func checkRecordedReply(t *testing.T, r serverbrowse.Reply, o serverbrowse.Option, fields string, want []*rig.Host) {
	t.Helper()
	switch {
	case o&serverbrowse.NoServerList != 0:
		if len(r.Keys)+len(r.Entries) > 0 {
			t.Errorf("a list with %d servers came, none was asked for", len(r.Entries))
		}
		return
	case o&serverbrowse.SendGroups != 0:
		if !slices.ContainsFunc(r.Entries, func(e serverbrowse.Entry) bool { return slices.Contains(e.Values, "The lobby") }) {
			t.Errorf("rooms %+v, want the lobby", r.Entries)
		}
		return
	}
	var keys []string
	for _, k := range r.Keys {
		keys = append(keys, k.Name)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimPrefix(fields, `\`), `\`), keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	rules := func(h *rig.Host, name string) string {
		for pair := range slices.Chunk(h.OwnRules, 2) {
			if pair[0] == name {
				return pair[1]
			}
		}
		return ""
	}
	wanted := make(map[string]map[string]string)
	for _, h := range want {
		row := make(map[string]string)
		for _, k := range keys {
			row[k] = rules(h, k)
		}
		wanted[h.Address().String()] = row
	}
	if diff := cmp.Diff(wanted, rig.RowsOf(r)); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestRecordedHostsAreListed(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	all := loadRecorded(t).Hosts
	for _, name := range slices.Sorted(maps.Keys(all)) {
		packets := all[name]
		t.Run(name, func(t *testing.T) {
			h := rig.NewHost(t, d.Address["qr2"])
			h.Instance = keyOf(packets[0])
			h.Raw(packets[0])
			if name == "available_0" {
				if kind, _ := h.Read(); kind != qr2.KindAvailable {
					t.Errorf("answer of kind %d, want %d", kind, qr2.KindAvailable)
				}
				return
			}
			h.MustProve()
			row := rig.List(t, d, "", `\hostname\mapname\gravity`)[h.Address().String()]
			if diff := cmp.Diff(map[string]string{"hostname": "Test Server", "mapname": "gmtmap1", "gravity": "800"}, row); diff != "" {
				t.Errorf("listed (-want +got):\n%s", diff)
			}
			last := len(packets) - 1
			for _, p := range packets[1:last] {
				h.Raw(p)
				switch {
				case qr2.Kind(p[0]) == qr2.KindKeepalive:
					h.Expect(qr2.KindKeepalive)
				case bytes.Contains(p, []byte("statechanged\x003\x00")): // it has not heard us: once more
					h.MustProve()
				}
			}
			h.MustSend(qr2.KindKeepalive, nil)
			h.Expect(qr2.KindKeepalive)
			if rig.List(t, d, "", `\hostname`)[h.Address().String()] == nil {
				t.Error("it is not listed after all its packets but the last")
			}
			n := d.Log.Len()
			h.Raw(packets[last])
			d.WaitFor("the farewell", n, rig.VerdictOn(h.Address(), "left"))
		})
	}
	rig.WantListed(t, d)
	d.Stop()
}

func keyOf(p []byte) uint32 {
	return uint32(p[1])<<24 | uint32(p[2])<<16 | uint32(p[3])<<8 | uint32(p[4])
}
