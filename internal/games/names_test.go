package games

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// TestNamesHaveEveryHostOfEveryGame holds the names to those that people write
// into hosts files.
func TestNamesHaveEveryHostOfEveryGame(t *testing.T) {
	doc, err := os.ReadFile("../../configs/games.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseYAML(bytes.NewReader(doc), Source{Origin: FromEmbedded})
	if err != nil {
		t.Fatal(err)
	}
	domains := []string{DefaultDomain, "openspy.net", NintendoDomain}
	names, err := NewNames(domains)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range list {
		for _, domain := range domains {
			hosts, err := HostNames(g.Name, domain)
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
			"www.fileplanet.com": true, "key.gamespy.com": true, "master.example.org": true,
			"fileplanet.com": false, "x.www.fileplanet.com": false, "x.master.example.org": false, "example.org": false,
			"notgamespy.com": false, "gamespy.com.example.org": false, "com": false, "": false,
			"naswii.nintendowifi.net": false, "gpcm.gs.nintendowifi.net": false, "{g}.ms{n}.nintendowifi.net": false,
		}},
		"an own domain": {[]string{"games.example.net"}, map[string]bool{
			"gpcm.games.example.net": true, "key.gamespy.com": true, "www.fileplanet.com": true,
			"gpcm.gamespy.com": false, "example.net": false, "www.example.net": false,
		}},
		"several": {[]string{"gamespy.com", "openspy.net"}, map[string]bool{
			"gpcm.gamespy.com": true, "gpcm.openspy.net": true,
		}},
		"Nintendo": {[]string{NintendoDomain}, map[string]bool{
			"gpcm.gs.nintendowifi.net": true, "naswii.nintendowifi.net": true, "mariokartwii.ms19.nintendowifi.net": true,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := NewNames(tc.domains, "Master.Example.org")
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
		if _, err := NewNames([]string{bad}); !errors.Is(err, ErrBadDomain) {
			t.Errorf("NewNames of the domain %q: %v, want ErrBadDomain", bad, err)
		}
		if _, err := NewNames(nil, bad); !errors.Is(err, ErrBadDomain) {
			t.Errorf("NewNames with %q: %v, want ErrBadDomain", bad, err)
		}
	}
}
