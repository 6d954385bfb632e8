package games

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestServerIndexMatchesClients(t *testing.T) {
	data, err := os.ReadFile("testdata/ms_index.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != 21 {
		t.Fatalf("%d known indexes, want 21", len(want))
	}
	for name, n := range map[string]int{
		"gslive": 18, "ut": 5, "quake3": 14, "thps4ps2": 4, "ut3pc": 3, "nfshp2": 5, "sniperelpc": 17, "hl2": 14, "GMTest": 8, "": 0,
	} {
		want[name] = "ms" + strconv.Itoa(n)
	}
	for name, ms := range want {
		if got := "ms" + strconv.Itoa(serverIndex(name)); got != ms {
			t.Errorf("serverIndex(%q) is %s, want %s", name, got, ms)
		}
	}
}

func TestHostNamesOfAGame(t *testing.T) {
	names, err := Game{Name: "gmtest"}.HostNames("GameSpy.com")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range names {
		got = append(got, n.Name)
	}
	want := strings.Fields(`
		gmtest.available.gamespy.com gmtest.master.gamespy.com master.gamespy.com master0.gamespy.com gmtest.ms8.gamespy.com
		gmtest.natneg1.gamespy.com gmtest.natneg2.gamespy.com gmtest.natneg3.gamespy.com
		natneg1.gamespy.com natneg2.gamespy.com natneg3.gamespy.com
		gpcm.gamespy.com gpsp.gamespy.com key.gamespy.com gmtest.gamestats.gamespy.com gamestats.gamespy.com
		peerchat.gamespy.com motd.gamespy.com
		gmtest.auth.pubsvs.gamespy.com gmtest.sake.gamespy.com gmtest.comp.pubsvs.gamespy.com
		gmtest.api.gamespy.com gmtest.api.gamespy.net`)
	if !slices.Equal(got, want) {
		t.Errorf("HostNames(gmtest, gamespy.com) =\n%v, want\n%v", got, want)
	}
}

// leading returns which names lead here while some services run.
func leading(served func(Service) Served) func(HostName) bool {
	return func(n HostName) bool { return n.LeadsHere(served) }
}

// TestHostNamesOfAliases checks that the clients of other names of a game find it too.
func TestHostNamesOfAliases(t *testing.T) {
	names, err := Game{Name: "civ4", Facts: Facts{Aliases: []string{"civ4jp"}, Hosts: []Host{{Name: "a.example.org"}}}}.HostNames(DefaultDomain)
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for _, n := range names {
		count[n.Name]++
	}
	for _, name := range []string{
		"civ4.available.gamespy.com", "civ4jp.available.gamespy.com", "civ4jp.master.gamespy.com",
		"civ4jp.ms" + strconv.Itoa(serverIndex("civ4jp")) + ".gamespy.com", "civ4jp.natneg1.gamespy.com", "gpcm.gamespy.com", "a.example.org",
	} {
		if count[name] != 1 {
			t.Errorf("%s: %d times among the names, want once", name, count[name])
		}
	}
}

func TestHostNamesOfOtherDomains(t *testing.T) {
	tests := map[string]struct{ game, domain, want string }{
		"replaced domain":               {"gmtest", "openspy.net", "gmtest.ms8.openspy.net"},
		"key server of that domain":     {"gmtest", "openspy.net", "key.openspy.net"},
		"key server fixed in the SDK":   {"gmtest", "openspy.net", "key.gamespy.com"},
		"Nintendo list":                 {"mariokartwii", NintendoDomain, "mariokartwii.ms19.gs.nintendowifi.net"},
		"Nintendo list, shorter domain": {"mariokartwii", NintendoDomain, "mariokartwii.ms19.nintendowifi.net"},
		"Nintendo sign-in":              {"mariokartwii", NintendoDomain, "naswii.nintendowifi.net"},
		"Nintendo NAT negotiation":      {"mariokartwii", NintendoDomain, "natneg3.gs.nintendowifi.net"},
		"Nintendo storage":              {"mariokartwii", NintendoDomain, "secure.sake.gs.nintendowifi.net"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			names, err := Game{Name: tc.game}.HostNames(tc.domain)
			if err != nil || !slices.ContainsFunc(names, func(n HostName) bool { return n.Name == tc.want }) {
				t.Errorf("HostNames(%s, %s) = %v, %v; want %s among them", tc.game, tc.domain, names, err, tc.want)
			}
		})
	}
}

