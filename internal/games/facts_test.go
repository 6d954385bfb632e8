package games

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const factsYAML = `games:
  - {name: base, domains: [hosthpc.com], hosts: ["a.example.org", "b.example.org webservices"], namespace: 12, partner: 20, lan_ports: [2302, 2303],
     needs: [qr2, serverbrowse], uses: [gstats], via: "an ini line", join: "game://{address}", aliases: [basede, baseja], shared_list: on, colours: unreal, note: "a remark", keys: [hostname, "numplayers:1"]}
`

func TestFactsYAML(t *testing.T) {
	list, err := ParseYAML(strings.NewReader(factsYAML), Source{})
	if err != nil {
		t.Fatal(err)
	}
	want := Facts{
		Domains: []string{"hosthpc.com"}, Hosts: []Host{{Name: "a.example.org"}, {Name: "b.example.org", Service: "webservices"}},
		Namespace: 12, Partner: 20, LANPorts: []uint16{2302, 2303}, Needs: []Service{"qr2", "serverbrowse"}, Uses: []Service{"gstats"},
		Via: "an ini line", Join: "game://{address}", Aliases: []string{"basede", "baseja"}, SharedList: true, Colours: "unreal", Note: "a remark", Keys: []Key{{Name: "hostname"}, {Name: "numplayers", Type: 1}},
	}
	if diff := cmp.Diff(want, list[0].Facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	again, err := ParseYAML(strings.NewReader(string(AppendYAML(nil, list))), Source{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list[0].Facts, again[0].Facts); diff != "" {
		t.Errorf("written and read again:\n%s", diff)
	}
}

func TestFactsYAML_mistakes(t *testing.T) {
	for name, tc := range map[string]struct{ record, want string }{
		"wildcard":           {`domains: ["*.example.org"]`, `domains: "*.example.org" must be a host name`},
		"label over 63":      {`domains: [` + strings.Repeat("a", 64) + `.org]`, "must be a host name"},
		"no domain":          {`domains: [localhost]`, "must be a host name"},
		"host":               {`hosts: ["a b.c"]`, `host "a": the name must be a host name`},
		"service of a host":  {`hosts: ["a.example.org smtp"]`, `"smtp" is not a service; there are cdkey, `},
		"service":            {`needs: [qr3]`, `needs: "qr3" is not a service`},
		"used service":       {`uses: [qr3]`, `uses: "qr3" is not a service`},
		"service twice":      {`needs: [qr2, qr2]`, `needs: "qr2" is there twice`},
		"needed and used":    {`needs: [qr2], uses: [qr2]`, "qr2 is in needs and in uses"},
		"port 0":             {`lan_ports: [0]`, "lan_ports must be a number from 1 to 65535"},
		"port over 65535":    {`lan_ports: [65536]`, "lan_ports must be a number from 1 to 65535"},
		"namespace":          {`namespace: 65536`, "namespace must be a number from 0 to 65535"},
		"itself as alias":    {`aliases: [x]`, "the game is an alias of itself"},
		"alias twice":        {`aliases: [y, y]`, `aliases: "y" is there twice`},
		"name of an alias":   {`aliases: ["a b"]`, `aliases: "a b" must be 1 to 31 characters`},
		"shared_list":        {`shared_list: perhaps`, "shared_list must be on or off"},
		"join, a script":     {`join: "javascript://{address}"`, "join must be a link with {address} once"},
		"join, a page":       {`join: "https://a.example/{address}"`, "join must be a link with {address} once"},
		"join, no scheme":    {`join: "{address}"`, "join must be a link with {address} once"},
		"join, no address":   {`join: "game://x"`, "join must be a link with {address} once"},
		"join, two of them":  {`join: "game://{address}{address}"`, "join must be a link with {address} once"},
		"join, quotes":       {`join: "game://{address}'\">"`, "join must be a link with {address} once"},
		"type of a key":      {`keys: ["a:3"]`, `keys must have the type 0, 1 or 2, not "a:3"`},
		"type that is text":  {`keys: ["a:b"]`, `keys must have the type 0, 1 or 2, not "a:b"`},
		"colours":            {`colours: red`, `colours must be quake, doom, unreal or swat, not "red"`},
		"control characters": {`via: "a\nb"`, "via has a control character"},
		"no list":            {`needs: qr2`, "needs must be a list"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseYAML(strings.NewReader("games:\n  - {name: x, "+tc.record+"}\n"), Source{File: "own.yaml"})
			if invalid, ok := errors.AsType[*InvalidError](err); !ok || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(invalid.Problems[0].String(), "own.yaml:2: ") {
				t.Errorf("%s: %v, want %q in line 2", tc.record, err, tc.want)
			}
		})
	}
}

func TestCatalogAliases(t *testing.T) {
	base := Game{Name: "base", Facts: Facts{
		Aliases: []string{"basede"}, Domains: []string{"hosthpc.com"}, Namespace: 12, Partner: 3, Needs: []Service{"qr2"}, LANPorts: []uint16{1},
	}}
	c := newCatalog(t, []Game{base, {Name: "basede", Facts: Facts{LANPorts: []uint16{2}}}, {Name: "other"}})
	de, _ := c.Lookup("BaseDE")
	want := Facts{Domains: []string{"hosthpc.com"}, Namespace: 12, Partner: 3, Needs: []Service{"qr2"}, LANPorts: []uint16{2}}
	if diff := cmp.Diff(want, de.Facts); diff != "" {
		t.Errorf("facts of the alias (-want +got):\n%s", diff)
	}
	for _, tc := range []struct {
		a, b string
		want bool
	}{{"base", "basede", true}, {"BASEDE", "base", true}, {"base", "other", false}, {"basede", "other", false}, {"new", "NEW", true}, {"new", "base", false}} {
		if got := c.Same(tc.a, tc.b); got != tc.want {
			t.Errorf("Same(%s, %s) = %v, want %v", tc.a, tc.b, got, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		list []Game
		want string
	}{
		"alias of two":      {[]Game{base, {Name: "other", Facts: Facts{Aliases: []string{"basede"}}}}, `the alias basede is one of game "base"`},
		"alias of alias":    {[]Game{base, {Name: "basede", Facts: Facts{Aliases: []string{"x"}}}}, "the alias basede has aliases of its own"},
		"alias that shares": {[]Game{base, {Name: "basede", Facts: Facts{SharedList: true}}}, "the alias basede has shared_list"},
		"alias and other":   {[]Game{{Name: "a", Facts: Facts{Aliases: []string{"b"}}}, {Name: "b", Facts: Facts{Aliases: []string{"a"}}}}, "has aliases of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewCatalog(tc.list); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("NewCatalog: %v, want %q", err, tc.want)
			}
		})
	}
}

// TestParseYAMLMistakesBetweenRecords checks that mistakes in records and between them
// are reported together, each with its line and game.
func TestParseYAMLMistakesBetweenRecords(t *testing.T) {
	const file = `games:
  - {name: a, domains: ["*.example.org"]}
  - {name: b, aliases: [d], rooms: [{id: 7, name: One}]}
  - {name: c, aliases: [d], rooms: [{id: 7, name: Two}]}
  - {name: e, aliases: [b]}
  - {name: f, lan_ports: [65536]}
  - {name: g, needs: [smtp]}
  - {name: c}
`
	_, err := ParseYAML(strings.NewReader(file), Source{File: "own.yaml"})
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || invalid.Total != 7 {
		t.Fatalf("ParseYAML: %v, want 7 problems", err)
	}
	for _, want := range []string{
		`own.yaml:2: game "a": domains: `, `own.yaml:4: game "c": room 7: the id belongs to a room of game "b" in own.yaml:3`,
		`own.yaml:4: game "c": the alias d is one of game "b"`, `own.yaml:5: game "e": the alias b has aliases of its own`,
		`own.yaml:6: game "f": lan_ports must be`, `own.yaml:7: game "g": needs: "smtp" is not a service`, `own.yaml:8: game "c": already in own.yaml:4`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

// TestCatalogAliasAvailability checks that no alias is available while its game is not.
func TestCatalogAliasAvailability(t *testing.T) {
	c, err := NewCatalog([]Game{
		{Name: "base", Secrets: []string{"abcdef"}, Maintenance: true, DisabledServices: 8, Facts: Facts{Aliases: []string{"demo", "bare"}}},
		{Name: "demo", Secrets: []string{"abcdef"}, DisabledServices: Gone},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint32{"base": TemporarilyDown | 8, "demo": TemporarilyDown | Gone | 8} {
		if g, ok := c.Lookup(name); !ok || g.Availability(false) != want {
			t.Errorf("%s: availability %d, want %d", name, g.Availability(false), want)
		}
	}
	if g, ok := c.BaseBytes([]byte("BARE")); !ok || g.Name != "base" || !c.Same("bare", "demo") {
		t.Errorf("the alias without a record is one of %q", g.Name)
	}
	name := []byte("Bare")
	if n := testing.AllocsPerRun(100, func() { _, _ = c.BaseBytes(name); _, _ = c.Lookup("demo") }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestCatalogSharedLists(t *testing.T) {
	below := []Game{
		{Name: "base", Facts: Facts{Aliases: []string{"demo", "mac"}, SharedList: true}},
		{Name: "demo"},
		{Name: "apart", Facts: Facts{Aliases: []string{"apartd"}}},
		{Name: "alone", Facts: Facts{SharedList: true}},
	}
	for name, tc := range map[string]struct {
		own  []Game
		want [][]string
	}{
		"record":        {nil, [][]string{{"base", "demo", "mac"}}},
		"stated in own": {[]Game{{Name: "apart", Facts: Facts{SharedList: true}}}, [][]string{{"apart", "apartd"}, {"base", "demo", "mac"}}},
		"off in own":    {[]Game{{Name: "base", Given: FieldsOf("shared_list")}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := NewCatalog(below, tc.own)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, c.SharedLists()); diff != "" {
				t.Errorf("SharedLists (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCatalogHiddenRooms(t *testing.T) {
	builtIn := []Game{{Name: "a", Source: Source{Origin: FromEmbedded}, Rooms: []Room{{ID: 7, Name: "Built in"}, {ID: 8, Name: "Stays"}}}}
	own := []Game{{Name: "b", Source: Source{Origin: FromFile}, Rooms: []Room{{ID: 7, Name: "Own"}}}}
	c := newCatalog(t, builtIn, own)
	if r, g, ok := c.Room(7); !ok || r.Name != "Own" || g.Name != "b" {
		t.Errorf("room 7 is %+v of %s, %v; want the operator's", r, g.Name, ok)
	}
	if r, g, ok := c.Room(8); !ok || r.Name != "Stays" || g.Name != "a" || len(g.Rooms) != 1 {
		t.Errorf("room 8 is %+v of %+v, %v", r, g, ok)
	}
	if diff := cmp.Diff([]HiddenRoom{{Room: Room{ID: 7, Name: "Built in"}, Game: "a", Other: "b"}}, c.HiddenRooms()); diff != "" {
		t.Errorf("hidden rooms (-want +got):\n%s", diff)
	}
	if err := c.ReplaceBeside(map[uint32]string{8: "z"}, builtIn, own); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := c.Room(8); ok || len(c.HiddenRooms()) != 2 {
		t.Errorf("room 8 stands beside the operator's; hidden: %v", c.HiddenRooms())
	}
	if _, err := NewCatalog(builtIn, []Game{{Name: "a", Source: Source{Origin: FromFile}, Title: "A"}}, append(own, Game{Name: "c", Source: Source{Origin: FromFile}, Rooms: []Room{{ID: 7, Name: "Too"}}})); err == nil {
		t.Error("two rooms of the operator with one id are accepted")
	}
}

func TestListedAs_policy(t *testing.T) {
	c := newCatalog(t, []Game{{Name: "cstrike", Secrets: []string{"ZIr1wX"}, Policy: Policy{A2S: On}}, {Name: "swat4", Secrets: []string{"tG3j8c"}}})
	for said, want := range map[string]string{"cstrike": "cstrike", "swat4": "swat4.a2s", "tf": "tf"} {
		if got, ok := c.ListedAs(said, true); !ok || got != want {
			t.Errorf("ListedAs(%s) = %q, %v; want %q", said, got, ok, want)
		}
	}
}

func TestStanding(t *testing.T) {
	served := func(s Service) Served {
		switch s {
		case "qr2", "serverbrowse":
			return Running
		case "peerchat", "natneg":
			return SwitchedOff
		}
		return NotBuilt
	}
	for want, f := range map[string]Facts{
		"not known":                              {Uses: []Service{"gstats"}},
		"all run":                                {Needs: []Service{"qr2", "serverbrowse"}},
		"all but statistics run":                 {Needs: []Service{"qr2"}, Uses: []Service{"serverbrowse", "gstats"}},
		"all but statistics and chat run":        {Needs: []Service{"qr2"}, Uses: []Service{"gstats", "peerchat"}},
		"statistics are missing in this version": {Needs: []Service{"qr2", "gstats", "peerchat"}, Uses: []Service{"cdkey"}},
		"statistics and sign-in are missing in this version": {Needs: []Service{"gstats", "gpcm"}},
		"chat is switched off":                               {Needs: []Service{"qr2", "peerchat"}, Uses: []Service{"gstats"}},
		"chat and NAT negotiation are switched off":          {Needs: []Service{"peerchat", "natneg"}},
	} {
		if got := f.Standing(served).String(); got != want {
			t.Errorf("needs %v, uses %v: %q, want %q", f.Needs, f.Uses, got, want)
		}
	}
	got := Facts{Needs: []Service{"gpcm"}, Uses: []Service{"peerchat"}}.Standing(served)
	want := Standing{State: Lacking, Missing: []Missing{{Service: "gpcm", Needed: true}, {Service: "peerchat", Built: true}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Standing (-want +got):\n%s", diff)
	}
}

func TestParseTables(t *testing.T) {
	const row = "gmtest\tTest\tHA6zkS abcdef\t1\t6501\t128\t2\texample.org\t12\t1 2\tqr2\tgstats\tgt gtest\thostname numplayers:1\n"
	list, err := ParseTables("# comment\n\n"+row, "7\tgmtest\t20\tLobby\t\\a\\1\\b\\\n", Source{Origin: FromEmbedded})
	if err != nil {
		t.Fatal(err)
	}
	want := []Game{{
		Name: "gmtest", Title: "Test", Secrets: []string{"HA6zkS", "abcdef"}, ID: 1, QueryPort: 6501, BackendFlags: 128, DisabledServices: 2,
		Rooms: []Room{{ID: 7, Name: "Lobby", MaxWaiting: 20, Fields: []Field{{"a", "1"}, {"b", ""}}}},
		Facts: Facts{
			Domains: []string{"example.org"}, Namespace: 12, LANPorts: []uint16{1, 2}, Needs: []Service{"qr2"}, Uses: []Service{"gstats"}, Called: []string{"gt", "gtest"},
			Keys: []Key{{Name: "hostname"}, {Name: "numplayers", Type: 1}},
		},
		Source: Source{Origin: FromEmbedded, Line: 3},
	}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("ParseTables (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct{ games, rooms, want string }{
		"columns":     {"a\tb\n", "", "embedded:1: 2 columns, want 14"},
		"more":        {strings.TrimSuffix(row, "\n") + "\tx\n", "", "15 columns, want 14"},
		"number":      {strings.Replace(row, "6501", "65536", 1), "", "port must be a number from 1 to 65535"},
		"name twice":  {row + row, "", `embedded:2: game "gmtest": already in embedded:1`},
		"room's game": {row, "7\tother\t\tLobby\t\n", "there is no such game"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseTables(tc.games, tc.rooms, Source{Origin: FromEmbedded}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ParseTables: %v, want %q", err, tc.want)
			}
		})
	}
}

func TestJoinLink(t *testing.T) {
	for name, tc := range map[string]struct {
		join, address, want string
	}{
		"address":   {"steam://connect/{address}", "192.0.2.1:27015", "steam://connect/192.0.2.1:27015"},
		"in it":     {"zds://{address}/za", "192.0.2.1:10666", "zds://192.0.2.1:10666/za"},
		"none":      {"", "192.0.2.1:27015", ""},
		"IPv6":      {"steam://connect/{address}", "[2001:db8::1]:27015", ""},
		"unchecked": {"javascript://{address}", "192.0.2.1:27015", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Facts{Join: tc.join}).JoinLink(netip.MustParseAddrPort(tc.address)); got != tc.want {
				t.Errorf("JoinLink: got %q, want %q", got, tc.want)
			}
		})
	}
}
