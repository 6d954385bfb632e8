package gamefiles

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/webservices/soap"
)

// eaHost is where EA's games load their files.
const eaHost = "servserv.generals.ea.com"

// newBackend returns a backend of two of EA's games and two of another family, with a motd.
func newBackend(t testing.TB, c FilesConfig) *Backend {
	t.Helper()
	list, err := games.ParseYAML(strings.NewReader(`games:
  - name: ccgenzh
    hosts: [servserv.generals.ea.com webservices]
    rooms: [{id: 571, name: GroupRoom1}, {id: 597, name: QuickMatch}]
    files: [{path: /servserv/generalszh/*, is: servserv}, {path: /servserv/*, is: servserv}]
    quickmatch: {room: QuickMatch, nick: Bot, profile: 17461195, maps: [alpine assault, dust devil]}
  - {name: ccgenerals, hosts: [servserv.generals.ea.com webservices], files: [{path: /servserv/generals/*, is: servserv}, {path: /servserv/*, is: servserv}]}
  - {name: dow, hosts: [motd.gamespy.com webservices], files: [{path: "*news.txt", is: motd_utf16}, {path: "*/lobbyrooms.lua", is: room_pairs}, {path: /ads, text: ""}]}
  - {name: dow2, hosts: [motd.gamespy.com webservices], rooms: [{id: 743, name: Room 1}, {id: 744, name: "A \"b\\ ü"}], files: [{path: "*/lobbyrooms.lua", is: room_pairs}]}
`), games.Source{})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := games.NewCatalog(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckFiles(); err != nil {
		t.Fatal(err)
	}
	return New(Options{Config: c, Games: catalog, Mangler: true, QuickMatch: true, Motd: func(game string) string {
		return map[string]string{"ccgenzh": "Grüße, Generäle 5 €\nzweite Zeile", "dow": "Привет\nok"}[game]
	}})
}

// get requests a path and returns the answer, nil if there is no such file.
func get(t *testing.T, r *Backend, method, host, path string) *httptest.ResponseRecorder {
	t.Helper()
	page, _, ok := r.Find(host, path)
	if !ok {
		return nil
	}
	w := httptest.NewRecorder()
	page.Serve(w, httptest.NewRequestWithContext(t.Context(), method, "/", nil), &soap.Request{})
	return w
}

func TestFiles(t *testing.T) {
	r := newBackend(t, FilesConfig{})
	for name, tt := range map[string]struct{ host, path, want string }{
		"patches of the game":   {eaHost, "/servserv/GeneralsZH/english-65540.txt", "\n"},
		"patches of maps":       {eaHost, "/servserv/GeneralsZH/maps-65536.txt", "\n"},
		"other language":        {eaHost, "/servserv/generals/german-65544.txt", "\n"},
		"BFME":                  {eaHost, "/servserv/lotrbfme/ENGLISH-65539.txt", "\n"},
		"Kane's Wrath":          {eaHost, "/servserv/cnc3_ep1/cnc3ep1_english_1.2.patchinfo", "\n"},
		"drivers":               {eaHost, "/servserv/cnc3_ep1/drivers.txt", "\n"},
		"motd":                  {eaHost, "/servserv/GeneralsZH/MOTD-english.txt", "Gr\xfc\xdfe, Gener\xe4le 5 ?\nzweite Zeile\n"},
		"motd of another game":  {eaHost, "/servserv/generals/MOTD-english.txt", "\n"},
		"motd of no known game": {eaHost, "/servserv/lotrbfme/MOTD-english.txt", "\n"},
		"by another name":       {"play.example.org", "/servserv/GeneralsZH/english-65540.txt", "\n"},
		"news in UTF-16":        {"thq.vo.llnwd.net", "/dow/Russiandow_news.txt", "\x1f\x04\x40\x04\x38\x04\x32\x04\x35\x04\x42\x04\r\x00\n\x00o\x00k\x00\r\x00\n\x00"},
		"rooms":                 {"motd.gamespy.com", "/DOW/SS/LobbyRooms.lua", "room_pairs =\n{\n\"Room 1\",\n\"Room 1\",\n\"A \\\"b\\\\ ?\",\n\"A \\\"b\\\\ ?\",\n}\n"},
		"empty":                 {"motd.gamespy.com", "/ads", ""},
	} {
		w := get(t, r, http.MethodGet, tt.host, tt.path)
		if w == nil {
			t.Errorf("%s: there is no %s", name, tt.path)
			continue
		}
		if w.Code != http.StatusOK || w.Body.String() != tt.want || w.Header()["Content-Length"][0] != strconv.Itoa(len(tt.want)) {
			t.Errorf("%s: %d %v %q, want %q", name, w.Code, w.Header(), w.Body, tt.want)
		}
	}
}

// config.txt as the game reads it, made from the layout and not recorded.
func TestConfigFile(t *testing.T) {
	r := newBackend(t, FilesConfig{})
	w := get(t, r, http.MethodGet, eaHost, "/servserv/GeneralsZH/config.txt")
	const want = `<PingServers>
servserv.generals.ea.com
</PingServers>
<PingDuration>
reps = 1
timeout = 1000
low = 300
med = 600
</PingDuration>
<QMMaps>
alpine assault
dust devil
</QMMaps>
<QMBot>
id = 17461195
</QMBot>
<Manglers>
servserv.generals.ea.com:4321
</Manglers>
<Custom>
restricted = 0
</Custom>
`
	got := w.Body.String()
	rest, ok := strings.CutPrefix(got, want)
	if !ok || strings.TrimSpace(rest) != "" || !strings.HasSuffix(got, "\n") || len(got) < leastConfig {
		t.Errorf("config.txt has %d bytes:\n%s\nwant at least %d:\n%s", len(got), got, leastConfig, want)
	}
	head := get(t, r, http.MethodHead, eaHost, "/servserv/GeneralsZH/config.txt")
	if head.Header().Get("Content-Length") != strconv.Itoa(len(got)) {
		t.Errorf("HEAD: %v, want a length of %d", head.Header(), len(got))
	}
	// The beta has no bot, and the game of an unknown folder is not known.
	for _, folder := range []string{"generals", "lotrbfme"} {
		if got := get(t, r, http.MethodGet, eaHost, "/servserv/"+folder+"/config.txt").Body.String(); strings.Contains(got, "QM") || len(got) < leastConfig {
			t.Errorf("%s: %q, want no automatch", folder, got)
		}
	}
}

func TestConfigFileOfTheOperator(t *testing.T) {
	const ladders = "<Ladders>\r\n<Ladder \"ladder.example.org\" 7000 www.example.org>\r\nName Cup\r\nTeamSize 1\r\n</Ladder>\r\n</Ladders>"
	r := newBackend(t, FilesConfig{
		Manglers: []string{"m1.example.org", "192.0.2.2:4321"}, PingServers: []string{"192.0.2.3"}, Ladders: ladders,
	})
	got := get(t, r, http.MethodGet, eaHost, "/servserv/GeneralsZH/config.txt").Body.String()
	for _, want := range []string{
		"<PingServers>\n192.0.2.3\n</PingServers>\n", "<Manglers>\nm1.example.org:4321\n192.0.2.2:4321\n</Manglers>\n",
		"</Custom>\n<Ladders>\n<Ladder \"ladder.example.org\" 7000 www.example.org>\nName Cup\nTeamSize 1\n</Ladder>\n</Ladders>\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	before := len(got)
	r.Reload(FilesConfig{PingServers: []string{"192.0.2.4"}, Manglers: []string{"m1.example.org", "192.0.2.2"}, Ladders: ladders})
	if got := get(t, r, http.MethodGet, eaHost, "/servserv/GeneralsZH/config.txt").Body.String(); len(got) == before {
		t.Errorf("the length is %d again after a change of one digit: games would keep their copy", before)
	}
}

// Names that a request makes up do not get into the file.
func TestConfigFileWithHostileHost(t *testing.T) {
	r := newBackend(t, FilesConfig{})
	for _, host := range []string{"", "a b", "</PingServers>", "a\nb", "::1", "-x", strings.Repeat("a", maxHost+1)} {
		got := get(t, r, http.MethodGet, host, "/servserv/GeneralsZH/config.txt").Body.String()
		if !strings.Contains(got, "<PingServers>\n</PingServers>\n") || !strings.Contains(got, "<Manglers>\n</Manglers>\n") {
			t.Errorf("host %q:\n%s", host, got)
		}
	}
}

// No path opens a file of the system, and a path that looks like an attack gets no
// answer either.
func TestPathTricks(t *testing.T) {
	r := newBackend(t, FilesConfig{})
	for _, path := range []string{
		"/servserv/../../etc/passwd", "/servserv/GeneralsZH/..", "/servserv//config.txt", `/servserv/..\..\boot.ini`, `/servserv/a\b.txt`,
		"/servserv/config.txt\x00.txt", "/servserv/%2e%2e/x", "/servserv/a\nb", "/servserv/ü.txt", "/servserv/C:/config.txt", "/servserv/*",
		"/servserv/" + strings.Repeat("a", games.MaxRequestPath), "/servserv", "", "/", "/config.txt",
	} {
		if page, _, ok := r.Find(eaHost, path); ok {
			t.Errorf("%q is a file: %s", path, page.Name)
		}
	}
	w := get(t, r, http.MethodPost, eaHost, "/servserv/generals/config.txt")
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d, want 405", w.Code)
	}
}

func TestCheckFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		config FilesConfig
		ok     bool
	}{
		"nothing":             {FilesConfig{}, true},
		"four manglers":       {FilesConfig{Manglers: []string{"a", "b:1", "192.0.2.1", "192.0.2.1:65535"}}, true},
		"five manglers":       {FilesConfig{Manglers: []string{"a", "b", "c", "d", "e"}}, false},
		"mangler with port 0": {FilesConfig{Manglers: []string{"a:0"}}, false},
		"mangler with a line": {FilesConfig{Manglers: []string{"a\nb"}}, false},
		"IPv6":                {FilesConfig{Manglers: []string{"2001:db8::1"}}, false},
		"eight ping servers":  {FilesConfig{PingServers: strings.Split("abcdefgh", "")}, true},
		"nine ping servers":   {FilesConfig{PingServers: strings.Split("abcdefghi", "")}, false},
		"ping server: port":   {FilesConfig{PingServers: []string{"a:1"}}, false},
		"longest host":        {FilesConfig{PingServers: []string{strings.Repeat("a", maxHost)}}, true},
		"host too long":       {FilesConfig{PingServers: []string{strings.Repeat("a", maxHost+1)}}, false},
		"special ladders":     {FilesConfig{Ladders: "<SpecialLadders>\n</SpecialLadders>"}, true},
		"longest ladders":     {FilesConfig{Ladders: strings.Repeat("a", maxLadders)}, true},
		"ladders too long":    {FilesConfig{Ladders: strings.Repeat("a", maxLadders+1)}, false},
		"another section":     {FilesConfig{Ladders: "<Ladders>\n</Ladders>\n <VIP>"}, false},
		"end of a section":    {FilesConfig{Ladders: "</Custom>"}, false},
		"ladders with umlaut": {FilesConfig{Ladders: "Name ü"}, false},
	} {
		if err := tt.config.CheckFiles(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzFind(f *testing.F) {
	r := newBackend(f, FilesConfig{})
	f.Add(eaHost, "/servserv/GeneralsZH/config.txt")
	f.Add("", "/servserv/../x")
	f.Fuzz(func(t *testing.T, host, path string) {
		page, _, ok := r.Find(host, path)
		if !ok {
			return
		}
		w := httptest.NewRecorder()
		page.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), &soap.Request{})
		if w.Code != http.StatusOK || page.Name == pageConfig && (w.Body.Len() < leastConfig || w.Body.Len() > 3*paddedTo) {
			t.Errorf("%q on %q: %d, %d bytes", path, host, w.Code, w.Body.Len())
		}
	})
}
