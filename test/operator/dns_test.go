package operator

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/test/rig"
)

func TestDNSAnswersTheNamesOfServices(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("games.domains", "gamespy.com,games.example.net"))
	for name, want := range map[string]string{
		"gmtest.master.gamespy.com": "127.0.0.1", "gmtest.ms8.games.example.net": "127.0.0.1", "natneg2.gamespy.com": "127.0.0.1",
		"master.zandronum.com": "127.0.0.1", "natneg1.hosthpc.com": "127.0.0.1", "mariokartwii.available.gs.nintendowifi.net": "127.0.0.1",
		"peerchat.gamespy.com": "127.0.0.1", "peerchat.games.example.net": "127.0.0.1",
		"www.fileplanet.com":   "REFUSED",   // no game needs it
		"nas.nintendowifi.net": "127.0.0.1", // webservices answers there
		"www.example.net":      "REFUSED", "example.org": "REFUSED",
	} {
		for _, network := range []string{"udp4", "tcp4"} {
			if got := rig.LookUp(t, d.Address["dns"], network, name); got != want {
				t.Errorf("%s over %s: %s, want %s", name, network, got, want)
			}
		}
	}
	if got := rig.Metric(t, d, `respawnd_dns_answers_total{result="own"}`); got != "18" {
		t.Errorf("%s answers counted, want 18", got)
	}
	d.Stop()
}

func TestDNSWithoutZandronum(t *testing.T) {
	t.Parallel()
	d := rig.StartWithout(t, rig.TestEnv(t.TempDir(), rig.Variable("zanmaster.listen", "")))
	if got := rig.LookUp(t, d.Address["dns"], "udp4", "master.zandronum.com"); got != "REFUSED" {
		t.Errorf("master.zandronum.com: %s, want REFUSED", got)
	}
	d.Stop()
}

// A name under a domain of ours leads here whether the chat is on or off: nothing else
// answers there. Pages tell players to redirect it only while it is on.
func TestHostNamesOfChat(t *testing.T) {
	t.Parallel()
	const name = "peerchat.gamespy.com"
	for listen, redirected := range map[string]bool{"": false, "127.0.0.1:0": true} {
		d := rig.StartWithout(t, rig.TestEnv(t.TempDir(), rig.Variable("peerchat.listen", listen)))
		if got := rig.LookUp(t, d.Address["dns"], "udp4", name); got != "127.0.0.1" {
			t.Errorf("peerchat.listen %q: %s is %s, want 127.0.0.1", listen, name, got)
		}
		_, hosts := rig.Get(t, d, "web", "GET", "/games/"+rig.TestGame+"/hosts.txt?ip=192.0.2.1", "")
		if got := strings.Contains(hosts, "192.0.2.1 "+name); got != redirected {
			t.Errorf("peerchat.listen %q: redirected by the page: %v, want %v\n%s", listen, got, redirected, hosts)
		}
		d.Stop()
	}
}

// nameServer answers every question with an address.
type nameServer struct{ address string }

func (s nameServer) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	m := new(dns.Msg)
	if m.Unpack(p.Data) != nil {
		return
	}
	a := new(dns.Msg).SetReply(m)
	a.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: m.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.ParseIP(s.address)}}
	if b, err := a.Pack(); err == nil {
		_ = w.WritePacket(b, p.To, p.From)
	}
}

func TestDNSAsksUpstreamsForOtherNames(t *testing.T) {
	t.Parallel()
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		_ = netserve.ServePackets(t.Context(), conn, nameServer{"192.0.2.80"}, netserve.PacketOptions{})
	})
	t.Cleanup(func() { _ = conn.Close(); serving.Wait() })
	d := rig.Start(t, t.TempDir(), rig.Variable("dns.upstreams", conn.LocalAddr().String()))
	for name, want := range map[string]string{"example.org": "192.0.2.80", "gpcm.gamespy.com": "127.0.0.1"} {
		for _, network := range []string{"udp4", "tcp4"} {
			if got := rig.LookUp(t, d.Address["dns"], network, name); got != want {
				t.Errorf("%s over %s: %s, want %s", name, network, got, want)
			}
		}
	}
	d.Stop()
}

func TestDNSThatWouldAskItselfIsRefused(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir(), rig.Variable("dns.listen", ":5353"), rig.Variable("dns.upstreams", "127.0.0.1:5353"))
	rig.WantOne(t, rig.StartRefused(t, env), "dns.upstreams", "127.0.0.1:5353", "itself")
	rig.Refused(t, commands.ExitFailure, env, []string{"check"}, "dns.upstreams", "itself")
}

func TestTakenDNSPortIsExplained(t *testing.T) {
	t.Parallel()
	for network, open := range map[string]func() (string, func()){
		"udp4": func() (string, func()) {
			c, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			return c.LocalAddr().String(), func() { _ = c.Close() }
		},
		"tcp4": func() (string, func()) {
			ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			return ln.Addr().String(), func() { _ = ln.Close() }
		},
	} {
		address, stop := open()
		texts := rig.StartRefused(t, rig.TestEnv(t.TempDir(), rig.Variable("dns.listen", address)))
		stop()
		rig.WantOne(t, texts, "dns.listen", address, "Another program has this port")
		if len(texts) != 1 {
			t.Errorf("%s: %d errors, want 1: %q", network, len(texts), texts)
		}
	}
}
