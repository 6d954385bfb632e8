package serverbrowse

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// decodeView reads a view as a browser does.
func decodeView(t testing.TB, v *view) Reply {
	t.Helper()
	b := appendFixedHeader(nil, netip.IPv4Unspecified(), 6500)
	r, err := newClearDecoder(bytes.NewReader(append(b, v.clear...))).Reply(0)
	if err != nil {
		t.Fatalf("decoding a view: %v", err)
	}
	return r
}

func newTestRegistry() *master.Registry {
	return master.NewRegistry(master.Limits{PerNet: 1 << 20, PerAddr: 1 << 20})
}

func TestKeyTypesFollowTheValues(t *testing.T) {
	tests := map[string]struct {
		values []string
		want   KeyType
	}{
		"bytes":                {[]string{"0", "7", "255"}, KeyByte},
		"shorts":               {[]string{"0", "256", "65535"}, KeyShort},
		"too large":            {[]string{"0", "65536"}, KeyString},
		"zero in front":        {[]string{"1", "007"}, KeyString},
		"sign":                 {[]string{"-1", "+1"}, KeyString},
		"blank":                {[]string{"1 "}, KeyString},
		"fraction":             {[]string{"1.5"}, KeyString},
		"empty value":          {[]string{"1", "", "2"}, KeyString},
		"missing value":        {[]string{"1", "missing", "2"}, KeyString},
		"text after numbers":   {[]string{"1", "2", "1", "many"}, KeyString},
		"nothing to go by":     {nil, KeyString},
		"six digits":           {[]string{"123456"}, KeyString},
		"digits of other kind": {[]string{"٣"}, KeyString},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reg := newTestRegistry()
			var want []string
			for i, v := range test.values {
				rules := []string{"hostname", "x", "n", v}
				if v == "missing" {
					rules, v = rules[:2], ""
				}
				put(t, reg, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i), rules, nil)
				want = append(want, v)
			}
			v, err := testView(t, reg, `\n`, "", false)
			if err != nil {
				t.Fatal(err)
			}
			r := decodeView(t, v)
			if r.Keys[0].Type != test.want {
				t.Errorf("key type %d, want %d", r.Keys[0].Type, test.want)
			}
			var got []string
			for _, e := range r.Entries {
				got = append(got, e.Values[0])
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("values (-want +got):\n%s", d)
			}
		})
	}
}

// TestKeyTypesOfTheRecord checks that types which the record of a game states are
// those of the list.
func TestKeyTypesOfTheRecord(t *testing.T) {
	for name, test := range map[string]struct {
		key          string
		values, want []string
		kind         KeyType
	}{
		"text":            {"N", []string{"1", "2"}, []string{"1", "2"}, KeyString},
		"byte":            {"N:1", []string{"7", "255"}, []string{"7", "255"}, KeyByte},
		"short":           {"N:2", []string{"7", "8"}, []string{"7", "8"}, KeyShort},
		"byte too small":  {"N:1", []string{"7", "256"}, []string{"7", "256"}, KeyShort},
		"short too small": {"N:1", []string{"7", "65536"}, []string{"7", "0"}, KeyByte},
		"no numbers":      {"N:1", []string{"", "many", "007", " 5 of 9", "-1"}, []string{"0", "0", "7", "5", "0"}, KeyByte},
		"no servers":      {"N:1", nil, nil, KeyByte},
		"other key":       {"M:2", []string{"7"}, []string{"7"}, KeyByte},
	} {
		t.Run(name, func(t *testing.T) {
			record := "games: [{name: gmtest, secret: " + testSecret + `, keys: ["` + test.key + `"]}]`
			list, err := games.ParseYAML(strings.NewReader(record), games.Source{})
			if err != nil {
				t.Fatal(err)
			}
			f := start(t, func(o *Options) {
				if o.Games, err = games.NewCatalog(list); err != nil {
					t.Fatal(err)
				}
			})
			for i, v := range test.values {
				put(t, f.reg, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i), []string{"n", v}, nil)
			}
			r := f.connect(t).ask(request(func(r *ListRequest) { r.Fields = `\n` }))
			if r.Keys[0].Type != test.kind {
				t.Errorf("type %d, want %d", r.Keys[0].Type, test.kind)
			}
			var got []string
			for _, e := range r.Entries {
				got = append(got, e.Values[0])
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("values (-want +got):\n%s", d)
			}
		})
	}
}

