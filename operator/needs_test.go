package operator_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
)

// served are the services of a daemon on its defaults.
func served(s games.Service) games.Served {
	switch s {
	case "qr2", "serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "cdkey", "gstats", "natneg", "zanmaster", "valvemaster", "q3master", "webservices", "mangler", "quickmatch",
		"idmaster", "codmaster", "nwmaster", "utmaster", "nas":
		return games.Running
	}
	return games.NotBuilt
}

// TestKnownGames compares well-known games of the built-in catalogue with published
// facts about them.
func TestKnownGames(t *testing.T) {
	catalog, err := operator.ReadGames("")
	if err != nil {
		t.Fatal(err)
	}
	names, err := games.NewNames([]string{games.DefaultDomain}, catalog, served)
	if err != nil {
		t.Fatal(err)
	}
	const nintendo = "conntest.nintendowifi.net nas.nintendowifi.net naswii.nintendowifi.net dls1.nintendowifi.net"
	for game, want := range map[string]struct {
		standing  string
		namespace int
		ports     []uint16
		rooms     int
		here      string // names that lead here
		away      string // names that do not, for their service is missing
	}{
		"swat4":         {"works", 1, []uint16{10482}, 0, "swat4.available.gamespy.com swat4.master.gamespy.com swat4.ms15.gamespy.com", ""},
		"bfield1942":    {"works", 1, nil, 14, "bfield1942.master.gamespy.com master.gamespy.com", ""},
		"bfvietnam":     {"works", 1, []uint16{23000}, 0, "", ""},
		"battlefield2":  {"works", 12, []uint16{29900}, 0, "gpcm.gamespy.com battlefield2.available.gamespy.com eapusher.dice.se", ""},
		"stella":        {"not yet: needs EA's sign-in", 1, []uint16{29900}, 0, "", "bf2142-pc.fesl.ea.com"},
		"ut":            {"works", 1, nil, 0, "master0.gamespy.com unreal.epicgames.com master.mplayer.com", ""},
		"unreal":        {"works", 1, []uint16{7778}, 0, "unreal.epicgames.com", ""},
		"deusex":        {"works", 1, []uint16{7792}, 0, "", ""},
		"rune":          {"works", 1, []uint16{7778}, 0, "", ""},
		"wot":           {"works", 1, []uint16{7778}, 0, "", ""},
		"ut2":           {"works", 1, []uint16{7758}, 0, "ut2003master1.epicgames.com", ""},
		"ut2004":        {"works", 1, []uint16{7778}, 0, "ut2004master1.epicgames.com ut2004master2.epicgames.com", ""},
		"ut3pc":         {"works", 1, nil, 0, "", ""},
		"halor":         {"works", 1, []uint16{2302}, 2, "s1.master.hosthpc.com s1.ms01.hosthpc.com natneg1.hosthpc.com natneg2.hosthpc.com halor.master.gamespy.com", ""},
		"halom":         {"works", 1, []uint16{2302}, 0, "s1.master.hosthpc.com", ""},
		"nwn":           {"works", 1, []uint16{5121}, 13, "nwmaster.bioware.com", ""},
		"crysis":        {"works", 1, []uint16{64087}, 0, "", ""},
		"crysiswars":    {"works", 1, []uint16{64100}, 0, "", ""},
		"capricorn":     {"works", 1, []uint16{64000}, 0, "", ""},
		"flatout2pc":    {"works", 1, []uint16{23756}, 0, "", ""},
		"civ4":          {"works", 17, nil, 0, "gmtest.master.gamespy.com", ""},
		"civ4bts":       {"works", 17, nil, 0, "gmtest.master.gamespy.com gamespy.com motd.gamespy.com", ""},
		"civ4btsjp":     {"works", 17, nil, 0, "gmtest.master.gamespy.com", ""},
		"anno1701":      {"works", 1, nil, 0, "", ""},
		"ccgenerals":    {"works", 1, nil, 13, "servserv.generals.ea.com launch.gamespyarcade.com www.gamespy.com", ""},
		"ccgenzh":       {"works", 1, nil, 15, "servserv.generals.ea.com launch.gamespyarcade.com www.gamespy.com", ""},
		"cc3tibwars":    {"not yet: needs EA's sign-in", 1, nil, 32, "servserv.generals.ea.com", "cnc3-pc.fesl.ea.com"},
		"redalert3pc":   {"not yet: needs EA's sign-in", 1, nil, 45, "servserv.generals.ea.com", "cncra3-pc.fesl.ea.com"},
		"lotrbme2r":     {"not yet: needs EA's sign-in", 1, nil, 12, "servserv.generals.ea.com", "bfme2.fesl.ea.com"},
		"aoe2":          {"not known", 1, nil, 0, "", ""},
		"swbfrontpc":    {"works", 1, []uint16{3658}, 0, "", ""},
		"swbfront2pc":   {"works", 1, []uint16{3658}, 0, "", ""},
		"mohaa":         {"works", 1, nil, 10, "", ""},
		"mohaas":        {"works", 1, []uint16{12300}, 7, "", ""},
		"mohpa":         {"works", 1, []uint16{13300}, 44, "", ""},
		"quake4":        {"works", 1, []uint16{28004}, 0, "q4master.idsoftware.com", ""},
		"doom3":         {"works", 1, nil, 0, "idnet.ua-corp.com", ""},
		"rtcw":          {"works", 1, nil, 0, "", ""},
		"callofduty2":   {"works", 1, []uint16{28960}, 0, "cod2master.activision.com", ""},
		"mariokartwii":  {"works", 16, nil, 0, "gpcm.gs.nintendowifi.net mariokartwii.available.gs.nintendowifi.net mariokartwii.ms19.gs.nintendowifi.net " + nintendo, ""},
		"mariokartds":   {"works", 16, nil, 0, "mariokartds.master.gs.nintendowifi.net " + nintendo, ""},
		"arma2pc":       {"works", 1, []uint16{2302}, 0, "", ""},
		"stalkersc":     {"works", 1, []uint16{5447}, 0, "stalkersc.available.gamegsc.com stalkersc.available.gamespy.com", ""},
		"stalkercoppc":  {"works", 1, nil, 0, "", ""},
		"whamdowfr":     {"works", 1, nil, 10, "thq.vo.llnwd.net gamespyid.com nat.gamespy.com chat.gamespynetwork.com", ""},
		"riseofnations": {"works", 1, []uint16{6501}, 20, "", ""},
		"rof":           {"works", 1, nil, 0, "", ""},
		"vietcong":      {"works", 1, []uint16{15425}, 0, "", ""},
		"vietcong2":     {"works", 1, []uint16{19967}, 0, "", ""},
		"painkiller":    {"works", 1, nil, 0, "", ""},
		"fear":          {"works", 1, []uint16{27888}, 0, "", ""},
		"poriginpc":     {"works", 1, nil, 0, "", ""},
		"homeworld2":    {"works", 1, nil, 6, "", ""},
		"worms3":        {"works", 1, nil, 6, "", ""},
		"worms4":        {"works", 1, nil, 3, "", ""},
		"nfs6":          {"works", 1, []uint16{61220}, 0, "", ""},
		"serioussam":    {"works", 1, []uint16{25601}, 0, "", ""},
		"serioussam2":   {"works", 1, []uint16{25600}, 0, "", ""},
		"thps4ps2":      {"works", 1, nil, 17, "", ""},
		"thps6pc":       {"works", 1, []uint16{5153}, 1, "", ""},
		"dsiege2":       {"works", 1, nil, 46, "", ""},
		"titanquest":    {"works", 1, nil, 0, "", ""},
		"aarts":         {"not yet: needs its list of official maps", 1, []uint16{8850}, 2, "", ""},
		"u2xmp":         {"works", 1, nil, 0, "", ""},
		"civ4colpc":     {"works", 17, nil, 0, "gmtest.master.gamespy.com gamespy.com", ""},
		"cc3kw":         {"not yet: needs EA's sign-in", 1, nil, 4, "", "cnc3-ep1-pc.fesl.ea.com"},
		"lotrbme":       {"not yet: needs EA's sign-in", 1, nil, 20, "", "bfme.fesl.ea.com"},
		"lotrbme2wk":    {"not yet: needs EA's sign-in", 1, nil, 12, "", "bfme2-ep1-pc.fesl.ea.com"},
		"prey":          {"works", 1, []uint16{27719}, 0, "idnet.ua-corp.com", ""},
		"callofduty":    {"works", 1, []uint16{28960}, 4, "codmaster.activision.com", ""},
		"callofdutyuo":  {"works", 1, []uint16{28960}, 0, "coduomaster.activision.com", ""},
		"callofduty4":   {"works", 1, []uint16{28960}, 0, "cod4master.activision.com", ""},
		"jk2":           {"works", 1, nil, 0, "masterjk2.ravensoft.com", ""},
		"jk3":           {"works", 1, []uint16{29070}, 0, "masterjk3.ravensoft.com", ""},
		"sof2":          {"works", 1, nil, 0, "master.sof2.ravensoft.com", ""},
		"whammer40000":  {"works", 1, nil, 10, "thq.vo.llnwd.net motd.gamespy.com", ""},
		"srow2pc":       {"works", 1, nil, 0, "", ""},
		"zandronum":     {"works", 1, nil, 0, "", ""},
	} {
		t.Run(game, func(t *testing.T) {
			g, ok := catalog.Lookup(strings.ToUpper(game))
			if !ok {
				t.Fatal("no such game")
			}
			if got := g.Standing(served).String(); got != want.standing {
				t.Errorf("standing %q, want %q", got, want.standing)
			}
			if g.UniqueNicks() != want.namespace || !slices.Equal(g.LANPorts, want.ports) {
				t.Errorf("namespace %d, ports %v; want %d, %v", g.UniqueNicks(), g.LANPorts, want.namespace, want.ports)
			}
			if len(g.Rooms) != want.rooms {
				t.Errorf("%d rooms, want %d", len(g.Rooms), want.rooms)
			}
			whole := g.Standing(func(games.Service) games.Served { return games.Running }).State
			if known := want.standing != "not known"; (whole == games.Works) != known || !known && whole != games.Unknown {
				t.Errorf("state where everything runs: %s", whole)
			}
			off := g.Standing(func(games.Service) games.Served { return games.SwitchedOff })
			if len(g.Needs) > 0 && (off.State != games.NotYet || !strings.HasPrefix(off.String(), "not here: ")) {
				t.Errorf("state where everything is switched off: %s, %s", off.State, off)
			}
			var hosts strings.Builder
			if err := games.WriteHosts(&hosts, g, netip.MustParseAddr("192.0.2.7"), nil, func(n games.HostName) bool { return n.LeadsHere(served) }); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(hosts.String(), "\n")
			for _, domain := range g.DomainsBeside([]string{games.DefaultDomain}) { // clients of every game ask for these
				for _, host := range []string{".available.", ".master."} {
					want.here += " " + game + host + domain
				}
			}
			for name := range strings.FieldsSeq(want.here) {
				if !slices.Contains(lines, "192.0.2.7 "+name) || !names.Has(name) {
					t.Errorf("%s: among the hosts lines %v, answered over DNS %v; want both", name, slices.Contains(lines, "192.0.2.7 "+name), names.Has(name))
				}
			}
			for name := range strings.FieldsSeq(want.away) {
				if slices.Contains(lines, "192.0.2.7 "+name) || names.Has(name) || !strings.Contains(hosts.String(), "# not redirected: "+name) {
					t.Errorf("%s leads here, or the hosts lines do not say why not", name)
				}
			}
		})
	}
}
