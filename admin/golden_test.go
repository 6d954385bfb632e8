package admin

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
)

var update = flag.Bool("update", false, "write the answers of the API into testdata")

// apiRequests are requests to the API, in order, as a script of changes, reads and
// mistakes: method, path and body.
const apiRequests = `
GET /api/v1/routes
GET /api/v1/none
GET /api/v1/status
POST /api/v1/bans {"prefix": "192.0.2.0/24", "scope": "lists", "reason": "flood", "added": "2026-01-02T03:04:05Z"}
POST /api/v1/bans {"prefix": "0.0.0.0/0", "scope": "all"}
POST /api/v1/bans {"prefix": "192.0.2.0/24", "scope": "none"}
POST /api/v1/bans {"prefix": "192.0.2.0/24", "scope": "all", "expires": "2020-01-02T03:04:05Z"}
POST /api/v1/bans {"unknown": 1}
POST /api/v1/bans {} {}
POST /api/v1/bans
GET /api/v1/bans
DELETE /api/v1/bans
DELETE /api/v1/bans?prefix=x
DELETE /api/v1/bans?prefix=192.0.2.0/24&scope=none
DELETE /api/v1/bans?prefix=192.0.2.0/24&scope=presence
DELETE /api/v1/bans?prefix=192.0.2.0/24
GET /api/v1/games
PUT /api/v1/games games: [{name: own, title: Own, secret: aB3dE6}]
PUT /api/v1/games games: [{name: 'a b'}]
PUT /api/v1/games [
PUT /api/v1/games games: [{name: own, rooms: [{id: 1, name: x}, {id: 1, name: y}]}]
GET /api/v1/games/own
GET /api/v1/games/gmtest
PUT /api/v1/games/own/maintenance {"on": true}
PUT /api/v1/games/none/maintenance {"on": true}
PUT /api/v1/games/own/maintenance {"on": 1}
GET /api/v1/games/own
DELETE /api/v1/games/own
DELETE /api/v1/games/own
DELETE /api/v1/games/no%2Fsuch%20game
PUT /api/v1/rooms {"id": 70, "game": "gmtest", "name": "Lobby", "max_waiting": 5}
PUT /api/v1/rooms {"id": 1, "game": "gmtest", "name": "Taken"}
PUT /api/v1/rooms {"game": "none", "name": "X"}
PUT /api/v1/rooms {"game": 1}
POST /api/v1/games/import?name=own.yaml games: [{name: imported, secret: abcdef}, {name: gmtest, title: Another}]
POST /api/v1/games/import nonsense
DELETE /api/v1/games/imported
DELETE /api/v1/games/gmtest
GET /api/v1/rooms
GET /api/v1/rooms?game=rooms
DELETE /api/v1/rooms/x
DELETE /api/v1/rooms/4294967296
DELETE /api/v1/rooms/71
DELETE /api/v1/rooms/70
GET /api/v1/servers
GET /api/v1/servers?game=none
GET /api/v1/servers/kept
PUT /api/v1/servers/added {"address": "a.example:27015", "protocol": "a2s", "game": "cstrike", "added": "2026-01-02T03:04:05Z"}
PUT /api/v1/servers/added {"address": 1}
PUT /api/v1/servers/hidden {"address": "192.0.2.9:6500", "reason": "fake", "added": "2026-01-02T03:04:05Z"}
PUT /api/v1/servers/hidden {"address": "x"}
GET /api/v1/servers/kept
DELETE /api/v1/servers/hidden
DELETE /api/v1/servers/hidden?address=192.0.2.9
DELETE /api/v1/servers/hidden?address=192.0.2.9:6500
DELETE /api/v1/servers/hidden?address=192.0.2.9:6500
DELETE /api/v1/servers/added?address=a.example:27015
DELETE /api/v1/servers/added?address=a.example:27015
DELETE /api/v1/servers/added
GET /api/v1/verdicts
GET /api/v1/verdicts?addr=192.0.2.1
GET /api/v1/verdicts?addr=x
GET /api/v1/verdicts/summary
GET /api/v1/chat/rules
PUT /api/v1/chat/rules {"kind": "mute", "prefix": "192.0.2.0/24", "channel": "#GPG!12", "reason": "spam", "added": "2026-01-02T03:04:05Z"}
PUT /api/v1/chat/rules {"kind": "moderator", "prefix": "192.0.2.0/24"}
PUT /api/v1/chat/rules {"kind": "ban", "profile": 99}
PUT /api/v1/chat/rules {"kind": "none"}
PUT /api/v1/chat/rules {"kind": "ban", "prefix": "192.0.2.9/32", "expires": "2020-01-02T03:04:05Z"}
GET /api/v1/chat/rules
DELETE /api/v1/chat/rules?kind=ban&prefix=192.0.2.0/24
DELETE /api/v1/chat/rules?kind=mute&prefix=192.0.2.0/24&channel=%23gpg!12
DELETE /api/v1/chat/rules?kind=mute
DELETE /api/v1/chat/rules?kind=x
GET /api/v1/chat/rooms
GET /api/v1/chat/members?channel=%23gpg!12
GET /api/v1/chat/members?channel=%23none
GET /api/v1/chat/lines?channel=%23gpg!12
POST /api/v1/chat/kick {"nick": "Ann", "channel": "#GPG!12", "reason": "spam"}
POST /api/v1/chat/kick {"nick": "Bob", "channel": "#GPG!12"}
POST /api/v1/chat/kick {"nick": "Ann", "profile": 1}
POST /api/v1/chat/say {"channel": "#GPG!12", "text": "Hello"}
POST /api/v1/chat/say {"channel": "#none", "text": "Hello"}
POST /api/v1/chat/say {"channel": "#GPG!12", "text": "Two\r\nlines"}
GET /api/v1/motd
PUT /api/v1/motd {"game": "gmtest", "text": "Welcome", "by": "admin"}
PUT /api/v1/motd {"game": "none", "text": "Welcome"}
PUT /api/v1/motd {"game": "gmtest", "text": "back\\slash"}
GET /api/v1/motd
DELETE /api/v1/motd?game=gmtest
DELETE /api/v1/motd?game=gmtest
GET /api/v1/patches
PUT /api/v1/patches {"product": 10001, "version": "1.0", "name": "1.1 patch", "file": 4242, "url": "http://example.invalid/p.exe", "lockout": true}
PUT /api/v1/patches {"product": 10001, "version": "1.0", "name": "1.1", "url": "file:///etc/passwd"}
DELETE /api/v1/cdkeys?hash=00112233445566778899aabbccddeeff
PUT /api/v1/patches {"product": -1}
GET /api/v1/patches
DELETE /api/v1/patches?product=10001&version=1.0
DELETE /api/v1/patches?product=10001&version=1.0
GET /api/v1/sessions
GET /api/v1/sessions?after=-1
GET /api/v1/sessions?limit=x
DELETE /api/v1/sessions/0
DELETE /api/v1/sessions/x
DELETE /api/v1/sessions/9
DELETE /api/v1/sessions/1
GET /api/v1/messages
POST /api/v1/accounts {"namespace": 1, "email": "bob@example.com", "nick": "Bob", "uniquenick": "BobU", "password": "hunter2!"}
POST /api/v1/accounts {"email": "bob@example.com", "nick": "Bob", "password": "wrong one"}
POST /api/v1/accounts {"email": "x", "nick": "Bob", "password": "hunter2!"}
POST /api/v1/accounts {"password": ["sesame"]}
GET /api/v1/accounts
GET /api/v1/accounts?match=unknown
GET /api/v1/accounts?after=x
GET /api/v1/account?id=1
GET /api/v1/account?email=bob@example.com
GET /api/v1/account?uniquenick=bobu&namespace=1
GET /api/v1/account?id=9
GET /api/v1/account?id=x
GET /api/v1/files
GET /api/v1/files?game=swat4
GET /api/v1/files?after=x
GET /api/v1/files/1
GET /api/v1/files/1/content
GET /api/v1/files/77
GET /api/v1/files/0/content
DELETE /api/v1/files/77
DELETE /api/v1/files/1
DELETE /api/v1/files/1
PUT /api/v1/accounts/1/password {"password": "hunter3!"}
PUT /api/v1/accounts/1/password {"password": ""}
PUT /api/v1/accounts/1/password {"secret": "x"}
PUT /api/v1/accounts/0/password {"password": "hunter3!"}
PUT /api/v1/accounts/9/password {"password": "hunter3!"}
POST /api/v1/accounts/1/reset
POST /api/v1/accounts/9/reset
POST /api/v1/accounts/x/reset
PUT /api/v1/accounts/1/ban {"reason": "cheats"}
PUT /api/v1/accounts/1/ban {"expires": "2020-01-02T03:04:05Z"}
PUT /api/v1/accounts/1/ban []
PUT /api/v1/accounts/x/ban {}
DELETE /api/v1/accounts/1/ban
DELETE /api/v1/accounts/9/ban
DELETE /api/v1/accounts/x/ban
GET /api/v1/accounts/export
GET /api/v1/accounts/export?secrets=perhaps
POST /api/v1/accounts/import {"accounts": [{"email": "eve@example.com", "password": "imported1", "profiles": []}]}
POST /api/v1/accounts/import {"accounts": 1}
POST /api/v1/accounts/import/buddies {"accounts": []}
POST /api/v1/accounts/import/buddies {"accounts": 1}
POST /api/v1/accounts/rotate-key
GET /api/v1/players/1/stats
GET /api/v1/players/9/stats
GET /api/v1/players/x/stats
PUT /api/v1/stats/block {"game": "gmtest", "profile": 9, "kind": 3, "index": 0, "data": "eA=="}
PUT /api/v1/stats/block {"game": "none", "profile": 1, "kind": 3, "index": 0, "data": "eA=="}
PUT /api/v1/stats/block {"game": "gmtest", "profile": 1, "kind": 4, "index": 0, "data": "eA=="}
PUT /api/v1/stats/block {"game": "gmtest", "profile": 1, "kind": 3, "index": -1, "data": "eA=="}
PUT /api/v1/stats/block {"game": "gmtest", "profile": 1, "kind": 300}
POST /api/v1/stats/import {"players": [{"profile": 1, "blocks": [{"game": "gmtest", "kind": 3, "index": 0, "data": "eA==", "modified": "2026-01-02T03:04:05Z"}]}, {"profile": 9}]}
POST /api/v1/stats/import {"players": 1}
GET /api/v1/players/1/stats
GET /api/v1/stats/block?profile=1&game=gmtest&kind=3&index=0
GET /api/v1/stats/block?profile=1&game=gmtest&kind=3&index=-1
GET /api/v1/stats/block?profile=1&game=gmtest&kind=3
GET /api/v1/stats/block?profile=1&game=gmtest&kind=x&index=0
GET /api/v1/stats/export
GET /api/v1/games/gmtest/stats
GET /api/v1/games/none/stats
DELETE /api/v1/players/1/stats?game=gmtest&kind=3&index=0
DELETE /api/v1/players/1/stats?kind=3&index=0
DELETE /api/v1/players/1/stats
GET /api/v1/games/gmtest/matches
GET /api/v1/games/none/matches
GET /api/v1/matches/x
GET /api/v1/matches/9
DELETE /api/v1/matches/9
GET /api/v1/sake/tables
GET /api/v1/sake/tables?game=gmtest
GET /api/v1/sake/records?game=gmtest&table=none
DELETE /api/v1/sake/records?game=gmtest&table=none
DELETE /api/v1/sake/records?game=gmtest&table=none&id=x
DELETE /api/v1/accounts/1
DELETE /api/v1/accounts/1
DELETE /api/v1/accounts/-1
GET /api/v1/audit?limit=2
GET /api/v1/audit?before=3
GET /api/v1/audit?before=x
GET /api/v1/audit?limit=x
GET /api/v1/log
GET /api/v1/log?level=loud
GET /api/v1/log?limit=x
GET /api/v1/log/stream?level=loud
`

