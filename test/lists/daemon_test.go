package lists

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

func TestHostRegistersAndIsListed(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	a := rig.Register(t, d, "hostname", "First", "numplayers", "3", "maxplayers", "8", "mapname", "harbour")
	b := rig.Register(t, d, "hostname", "Second", "numplayers", "0", "maxplayers", "8", "mapname", "depot")
	tests := map[string]struct {
		filter, fields string
		want           map[string]map[string]string
	}{
		"all": {"", `\hostname\numplayers`, map[string]map[string]string{
			a.Address().String(): {"hostname": "First", "numplayers": "3"},
			b.Address().String(): {"hostname": "Second", "numplayers": "0"},
		}},
		"filter": {"numplayers > 0 and mapname like 'har%'", `\mapname`, map[string]map[string]string{
			a.Address().String(): {"mapname": "harbour"},
		}},
		"unknown": {"numplayers > 5", `\mapname`, map[string]map[string]string{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, rig.List(t, d, tc.filter, tc.fields)); diff != "" {
				t.Errorf("list with filter %q (-want +got):\n%s", tc.filter, diff)
			}
		})
	}
	b.MustHeartbeat("2")
	d.WaitFor("the farewell", 0, rig.VerdictOn(b.Address(), "left"))
	rig.WantListed(t, d, a)
	d.Stop()
}

func TestWrongSecretIsNotListed(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.NewHost(t, d.Address["qr2"], "hostname", "Impostor")
	h.MustHeartbeat("3")
	challenge, _, _ := gamespy.CutString(h.Expect(qr2.KindChallenge))
	h.MustSend(qr2.KindChallenge, append([]byte(gamespy.Response("wrong1", string(challenge))), 0))
	d.WaitFor("the wrong response", 0, rig.VerdictOn(h.Address(), "wrong"))
	rig.WantListed(t, d)
	d.Stop()
}

func TestFullInfoHasRulesAndPlayers(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.NewHost(t, d.Address["qr2"], "hostname", "Full", "gravity", "800")
	h.OwnPlayers = []string{"Ann", "Bob"}
	h.MustRegister()
	b := rig.Browse(t, d)
	b.MustAsk(serverbrowse.NoServerList, "", "")
	b.Write(serverbrowse.AppendInfoRequest(nil, h.Address()))
	p := b.MustNext()
	if p.Kind != serverbrowse.PushServer || p.Entry.Public != h.Address() {
		t.Fatalf("answer to an info request: kind %d about %v, want kind %d about %v", p.Kind, p.Entry.Public, serverbrowse.PushServer, h.Address())
	}
	got := make(map[string]string)
	for _, r := range p.Entry.Rules {
		got[r.Name] = r.Value
	}
	for name, want := range map[string]string{"hostname": "Full", "gravity": "800", "player_0": "Ann", "player_1": "Bob", "score_1": "7"} {
		if got[name] != want {
			t.Errorf("rule %s = %q, want %q", name, got[name], want)
		}
	}
	d.Stop()
}

func TestPushTellsOfEveryChange(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	b := rig.Browse(t, d)
	if r := b.MustAsk(serverbrowse.PushUpdates, "", `\hostname\numplayers`); len(r.Entries) != 0 {
		t.Fatalf("the list starts with %d servers, want none", len(r.Entries))
	}
	h := rig.Register(t, d, "hostname", "Pushed", "numplayers", "1")
	p := b.MustNextOf(serverbrowse.PushServer)
	if diff := cmp.Diff([]string{"Pushed", "1"}, p.Entry.Values); p.Entry.Public != h.Address() || diff != "" {
		t.Errorf("first update is about %v, want %v; values (-want +got):\n%s", p.Entry.Public, h.Address(), diff)
	}
	h.OwnRules = []string{"hostname", "Pushed", "numplayers", "2"}
	h.MustHeartbeat("1")
	if p = b.MustNextOf(serverbrowse.PushServer); len(p.Entry.Values) != 2 || p.Entry.Values[1] != "2" {
		t.Errorf("second update has values %q, want 2 players", p.Entry.Values)
	}
	h.MustHeartbeat("2")
	if p = b.MustNextOf(serverbrowse.PushDelete); p.Address != h.Address() {
		t.Errorf("the list took %v away, want %v", p.Address, h.Address())
	}
	d.Stop()
}

