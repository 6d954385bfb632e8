package browser

import "testing"

// boards is a games file with boards.
const boards = `games:
  - name: gmtest
    boards:
      - {name: kills, title: "Most <kills>", key: kills, how: sum}
      - {name: best, title: Best game, key: score, how: max}
`

// players are the requests to the admin API that make players with statistics.
var players = [][2]string{
	{"accounts", `{"namespace": 1, "email": "ann@example.com", "nick": "Ann <b>", "uniquenick": "AnnTheGreat", "password": "secret"}`},
	{"accounts", `{"namespace": 1, "email": "ben@example.com", "nick": "Ben", "uniquenick": "ben", "password": "secret"}`},
	{"stats/import", `{"players": [
		{"profile": 1, "blocks": [
			{"game": "gmtest", "kind": 3, "index": 0, "data": "XGNsYW5cVGhlIEEtVGVhbVxhZ2VcMTVcYmlnXDAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODlcAA==", "modified": "2026-01-02T03:04:05Z"},
			{"game": "gmtest", "kind": 2, "index": 1, "data": "AAEC", "modified": "2026-01-02T03:04:05Z"},
			{"game": "gmtest", "kind": 1, "index": 0, "data": "c2VjcmV0", "modified": "2026-01-02T03:04:05Z"}],
		 "scores": [
			{"game": "gmtest", "board": "kills", "value": 1234567, "updated": "2026-01-02T03:04:05Z"},
			{"game": "gmtest", "board": "best", "value": 12.5, "updated": "2026-01-02T03:04:05Z"}]},
		{"profile": 2, "scores": [{"game": "gmtest", "board": "kills", "value": 99, "updated": "2026-01-02T03:04:05Z"}]}]}`},
}

func TestStatsPages(t *testing.T) {
	t.Parallel()
	chromium(t)
	d := community(t)
	b := open(t)
	b.visit(d.url("web", "/games/gmtest"))
	b.see("1234567")
	b.visit(d.url("web", "/players/1"))
	b.see("The A-Team")
	b.miss("secret")
	b.logIn(d)
	b.inspect("admin-stats-game", d.url("admin", "/games/gmtest"))
	b.inspect("admin-account-delete", d.url("admin", "/accounts/1/delete"))
	b.inspect("admin-stats-account", d.url("admin", "/accounts/1"))
	b.press("Delete")
	b.see("Deleted from profile 1: 1 of")
}
