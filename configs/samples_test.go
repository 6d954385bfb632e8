package configs

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	config := struct {
		Address  netip.Addr     `key:"address"`
		Trusted  []netip.Prefix `key:"trusted"`
		URL      string         `key:"url" as:"publicurl"`
		Static   []StaticServer `key:"static"`
		As       []Advertised   `key:"as"`
		Number   int            `key:"number" default:"1" range:"1 to 2"`
		Webhooks []Webhook      `key:"webhooks"`
	}{
		Address:  netip.MustParseAddr("203.0.113.5"),
		Trusted:  []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")},
		URL:      "https://Servers.Example.ORG/x",
		Static:   []StaticServer{{Protocol: "a2s", Address: "198.51.100.7:27015"}, {Protocol: "a2s", Address: "[2001:db8::1]:27015"}},
		As:       []Advertised{{From: netip.MustParsePrefix("10.0.0.0/8"), As: netip.MustParseAddr("203.0.113.6")}},
		Webhooks: []Webhook{{Name: "bot", URL: "https://hooks.example.com/secret"}, {Name: "again", URL: "https://hooks.example.com/other"}},
	}
	want := []string{
		"address: 203.0.113.5", "trusted: 192.0.2.0/24", "trusted: 2001:db8:1::/48", "url: Servers.Example.ORG", "static: 198.51.100.7",
		"static: 2001:db8::1", "as: 203.0.113.6", "webhooks: hooks.example.com",
	}
	got := Samples(&config)
	if !slices.EqualFunc(got, want, func(g, w string) bool { return strings.HasPrefix(g, w+" is ") }) {
		t.Errorf("samples:\n%q, want\n%q", got, want)
	}
	if strings.Contains(strings.Join(got, ""), "secret") {
		t.Errorf("a warning has a secret: %q", got)
	}
}

// Values that only look like samples are not warned of.
func TestSamplesLeavesOwnValuesAlone(t *testing.T) {
	t.Parallel()
	for _, own := range []string{
		"https://my-example.org", "example.organic", "myexample.org", "192.0.20.1", "1192.0.2.1", "192.0.3.0/24", "203.0.11.3", "2001:db80::1", "example", "",
	} {
		config := struct {
			Text string `key:"text" as:"text"`
		}{own}
		if got := Samples(&config); got != nil {
			t.Errorf("%q: %q", own, got)
		}
	}
}