func TestCookieReachesTheHost(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.Register(t, d, "hostname", "Behind a router")
	b := rig.Browse(t, d)
	b.MustAsk(serverbrowse.NoServerList, "", "")
	cookie := "\xFD\xFC\x1E\x66\x6A\xB2\x12\x34\x56\x78"
	msg, err := serverbrowse.AppendMessage(nil, h.Address(), []byte(cookie))
	if err != nil {
		t.Fatal(err)
	}
	b.Write(msg)
	h.Expect(qr2.KindMessage)
	if got := string(h.Messages[0]); got != cookie {
		t.Errorf("the host got %x, want %x", got, cookie)
	}
	// The receipt was sent before this keepalive, from the same socket.
	h.MustSend(qr2.KindKeepalive, nil)
	h.Expect(qr2.KindKeepalive)
	if got := rig.Metric(t, d, `respawnd_qr2_messages_total{result="delivered"}`); got != "1" {
		t.Errorf("delivered messages: %s, want 1", got)
	}
	d.Stop()
}

// A host with NAT negotiation that answers the master's own address at another port
// may be behind a filter that lets in this address alone.
func TestHostThatAnswersTheProbeIsReachable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		far           bool
		verdict, word string
		flag          serverbrowse.Flag
	}{
		"one address":   {false, "probably direct", "negotiated", serverbrowse.FlagNATNeg},
		"two addresses": {true, "reachable", "direct", serverbrowse.FlagReachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{rig.Variable("qr2.probe", "true")}
			if tt.far {
				extra := netip.AddrPortFrom(rig.QuietLoopback(t), uint16(20000+rand.IntN(10000)))
				env = append(env, rig.Variable("natneg.extra_listen", extra.String()))
			}
			d := rig.Start(t, t.TempDir(), env...)
			h := rig.Register(t, d, "hostname", "Open")
			h.Expect(qr2.KindQuery)
			if tt.far {
				h.Expect(qr2.KindQuery)
			}
			d.WaitFor("the probe's finding", 0, rig.VerdictOn(h.Address(), tt.verdict))
			r := rig.Browse(t, d).MustAsk(0, "", `\hostname`)
			const ways = serverbrowse.FlagReachable | serverbrowse.FlagNATNeg
			if len(r.Entries) != 1 || r.Entries[0].Flags&ways != tt.flag {
				t.Errorf("list %+v, want one server with the flag %#x", r.Entries, tt.flag)
			}
			if out := d.Cli("server", "list"); !strings.Contains(out, tt.word) {
				t.Errorf("server list does not say %q:\n%s", tt.word, out)
			}
			d.Stop()
		})
	}
}

func TestOpenSessionsDoNotHoldUpTheStop(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	idle, pushed, half := rig.Browse(t, d), rig.Browse(t, d), rig.Browse(t, d)
	idle.MustAsk(serverbrowse.NoServerList, "", "")
	pushed.MustAsk(serverbrowse.PushUpdates, "", `\hostname`)
	half.Write([]byte{0, 99, 0, 1})
	d.Stop()
	for _, b := range []*rig.Browser{idle, pushed, half} {
		b.WantClosed()
	}
}

func TestServiceWithoutAddressIsOff(t *testing.T) {
	t.Parallel()
	d := rig.StartWithout(t, rig.TestEnv(t.TempDir(), rig.Variable("web.listen", ""), rig.Variable("qr2.listen", "")))
	if len(d.Address) != len(rig.Listening())-2+1 || // and the socket of the prober
		d.Address["web"].IsValid() || d.Address["qr2"].IsValid() {
		t.Errorf("services %v, want all but web and qr2", d.Address)
	}
	d.Stop()
}

func TestUnknownVariableIsAWarning(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("no.such_key", "1"))
	e := d.WaitFor("the warning", 0, func(e rig.Entry) bool { return e.Text("level") == "warn" && e.Text("warning") != "" })
	if !strings.Contains(e.Text("warning"), "NO_SUCH_KEY") {
		t.Errorf("warning %q, want the variable's name", e.Text("warning"))
	}
	d.Stop()
}

func TestAvailabilityIsAnswered(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.NewHost(t, d.Address["qr2"])
	h.Instance = 0
	h.Raw(append([]byte{byte(qr2.KindAvailable), 0, 0, 0, 0}, rig.TestGame+"\x00"...))
	if kind, _ := h.Read(); kind != qr2.KindAvailable {
		t.Errorf("answer to the availability check has kind %d, want %d", kind, qr2.KindAvailable)
	}
	d.Stop()
}