func TestHostNamesAreDistinctAndGrouped(t *testing.T) {
	for _, domain := range []string{DefaultDomain, NintendoDomain, "lan.example"} {
		names, err := Game{Name: "gmtest"}.HostNames(domain)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool)
		done := make(map[Purpose]bool)
		for i, n := range names {
			if seen[n.Name] {
				t.Errorf("%s: %s is there twice", domain, n.Name)
			}
			seen[n.Name] = true
			if i > 0 && names[i-1].For != n.For {
				done[names[i-1].For] = true
			}
			if done[n.For] {
				t.Errorf("%s: %s stands apart from its service", domain, n.Name)
			}
		}
	}
}

func TestHostNamesRefusals(t *testing.T) {
	for _, game := range []string{"", "a b", "a\nb", "a#", "a.b", "-a", strings.Repeat("a", MaxNameLen+1)} {
		if names, err := (Game{Name: game}).HostNames(DefaultDomain); !errors.Is(err, ErrBadName) || names != nil {
			t.Errorf("HostNames(%q) = %v, %v; want ErrBadName", game, names, err)
		}
	}
	for _, domain := range []string{
		"", "localhost", "a..b", ".a.b", "a.b.", "a b.c", "a.b\n1.2.3.4 c", "a_b.c", "-a.b", "a-.b", "é.com", "{g}.com",
		strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 95) + "b",
	} {
		if names, err := (Game{Name: "gmtest"}).HostNames(domain); !errors.Is(err, ErrBadDomain) || names != nil {
			t.Errorf("HostNames(gmtest, %q) = %v, %v; want ErrBadDomain", domain, names, err)
		}
	}
	longest := strings.Repeat("a.", 94) + "bc" // 190 bytes
	names, err := Game{Name: strings.Repeat("a", MaxNameLen)}.HostNames(longest)
	if err != nil {
		t.Fatalf("HostNames with the longest domain: %v", err)
	}
	for _, n := range names {
		if len(n.Name) > 253 {
			t.Errorf("a name of %d bytes: %s", len(n.Name), n.Name)
		}
	}
}

func allRun(Service) Served { return Running }

// onlyThese returns that the named services run and that the others are not built.
func onlyThese(names ...Service) func(Service) Served {
	return func(s Service) Served {
		if slices.Contains(names, s) {
			return Running
		}
		return NotBuilt
	}
}

func writeHosts(t *testing.T, game, ip string, domains ...string) string {
	t.Helper()
	var out strings.Builder
	if err := WriteHosts(&out, Game{Name: game}, netip.MustParseAddr(ip), domains, leading(allRun)); err != nil {
		t.Fatalf("WriteHosts(%s, %s, %v): %v", game, ip, domains, err)
	}
	return out.String()
}

func TestWriteHostsIsAHostsFile(t *testing.T) {
	out := writeHosts(t, "swat4", "192.0.2.7", DefaultDomain, "openspy.net")
	seen := make(map[string]bool)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		ip, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || ip != "192.0.2.7" || strings.ContainsAny(name, " #\t\r") {
			t.Errorf("not a line of a hosts file: %q", line)
		}
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
	for _, domain := range []string{DefaultDomain, "openspy.net"} {
		names, err := Game{Name: "swat4"}.HostNames(domain)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if !seen[n.Name] {
				t.Errorf("%s is missing", n.Name)
			}
		}
	}
	if !seen["swat4.natneg1.gamespy.com"] || !seen["natneg1.gamespy.com"] {
		t.Error("natneg1 must be there with and without the game")
	}
}

func TestWriteHostsWarnsOfLongDomains(t *testing.T) {
	for domain, want := range map[string]bool{
		"gamespy.com": false, "openspy.net": false, NintendoDomain: false, "gamespy.example": true, "a.b": true,
	} {
		if got := strings.Contains(writeHosts(t, "gmtest", "192.0.2.7", domain), "# warning: "+domain); got != want {
			t.Errorf("%s: warning %v, want %v", domain, got, want)
		}
	}
}

func TestWriteHostsDefaults(t *testing.T) {
	if got, want := writeHosts(t, "gmtest", "::ffff:192.0.2.7"), writeHosts(t, "gmtest", "192.0.2.7", DefaultDomain); got != want {
		t.Errorf("without a domain and with a mapped address:\n%s\nwant\n%s", got, want)
	}
}

