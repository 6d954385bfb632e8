package main

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
)

func TestHostRegistersAndIsListed(t *testing.T) {
	quick(t)
	t.Parallel()
	d := start(t, t.TempDir())
	a := register(t, d, "hostname", "First", "numplayers", "3", "maxplayers", "8", "mapname", "harbour")
	b := register(t, d, "hostname", "Second", "numplayers", "0", "maxplayers", "8", "mapname", "depot")
	tests := map[string]struct {
		filter, fields string
		want           map[string]map[string]string
	}{
		"all": {"", `\hostname\numplayers`, map[string]map[string]string{
			a.address().String(): {"hostname": "First", "numplayers": "3"},
			b.address().String(): {"hostname": "Second", "numplayers": "0"},
		}},
		"filter": {"numplayers > 0 and mapname like 'har%'", `\mapname`, map[string]map[string]string{
			a.address().String(): {"mapname": "harbour"},
		}},
		"unknown": {"numplayers > 5", `\mapname`, map[string]map[string]string{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, list(t, d, tc.filter, tc.fields)); diff != "" {
				t.Errorf("list with filter %q (-want +got):\n%s", tc.filter, diff)
			}
		})
	}
	b.heartbeat("2")
	d.waitFor("the farewell", 0, verdictOn(b.address(), "left"))
	wantListed(t, d, a)
	d.stop()
}

func TestWrongSecretIsNotListed(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := newHost(t, d.address["qr2"], "hostname", "Impostor")
	h.heartbeat("3")
	challenge, _, _ := gamespy.CutString(h.expect(qr2.KindChallenge))
	h.send(qr2.KindChallenge, append([]byte(gamespy.Response("wrong1", string(challenge))), 0))
	d.waitFor("the wrong response", 0, verdictOn(h.address(), "wrong"))
	wantListed(t, d)
	d.stop()
}

