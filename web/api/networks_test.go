package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
)

// network is an answer in the form of 333networks.
type network struct {
	rows  []map[string]any
	count struct{ Total, Players int }
}

func getNetwork(t *testing.T, f *fixture, path string) (n network) {
	t.Helper()
	w := f.Get(path)
	if err := json.Unmarshal(w.Body.Bytes(), &[]any{&n.rows, &n.count}); err != nil || w.Code != http.StatusOK || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Fatalf("%s: %d, %v, %s: %v", path, w.Code, w.Header(), w.Body, err)
	}
	return n
}

func TestNetworks(t *testing.T) {
	f := newFixture(t)
	first := time.Unix(1_600_000_000, 0)
	put := func(addr, game, name, area, players, port string) {
		f.Put(webtest.Listed{
			Addr: addr, Game: game, Rules: []string{"hostname", name, "mapname", area, "maptitle", "T", "numplayers", players, "maxplayers", "16", "hostport", port, "gametype", "CTF", "gamever", "348"},
			Players: [][]string{{"player_", "frags_", "team_"}, {"<Ann>", "7", "1"}}, Change: func(s *master.Server) { s.First, s.Country = first, "NL" },
		})
		first = first.Add(time.Second)
	}
	put("192.0.2.1:7778", "gmtest", "Inn <1>", "dm1", "3", "7777")
	put("192.0.2.2:7778", "gmtest", "Bar", "dm2", "0", "7777")
	put("192.0.2.3:7778", "gmtest", "No port", "dm3", "1", "0")
	put("192.0.2.4:6500", "gmother", "Other", "dm1", "5", "6501")
	hosts := func(path string) (names []string) {
		for _, row := range getNetwork(t, f, path).rows {
			names = append(names, row["ip"].(string)[len("192.0.2."):])
		}
		return names
	}
	for path, want := range map[string]string{
		"/json/gmtest": "1 2", "/json/all": "4 1 2", "/json/all?s=hostname": "2 1 4", "/json/all?s=numplayers&o=d": "4 1 2", "/json/all?s=added&o=a": "1 2 4",
		"/json/all?s=mapname&r=1&p=2": "1", "/json/all?r=2&p=2": "2", "/json/all?p=9": "", "/json/gmtest?q=INN": "1", "/json/all?mapname=dm1&hostname=oth": "4",
		"/json/all?g=ctf&country=nl&a=popserv": "4 1", "/json/all?a=utdemo": "4 1 2", "/json/all?gametype=dm": "", "/json/none": "",
		"/json/all?s=country": "4 1 2", "/json/all?s=gametype": "4 1 2",
	} {
		if got := strings.Join(hosts(path), " "); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	n := getNetwork(t, f, "/json/gmtest?r=1")
	if n.count.Total != 2 || n.count.Players != 3 {
		t.Errorf("count %+v", n.count)
	}
	for name, want := range map[string]any{
		"hostname": "Inn &lt;1&gt;", "hostport": 7777.0, "gamename": "gmtest", "country": "NL", "numplayers": 3.0, "maxplayers": 16.0, "maptitle": "T",
		"mapname": "dm1", "gametype": "CTF", "dt_added": 1_600_000_000.0, "label": "Test <game>",
	} {
		if n.rows[0][name] != want {
			t.Errorf("%s is %v, want %v", name, n.rows[0][name], want)
		}
	}
	if len(n.rows[0]) != 14 {
		t.Errorf("%d members: %v", len(n.rows[0]), n.rows[0])
	}
}

func TestNetworkServer(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{
		Addr: "192.0.2.1:7778", Rules: []string{"hostname", "Inn <1>", "hostport", "7777", "AdminName", "<b>", "localip0", "10.0.0.1"},
		Players: [][]string{{"player_", "frags_", "team_"}, {"<Ann>", "7", "1"}},
	})
	var got map[string]any
	if err := json.Unmarshal(f.Get("/json/gmtest/192.0.2.1:7777").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	player, _ := got["player_0"].(map[string]any)
	if got["hostname"] != "Inn &lt;1&gt;" || got["queryport"] != 7778.0 || got["adminname"] != "&lt;b&gt;" || got["localip0"] != nil ||
		player["name"] != "&lt;Ann&gt;" || player["frags"] != "7" || player["team"] != "1" {
		t.Errorf("%v", got)
	}
	for path, want := range map[string]string{
		"/json/gmtest/192.0.2.1:7778":            `{"error":1,"in":"not_in_db","ip":"192.0.2.1","port":"7778"}`,
		"/json/gmtest/192.0.2.1":                 `{"error":1,"in":"url_format"}`,
		"/json/gm%20test":                        `{"error":1,"in":"url_format"}`,
		"/json/" + strings.Repeat("x", 21):       `{"error":1,"in":"url_format"}`,
		"/json/gmtest?s=x&p=0&r=1001":            `{"error":1,"in":"options","options":["s","p","r"]}`,
		"/json/all?q=" + strings.Repeat("x", 91): `{"error":1,"in":"options","options":["q"]}`,
	} {
		if w := f.Get(path); w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}

func TestFiles(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "192.0.2.1:7778", Rules: []string{"hostname", "Inn", "hostport", "7777"}})
	f.putA2S("192.0.2.2:27015", "valve", "49", 1)
	files := make(map[string]string)
	Files(f.api, func(name string, content []byte) { files[name] = string(content) })
	for name, path := range map[string]string{
		"servers.json": "/api/v1/servers?full=1", "raw/gmtest.txt": "/raw/gmtest.txt", "raw/other.txt": "/raw/other.txt", "json/gmtest": "/json/gmtest",
		"json/other": "/json/other", "v1/servers/valve": "/v1/servers/valve", "v1/gamedirs": "/v1/gamedirs",
	} {
		if want := f.Get(path).Body.String(); files[name] != want || want == "" {
			t.Errorf("%s: %q, want %q", name, files[name], want)
		}
		delete(files, name)
	}
	if len(files) > 0 {
		t.Errorf("further files: %v", files)
	}
	var list []string
	if err := ReadList(strings.NewReader(f.Get("/api/v1/servers?full=1").Body.String()), func(r *Remote) error { list = append(list, r.Address.String()); return nil }); err != nil || !slices.Equal(list, []string{"192.0.2.1:7778", "192.0.2.2:27015"}) {
		t.Errorf("ReadList: %v, %v", list, err)
	}
}