// Parts of answers that differ between runs, and the texts of verdicts.
var (
	goVersion   = regexp.MustCompile(`"go":"[^"]*"`)
	verdictText = regexp.MustCompile(`,"(what|cause|advice)":"[^"]*"`)
	goldenTime  = regexp.MustCompile(`"20[0-9T:.+-]+Z?"`)
	resetCode   = regexp.MustCompile(`#[A-Za-z0-9_-]{48}"`)
	goldenNow   = regexp.MustCompile(`20[0-9]{2}-[0-9T:-]+Z`)
)

// Paths, parameters, status codes, bodies and error texts of the API are relied on
// by programs of operators.
func TestAPIAnswers(t *testing.T) {
	l := newLocal(t)
	put(t, l, "gmtest", "192.0.2.1:6500", "hostname", "Golden")
	l.ServerLog.Note("qr2", netip.MustParseAddrPort("192.0.2.1:6500"), "gmtest", verdicts.Listed)
	l.Sessions = &hub{list: []presence.SignedIn{{Profile: 1, User: 1, Client: presence.Client{Game: "gmtest", Since: time.Now()}}}}
	l.OpenChat = openLobby
	h := New(options(l, nil)).Handler()
	var got bytes.Buffer
	for line := range strings.Lines(strings.TrimSpace(apiRequests)) {
		line = strings.TrimSpace(line)
		method, rest, _ := strings.Cut(line, " ")
		path, body, _ := strings.Cut(rest, " ")
		if line == "GET /api/v1/files" {
			putFile(t, l)
		}
		w := request(t, h, method, path, "Bearer "+testToken, body)
		answer := strings.TrimRight(w.Body.String(), "\n")
		if strings.HasPrefix(path, "/api/v1/verdicts") {
			answer = verdictText.ReplaceAllString(answer, "")
		}
		if strings.HasPrefix(answer, "{") || strings.HasPrefix(answer, "[") {
			answer = goVersion.ReplaceAllString(answer, `"go":""`)
			answer = resetCode.ReplaceAllString(answer, `#CODE"`)
			answer = goldenTime.ReplaceAllString(answer, `"TIME"`)
		}
		if w.Code == http.StatusBadRequest {
			answer = goldenNow.ReplaceAllStringFunc(answer, func(s string) string {
				if strings.HasPrefix(s, "2020") {
					return s
				}
				return "NOW"
			})
		}
		fmt.Fprintf(&got, "%s\n%d %s %s\n%s\n\n", line, w.Code, w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"), answer)
	}
	const file = "testdata/api.golden"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("answers of the API (-want +got):\n%s", diff)
	}
}
