package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/hostnet"
)

func guestCards(list ...string) (out []hostnet.Address) {
	for i := 0; i < len(list); i += 2 {
		out = append(out, hostnet.Address{Interface: list[i], Prefix: netip.MustParsePrefix(list[i+1])})
	}
	return out
}

func TestAdviceForGuests(t *testing.T) {
	one := guestCards("Ethernet", "192.168.1.5/24")
	all53, all8080 := netip.MustParseAddrPort("0.0.0.0:53"), netip.MustParseAddrPort("0.0.0.0:8080")
	for name, tc := range map[string]struct {
		g           guests
		has, hasNot []string
	}{
		"DNS and page": {
			guests{cards: one, dns: all53, web: all8080},
			[]string{"at 192.168.1.5 (Ethernet)", "DNS server to 192.168.1.5,", "respawnd hosts --game GAME --ip 192.168.1.5", "http://192.168.1.5:8080/", "firewall"},
			[]string{"another network", "of no use"},
		},
		"several cards, the likely one first": {
			guests{cards: guestCards("Wi-Fi", "10.0.0.7/24", "tun0", "10.8.0.2/24"), dns: all53, web: all8080},
			[]string{"at 10.0.0.7 (Wi-Fi)\n      or, on another network, at 10.8.0.2 (tun0)", "DNS server to 10.0.0.7", "http://10.0.0.7:8080/"},
			[]string{"DNS server to 10.8.0.2"},
		},
		"no DNS": {guests{cards: one, web: all8080}, []string{"hosts file of every PC", "\n      respawnd hosts --game GAME --ip 192.168.1.5\n"}, []string{"DNS"}},
		"DNS on another port": {
			guests{cards: one, dns: netip.MustParseAddrPort("0.0.0.0:5353"), web: all8080}, []string{"hosts file of every", "of no use to them on port 5353"}, []string{"either set"},
		},
		"DNS on another card": {
			guests{cards: one, dns: netip.MustParseAddrPort("10.8.0.2:53"), web: all8080}, []string{"hosts file of every"}, []string{"either set"},
		},
		"page on port 80":         {guests{cards: one, web: netip.MustParseAddrPort("0.0.0.0:80")}, []string{"http://192.168.1.5/\n"}, nil},
		"page for this PC alone":  {guests{cards: one, web: netip.MustParseAddrPort("127.0.0.1:8080")}, nil, []string{"http://"}},
		"page with a public name": {guests{cards: one, web: all8080, page: "https://lan.example.org"}, []string{"https://lan.example.org/\n"}, []string{":8080"}},
		"no page":                 {guests{cards: one}, nil, []string{"page"}},
		"no network":              {guests{dns: all53, web: all8080}, []string{"no network found"}, []string{"http://", "\n"}},
		"card with a wild name":   {guests{cards: guestCards("Eth\x1b[31m", "192.168.1.5/24")}, []string{"(Eth?[31m)"}, []string{"\x1b"}},
	} {
		got := tc.g.text()
		for _, part := range tc.has {
			if !strings.Contains(got, part) {
				t.Errorf("%s: no %q in\n%s", name, part, got)
			}
		}
		for _, part := range tc.hasNot {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q in\n%s", name, part, got)
			}
		}
		for line := range strings.Lines(got) {
			if len(line) > 100 {
				t.Errorf("%s: a line of %d characters: %s", name, len(line), line)
			}
		}
	}
}
