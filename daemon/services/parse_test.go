package services

import (
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
)

// TestBadValuesAreExplained also checks which values are accepted: those with an
// empty want.
func TestBadValuesAreExplained(t *testing.T) {
	tests := map[string]struct{ key, value, want string }{
		"text for a number":          {"qr2.sockets", "two", "not a whole number"},
		"nothing for a number":       {"qr2.sockets", "", "not a whole number"},
		"fraction for a number":      {"qr2.sockets", "1.0", "not a whole number"},
		"number beyond integers":     {"qr2.sockets", "99999999999999999999", "out of range"},
		"duration without unit":      {"qr2.expire", "75", "has no unit"},
		"duration in words":          {"qr2.expire", "long", "not a duration"},
		"duration in days":           {"qr2.expire", "1d", "not a duration"},
		"endless duration":           {"qr2.expire", "inf", "has no unit"},
		"nothing for a duration":     {"qr2.expire", "", "not a duration"},
		"zero without unit":          {"master.restore_for", "0", ""},
		"switch":                     {"qr2.probe", "perhaps", "neither true nor false"},
		"nothing for a switch":       {"qr2.probe", "", "neither true nor false"},
		"switch by yes":              {"qr2.probe", "Yes", ""},
		"level":                      {"log.level", "loud", "trace, debug, info, warn, error"},
		"level in capitals":          {"log.level", "WARN", ""},
		"format":                     {"log.format", "xml", "auto, console, json"},
		"no data folder":             {"data_dir", "", "must not be empty"},
		"blank data folder":          {"data_dir", "  ", "must not be empty"},
		"NUL in a path":              {"games.file", "a\x00b", "NUL"},
		"port alone":                 {"gpcm.listen", "29900", "write host:port"},
		"port too high":              {"gpcm.listen", ":65536", "0 to 65535"},
		"highest port":               {"gpcm.listen", ":65535", ""},
		"port negative":              {"gpcm.listen", ":-1", "0 to 65535"},
		"port signed":                {"gpcm.listen", ":+1", "0 to 65535"},
		"port by name":               {"gpcm.listen", ":http", "0 to 65535"},
		"port missing":               {"gpcm.listen", "127.0.0.1:", "0 to 65535"},
		"address out of range":       {"gpcm.listen", "256.0.0.1:1", "bad host"},
		"letter for a digit":         {"gpcm.listen", "127.0.0.l:80", "bad host"},
		"star":                       {"gpcm.listen", "*:80", "bad host"},
		"IPv6 without brackets":      {"gpcm.listen", "::1:80", "write host:port"},
		"IPv6":                       {"gpcm.listen", "[::1]:79", ""},
		"IPv6 with zone":             {"gpcm.listen", "[fe80::1%eth0]:79", ""},
		"localhost":                  {"gpcm.listen", "localhost:0", ""},
		"second address bad":         {"natneg.extra_listen", "127.0.0.1:1,nonsense", "write host:port"},
		"second address missing":     {"natneg.extra_listen", "127.0.0.1:1,", "empty entry"},
		"network":                    {"net.trusted", "10.0.0.0/33", "not a network"},
		"network in words":           {"net.trusted", "lan", "not a network"},
		"network of an IPv4 in IPv6": {"net.trusted", "::ffff:10.0.0.0/104", "not a network"},
		"single address":             {"net.trusted", "10.0.0.1, 2001:db8::1", ""},
		"advertised address":         {"net.advertise_as", "203.0.113.5", ""},
		"advertised networks":        {"net.advertise_as", "203.0.113.5,10.0.0.0/8=203.0.113.6, 192.168.1.7/24 = 203.0.113.7", ""},
		"advertised word":            {"net.advertise_as", "home", "net.advertise_as"},
		"advertised IPv6":            {"net.advertise_as", "2001:db8::1", "not the IPv4 address"},
		"advertised nowhere":         {"net.advertise_as", "0.0.0.0", "not the IPv4 address"},
		"advertised as nothing":      {"net.advertise_as", "10.0.0.0/8=", "not the IPv4 address"},
		"advertised network bad":     {"net.advertise_as", "10.0.0.0/33=203.0.113.5", "not a network and an address"},
		"advertised IPv6 network":    {"net.advertise_as", "2001:db8::/32=203.0.113.5", "not a network and an address"},
		"advertised twice":           {"net.advertise_as", "203.0.113.5,203.0.113.6", "second address"},
		"network advertised twice":   {"net.advertise_as", "10.0.0.0/8=203.0.113.5,10.1.1.1/8=203.0.113.6", "second address"},
		"no domains":                 {"games.domains", "", "must not be empty"},
		"domain with a space":        {"games.domains", "game spy.com", "not a domain name"},
		"domain with empty label":    {"games.domains", "gamespy..com", "not a domain name"},
		"domain that starts with -":  {"games.domains", "-a.com", "not a domain name"},
		"domain with long label":     {"games.domains", strings.Repeat("a", 64) + ".com", "not a domain name"},
		"domain with longest label":  {"games.domains", strings.Repeat("a", 63) + ".com", ""},
		"domain too long":            {"games.domains", strings.Repeat("ab.", 84) + "com", "too long"},
		"ports":                      {"relay.ports", " 40000-40001 ", ""},
		"all ports":                  {"relay.ports", "1024 - 65535", ""},
		"one port":                   {"relay.ports", "40000-40000", "not a range of ports"},
		"ports without an end":       {"relay.ports", "40000", "not a range of ports"},
		"ports of the system":        {"relay.ports", "1023-2000", "not a range of ports"},
		"ports above the last":       {"relay.ports", "40000-65536", "not a range of ports"},
		"no ports":                   {"relay.ports", "", "not a range of ports"},
		"DNS server by name":         {"dns.upstreams", "dns.example.org", "not the address of a DNS server"},
		"DNS server on port 0":       {"dns.upstreams", "192.0.2.1:0", "not the address of a DNS server"},
		"DNS server of everybody":    {"dns.upstreams", "0.0.0.0", "not the address of a DNS server"},
		"DNS server of a group":      {"dns.upstreams", "224.0.0.251:5353", "not the address of a DNS server"},
		"second DNS server bad":      {"dns.upstreams", "192.0.2.1,nonsense", "not the address of a DNS server"},
		"DNS server with port":       {"dns.upstreams", "192.0.2.1:5353", ""},
		"DNS server of IPv6":         {"dns.upstreams", "[2001:db8::1]:53, 2001:db8::2", ""},
		"address for DNS of a group": {"dns.address", "224.0.0.1", "not the IPv4 address of a machine"},
		"page address":               {"web.public_url", "servers.example.org", "not a web address"},
		"page address of a file":     {"web.public_url", "file:///etc", "not a web address"},
		"page address without host":  {"web.public_url", "http://:80/", "not a web address"},
		"page address with query":    {"web.public_url", "http://a/?b", "no user, query or fragment"},
		"page address with user":     {"web.public_url", "http://u:p@a/", "no user, query or fragment"},
		"page address with port":     {"web.public_url", "http://a:81/list", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			opt := configs.Options{Flags: map[string]string{test.key: test.value}}
			if test.want == "" {
				load(t, opt)
				return
			}
			got := refused(t, opt).Error()
			if !strings.HasPrefix(got, test.key+": ") || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
				t.Errorf("Load with %s=%q: %q, want one line that starts with the key and holds %q", test.key, test.value, got, test.want)
			}
		})
	}
}