func TestRepeatedValuesGetAnIndex(t *testing.T) {
	reg := newTestRegistry()
	for i := range 600 {
		put(t, reg, "gmtest", fmt.Sprintf("192.0.%d.%d:6500", i/256, i%256), []string{
			"hostname", fmt.Sprintf("unique %d", i), "mapname", fmt.Sprintf("map %d", i%150), "mode", fmt.Sprintf("mode %d", i%150), "mod", "",
			"long", strings.Repeat("z", 300), "once", fmt.Sprint("v", i),
		}, nil)
	}
	v, err := testView(t, reg, `\hostname\mapname\mode\mod\long\once`, "", false)
	if err != nil {
		t.Fatal(err)
	}
	r := decodeView(t, v)
	if len(r.Popular) != maxPopular {
		t.Errorf("%d popular values, want %d", len(r.Popular), maxPopular)
	}
	if !slices.Contains(r.Popular, "") {
		t.Error("the empty value is on every server and has no index")
	}
	if slices.Contains(r.Popular, strings.Repeat("z", 300)) {
		t.Error("a value of 300 bytes has an index")
	}
	for i, e := range r.Entries {
		want := []string{fmt.Sprintf("unique %d", i), fmt.Sprintf("map %d", i%150), fmt.Sprintf("mode %d", i%150), "", strings.Repeat("z", 300), fmt.Sprint("v", i)}
		if d := cmp.Diff(want, e.Values); d != "" {
			t.Fatalf("values of server %d (-want +got):\n%s", i, d)
		}
	}
}

// A server that only this daemon has reached is joined by negotiation if
// possible.
func TestFlagsOfTheWayToAServer(t *testing.T) {
	for name, tt := range map[string]struct {
		natneg  bool
		reached master.Reached
		want    Flag
	}{
		"direct, with negotiation":      {true, master.ReachedDirect, FlagReachable},
		"direct":                        {false, master.ReachedDirect, FlagReachable},
		"perhaps, with negotiation":     {true, master.ReachedPerhaps, FlagNATNeg},
		"perhaps":                       {false, master.ReachedPerhaps, FlagReachable},
		"negotiated":                    {true, master.ReachedNegotiated, FlagNATNeg},
		"not reached, with negotiation": {true, master.ReachedNo, FlagNATNeg},
		"not reached":                   {false, master.ReachedNo, 0},
		"not asked":                     {false, master.ReachedUnknown, 0},
	} {
		s := &master.Server{Origin: qr2.Origin, Public: netip.MustParseAddrPort("192.0.2.1:6500"), NATNeg: tt.natneg, Findings: master.Findings{Reached: tt.reached}}
		if got, _ := serverFlags(s, 6500, advertise.Asker{}); got != tt.want {
			t.Errorf("%s: flags %#x, want %#x", name, got, tt.want)
		}
	}
}

func TestReachableServersKeepTheirValues(t *testing.T) {
	reg := newTestRegistry()
	put(t, reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Alpha", "n", "x"}, func(s *master.Server) {
		s.Findings.Reached, s.NATNeg = master.ReachedDirect, true
	})
	put(t, reg, "gmtest", "192.0.2.2:6500", []string{"hostname", "Beta", "n", "5"}, nil)
	for all, want := range map[bool][]Entry{
		false: {
			{Flags: FlagReachable, Public: netip.MustParseAddrPort("192.0.2.1:6500")},
			{Flags: FlagValues, Public: netip.MustParseAddrPort("192.0.2.2:6500"), Values: []string{"Beta", "5"}},
		},
		true: {
			{Flags: FlagReachable | FlagValues, Public: netip.MustParseAddrPort("192.0.2.1:6500"), Values: []string{"Alpha", "x"}},
			{Flags: FlagValues, Public: netip.MustParseAddrPort("192.0.2.2:6500"), Values: []string{"Beta", "5"}},
		},
	} {
		v, err := testView(t, reg, `\hostname\n`, "", all)
		if err != nil {
			t.Fatal(err)
		}
		r := decodeView(t, v)
		if d := cmp.Diff(want, r.Entries, compareAddrs); d != "" {
			t.Errorf("fields for all %v (-want +got):\n%s", all, d)
		}
		if wantType := map[bool]KeyType{false: KeyByte, true: KeyString}[all]; r.Keys[1].Type != wantType {
			t.Errorf("fields for all %v: type %d, want %d", all, r.Keys[1].Type, wantType)
		}
	}
}

