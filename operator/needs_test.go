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
		"idmaster", "codmaster", "nwmaster", "odamaster", "torquemaster", "tribesmaster", "utmaster", "q2master", "qwmaster", "nas", "fesl", "theater":
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
		"swat4":         {"all run", 1, []uint16{10482}, 0, "swat4.available.gamespy.com swat4.master.gamespy.com swat4.ms15.gamespy.com", ""},
		"bfield1942":    {"all run", 1, nil, 14, "bfield1942.master.gamespy.com master.gamespy.com", ""},
		"bfvietnam":     {"all run", 1, []uint16{23000}, 0, "", ""},
		"battlefield2":  {"all run", 12, []uint16{29900}, 0, "gpcm.gamespy.com battlefield2.available.gamespy.com eapusher.dice.se", ""},
		"stella":        {"all run", 1, []uint16{29900}, 0, "bf2142-pc.fesl.ea.com", ""},
		"ut":            {"all run", 1, nil, 0, "master0.gamespy.com unreal.epicgames.com master.mplayer.com", ""},
		"unreal":        {"all run", 1, []uint16{7778}, 0, "unreal.epicgames.com", ""},
		"deusex":        {"all run", 1, []uint16{7792}, 0, "", ""},
		"rune":          {"all run", 1, []uint16{7778}, 0, "", ""},
		"wot":           {"all run", 1, []uint16{7778}, 0, "", ""},
		"ut2":           {"all run", 1, []uint16{7758}, 0, "ut2003master1.epicgames.com", ""},
		"ut2004":        {"all run", 1, []uint16{7778}, 0, "ut2004master1.epicgames.com ut2004master2.epicgames.com", ""},
		"ut3pc":         {"all run", 64, nil, 0, "", ""},
		"halor":         {"all run", 1, []uint16{2302}, 2, "s1.master.hosthpc.com s1.ms01.hosthpc.com natneg1.hosthpc.com natneg2.hosthpc.com halor.master.gamespy.com", ""},
		"halom":         {"all run", 1, []uint16{2302}, 0, "s1.master.hosthpc.com", ""},
		"nwn":           {"all run", 1, []uint16{5121}, 13, "nwmaster.bioware.com", ""},
		"crysis":        {"all run", 1, []uint16{64087}, 0, "", ""},
		"crysiswars":    {"all run", 1, []uint16{64100}, 0, "", ""},
		"capricorn":     {"all run", 1, []uint16{64000}, 0, "", ""},
		"flatout2pc":    {"all run", 1, []uint16{23756}, 0, "", ""},
		"civ4":          {"all run", 17, nil, 0, "gmtest.master.gamespy.com", ""},
		"civ4bts":       {"all run", 17, nil, 0, "gmtest.master.gamespy.com gamespy.com motd.gamespy.com", ""},
		"civ4btsjp":     {"all run", 17, nil, 0, "gmtest.master.gamespy.com", ""},
		"anno1701":      {"all run", 1, nil, 0, "", ""},
		"ccgenerals":    {"all run", 1, nil, 13, "servserv.generals.ea.com launch.gamespyarcade.com www.gamespy.com", ""},
		"ccgenzh":       {"all run", 1, nil, 15, "servserv.generals.ea.com launch.gamespyarcade.com www.gamespy.com", ""},
		"cc3tibwars":    {"all run", 1, nil, 32, "servserv.generals.ea.com cnc3-pc.fesl.ea.com", ""},
		"redalert3pc":   {"all run", 1, nil, 45, "servserv.generals.ea.com cncra3-pc.fesl.ea.com", ""},
		"mohairborne":   {"all run", 1, []uint16{12300}, 0, "mohair-pc.fesl.ea.com", ""},
		"mercs2":        {"all run", 1, nil, 0, "mercs2-pc.fesl.ea.com", ""},
		"bfbc2":         {"all run", 1, nil, 0, "bfbc2-pc.fesl.ea.com bfbc2-ps3.fesl.ea.com", ""},
		"bf1943":        {"all run", 1, nil, 0, "beach-ps3.fesl.ea.com", ""},
		"lotrbme2r":     {"all run", 1, nil, 12, "servserv.generals.ea.com bfme2.fesl.ea.com", ""},
		"aoe2":          {"not known", 1, nil, 0, "", ""},
		"swbfrontpc":    {"all run", 1, []uint16{3658}, 0, "", ""},
		"swbfront2pc":   {"all run", 1, []uint16{3658}, 0, "", ""},
		"mohaa":         {"all run", 1, nil, 10, "", ""},
		"mohaas":        {"all run", 1, []uint16{12300}, 7, "", ""},
		"mohpa":         {"all run", 1, []uint16{13300}, 44, "", ""},
		"quake4":        {"all run", 1, []uint16{28004}, 0, "q4master.idsoftware.com", ""},
		"doom3":         {"all run", 1, nil, 0, "idnet.ua-corp.com", ""},
		"rtcw":          {"all run", 1, nil, 0, "", ""},
		"callofduty2":   {"all run", 1, []uint16{28960}, 0, "cod2master.activision.com", ""},
		"mariokartwii":  {"all run", 16, nil, 0, "gpcm.gs.nintendowifi.net mariokartwii.available.gs.nintendowifi.net mariokartwii.ms19.gs.nintendowifi.net " + nintendo, ""},
		"mariokartds":   {"all run", 16, nil, 0, "mariokartds.master.gs.nintendowifi.net " + nintendo, ""},
		"arma2pc":       {"all run", 1, []uint16{2302}, 0, "", ""},
		"stalkersc":     {"all run", 1, []uint16{5447}, 0, "stalkersc.available.gamegsc.com stalkersc.available.gamespy.com", ""},
		"stalkercoppc":  {"all run", 1, nil, 0, "", ""},
		"whamdowfr":     {"all run", 1, nil, 10, "thq.vo.llnwd.net gamespyid.com nat.gamespy.com chat.gamespynetwork.com", ""},
		"riseofnations": {"all run", 1, []uint16{6501}, 20, "", ""},
		"rof":           {"all run", 1, nil, 0, "", ""},
		"vietcong":      {"all run", 1, []uint16{15425}, 0, "", ""},
		"vietcong2":     {"all run", 1, []uint16{19967}, 0, "", ""},
		"painkiller":    {"all run", 1, nil, 0, "", ""},
		"fear":          {"all run", 1, []uint16{27888}, 0, "", ""},
		"poriginpc":     {"all run", 1, nil, 0, "", ""},
		"homeworld2":    {"all run", 1, nil, 6, "", ""},
		"worms3":        {"all run", 1, nil, 6, "", ""},
		"worms4":        {"all run", 1, nil, 3, "", ""},
		"nfs6":          {"all run", 1, []uint16{61220}, 0, "", ""},
		"serioussam":    {"all run", 1, []uint16{25601}, 0, "", ""},
		"serioussam2":   {"all run", 1, []uint16{25600}, 0, "", ""},
		"thps4ps2":      {"all run", 1, nil, 17, "", ""},
		"thps6pc":       {"all run", 1, []uint16{5153}, 1, "", ""},
		"dsiege2":       {"all run", 1, nil, 46, "", ""},
		"titanquest":    {"all run", 1, nil, 0, "", ""},
		"aarts":         {"its official map list is missing in this version", 1, []uint16{8850}, 2, "", ""},
		"u2xmp":         {"all run", 1, nil, 0, "", ""},
		"civ4colpc":     {"all run", 17, nil, 0, "gmtest.master.gamespy.com gamespy.com", ""},
		"cc3kw":         {"all run", 1, nil, 4, "cnc3-ep1-pc.fesl.ea.com", ""},
		"lotrbme":       {"all run", 1, nil, 20, "bfme.fesl.ea.com", ""},
		"lotrbme2wk":    {"all run", 1, nil, 12, "bfme2-ep1-pc.fesl.ea.com", ""},
		"prey":          {"all run", 1, []uint16{27719}, 0, "idnet.ua-corp.com", ""},
		"callofduty":    {"all run", 1, []uint16{28960}, 4, "codmaster.activision.com", ""},
		"callofdutyuo":  {"all run", 1, []uint16{28960}, 0, "coduomaster.activision.com", ""},
		"callofduty4":   {"all run", 1, []uint16{28960}, 0, "cod4master.activision.com", ""},
		"jk2":           {"all run", 1, nil, 0, "masterjk2.ravensoft.com", ""},
		"jk3":           {"all run", 1, []uint16{29070}, 0, "masterjk3.ravensoft.com", ""},
		"sof2":          {"all run", 1, nil, 0, "master.sof2.ravensoft.com", ""},
		"whammer40000":  {"all run", 1, nil, 10, "thq.vo.llnwd.net motd.gamespy.com", ""},
		"srow2pc":       {"all run", 1, nil, 0, "", ""},
		"zandronum":     {"all run", 1, nil, 0, "", ""},
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
			if known := want.standing != "not known"; (whole == games.All) != known || !known && whole != games.Unknown {
				t.Errorf("state where everything runs: %s", whole)
			}
			off := g.Standing(func(games.Service) games.Served { return games.SwitchedOff })
			if len(g.Needs) > 0 && (off.State != games.Lacking || !strings.HasSuffix(off.String(), " switched off")) {
				t.Errorf("state where everything is switched off: %s, %s", off.State, off)
			}
			var hosts strings.Builder
			if err := games.WriteHosts(&hosts, g, netip.MustParseAddr("192.0.2.7"), nil, func(n games.HostName) bool { return n.LeadsHere(served) }); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(hosts.String(), "\n")
			for name := range strings.FieldsSeq(want.here) {
				if !slices.Contains(lines, "192.0.2.7 "+name) && len(g.Editions) == 0 || !names.Has(name) { // an edition says which names are needed
					t.Errorf("%s: among the hosts lines %v, answered over DNS %v; want both", name, slices.Contains(lines, "192.0.2.7 "+name), names.Has(name))
				}
			}
			for name := range strings.FieldsSeq(want.away) {
				if slices.Contains(lines, "192.0.2.7 "+name) || names.Has(name) || !strings.Contains(hosts.String(), "# not redirected: "+name) && len(g.Editions) == 0 {
					t.Errorf("%s leads here, or the hosts lines do not say why not", name)
				}
			}
		})
	}
}
