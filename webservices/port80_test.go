package webservices

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// eaGames is part of the built-in catalogue, with names that only games of other
// families look up.
const eaGames = `games:
  - {name: ccgenzh, hosts: [servserv.generals.ea.com webservices], files: [{path: /servserv/generalszh/*, is: servserv}, {path: /servserv/*, is: servserv}]}
  - {name: civ4bts, hosts: [gamespy.com webservices]}
`

// catalogOf reads a list of games.
func catalogOf(t *testing.T, text string) *games.Catalog {
	t.Helper()
	list, err := games.ParseYAML(strings.NewReader(text), games.Source{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := games.NewCatalog(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// hang is the time after which a test fails rather than to wait for a server. The servers
// of the tests that need it wait longer for the rest of a request, see takeTime.
const hang = time.Minute

// takeTime has a server that does not serve yet wait longer for requests than tests do for
// answers.
func takeTime(s *Server) { s.headers, s.reading = 10*hang, 10*hang }

// answerTo sends bytes to a server over a socket, keeps the connection open, and returns the
// response with its body.
func answerTo(t *testing.T, address, request string) (*http.Response, string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(hang)); err != nil { // a server that waits for more is found out
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.60q: no answer: %v", request, err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	_ = r.Body.Close()
	return r, string(body)
}

// Each request to port 80 is answered, and the connection ends: the lobbies of some games
// open only after an answer.
func TestEachRequestIsAnswered(t *testing.T) {
	s := serve(t, Keypair)
	s.opt.Games.Take(catalogOf(t, eaGames))
	for name, tt := range map[string]struct {
		request string
		status  int
		body    string
	}{
		"patches":                     {"GET /servserv/GeneralsZH/english-65540.txt HTTP/1.1\r\nHost: servserv.generals.ea.com\r\nUser-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\n\r\n", 200, "\n"},
		"HEAD":                        {"HEAD /servserv/GeneralsZH/english-65540.txt HTTP/1.1\r\nHost: servserv.generals.ea.com\r\nUser-Agent: GameSpyHTTP/1.0\r\nConnection: close\r\n\r\n", 200, ""},
		"keep-alive":                  {"GET /servserv/maps-1.txt HTTP/1.1\r\nHost: servserv.generals.ea.com\r\nConnection: keep-alive\r\n\r\n", 200, "\n"},
		"HTTP/1.0":                    {"GET /servserv/maps-1.txt HTTP/1.0\r\n\r\n", 200, "\n"},
		"Civilization IV":             {"GET /motd.asp HTTP/1.1\r\nHost: motd.gamespy.com\r\n\r\n", 404, "Not Found\n"},
		"bare domain":                 {"GET / HTTP/1.0\r\nHost: gamespy.com\r\n\r\n", 404, "Not Found\n"},
		"statistics":                  {"GET /ccgenzh/display.html HTTP/1.1\r\nHost: gamestats.gamespy.com\r\n\r\n", 404, "Not Found\n"},
		"unknown host":                {"GET /x HTTP/1.1\r\nHost: www.example.org\r\n\r\n", 404, "Not Found\n"},
		"POST whose body never comes": {"POST /x HTTP/1.1\r\nHost: motd.gamespy.com\r\nContent-Length: 100000\r\n\r\n", 404, "Not Found\n"},
		"POST of unknown length":      {"POST /x HTTP/1.1\r\nHost: motd.gamespy.com\r\nTransfer-Encoding: chunked\r\n\r\n", 404, "Not Found\n"},
		"expects to continue":         {"POST /x HTTP/1.1\r\nHost: motd.gamespy.com\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", 404, "Not Found\n"},
		"path trick":                  {"GET /servserv/../../etc/passwd HTTP/1.1\r\nHost: servserv.generals.ea.com\r\n\r\n", 404, "Not Found\n"},
		"escaped path trick":          {"GET /servserv/%2e%2e%2f%2e%2e%2fetc/passwd HTTP/1.1\r\nHost: servserv.generals.ea.com\r\n\r\n", 404, "Not Found\n"},
		"method of its own":           {"QUIT / HTTP/1.1\r\nHost: motd.gamespy.com\r\n\r\n", 404, "Not Found\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, body := answerTo(t, s.address, tt.request)
			if r.StatusCode != tt.status || body != tt.body || !r.Close {
				t.Errorf("%d %v %q, want %d %q and the end of the connection", r.StatusCode, r.Header, body, tt.status, tt.body)
			}
		})
	}
	noted := s.opt.Verdicts.Of(netip.MustParseAddr("127.0.0.1"))
	found := false
	for _, n := range noted {
		found = found || n.Verdict == verdicts.UnknownRequest && strings.Contains(n.Detail, "GET ")
	}
	if !found {
		t.Errorf("no verdict has what was asked for: %+v", noted)
	}
}
