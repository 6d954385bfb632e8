package games

import (
	"strings"
	"testing"
)

// fileGames is a list with files.
const fileGames = `games:
  - {name: one, hosts: [a.example.org webservices], files: [{path: /s/one/*, is: servserv}, {path: /s/*, is: servserv}, {path: "*news.txt", is: motd}]}
  - {name: two, hosts: [b.example.org webservices, c.example.org webservices], files: [{path: /s/Two/*, is: servserv}, {path: /s/*, is: servserv}, {path: "/t", text: "a\nb"}, {path: "/t*.lua", is: room_pairs}]}
`

func TestFile(t *testing.T) {
	list, err := ParseYAML(strings.NewReader(fileGames), Source{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCatalog(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host, path string
		game       string
		want       FileKind // empty: there is none
	}{
		{"a.example.org", "/s/one/config.txt", "one", FileServServ},
		{"", "/S/TWO/config.txt", "two", FileServServ},
		{"a.example.org", "/s/three/config.txt", "one", FileServServ},
		{"B.EXAMPLE.ORG", "/s/three/config.txt", "two", FileServServ},
		{"d.example.org", "/s/three/config.txt", "one two", FileServServ},
		{"d.example.org", "/x/Russiandow_NEWS.txt", "one", FileMotd},
		{"c.example.org", "/t", "two", FileText},
		{"c.example.org", "/t1.lua", "two", FileRoomPairs},
		{"c.example.org", "/t1.lua1", "", ""},
		{"a.example.org", "/other", "", ""},
		{"a.example.org", "", "", ""},
		{"a.example.org", "/s/" + strings.Repeat("x", MaxRequestPath-3), "one", FileServServ},
		{"a.example.org", "/s/" + strings.Repeat("x", MaxRequestPath-2), "", ""},
	} {
		of, f, ok := c.File(tt.host, tt.path)
		if game := strings.Join(of, " "); game != tt.game || f.Is != tt.want || ok != (tt.want != "") {
			t.Errorf("File(%q, %.60q) = %q, %+v, %v; want %q, %q", tt.host, tt.path, of, f, ok, tt.game, tt.want)
		}
	}
	if _, _, ok := new(Catalog).File("a", "/"); ok {
		t.Error("an empty catalogue has files")
	}
}

func TestFilesAreWrittenAsTheyAreRead(t *testing.T) {
	const more = `games:
  - {name: q, files: [{path: /a, text: "\ttab \"x\" \\\n"}], quickmatch: {room: Quick, nick: Bot-1, profile: 7, maps: [one, "two and a half"]}}
  - {name: r, files: [], quickmatch: {}}
`
	for _, text := range []string{fileGames, more} {
		list, err := ParseYAML(strings.NewReader(text), Source{})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range list {
			var b strings.Builder
			if err := WriteYAML(&b, []Game{g}); err != nil {
				t.Fatal(err)
			}
			again, err := ParseYAML(strings.NewReader(b.String()), Source{})
			if err != nil {
				t.Fatalf("%v: %s", err, b.String())
			}
			if len(g.Differences(again[0])) > 0 || g.Given != again[0].Given {
				t.Errorf("%+v was written as %s", g, b.String())
			}
		}
	}
}

func TestRefusedFiles(t *testing.T) {
	for name, facts := range map[string]string{
		"no path":           "files: [{is: motd}]",
		"path in the air":   "files: [{path: a, is: motd}]",
		"path with a space": `files: [{path: "/a b", is: motd}]`,
		"backslash":         `files: [{path: '/a\b', is: motd}]`,
		"kind":              "files: [{path: /a, is: magic}]",
		"text of a motd":    "files: [{path: /a, is: motd, text: x}]",
		"NUL":               `files: [{path: /a, text: "\0"}]`,
		"twice":             "files: [{path: /a}, {path: /A}]",
		"unknown key":       "files: [{path: /a, size: 3}]",
		"no room":           "quickmatch: {nick: n, profile: 1, maps: [m]}",
		"no maps":           "quickmatch: {room: r, nick: n, profile: 1}",
		"profile 0":         "quickmatch: {room: r, nick: n, profile: 0, maps: [m]}",
		"no profile":        "quickmatch: {room: r, nick: n, maps: [m]}",
		"nick":              `quickmatch: {room: r, nick: "a b", profile: 1, maps: [m]}`,
		"map":               `quickmatch: {room: r, nick: n, profile: 1, maps: ["</QMMaps>"]}`,
		"quick key":         "quickmatch: {room: r, nick: n, profile: 1, maps: [m], bot: 3}",
	} {
		if _, err := ParseYAML(strings.NewReader("games: [{name: x, "+facts+"}]"), Source{}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestQuickRoom(t *testing.T) {
	q := QuickMatch{Room: "QuickMatch", Nick: "bot", Profile: 7, Maps: []string{"m"}}
	g := Game{Name: "x", Rooms: []Room{{ID: 1, Name: "Lobby"}, {ID: 2, Name: "quickmatch"}}, Facts: Facts{QuickMatch: q}}
	if r, ok := g.QuickRoom(); !ok || r.ID != 2 {
		t.Errorf("QuickRoom = %+v, %v; want room 2", r, ok)
	}
	c, err := NewCatalog([]Game{g, {Name: "y"}})
	if err != nil {
		t.Fatal(err)
	}
	if !c.QuickMatchProfile(7) || c.QuickMatchProfile(8) || c.QuickMatchProfile(0) || new(Catalog).QuickMatchProfile(7) {
		t.Error("QuickMatchProfile does not tell 7 from others")
	}
	g.QuickMatch = QuickMatch{}
	if _, ok := g.QuickRoom(); ok {
		t.Error("a game without automatic match has a room for it")
	}
}

func FuzzFilePath(f *testing.F) {
	f.Add("/servserv/*config.txt", "/servserv/generals/config.txt")
	f.Add("****", "/")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > maxFilePath || len(path) > MaxRequestPath {
			return
		}
		file := File{Path: pattern}
		if got := file.matches(path); got && strings.Count(pattern, "*") == 0 && pattern != path {
			t.Errorf("%q matches %q", pattern, path)
		}
		// Each wildcard stands for any characters, so more of them match too.
		wider := File{Path: "*" + pattern + "*"}
		if file.matches(path) && !wider.matches("x"+path+"y") {
			t.Errorf("%q does not match what %q does", wider.Path, pattern)
		}
	})
}