func TestListWithoutFieldsHasNoValues(t *testing.T) {
	reg := newTestRegistry()
	put(t, reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Alpha"}, nil)
	v, err := testView(t, reg, `\\`, "", false)
	if err != nil {
		t.Fatal(err)
	}
	r := decodeView(t, v)
	if len(r.Keys) != 0 || len(r.Entries) != 1 || r.Entries[0].Flags != 0 {
		t.Errorf("list %+v", r)
	}
}

func TestEntriesFitTheClient(t *testing.T) {
	reg := newTestRegistry()
	put(t, reg, "gmtest", "192.0.2.1:7000", []string{
		"a", strings.Repeat("a", 2500), "n", "5", "b", strings.Repeat("b", 1900), "c", "short",
	}, func(s *master.Server) { s.Local = []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:7000")} })
	put(t, reg, "gmtest", "192.0.2.2:7000", []string{"a", "x", "n", "6", "b", strings.Repeat("b", 4200), "c", "short"}, nil)
	v, err := testView(t, reg, `\a\n\b\c`, "", false)
	if err != nil {
		t.Fatal(err)
	}
	r := decodeView(t, v) // fails on an element that is too large
	if got := v.ends[0] - v.first; got != maxElement {
		t.Errorf("entry of %d bytes, want %d", got, maxElement)
	}
	if e := r.Entries[0]; e.Values[1] != "5" || e.Values[2] != strings.Repeat("b", 1900) || e.Values[3] != "short" {
		t.Error("more than the longest value was cut")
	}
	if e := r.Entries[1]; e.Values[3] != "short" || len(e.Values[2]) < 4000 {
		t.Error("the second entry was cut wrongly")
	}
}

func TestValueWithANULEndsThere(t *testing.T) {
	reg := newTestRegistry()
	for i := range 2 {
		put(t, reg, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i), []string{"hostname", "a\x00b", "mapname", "m"}, nil)
	}
	v, err := testView(t, reg, `\hostname\mapname`, "", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range decodeView(t, v).Entries {
		if d := cmp.Diff([]string{"a", "m"}, e.Values); d != "" {
			t.Errorf("values (-want +got):\n%s", d)
		}
	}
}

func TestCountryIsTheMastersOwn(t *testing.T) {
	reg := newTestRegistry()
	put(t, reg, "gmtest", "192.0.2.1:6500", []string{"country", "XX", "region", "3"}, func(s *master.Server) { s.Country = "DE" })
	v, err := testView(t, reg, `\COUNTRY\region`, "country = 'de' and region is null", false)
	if err != nil {
		t.Fatal(err)
	}
	r := decodeView(t, v)
	if len(r.Entries) != 1 || !slices.Equal(r.Entries[0].Values, []string{"DE", ""}) {
		t.Errorf("list %+v", r)
	}
}

func TestNamesAreLookedUpWithoutCase(t *testing.T) {
	reg := newTestRegistry()
	put(t, reg, "gmtest", "192.0.2.1:6500", []string{"HostName", "Alpha", "NumPlayers", "3"}, nil)
	put(t, reg, "gmtest", "192.0.2.2:6500", []string{"numplayers", "1", "hostname", "Beta"}, nil)
	v, err := testView(t, reg, `\hostname`, "numplayers > 2", false)
	if err != nil {
		t.Fatal(err)
	}
	r := decodeView(t, v)
	if len(r.Entries) != 1 || r.Entries[0].Values[0] != "Alpha" {
		t.Errorf("list %+v, want Alpha alone", r)
	}
}

func TestFieldNames(t *testing.T) {
	tests := map[string]struct {
		list string
		want []string
		ok   bool
	}{
		"empty":                {"", nil, true},
		"empty names":          {`\\\a\\b\`, []string{"a", "b"}, true},
		"repeated":             {`\a\b\a\A`, []string{"a", "b"}, true},
		"no leading backslash": {`a\b`, []string{"a", "b"}, true},
		"other code page":      {"\\n\xe4me\\n\xf6me", []string{"n\xe4me", "n\xf6me"}, true},
		"255 names":            {manyFields(255), strings.Split(manyFields(255), `\`)[1:], true},
		"256 names":            {manyFields(256), nil, false},
	}
	for name, test := range tests {
		got, ok := fieldNames(test.list)
		if ok != test.ok || !slices.Equal(got, test.want) {
			t.Errorf("%s: fieldNames(%.20q) = %q, %v; want %q, %v", name, test.list, got, ok, test.want, test.ok)
		}
	}
}

func TestViewIsSharedUntilTheGameChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := newTestRegistry()
		s := New(Options{Config: testConfig(), Listing: part.Listing{Registry: reg, Games: testGames(t)}})
		r := request(nil)
		get := func() *view {
			t.Helper()
			at, err := s.asked(&r, "gmtest", 6500)
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.view(at)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		put(t, reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Alpha"}, nil)
		first := get()
		time.Sleep(time.Hour)
		if get() != first {
			t.Error("list built again though nothing changed")
		}
		put(t, reg, "other", "192.0.2.2:6500", []string{"hostname", "Beta"}, nil)
		if get() != first {
			t.Error("list built again though another game changed")
		}
		put(t, reg, "gmtest", "192.0.2.3:6500", []string{"hostname", "Gamma"}, nil)
		if get().entries() != 2 {
			t.Error("old list though the game changed")
		}
	})
}

func TestHoldGrowsWithTheNumberOfServers(t *testing.T) {
	for servers, want := range map[int]time.Duration{
		0: 0, shortList: 0, 110: time.Millisecond, 1099: maxHold - 100*time.Microsecond, 1100: maxHold, 50_000: maxHold,
	} {
		if got := (&view{servers: servers}).hold(); got != want {
			t.Errorf("hold of %d servers: %v, want %v", servers, got, want)
		}
	}
}

func TestAddressesOfAView(t *testing.T) {
	reg := newTestRegistry()
	want := []string{"192.0.2.1:6500", "192.0.2.2:7000", "223.255.255.254:65535"}
	for _, a := range want {
		put(t, reg, "gmtest", a, []string{"hostname", a}, nil)
	}
	v, err := testView(t, reg, `\hostname`, "", false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	v.addresses(6500, func(a uint64) { got = append(got, unpack(a).String()) })
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("addresses (-want +got):\n%s", d)
	}
}

func TestInfoIsCutToOneMessage(t *testing.T) {
	reg := newTestRegistry()
	players := make([]string, 200)
	for i := range players {
		players[i] = strings.Repeat("p", 30)
	}
	putPlayers(t, reg, "gmtest", "192.0.2.1:6500", []string{"big", strings.Repeat("x", 4000), "hostname", "Alpha", "bigger", strings.Repeat("y", 4096)}, nil, nil)
	putPlayers(t, reg, "gmtest", "192.0.2.2:6500", []string{"hostname", "Alpha"}, players, []string{"Red"})
	for public, check := range map[string]func(Entry) bool{
		"192.0.2.1:6500": func(e Entry) bool { return len(e.Rules) == 3 && e.Rules[1].Value == "Alpha" },
		"192.0.2.2:6500": func(e Entry) bool {
			last := e.Rules[len(e.Rules)-1]
			return len(e.Rules) > 100 && strings.HasPrefix(last.Name, "score_") && e.Rules[2] == Rule{"team_t0", "Red"}
		},
	} {
		s, _ := reg.Find(netip.MustParseAddrPort(public))
		b := appendInfo([]byte("before"), s, 6500, s.Public, advertise.Asker{})[len("before"):]
		p, err := newClearDecoder(bytes.NewReader(b)).Push()
		if err != nil || len(b) > maxMessage || !check(p.Entry) {
			t.Errorf("info of %s: %d bytes, %v, %.300v", public, len(b), err, p.Entry.Rules)
		}
	}
}

func TestFoundPlayersAreSplitOverMessages(t *testing.T) {
	var want []FoundPlayer
	for i := range 400 {
		want = append(want, FoundPlayer{strings.Repeat("n", 1+i%80), netip.MustParseAddrPort("192.0.2.1:6500"), uint32(i), "gmtest"})
	}
	tooLong := FoundPlayer{Name: strings.Repeat("n", maxMessage), Game: "gmtest"}
	d := newClearDecoder(bytes.NewReader(appendFound(nil, append([]FoundPlayer{tooLong}, want...))))
	var got []FoundPlayer
	for final := false; !final; {
		p, err := d.Push()
		if err != nil {
			t.Fatal(err)
		}
		got, final = append(got, p.Players...), p.Final
	}
	if d := cmp.Diff(want, got, compareAddrs); d != "" {
		t.Errorf("players (-want +got):\n%s", d)
	}
}
