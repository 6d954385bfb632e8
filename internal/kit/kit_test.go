package kit

import (
	"archive/zip"
	"bytes"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/binpatch"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/hostsfile"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/qrsvg"
)

// Services that packages above this one declare.
var _ = []games.Kind{
	games.Declare(games.Kind{Name: "zanmaster", Words: "the Zandronum master"}),
	games.Declare(games.Kind{Name: "valvemaster", Words: "the Valve-style master"}),
	games.Declare(games.Kind{Name: "q3master", Words: "the Quake 3 master"}),
	games.Declare(games.Kind{Name: "idmaster", Words: "id Software's master", Names: true, Query: "idtech4"}),
	games.Declare(games.Kind{Name: "codmaster", Words: "the Call of Duty master", Names: true}),
	games.Declare(games.Kind{Name: "utmaster", Words: "Epic's master"}),
	games.Declare(games.Kind{Name: "nwmaster", Words: "BioWare's account check", Names: true, Query: "nwn"}),
}

func wantParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

func catalogue(t *testing.T) *games.Catalog {
	t.Helper()
	layers, err := games.Embedded{Games: configs.GameTable, Rooms: configs.RoomTable, Facts: configs.Games, Editions: configs.EditionTable}.Layers()
	if err != nil {
		t.Fatal(err)
	}
	c, err := games.NewCatalog(layers...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func running(games.Service) games.Served { return games.Running }

// kitOf returns a kit where all services run.
func kitOf(g games.Game) *Kit {
	return &Kit{
		Game: g, Address: netip.MustParseAddr("192.0.2.1"), Domains: []string{games.DefaultDomain}, Scripts: true,
		Leads: func(n games.HostName) bool { return n.LeadsHere(running) }, Known: g.Outlooks(running, nil),
	}
}

// unpacked returns the files of an archive by name.
func unpacked(t *testing.T, archive []byte) (names []string, texts map[string]string) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	texts = make(map[string]string)
	for _, f := range r.File {
		part, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(f.Name, "/")
		names = append(names, name)
		texts[name] = string(text)
	}
	return names, texts
}

// TestKits unpacks the kits of famous games, and compares what is in them with what their players need.
func TestKits(t *testing.T) {
	c := catalogue(t)
	computer := func(name string, more ...string) []string {
		return append([]string{"README.txt", "hosts-" + name + ".txt", "hosts-" + name + ".bat", "hosts-" + name + ".sh"}, more...)
	}
	for name, tc := range map[string]struct {
		files []string
		parts []string // of the README, or of the file whose name is in front of a colon
	}{
		"swat4":        {computer("swat4"), []string{"SWAT 4 (swat4) through the server at 192.0.2.1", "should play", "swat4://", "hosts-swat4.txt:192.0.2.1 swat4.master.gamespy.com\r\n"}},
		"bfield1942":   {computer("bfield1942"), []string{"should play", "bf1942://"}},
		"ut":           {computer("ut", "settings.txt"), []string{"settings.txt:below [UBrowserAll]:\r\nListFactories[1]=UBrowser.UBrowserGSpyFact,MasterServerAddress=192.0.2.1,MasterServerTCPPort=28900"}},
		"ut2004":       {computer("ut2004", "settings.txt"), []string{"settings.txt:In System\\UT2004.ini, below [IpDrv.MasterServerLink]:\r\nMasterServerList=(Address=\"192.0.2.1\",Port=28902)\r\n"}},
		"ut3pc":        {computer("ut3pc"), []string{"hosts-ut3pc.txt:192.0.2.1 u3.epicgames.com"}},
		"civ4":         {computer("civ4"), []string{"Steam: played on another network: Steam"}},
		"ccgenzh":      {computer("ccgenzh"), []string{"hosts-ccgenzh.txt:servserv.generals.ea.com"}},
		"swbfront2pc":  {computer("swbfront2pc"), []string{"Known from: "}},
		"stalkercoppc": {computer("stalkercoppc"), []string{"STALKER: Call of Pripyat"}},
		"halor":        {computer("halor"), []string{"hosts-halor.txt:hosthpc.com"}},
		"mariokartwii": {[]string{"README.txt", "card.svg", "patch.txt"}, []string{"card.svg:>DNS 192.0.2.1</text>", "192.0.2.1 as the DNS server of the console", "Dolphin", "needs a patched game", "patch.txt:certificate: the console trusts only certificates of its maker."}},
		"painkiller":   {computer("painkiller", "patch.txt"), []string{"patch.txt:registry key: the game goes online only with the CD key", "patch.txt:a change that respawnd does not make.\r\n"}},
		"srow2pc":      {computer("srow2pc", "patch.txt"), []string{"must have no address", "patch.txt:respawnd point patch FILE --game srow2pc --auth-key KEYFILE"}},
		"bstormps3":    {[]string{"README.txt", "rpcs3.txt", "card.svg"}, []string{"rpcs3.txt:=192.0.2.1&&"}},
		"wormspsp":     {[]string{"README.txt", "ppsspp.ini", "card.svg"}, []string{"ppsspp.ini:[HostAliases]\r\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			g, known := c.Lookup(name)
			if !known {
				t.Fatal("no such game")
			}
			archive, err := kitOf(g).Zip()
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := kitOf(g).Zip(); !bytes.Equal(archive, again) {
				t.Error("a second kit differs")
			}
			names, texts := unpacked(t, archive)
			if !slices.Equal(names, tc.files) {
				t.Errorf("files %v, want %v", names, tc.files)
			}
			for _, p := range tc.parts {
				if file, part, ok := strings.Cut(p, ":"); ok && texts[file] != "" {
					wantParts(t, texts[file], part)
				} else {
					wantParts(t, texts["README.txt"], p)
				}
			}
			if strings.Contains(strings.ReplaceAll(texts["README.txt"], "\r\n", ""), "\n") {
				t.Error("the README has ends of lines that Windows does not read")
			}
		})
	}
	g, _ := c.Lookup("swat4")
	k := kitOf(g)
	k.Scripts = false
	archive, err := k.Zip()
	if err != nil {
		t.Fatal(err)
	}
	if names, texts := unpacked(t, archive); !slices.Equal(names, []string{"README.txt", "hosts-swat4.txt"}) || strings.Contains(texts["README.txt"], ".sh") {
		t.Errorf("without scripts: %v\n%s", names, texts["README.txt"])
	}
	k.Lang = lang.Find("de")
	if archive, err = k.Zip(); err != nil {
		t.Fatal(err)
	}
	if _, texts := unpacked(t, archive); !strings.HasPrefix(texts["README.txt"], "\ufeff") || !strings.Contains(texts["README.txt"], "Was zu tun ist:\r\n- Füge ") {
		t.Errorf("in German:\n%s", texts["README.txt"])
	}
}

// TestKitsOfAll makes the kit of every game.
func TestKitsOfAll(t *testing.T) {
	for _, g := range catalogue(t).All() {
		files, err := kitOf(g).Files()
		if err != nil {
			t.Fatalf("%s: %v", g.Name, err)
		}
		if n := strings.Count(string(files[0].Text), "\n"); n > 25 {
			t.Errorf("%s: the README has %d lines", g.Name, n)
		}
		if platform := g.Platform(); platform != "" && slices.ContainsFunc(files, func(f File) bool { return strings.Contains(f.Name, "hosts") }) {
			t.Errorf("%s: a kit for %s has lines for a hosts file", g.Name, platform)
		}
	}
}

// TestLinesAreTakenAndUndone writes the names of a kit into a hosts file, and removes them.
func TestLinesAreTakenAndUndone(t *testing.T) {
	const before = "127.0.0.1 localhost\n"
	g, _ := catalogue(t).Lookup("swat4")
	k := kitOf(g)
	names, err := k.names()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := hostsfile.Update(path, func(f *hostsfile.File) error { return f.Set(g.Name, k.Address, names) }); err != nil {
		t.Fatal(err)
	}
	lines, err := k.HostsFile()
	if err != nil {
		t.Fatal(err)
	}
	after, _ := os.ReadFile(path)
	for line := range strings.Lines(string(lines.Text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && !strings.Contains(string(after), line) {
			t.Errorf("%q of the kit is not what point writes:\n%s", line, after)
		}
	}
	if _, _, err := hostsfile.Update(path, func(f *hostsfile.File) error { f.Remove(g.Name); return nil }); err != nil {
		t.Fatal(err)
	}
	if undone, _ := os.ReadFile(path); string(undone) != before {
		t.Errorf("undone: %q, want %q", undone, before)
	}
}

// TestRecipe makes the changes that a kit names, and puts the program back.
func TestRecipe(t *testing.T) {
	const program = "\x00https://%s.auth.pubsvs.gamespy.com/AuthService/AuthService.asmx\x00%s.master.gamespy.com\x00"
	path := filepath.Join(t.TempDir(), "game.exe")
	if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	edits, err := binpatch.Search(path, []binpatch.Replacement{{Old: games.DefaultDomain, New: games.DefaultDomain, HTTP: true}})
	if err == nil {
		_, err = binpatch.Apply(path, edits)
	}
	if err != nil {
		t.Fatal(err)
	}
	const want = "\x00http://%s.auth.pubsvs.gamespy.com/AuthService/AuthService.asmx\x00\x00%s.master.gamespy.com\x00"
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Errorf("changed: %q, want %q", got, want)
	}
	if err := binpatch.Undo(path); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != program {
		t.Errorf("undone: %q, want %q", got, program)
	}
}

// The card of a console has a code that a phone can use: the page with the steps, or what is to be entered.
func TestCard(t *testing.T) {
	g := games.Game{Name: "gmcard", Title: "Salt & <Pepper> and a title that is longer than a card", Facts: games.Facts{}}
	for page, want := range map[string]string{
		"": "DNS 192.0.2.1", "https://servers.example.org/games/gmcard": "https://servers.example.org/games/gmcard",
		"https://servers.example.org/" + strings.Repeat("long/", 100): "DNS 192.0.2.1",
	} {
		k := kitOf(g)
		k.Page = page
		card, err := k.card()
		if err != nil {
			t.Fatal(err)
		}
		code, _, err := qrsvg.Draw(want)
		if err != nil {
			t.Fatal(err)
		}
		wantParts(t, string(card.Text), `d="`+string(code)+`"`, ">Salt &amp; &lt;Pepper&gt; and a title that is lon…<", ">DNS 192.0.2.1<")
	}
}
