package dnsserver

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

func TestMayBeLocal(t *testing.T) {
	allowed := []string{"lan", "home.arpa", "fritz.box"}
	for name, want := range map[string]bool{
		"nas.":                       true,
		".":                          true,
		"nas.lan.":                   true,
		"a.b.NAS.LAN.":               true,
		"lan.":                       true,
		"fritz.box.":                 true,
		"nas.fritz.box.":             true,
		"1.0.168.192.in-addr.arpa.":  true,
		"8.b.d.0.1.0.0.2.ip6.arpa.":  true,
		"example.com.":               false,
		"lan.example.com.":           false,
		"evillan.":                   true, // no dot
		"my.evillan.":                false,
		"evilfritz.box.":             false,
		"box.":                       true,
		"nas.box.":                   false,
		`nas\.lan.`:                  true, // one label: no dot between labels
		`evil.nas\.lan.`:             false,
		"arpa.example.in-addr.arpb.": false,
	} {
		if got := mayBeLocal(name, allowed); got != want {
			t.Errorf("mayBeLocal(%s) = %v, want %v", name, got, want)
		}
	}
}

func TestLocal(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.255.0.9": true, "10.0.0.1": true, "172.16.0.1": true, "172.31.255.255": true, "192.168.1.1": true,
		"169.254.1.1": true, "0.0.0.0": true, "::1": true, "::": true, "fe80::1": true, "fd00::1": true,
		"::ffff:192.168.1.1": true, "64:ff9b::192.168.1.1": true, "64:ff9b::7f00:1": true,
		"172.32.0.1": false, "11.0.0.1": false, "192.0.2.1": false, "2001:db8::1": false, "64:ff9b::192.0.2.1": false, "::ffff:192.0.2.1": false,
	} {
		if got := local(netip.MustParseAddr(address)); got != want {
			t.Errorf("local(%s) = %v, want %v", address, got, want)
		}
	}
}

// records returns an answer with one record per line, in the master file format.
func records(t *testing.T, m *dns.Msg, lines ...string) *dns.Msg {
	t.Helper()
	a := new(dns.Msg).SetReply(m)
	for _, line := range lines {
		r, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		a.Answer = append(a.Answer, r)
	}
	return a
}

// Answers for outside names are relayed without addresses of this network.
func TestRebinding(t *testing.T) {
	up := upstream(t, func(_ string, m *dns.Msg) [][]byte {
		name := m.Question[0].Name
		return [][]byte{pack(t, records(t, m,
			name+" 60 IN CNAME nas.lan.",
			"nas.lan. 60 IN A 192.168.1.7",
			"nas.lan. 60 IN A 127.0.0.1",
			"nas.lan. 60 IN AAAA fd00::7",
			"nas.lan. 60 IN A 192.0.2.80",
			"nas.lan. 60 IN HTTPS 1 . ipv4hint=192.168.1.7",
			"nas.lan. 60 IN HTTPS 1 . ipv4hint=192.0.2.80"))}
	})
	r := start(t, func(o *Options) {
		forwarding(up)(o)
		o.AllowPrivate = []string{"lan"}
	})
	texts := func(m *dns.Msg) string {
		var all []string
		for _, rr := range m.Answer {
			all = append(all, strings.ReplaceAll(strings.TrimPrefix(rr.String(), rr.Header().Name), "\t", " "))
		}
		return strings.Join(all, ";")
	}
	const public = ` 60 IN CNAME nas.lan.; 60 IN A 192.0.2.80; 60 IN HTTPS 1 . ipv4hint="192.0.2.80"`
	for i, m := range []*dns.Msg{r.overUDP(t, about("evil.example.org", dns.TypeA)), overTCP(t, r, about("evil.example.org", dns.TypeAAAA))} {
		if got := texts(m); got != public || m.Rcode != dns.RcodeSuccess {
			t.Errorf("answer %d for a name of the outside: %s, want %s", i, got, public)
		}
	}
	if n := r.counted(t, "respawnd_dns_forwards_total", "private"); n != 2 {
		t.Errorf("%d answers counted as private, want 2", n)
	}
	for _, name := range []string{"nas2.lan", "nas2", "7.1.168.192.in-addr.arpa"} {
		if m := r.overUDP(t, about(name, dns.TypeA)); len(m.Answer) != 7 {
			t.Errorf("%s: %s, want the whole answer", name, texts(m))
		}
	}
	r.Reload(&Config{AllowPrivate: []string{"example.org"}})
	if m := r.overUDP(t, about("evil.example.org", dns.TypeA)); len(m.Answer) != 7 {
		t.Errorf("after dns.allow_private was changed: %s, want the whole answer", texts(m))
	}
}
