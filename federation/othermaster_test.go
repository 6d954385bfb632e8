package federation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/configs"
)

// testKey has the form of a public key.
const testKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

func TestParseOtherMaster(t *testing.T) {
	for text, want := range map[string]configs.OtherMaster{
		"gamespy list.example.org:28900 game=ut":                            {Protocol: "gamespy", Address: "list.example.org:28900", Name: "list.example.org/ut", Game: "ut", CMP: true},
		"gamespy List.Example.org game=ut enctype=2 list=plain query=gs3":   {Protocol: "gamespy", Address: "list.example.org:28900", Name: "list.example.org/ut", Game: "ut", Enctype: 2, Query: "gs3"},
		"serverbrowse master.example.org game=swat4 as=swat4xp1":            {Protocol: "serverbrowse", Address: "master.example.org:28910", Name: "master.example.org/swat4", Game: "swat4", As: "swat4xp1", CMP: true},
		"zandronum master.example.org:15300":                                {Protocol: "zandronum", Address: "master.example.org:15300", Name: "master.example.org", CMP: true},
		`valve hl2master.example.org:27011 filter=\gamedir\cstrike`:         {Protocol: "valve", Address: "hl2master.example.org:27011", Name: "hl2master.example.org", Filter: `\gamedir\cstrike`, CMP: true},
		"q3 dpmaster.example.org:27950 game=Xonotic protocol=3":             {Protocol: "q3", Address: "dpmaster.example.org:27950", Name: "dpmaster.example.org/Xonotic", Game: "Xonotic", Number: 3, CMP: true},
		"q3 192.0.2.1 protocol=71 name=lan-2":                               {Protocol: "q3", Address: "192.0.2.1:27950", Name: "lan-2", Number: 71, CMP: true},
		"respawnd https://list.example.org":                                 {Protocol: "respawnd", Address: "https://list.example.org", Name: "list.example.org", CMP: true},
		"respawnd http://192.0.2.1:8080/ verified=true name=friends game=a": {Protocol: "respawnd", Address: "http://192.0.2.1:8080", Name: "friends", Game: "a", Verified: true, CMP: true},
		"codmaster cod.example.org game=callofduty2 protocol=118":           {Protocol: "codmaster", Address: "cod.example.org:20510", Name: "cod.example.org/callofduty2", Game: "callofduty2", Number: 118, CMP: true},
		"cod4x cod.example.org game=callofduty4":                            {Protocol: "cod4x", Address: "cod.example.org:20810", Name: "cod.example.org/callofduty4", Game: "callofduty4", CMP: true},
		"idmaster id.example.org protocol=1.41":                             {Protocol: "idmaster", Address: "id.example.org:27650", Name: "id.example.org", Number: 1<<16 | 41, CMP: true},
		"333sync list.example.org":                                          {Protocol: "333sync", Address: "list.example.org:28900", Name: "list.example.org", CMP: true},
		"333json https://list.example.org/ game=ut":                         {Protocol: "333json", Address: "https://list.example.org", Name: "list.example.org/ut", Game: "ut", Offset: 1, CMP: true},
		"snapshot /srv/list/ key=" + testKey + " name=far restore_for=2h":   {Protocol: "snapshot", Address: "/srv/list", Name: "far", Key: testKey, RestoreFor: 2 * time.Hour, CMP: true},
		"snapshot https://a.b/list key=" + testKey:                          {Protocol: "snapshot", Address: "https://a.b/list", Name: "a.b", Key: testKey, RestoreFor: 24 * time.Hour, CMP: true},
		"textlist http://example.org/?raw=1 query=quake3":                   {Protocol: "textlist", Address: "http://example.org?raw=1", Name: "example.org", Query: "quake3", CMP: true},
		"jsonlist https://example.org/a query=nwn at=data.servers host=host port=gameport offset=-3": {
			Protocol: "jsonlist", Address: "https://example.org/a", Name: "example.org", Query: "nwn", At: "data.servers", HostField: "host", PortField: "gameport", Offset: -3, CMP: true,
		},
	} {
		got, err := configs.ParseOtherMaster(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(configs.OtherMaster{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if again, err := configs.ParseOtherMaster(got.String()); err != nil || again != got {
			t.Errorf("%s: read again: %+v, %v", text, again, err)
		}
	}
	lan, _ := configs.ParseOtherMaster("zandronum 192.0.2.1 name=lan")
	other, _ := configs.ParseOtherMaster("zandronum 192.0.2.1 name=lanparty")
	if !lan.IsLAN() || other.IsLAN() {
		t.Errorf("IsLAN: %v, %v", lan.IsLAN(), other.IsLAN())
	}
}

func TestParseOtherMasterMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                              "is not a master",
		"q3":                                            "is not a master",
		"quake example.org":                             `unknown protocol "quake"; known: 333json, 333sync, cod4x, codmaster, gamespy, hw, idmaster, jsonlist, q2, q3, qw, respawnd, serverbrowse, snapshot, textlist, utmaster, valve, zandronum`,
		"q3 example.org":                                "names no protocol of the game",
		"q3 example.org protocol=x":                     "bad option protocol: is not a whole number",
		"q3 example.org protocol=1 empty":               `"empty", which is not an option`,
		"q3 example.org protocol=1 protocol=2":          `the option "protocol" twice`,
		"q3 example.org protocol=1 as=x":                `unknown option "as"; a q3 master has name, protocol, game`,
		"gamespy example.org":                           "names no game",
		"gamespy example.org game=ut enctype=3":         "bad option enctype",
		"gamespy example.org game=ut list=info":         "bad option list",
		"gamespy example.org game=ut query=ftp":         "bad option query",
		"gamespy example.org:0 game=ut":                 "has a bad port",
		"gamespy 999.1.1.1 game=ut":                     "has a bad host",
		"gamespy 239.0.0.1 game=ut":                     "has a bad host",
		`gamespy example.org game=a\b`:                  "bad option game",
		"respawnd example.org":                          "has an address that is not a web address",
		"respawnd https://me@example.org":               "has an address that must hold no user",
		"respawnd https://a.b verified=maybe":           "bad option verified",
		"snapshot https://a.b":                          "has no key",
		"snapshot https://a.b key=x":                    "bad option key",
		"snapshot a/b key=" + testKey:                   "not a web address",
		"textlist http://a.b":                           "names no protocol in which its servers answer",
		"textlist http://a.b/?x#y query=gs1":            "not a web address",
		"textlist http://me@a.b query=gs1":              "must hold no user",
		"jsonlist a.b query=gs1":                        "not a web address",
		"codmaster a.b protocol=1":                      "names no game",
		"idmaster a.b protocol=41":                      "bad option protocol",
		"zandronum a.b name=x,y":                        "bad option name",
		"zandronum a.b name=" + strings.Repeat("x", 65): "bad option name",
	} {
		if _, err := configs.ParseOtherMaster(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func FuzzParseOtherMaster(f *testing.F) {
	f.Add("q3 dpmaster.example.org:27950 game=Xonotic protocol=3")
	f.Add(`valve hl2master.example.org:27011 filter=\gamedir\cstrike`)
	f.Add("respawnd https://[::1]:1/x verified=1 name=a")
	f.Add("gamespy [::1]:1 game=a")
	f.Add("jsonlist https://example.org/a?b=c query=nwn at=data.servers host=h port=p offset=-3")
	f.Add("idmaster id.example.org protocol=1.41")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := configs.ParseOtherMaster(text)
		if err != nil {
			return
		}
		if m.Name == "" || m.Host() == "" || len(m.Name) > 64 {
			t.Fatalf("%q: %+v", text, m)
		}
		if again, err := configs.ParseOtherMaster(m.String()); err != nil || again != m {
			t.Fatalf("%q: read again: %+v, %v; want %+v", m.String(), again, err, m)
		}
	})
}