func TestWriteHostsWritesNothingWhenItRefuses(t *testing.T) {
	good := netip.MustParseAddr("192.0.2.7")
	tests := map[string]struct {
		game    string
		ip      netip.Addr
		domains []string
		want    error
	}{
		"game":          {"a\n1.1.1.1 b", good, nil, ErrBadName},
		"second domain": {"gmtest", good, []string{DefaultDomain, "x y"}, ErrBadDomain},
		"no address":    {"gmtest", netip.Addr{}, nil, ErrBadAddress},
		"unspecified":   {"gmtest", netip.IPv4Unspecified(), nil, ErrBadAddress},
		"multicast":     {"gmtest", netip.MustParseAddr("224.0.0.1"), nil, ErrBadAddress},
		"broadcast":     {"gmtest", netip.MustParseAddr("255.255.255.255"), nil, ErrBadAddress},
		"IPv6":          {"gmtest", netip.MustParseAddr("2001:db8::1"), nil, ErrBadAddress},
		"hostile zone":  {"gmtest", netip.MustParseAddr("fe80::1").WithZone("a\n1.1.1.1 b"), nil, ErrBadAddress},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := WriteHosts(&out, Game{Name: tc.game}, tc.ip, tc.domains, leading(allRun)); !errors.Is(err, tc.want) || out.Len() > 0 {
				t.Errorf("WriteHosts: %v, wrote %q; want %v", err, out.String(), tc.want)
			}
		})
	}
}

func FuzzWriteHosts(f *testing.F) {
	f.Add("gmtest", "gamespy.com")
	f.Add("a\nb", "x y")
	f.Add("dow_dc", NintendoDomain)
	f.Fuzz(func(t *testing.T, game, domain string) {
		var out strings.Builder
		if err := WriteHosts(&out, Game{Name: game}, netip.MustParseAddr("192.0.2.7"), []string{domain}, leading(allRun)); err != nil {
			return
		}
		for line := range strings.Lines(out.String()) {
			name, ok := strings.CutPrefix(line, "192.0.2.7 ")
			if !strings.HasPrefix(line, "#") && (!ok || strings.ContainsAny(strings.TrimSuffix(name, "\n"), " \t\r\n#\\")) {
				t.Errorf("WriteHosts(%q, %q) wrote the line %q", game, domain, line)
			}
		}
	})
}

func TestWriteHosts(t *testing.T) {
	halo := Game{Name: "halor", Facts: Facts{
		Domains: []string{"gamespy.com", "hosthpc.com"},
		Hosts:   []Host{{Name: "s1.ms01.hosthpc.com", Service: "serverbrowse"}, {Name: "motd.example.net", Service: "webservices"}, {Name: "own.example.org"}},
	}}
	for name, tc := range map[string]struct {
		domains []string
		served  func(Service) Served
		has     []string
		hasNot  []string
	}{
		"own domains in place of the default one": {
			nil, onlyThese("serverbrowse"),
			[]string{"192.0.2.7 halor.master.hosthpc.com", "192.0.2.7 natneg1.hosthpc.com", "192.0.2.7 halor.master.gamespy.com"},
			nil,
		},
		"the operator's beside them": {
			[]string{"gamespy.com", "openspy.net"},
			onlyThese("serverbrowse"),
			[]string{"192.0.2.7 halor.master.hosthpc.com", "192.0.2.7 halor.master.openspy.net"},
			nil,
		},
		"a host under an own domain": {nil, onlyThese(), []string{"192.0.2.7 s1.ms01.hosthpc.com"}, nil},
		"a host without a service":   {nil, onlyThese(), []string{"192.0.2.7 own.example.org"}, nil},
		"a foreign host whose service is missing": {
			nil, onlyThese(),
			[]string{"# not redirected: motd.example.net: no web services here"},
			[]string{"192.0.2.7 motd.example.net"},
		},
		"a foreign host whose service runs": {
			nil, onlyThese("webservices"),
			[]string{"192.0.2.7 motd.example.net"},
			[]string{"not redirected"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := WriteHosts(&out, halo, netip.MustParseAddr("192.0.2.7"), tc.domains, leading(tc.served)); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(out.String(), "\n")
			for _, want := range tc.has {
				if !slices.Contains(lines, want) {
					t.Errorf("the line %q is missing in\n%s", want, out.String())
				}
			}
			for _, no := range tc.hasNot {
				if strings.Contains(out.String(), no) {
					t.Errorf("%q stands in\n%s", no, out.String())
				}
			}
		})
	}
}

func TestNintendoRaceHost(t *testing.T) {
	const name = "mariokartwii.race.gs.nintendowifi.net"
	names, err := Game{Name: "mariokartwii"}.HostNames(NintendoDomain)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range names {
		if h.Name == name && h.Served(onlyThese("webservices")) {
			t.Errorf("%s: served with the web services, want never", name)
		}
	}
	var out strings.Builder
	redirected := func(h HostName) bool { return h.Served(onlyThese("webservices")) }
	if err := WriteHosts(&out, Game{Name: "mariokartwii"}, netip.MustParseAddr("192.0.2.7"), []string{NintendoDomain}, redirected); err != nil {
		t.Fatal(err)
	}
	if want := "# not redirected: " + name + ": no race service of Nintendo here\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no line %q in\n%s", want, out.String())
	}
}