func TestValuesAreNormalised(t *testing.T) {
	c := load(t, configs.Options{Flags: map[string]string{
		"games.domains":    "GameSpy.COM., example.org",
		"net.trusted":      "10.1.2.3/8,::ffff:192.0.2.1",
		"net.advertise_as": "203.0.113.5,10.1.2.3/8=203.0.113.6",
		"web.public_url":   "https://a.example/list/",
		"log.level":        "Debug",
		"dns.upstreams":    "192.0.2.1, ::ffff:192.0.2.2, [2001:db8::1]:5353",
	}})
	for _, test := range []struct{ what, got, want string }{
		{"games.domains", strings.Join(c.Games.Domains, " "), "gamespy.com example.org"},
		{"net.advertise_as", fmt.Sprint(c.Net.AdvertiseAs), "[203.0.113.5 10.0.0.0/8=203.0.113.6]"},
		{"net.trusted", c.Net.Trusted[0].String() + " " + c.Net.Trusted[1].String(), "10.0.0.0/8 192.0.2.1/32"},
		{"web.public_url", c.Web.PublicURL, "https://a.example/list"},
		{"log.level", c.Log.Level, "debug"},
		{"dns.upstreams", fmt.Sprint(c.DNS.Upstreams), "[192.0.2.1:53 192.0.2.2:53 [2001:db8::1]:5353]"},
	} {
		if test.got != test.want {
			t.Errorf("%s = %q, want %q", test.what, test.got, test.want)
		}
	}
}

func TestListsAreBounded(t *testing.T) {
	list := func(n int) string { return strings.TrimSuffix(strings.Repeat("192.0.2.1,", n), ",") }
	if got := len(load(t, configs.Options{Flags: map[string]string{"net.trusted": list(configs.MaxEntries)}}).Net.Trusted); got != configs.MaxEntries {
		t.Errorf("net.trusted has %d entries, want %d", got, configs.MaxEntries)
	}
	err := refused(t, configs.Options{Flags: map[string]string{"net.trusted": list(configs.MaxEntries + 1)}})
	if want := "more than 256 entries"; !strings.Contains(err.Error(), want) {
		t.Errorf("Load: %q, want %q", err, want)
	}
}