func TestFullInfoHasRulesAndPlayers(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := newHost(t, d.address["qr2"], "hostname", "Full", "gravity", "800")
	h.players = []string{"Ann", "Bob"}
	h.register()
	b := browse(t, d)
	b.ask(serverbrowse.NoServerList, "", "")
	b.write(serverbrowse.AppendInfoRequest(nil, h.address()))
	p := b.next()
	if p.Kind != serverbrowse.PushServer || p.Entry.Public != h.address() {
		t.Fatalf("answer to an info request: kind %d about %v, want kind %d about %v", p.Kind, p.Entry.Public, serverbrowse.PushServer, h.address())
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
	d.stop()
}

func TestPushTellsOfEveryChange(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	b := browse(t, d)
	if r := b.ask(serverbrowse.PushUpdates, "", `\hostname\numplayers`); len(r.Entries) != 0 {
		t.Fatalf("the list starts with %d servers, want none", len(r.Entries))
	}
	h := register(t, d, "hostname", "Pushed", "numplayers", "1")
	p := b.nextOf(serverbrowse.PushServer)
	if diff := cmp.Diff([]string{"Pushed", "1"}, p.Entry.Values); p.Entry.Public != h.address() || diff != "" {
		t.Errorf("first update is about %v, want %v; values (-want +got):\n%s", p.Entry.Public, h.address(), diff)
	}
	h.rules = []string{"hostname", "Pushed", "numplayers", "2"}
	h.heartbeat("1")
	if p = b.nextOf(serverbrowse.PushServer); len(p.Entry.Values) != 2 || p.Entry.Values[1] != "2" {
		t.Errorf("second update has values %q, want 2 players", p.Entry.Values)
	}
	h.heartbeat("2")
	if p = b.nextOf(serverbrowse.PushDelete); p.Address != h.address() {
		t.Errorf("the list took %v away, want %v", p.Address, h.address())
	}
	d.stop()
}

func TestCookieReachesTheHost(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := register(t, d, "hostname", "Behind a router")
	b := browse(t, d)
	b.ask(serverbrowse.NoServerList, "", "")
	cookie := "\xFD\xFC\x1E\x66\x6A\xB2\x12\x34\x56\x78"
	msg, err := serverbrowse.AppendMessage(nil, h.address(), []byte(cookie))
	if err != nil {
		t.Fatal(err)
	}
	b.write(msg)
	h.expect(qr2.KindMessage)
	if got := string(h.messages[0]); got != cookie {
		t.Errorf("the host got %x, want %x", got, cookie)
	}
	// The receipt was sent before this keepalive, from the same socket.
	h.send(qr2.KindKeepalive, nil)
	h.expect(qr2.KindKeepalive)
	if got := metric(t, d, `respawnd_qr2_messages_total{result="delivered"}`); got != "1" {
		t.Errorf("delivered messages: %s, want 1", got)
	}
	d.stop()
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
		"one address":   {false, "perhaps reachable", "negotiated", serverbrowse.FlagNATNeg},
		"two addresses": {true, "reachable", "direct", serverbrowse.FlagReachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{variable("qr2.probe", "true")}
			if tt.far {
				extra := netip.AddrPortFrom(quietLoopback(t), uint16(20000+rand.IntN(10000)))
				env = append(env, variable("natneg.extra_listen", extra.String()))
			}
			d := start(t, t.TempDir(), env...)
			h := register(t, d, "hostname", "Open")
			h.expect(qr2.KindQuery)
			if tt.far {
				h.expect(qr2.KindQuery)
			}
			d.waitFor("the probe's finding", 0, verdictOn(h.address(), tt.verdict))
			r := browse(t, d).ask(0, "", `\hostname`)
			const ways = serverbrowse.FlagReachable | serverbrowse.FlagNATNeg
			if len(r.Entries) != 1 || r.Entries[0].Flags&ways != tt.flag {
				t.Errorf("list %+v, want one server with the flag %#x", r.Entries, tt.flag)
			}
			if out := d.cli("server", "list"); !strings.Contains(out, tt.word) {
				t.Errorf("server list does not say %q:\n%s", tt.word, out)
			}
			d.stop()
		})
	}
}

func TestOpenSessionsDoNotHoldUpTheStop(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	idle, pushed, half := browse(t, d), browse(t, d), browse(t, d)
	idle.ask(serverbrowse.NoServerList, "", "")
	pushed.ask(serverbrowse.PushUpdates, "", `\hostname`)
	half.write([]byte{0, 99, 0, 1})
	d.stop()
	for _, b := range []*browser{idle, pushed, half} {
		b.wantClosed()
	}
}

func TestServiceWithoutAddressIsOff(t *testing.T) {
	t.Parallel()
	d := startWithout(t, testEnv(t.TempDir(), variable("web.listen", ""), variable("qr2.listen", "")))
	if len(d.address) != len(listening())-2+1 || // and the socket of the prober
		d.address["web"].IsValid() || d.address["qr2"].IsValid() {
		t.Errorf("services %v, want all but web and qr2", d.address)
	}
	d.stop()
}

func texts(list []any) []string {
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func TestUnknownVariableIsAWarning(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("no.such_key", "1"))
	e := d.waitFor("the warning", 0, func(e entry) bool { return e.text("level") == "warn" && e.text("warning") != "" })
	if !strings.Contains(e.text("warning"), "NO_SUCH_KEY") {
		t.Errorf("warning %q, want the variable's name", e.text("warning"))
	}
	d.stop()
}

func TestAvailabilityIsAnswered(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := newHost(t, d.address["qr2"])
	h.Instance = 0
	h.raw(append([]byte{byte(qr2.KindAvailable), 0, 0, 0, 0}, testGame+"\x00"...))
	if kind, _ := h.read(); kind != qr2.KindAvailable {
		t.Errorf("answer to the availability check has kind %d, want %d", kind, qr2.KindAvailable)
	}
	d.stop()
}
