package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestFilters(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{
		Addr: "192.0.2.1:6500", Rules: []string{"numplayers", "2", "hostport", "7777"}, Change: func(s *master.Server) { s.Country = "NZ" },
		Players: [][]string{{"score_", "player_"}, {"1", "Zoë"}, {"2", "M\xdcller\x1b"}},
	})
	f.Put(webtest.Listed{Addr: "192.0.2.1:6501", Rules: []string{"numplayers", "1", "password", "1"}, Players: [][]string{{"name_"}, {"<Ann>"}}})
	f.Put(webtest.Listed{Addr: "192.0.2.2:6500", Game: "gmother", Players: [][]string{{"score_"}, {"Ann"}}, Change: func(s *master.Server) { s.Country = "DE" }})
	f.Put(webtest.Listed{Addr: "192.0.2.3:6500", Rules: []string{"numplayers", "0"}})
	const one, two, three, four = "192.0.2.1:6500", "192.0.2.1:6501", "192.0.2.2:6500", "192.0.2.3:6500"
	for query, want := range map[string]string{
		"players=0":                       three + " " + one + " " + two + " " + four,
		"players=1":                       three + " " + one + " " + two,
		"players=2":                       one,
		"players=9999":                    "",
		"peopled=1":                       three + " " + one + " " + two,
		"peopled=1&players=2":             one,
		"peopled=0&open=0":                three + " " + one + " " + two + " " + four,
		"open=1":                          three + " " + one + " " + four,
		"open=1&peopled=1&game=gmtest":    one,
		"country=NZ":                      one,
		"country=nz":                      one,
		"country=":                        three + " " + one + " " + two + " " + four,
		"country=FR":                      "",
		"address=2001:db8::1":             "",
		"player=zo%C3%AB":                 one,
		"player=M%C3%9CLL":                one,
		"player=%3Cann":                   two, // not the score of another
		"player=e%C3%ABm":                 "",  // not across two names
		"player=zoe":                      "",
		"address=192.0.2.1":               one + " " + two,
		"address=::ffff:192.0.2.1":        one + " " + two,
		"address=192.0.2.1:6501":          two,
		"address=192.0.2.1:7777":          one,
		"address=192.0.2.2:7777":          "",
		"address=":                        three + " " + one + " " + two + " " + four,
		"player=ann&address=192.0.2.1":    two,
		"q=none&players=0":                "",
		"sort=players&players=1&player=l": one,
	} {
		if got := webtest.Addresses(f.List("/api/v1/servers?" + query)); got != want {
			t.Errorf("GET ?%s: got %q, want %q", query, got, want)
		}
	}
	list := f.List("/api/v1/servers?peopled=1&limit=1")
	if list.Total != 3 || list.Count != 1 || webtest.Addresses(f.List("/api/v1/servers?peopled=1&limit=5&cursor="+list.Next)) != one+" "+two {
		t.Errorf("the first of a filtered list: got %+v, want one of 3 and a cursor to the rest", list)
	}
}

func TestFilterErrors(t *testing.T) {
	f := newFixture(t)
	for query, want := range map[string]string{
		"players=-1":             "players: must be a number from 0 to 9999",
		"players=10000":          "players: must be a number from 0 to 9999",
		"players=":               "players: must be a number from 0 to 9999",
		"peopled=yes":            "peopled: must be 0 or 1",
		"joinable=yes":           `joinable: "yes" is not a way of joining; known are: direct,negotiated,relayed,no,unknown`,
		"joinable=direct,":       `joinable: "" is not a way of joining; known are: direct,negotiated,relayed,no,unknown`,
		"open=2":                 "open: must be 0 or 1",
		"country=NZL":            "country: must be the two letters of a country, such as NZ",
		"country=N%C3%84":        "country: must be the two letters of a country, such as NZ",
		"country=%C3%9F":         "country: must be the two letters of a country, such as NZ",
		"player=%ff":             "player: not UTF-8",
		"address=nz":             "address: must be an IP address, with or without port, such as 192.0.2.1 or 192.0.2.1:6500",
		"address=10.0.0.1:":      "address: must be an IP address, with or without port, such as 192.0.2.1 or 192.0.2.1:6500",
		"address=1.2.3.4:0":      "address: must be an IP address, with or without port, such as 192.0.2.1 or 192.0.2.1:6500",
		"address=fe80::1%25eth0": "address: must be an IP address, with or without port, such as 192.0.2.1 or 192.0.2.1:6500",
		"fields=id,secret":       `fields: "secret" is not a field; known are: ` + strings.Join(fieldNames(), ","),
		"fields=id,":             `fields: "" is not a field; known are: ` + strings.Join(fieldNames(), ","),
		"fields=%1b%5b31m":       `fields: "[31m" is not a field; known are: ` + strings.Join(fieldNames(), ","),
		"player=" + strings.Repeat("x", MaxQuery+1): "player: longer than 128 bytes",
		"Players=1": "Players: unknown parameter; known are: " + strings.Join(listParamNames(), ", "),
	} {
		w := f.Get("/api/v1/servers?" + query)
		if got := webtest.ErrorText(t, w); w.Code != http.StatusBadRequest || got != want {
			t.Errorf("GET ?%s: got %d %q, want 400 %q", query, w.Code, got, want)
		}
	}
}

