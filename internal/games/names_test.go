package games

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/racetest"
)

// TestNamesHaveEveryHostOfEveryGame holds the names to those that people write
// into hosts files.
func TestNamesHaveEveryHostOfEveryGame(t *testing.T) {
	racetest.Skip(t, "takes each name of each game")
	domains := []string{DefaultDomain, "openspy.net", NintendoDomain}
	catalog := newCatalog(t, embedded(t)...)
	names, err := NewNames(domains, catalog, allRun)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range catalog.All() {
		for _, domain := range g.DomainsBeside(domains) {
			hosts, err := g.HostNames(domain)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hosts {
				if !names.Has(h.Name) {
					t.Errorf("%s is not among the names", h.Name)
				}
			}
		}
	}
}

func TestNames(t *testing.T) {
	for name, tc := range map[string]struct {
		domains []string
		has     map[string]bool
	}{
		"the usual domain": {[]string{"GameSpy.com"}, map[string]bool{
			"gamespy.com": true, "gpcm.gamespy.com": true, "unknown.ms19.gamespy.com": true, "a.b.c.d.gamespy.com": true,
			"key.gamespy.com": true, "www.fileplanet.com": false, "master.example.org": true,
			"fileplanet.com": false, "x.www.fileplanet.com": false, "x.master.example.org": false, "example.org": false,
			"notgamespy.com": false, "gamespy.com.example.org": false, "com": false, "": false,
			"naswii.nintendowifi.net": false, "gpcm.gs.nintendowifi.net": false, "{g}.ms{n}.nintendowifi.net": false,
		}},
		"an own domain": {[]string{"games.example.net"}, map[string]bool{
			"gpcm.games.example.net": true, "key.gamespy.com": true, "unknown.api.gamespy.net": true,
			"gpcm.gamespy.com": false, "example.net": false, "www.example.net": false, "gamespy.net": false,
		}},
		"several": {[]string{"gamespy.com", "openspy.net"}, map[string]bool{
			"gpcm.gamespy.com": true, "gpcm.openspy.net": true,
		}},
		"Nintendo": {[]string{NintendoDomain}, map[string]bool{
			"gpcm.gs.nintendowifi.net": true, "naswii.nintendowifi.net": true, "mariokartwii.ms19.nintendowifi.net": true,
			"nintendowifi.net": false, "www.nintendowifi.net": false, "mariokartwii.ms20.nintendowifi.net": false, "ms1.nintendowifi.net": true,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := NewNames(tc.domains, new(Catalog), allRun, "Master.Example.org")
			if err != nil {
				t.Fatal(err)
			}
			for host, want := range tc.has {
				if got := n.Has(host); got != want {
					t.Errorf("Has(%q) = %v, want %v", host, got, want)
				}
			}
		})
	}
	for _, bad := range []string{"", "com", "a..b", "x_y.com", "gamespy.com."} {
		if _, err := NewNames([]string{bad}, new(Catalog), allRun); !errors.Is(err, ErrBadDomain) {
			t.Errorf("NewNames of the domain %q: %v, want ErrBadDomain", bad, err)
		}
		if _, err := NewNames(nil, new(Catalog), allRun, bad); !errors.Is(err, ErrBadDomain) {
			t.Errorf("NewNames with %q: %v, want ErrBadDomain", bad, err)
		}
	}
}

func TestNamesOfGames(t *testing.T) {
	list := []Game{
		{Name: "halor", Facts: Facts{Domains: []string{"hosthpc.com"}}},
		{Name: "ut2004", Facts: Facts{Hosts: []Host{{Name: "ut2004master1.epicgames.com", Service: "utmaster"}, {Name: "own.example.org"}}}},
		{Name: "mariokartwii", Facts: Facts{Domains: []string{NintendoDomain}}},
	}
	for name, tc := range map[string]struct {
		served func(Service) Served
		has    map[string]bool
	}{
		"services missing": {onlyThese(), map[string]bool{
			"gpcm.gamespy.com": true, "natneg1.hosthpc.com": true, "own.example.org": true, "mariokartwii.available.gs.nintendowifi.net": true,
			"ut2004master1.epicgames.com": false, "nas.nintendowifi.net": false, "epicgames.com": false,
		}},
		"services running": {onlyThese("utmaster", "nas", "webservices"), map[string]bool{
			"ut2004master1.epicgames.com": true, "nas.nintendowifi.net": true, "www.epicgames.com": false,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := NewNames([]string{DefaultDomain}, newCatalog(t, list), tc.served)
			if err != nil {
				t.Fatal(err)
			}
			for host, want := range tc.has {
				if got := n.Has(host); got != want {
					t.Errorf("Has(%q) = %v, want %v", host, got, want)
				}
			}
		})
	}
}

func TestNames_newCatalogue(t *testing.T) {
	catalog := newCatalog(t)
	n, err := NewNames([]string{DefaultDomain}, catalog, allRun)
	if err != nil {
		t.Fatal(err)
	}
	if n.Has("natneg1.hosthpc.com") {
		t.Error("a name is known before its game")
	}
	if err := catalog.Replace([]Game{{Name: "halor", Facts: Facts{Domains: []string{"hosthpc.com"}}}}); err != nil {
		t.Fatal(err)
	}
	if !n.Has("natneg1.hosthpc.com") {
		t.Error("the name of a new game is not known")
	}
}

// TestNone: names that games wait for have no address.
func TestNone(t *testing.T) {
	names, err := NewNames(nil, newCatalog(t, []Game{{Name: "a", Facts: Facts{Editions: []Edition{{Copies: []string{"any"}, Refuse: []string{"ads.example.com"}}}}}}), allRun)
	if err != nil {
		t.Fatal(err)
	}
	if !names.None("ads.example.com") || names.None("example.com") || names.Has("ads.example.com") {
		t.Error("only ads.example.com must have no address")
	}
	var b strings.Builder
	g, _ := names.catalog.Lookup("a")
	if err := WriteHosts(&b, g, netip.MustParseAddr("192.0.2.1"), nil, func(HostName) bool { return true }); err != nil || !strings.Contains(b.String(), "\n0.0.0.0 ads.example.com\n") {
		t.Errorf("lines for a hosts file: %v\n%s", err, b.String())
	}
}
