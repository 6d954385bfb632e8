package valvemaster

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// zoo lists servers that differ in everything that filters know and returns the
// master.
func zoo(t testing.TB) *valve {
	t.Helper()
	v := newValve(t, func(o *Options) { o.PagesPerAddr, o.PagesPerNet = -1, -1 })
	for _, s := range []struct {
		addr   string
		origin *master.Origin
		rules  map[string]string
	}{
		{"10.0.0.1:27015", Origin, map[string]string{
			"hostname": "Dust [24/7] Pub", "mapname": "de_dust2", "gamename": "cstrike", "appid": "240", "gamever": "1.0.0.34",
			"numplayers": "16", "maxplayers": "16", "servertype": "dedicated", "os": "linux", "secure": "1", "keywords": "alltalk,nocrits", "gamedata": "coop;hard",
		}},
		{"10.0.0.1:27016", Origin, map[string]string{
			"hostname": "Dust empty", "mapname": "de_dust", "gamename": "cstrike", "appid": "240", "gamever": "1.0.0.70",
			"numplayers": "0", "maxplayers": "16", "servertype": "dedicated", "os": "windows", "secure": "0", "password": "1", "keywords": "alltalk",
		}},
		{"10.0.0.2:27015", Origin, map[string]string{
			"hostname": "2Fort Bots", "mapname": "CTF_2Fort", "gamename": "tf", "appid": "440", "gamever": "8",
			"numplayers": "6", "numbots": "6", "maxplayers": "24", "servertype": "listen", "os": "linux", "secure": "1", "gamedata": "coop",
		}},
		{"10.0.0.3:27020", Origin, map[string]string{
			"hostname": "SourceTV \xe4", "mapname": "ctf_2fort", "gamename": "tf", "appid": "440", "numplayers": "1", "maxplayers": "128", "servertype": "proxy", "os": "mac",
		}},
		{"10.0.0.4:2303", master.Static, map[string]string{
			"hostname": "Chernarus", "mapname": "chernarusplus", "gamename": "dayz", "appid": "221100", "numplayers": "40", "maxplayers": "60", "servertype": "dedicated", "os": "windows",
		}},
		{"10.0.0.5:7777", master.Static, map[string]string{"hostname": "Not over A2S", "mapname": "dm1"}},
		{"10.0.0.6:7777", qr2.Origin, map[string]string{"hostname": "GameSpy", "gamename": "main"}},
	} {
		if err := put(v.list, netip.MustParseAddrPort(s.addr), s.origin, s.rules); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func TestFilter(t *testing.T) {
	const pub, empty, bots, tv, dayz = "10.0.0.1:27015", "10.0.0.1:27016", "10.0.0.2:27015", "10.0.0.3:27020", "10.0.0.4:2303"
	everybody := []string{pub, empty, bots, tv, dayz}
	for filter, want := range map[string][]string{
		"":                                    everybody,
		`\`:                                   everybody,
		`\gamedir\cstrike`:                    {pub, empty},
		`gamedir\cstrike`:                     {pub, empty},
		`\gamedir\CStrike\map\de_dust2`:       {pub},
		`\map\ctf_2fort`:                      {bots, tv},
		`\map\ctf`:                            {},
		`\map\`:                               {},
		`\empty\1`:                            {pub, tv, dayz},
		`\empty\0`:                            everybody,
		`\noplayers\1`:                        {empty, bots},
		`\full\1`:                             {empty, bots, tv, dayz},
		`\full\0`:                             everybody,
		`\dedicated\1`:                        {pub, empty, dayz},
		`\dedicated\0`:                        {bots, tv},
		`\type\d`:                             {pub, empty, dayz},
		`\secure\1`:                           {pub, bots},
		`\secure\0`:                           {empty, tv, dayz},
		`\linux\1`:                            {pub, bots},
		`\password\1`:                         {empty},
		`\password\0`:                         {pub, bots, tv, dayz},
		`\proxy\1`:                            {tv},
		`\appid\440`:                          {bots, tv},
		`\napp\440`:                           {pub, empty, dayz},
		`\appid\440x`:                         everybody, // not known
		`\white\1`:                            {dayz},
		`\gametype\alltalk`:                   {pub, empty},
		`\gametype\nocrits,ALLTALK`:           {pub},
		`\gametype\talk`:                      {},
		`\gametype\`:                          everybody,
		`\gamedata\coop,hard`:                 {pub},
		`\gamedataor\coop,easy`:               {pub, bots},
		`\gamedataor\,`:                       everybody,
		`\name_match\dust*`:                   {pub, empty},
		`\name_match\*bots`:                   {bots},
		`\name_match\*t*`:                     {pub, empty, bots, tv},
		`\name_match\dust`:                    {},
		`\name_match\*`:                       everybody,
		`\name_match\**[24/7]**`:              {pub},
		"\\name_match\\sourcetv \xe4":         {tv},
		`\version_match\1.0.0.*`:              {pub, empty},
		`\version_match\8`:                    {bots},
		`\gameaddr\10.0.0.1`:                  {pub, empty},
		`\gameaddr\10.0.0.1:27016`:            {empty},
		`\gameaddr\10.0.0.1:27016x`:           everybody, // not known
		`\gameaddr\unknown`:                   everybody, // not known
		`\collapse_addr_hash\1`:               {pub, bots, tv, dayz},
		`\collapse_addr_hash\1\password\1`:    {empty},
		`\collapse_addr_hash\0`:               everybody,
		`\nor\1\gamedir\cstrike`:              {bots, tv, dayz},
		`\nor\2\gamedir\cstrike\appid\221100`: {bots, tv},
		`\nor\1\white\1\appid\440`:            {bots, tv},
		`\nand\2\gamedir\cstrike\secure\1`:    {empty, bots, tv, dayz},
		`\or\2\map\de_dust2\map\ctf_2fort`:    {pub, bots, tv},
		`\or\2\map\de_dust2\map\ctf_2fort\linux\1`:       {pub, bots},
		`\and\2\gamedir\tf\linux\1`:                      {bots},
		`\nor\2\and\2\gamedir\tf\linux\1\gamedir\dayz`:   {pub, empty, tv},
		`\or\2\nor\1\map\de_dust2\appid\240`:             everybody,
		`\nand\2\or\2\map\de_dust\map\de_dust2\secure\1`: {empty, bots, tv, dayz},
		`\nor\9\gamedir\cstrike`:                         {bots, tv, dayz}, // fewer than it says
		`\nor\0\gamedir\cstrike`:                         {pub, empty},
		`\nor\x\gamedir\cstrike`:                         {pub, empty},
		`\nor\1`:                                         everybody,
		`\nand\1\unknown\1`:                              everybody,
		`\or\1\unknown\1`:                                everybody,
		`\nor\2\unknown\1\gamedir\tf`:                    {pub, empty, dayz},
		`\nor\1\collapse_addr_hash\1`:                    everybody,
		`\region\3\gamedir\tf`:                           {bots, tv},
		`\gamedir`:                                       {},
		`\\\gamedir\tf`:                                  {bots, tv},
	} {
		t.Run(filter, func(t *testing.T) {
			v := zoo(t)
			if got, _ := v.walk("203.0.113.1:1", AnyRegion, filter); !slices.Equal(got, want) {
				t.Errorf("filter %q: got %v, want %v", filter, got, want)
			}
		})
	}
}

func TestFilterBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		filter string
		bad    bool
	}{
		"as many conditions as there may be": {strings.Repeat(`\napp\1`, maxConditions), false},
		"one more":                           {strings.Repeat(`\napp\1`, maxConditions+1), true},
		"unknown ones do not count":          {strings.Repeat(`\x\1`, 300), false},
		"as deep as it may be":               {strings.Repeat(`\nor\1`, maxDepth) + `\napp\1`, false},
		"deeper":                             {strings.Repeat(`\nor\1`, maxDepth+1) + `\napp\1`, true},
		"as many wildcards":                  {strings.Repeat(`\name_match\*a*`, maxWildcards), false},
		"one more wildcard":                  {strings.Repeat(`\version_match\*a*`, maxWildcards+1), true},
		"names without wildcards":            {strings.Repeat(`\name_match\a`, maxWildcards+1), false},
		"a group of very many":               {`\nor\999999999\napp\1`, true},
		"backslashes":                        {strings.Repeat(`\`, maxPacket), false},
		"as many tags as there may be":       {`\gamedataor\` + strings.Repeat("a,", maxParts-1), false},
		"one more tag":                       {`\gametype\` + strings.Repeat("a;", maxParts), true},
		"tags without a name":                {`\gametype\` + strings.Repeat(",", maxParts), true},
		"as many stars as there may be":      {`\name_match\` + strings.Repeat(`*`, maxParts), false},
		"one more star":                      {`\version_match\` + strings.Repeat(`*`, maxParts+1), true},
		"tags and stars together":            {`\name_match\*a*` + strings.Repeat(`\gamedata\a,b`, maxParts/2), true},
		"stars that mean nothing":            {`\map\` + strings.Repeat(`*`, maxPacket-12), false},
	} {
		t.Run(name, func(t *testing.T) {
			var f filter
			if err := f.parse([]byte(tc.filter)); (err != nil) != tc.bad {
				t.Errorf("parse: %v, want error %v", err, tc.bad)
			}
		})
	}
}

func TestFilterCountsUnknownKeys(t *testing.T) {
	var f filter
	if err := f.parse([]byte(`\gamedir\tf\ping\50\nor\2\bots\0\map\x\appid\none`)); err != nil || f.unknown != 3 {
		t.Errorf("parse: %v, %d unknown keys, want 3", err, f.unknown)
	}
}

func TestMatchWildcards(t *testing.T) {
	for _, tc := range []struct {
		text, pattern string
		want          bool
	}{
		{"", "", true},
		{"", "*", true},
		{"a", "", false},
		{"abc", "abc", true},
		{"abc", "ab", false},
		{"abc", "a*c", true},
		{"abc", "a*b*c*", true},
		{"abc", "*c*b*", false},
		{"aa", "a*a", true},
		{"a", "a*a", false},
		{"ababab", "*ab*ab", true},
		{"abcabc", "abc*abc", true},
		{"abcab", "abc*abc", false},
		{"abc", "**", true},
		{"abc", "*b", false},
	} {
		if got := matchWildcards([]byte(tc.text), []byte(tc.pattern)); got != tc.want {
			t.Errorf("matchWildcards(%q, %q) = %v, want %v", tc.text, tc.pattern, got, tc.want)
		}
	}
}

// matchSlowly is the plainest implementation of wildcards.
func matchSlowly(text, pattern string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return matchSlowly(text, pattern[1:]) || (text != "" && matchSlowly(text[1:], pattern))
	}
	return text != "" && text[0] == pattern[0] && matchSlowly(text[1:], pattern[1:])
}

func FuzzWildcards(f *testing.F) {
	f.Add("ababab", "*ab*a?b*")
	f.Add("aaaa", "a*a*a*a*a")
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if len(text) > 12 || len(pattern) > 12 {
			return
		}
		if got, want := matchWildcards([]byte(text), []byte(pattern)), matchSlowly(text, pattern); got != want {
			t.Errorf("matchWildcards(%q, %q) = %v, want %v", text, pattern, got, want)
		}
	})
}

// FuzzFilter has any filter held against servers: it must end, and a walk with
// it must see servers in order and none twice.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{
		`\gamedir\cstrike\nor\2\map\x\white\1`, `\nand\2\or\1\name_match\*a*b\secure\1\full\1`, `\collapse_addr_hash\1\gameaddr\10.0.0.1`,
		`\nor\\nor\1\or`, `\gametype\a,b;c\appid\`,
	} {
		f.Add([]byte(s))
	}
	v := zoo(f)
	all := v.lister.current(0)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxPacket {
			return
		}
		var q filter
		if q.parse(text) != nil {
			return
		}
		page, more, looked := all.page(nil, mostFull, Start, AnyRegion, &q)
		if more || looked != len(all.entries) || !slices.IsSortedFunc(page, netip.AddrPort.Compare) || len(slices.Compact(page)) != len(page) {
			t.Errorf("filter %q: page %v, more %v, %d looked at", text, page, more, looked)
		}
	})
}

func TestCollapseOverPages(t *testing.T) {
	v := newValve(t, nil)
	var want []string
	for host := range 100 {
		for port := range 5 {
			a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(host)}), uint16(27015+port))
			if err := put(v.list, a, Origin, map[string]string{"gamename": "tf"}); err != nil {
				t.Fatal(err)
			}
			if port == 0 {
				want = append(want, a.String())
			}
		}
	}
	if got, _ := v.walk("203.0.113.1:1", AnyRegion, `\collapse_addr_hash\1`); !slices.Equal(got, want) {
		t.Errorf("got %v, want one server of each of %d addresses", got, len(want))
	}
}

func TestRegions(t *testing.T) {
	v := newValve(t, func(o *Options) { o.PagesPerAddr, o.PagesPerNet = -1, -1 })
	list := func(addr string, rules map[string]string) string {
		t.Helper()
		rules["gamename"] = "tf"
		if err := put(v.list, netip.MustParseAddrPort(addr), Origin, rules); err != nil {
			t.Fatal(err)
		}
		return addr
	}
	us := list("10.0.0.1:1", map[string]string{"country": "US", "region": "2"})
	de := list("10.0.0.2:1", map[string]string{"country": "DE", "region": "65536"})
	il := list("10.0.0.3:1", map[string]string{"country": "IL", "region": "2048"})
	jp := list("10.0.0.4:1", map[string]string{"country": "JP", "region": "2048"})
	br := list("10.0.0.5:1", map[string]string{"country": "BR", "region": "16"})
	nz := list("10.0.0.6:1", map[string]string{"country": "NZ", "region": "8192"})
	za := list("10.0.0.7:1", map[string]string{"country": "ZA", "region": "32"})
	unknown := list("10.0.0.8:1", map[string]string{})
	// One reports a region that its address does not give.
	said := netip.MustParseAddrPort("10.0.0.9:1")
	v.asker.answers[said] = map[string]string{"gamename": "tf", "country": "DE", "region": "65536"}
	if dropped := v.send(said, beat(t, Heartbeat{Challenge: v.challengeFor(said), Region: RegionAsia})); dropped != uplink.NotDropped {
		t.Fatal(dropped)
	}
	for region, want := range map[byte][]string{
		RegionUSEast:       {us, unknown},
		RegionUSWest:       {us, unknown},
		RegionSouthAmerica: {br, unknown},
		RegionEurope:       {de, unknown},
		RegionAsia:         {jp, unknown, said.String()},
		RegionAustralia:    {nz, unknown},
		RegionMiddleEast:   {il, unknown},
		RegionAfrica:       {za, unknown},
		AnyRegion:          {us, de, il, jp, br, nz, za, unknown, said.String()},
		8:                  {us, de, il, jp, br, nz, za, unknown, said.String()},
	} {
		if got, _ := v.walk("203.0.113.1:1", region, ""); !slices.Equal(got, want) {
			t.Errorf("region %d: got %v, want %v", region, got, want)
		}
	}
}