func TestJoinable(t *testing.T) {
	f := newFixture(t)
	if err := f.Catalog.Replace([]games.Game{{Name: "gmtest", Facts: games.Facts{Join: "game://{address}/x"}}, {Name: "gmother"}}); err != nil {
		t.Fatal(err)
	}
	put := func(addr string, found master.Findings, natneg bool, rules ...string) {
		f.Put(webtest.Listed{Addr: addr, Rules: rules, Change: func(s *master.Server) { s.NATNeg, s.Findings = natneg, found }})
	}
	put("192.0.2.1:6500", master.Findings{Reached: master.ReachedPerhaps}, false, "hostport", "7777")
	put("192.0.2.2:6500", master.Findings{Reached: master.ReachedNo, Relayed: true}, true)
	put("192.0.2.3:6500", master.Findings{Reached: master.ReachedNo}, false)
	for query, want := range map[string]string{
		"fields=host,joinable,join":                  `{"host":"192.0.2.1","join":"game://192.0.2.1:7777/x","joinable":"direct"},{"host":"192.0.2.2","joinable":"relayed"},{"host":"192.0.2.3","joinable":"no"}`,
		"fields=host&joinable=no":                    `{"host":"192.0.2.3"}`,
		"fields=host&joinable=":                      `{"host":"192.0.2.1"},{"host":"192.0.2.2"},{"host":"192.0.2.3"}`,
		"fields=host&joinable=direct,relayed,direct": `{"host":"192.0.2.1"},{"host":"192.0.2.2"}`,
		"fields=host&joinable=negotiated":            "",
	} {
		if got := f.Get("/api/v1/servers?" + query).Body.String(); !strings.HasSuffix(got, `"servers":[`+want+"]}\n") {
			t.Errorf("GET ?%s: got %s, want %s", query, got, want)
		}
	}
	whole := f.List("/api/v1/servers?joinable=direct").Servers[0]
	if whole.Join == nil || *whole.Join != "game://192.0.2.1:7777/x" || whole.Joinable != "direct" {
		t.Errorf("a whole server: %+v", whole)
	}
	if other := f.List("/api/v1/servers?joinable=no").Servers[0]; other.Join != nil {
		t.Errorf("a server without a port for players has the link %q", *other.Join)
	}
	if err := f.Catalog.Replace([]games.Game{{Name: "gmtest", Facts: games.Facts{Join: "other://{address}"}}}); err != nil {
		t.Fatal(err)
	}
	f.Put(webtest.Listed{Addr: "192.0.2.9:6500", Game: "gmother"})
	if link := f.List("/api/v1/servers?joinable=direct").Servers[0].Join; link == nil || *link != "other://192.0.2.1:7777" {
		t.Errorf("after a change of the catalogue: link %v", link)
	}
}

func TestFields(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{
		Rules:   []string{"hostname", `The "Inn"`, "hostport", "7777", "numplayers", "1", "localip0", "10.0.0.1"},
		Players: [][]string{{"player_"}, {"Ann"}},
	})
	f.Put(webtest.Listed{Addr: "192.0.2.2:6500"})
	for fields, want := range map[string]string{
		"name":               `{"name":"The \"Inn\""},{"name":""}`,
		"players,id":         `{"id":"qr2-192.0.2.1-6500","players":1},{"id":"qr2-192.0.2.2-6500","players":0}`,
		"host,port,password": `{"host":"192.0.2.1","port":6500,"password":false},{"host":"192.0.2.2","port":6500,"password":false}`,
		"game_port":          `{"game_port":7777},{}`,
		"player_list":        `{"player_list":[{"player_":"Ann"}]},{"player_list":[]}`,
		"rules,rules":        `{"rules":{"hostname":"The \"Inn\"","hostport":"7777","numplayers":"1"}},{"rules":{}}`,
	} {
		w := f.Get("/api/v1/servers?fields=" + fields)
		if got, want := w.Body.String(), `{"count":2,"total":2,"servers":[`+want+"]}\n"; got != want {
			t.Errorf("fields=%s: got %s, want %s", fields, got, want)
		}
	}
	// All of them are the same as no parameter.
	all := f.Get("/api/v1/servers?fields=" + strings.Join(fieldNames(), ","))
	if got, want := all.Body.String(), f.Get("/api/v1/servers?full=1").Body.String(); got != want {
		t.Errorf("all fields:\n%s\nwant\n%s", got, want)
	}
	if !json.Valid(all.Body.Bytes()) {
		t.Errorf("not JSON: %s", all.Body)
	}
}

// A visitor may search only for the address that he is given.
func TestAddressFilterByVisitor(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Addresses = webtest.Advertised(o.Registry) })
	f.believeProxy()
	f.Put(webtest.Listed{Addr: "127.0.0.1:1"})
	for visitor, host := range webtest.Visitors() {
		for _, asked := range []string{"127.0.0.1", host} {
			want := 0
			if asked == host {
				want = 1
			}
			list := webtest.Decode[webtest.ListJSON](t, f.Get("/api/v1/servers?address="+asked, "X-Forwarded-For", visitor).Body)
			if list.Total != want {
				t.Errorf("%s asks for %s: got %d servers, want %d", visitor, asked, list.Total, want)
			}
		}
		one := f.Get("/api/v1/servers?fields=address,host", "X-Forwarded-For", visitor).Body.String()
		if want := fmt.Sprintf(`{"address":"%s:1","host":"%s"}`, host, host); !strings.Contains(one, want) {
			t.Errorf("%s: got %s, want %s", visitor, one, want)
		}
	}
}

func TestPlayerNamesAreBounded(t *testing.T) {
	f := newFixture(t)
	rows := [][]string{{"player_"}}
	for i := range 100 {
		rows = append(rows, []string{fmt.Sprintf("%099d", i)})
	}
	f.Put(webtest.Listed{Players: rows})
	r := f.api.Snapshot().Rows[0]
	kept := MaxNames / 100
	if n := len(r.playerNames()); n != kept*100 {
		t.Errorf("%d bytes of names are kept, want %d", n, kept*100)
	}
	for i, want := range map[int]bool{0: true, kept - 1: true, kept: false, 99: false} {
		if got := r.HasPlayer(fmt.Sprintf("%099d", i)); got != want {
			t.Errorf("player %d is found: %t, want %t", i, got, want)
		}
	}
}

// The cost of each filter on 10,000 servers, with an answer of one server.
func BenchmarkFilters10000(b *testing.B) {
	f := newFixture(b)
	f.FillReal(10_000)
	list := f.api.lister.build(f.api.lister.now())
	for _, query := range []string{
		"limit=1", "players=16&limit=1", "open=1&peopled=1&limit=1", "country=NZ", "address=10.0.1.2", "player=nosuch", "q=nosuch",
		"fields=id,name,players&limit=10000", "limit=10000",
	} {
		p, err := parseListParams(query)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				encodeList(list, p, maxAnswer)
			}
		})
	}
	b.Run("new players", func(b *testing.B) { // the first search after all records changed
		p, _ := parseListParams("player=nosuch")
		for b.Loop() {
			for _, r := range list.Rows {
				r.index()
			}
			encodeList(list, p, maxAnswer)
		}
	})
	b.Run("whole request", func(b *testing.B) { // of a question that none shared
		n := 0
		for b.Loop() {
			n++
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, fmt.Sprintf("/api/v1/servers?player=nosuch%d", n), nil)
			f.Handler.ServeHTTP(sink{http.Header{}}, r)
		}
	})
}
