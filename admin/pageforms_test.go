package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// wantDone fails unless a form was carried out, and returns the page after it.
func (b *browser) wantDone(t *testing.T, p page, notice string) page {
	t.Helper()
	if p.code != http.StatusSeeOther {
		t.Fatalf("form: %d, want it done:\n%s", p.code, p.body)
	}
	next := b.get(p.path)
	if next.code != http.StatusOK || !strings.Contains(next.body, notice) {
		t.Errorf("GET %s after the form: %d, the notice %q is missing:\n%s", p.path, next.code, notice, next.body)
	}
	if again := b.get(p.path); strings.Contains(again.body, `class="notice"`) {
		t.Errorf("GET %s: the notice is shown twice", p.path)
	}
	return next
}

// wantRefused fails unless a form was refused with a status and a text.
func wantRefused(t *testing.T, what string, p page, code int, words string) {
	t.Helper()
	if p.code != code || !strings.Contains(p.body, words) || !strings.Contains(p.body, `role="alert"`) {
		t.Errorf("%s: %d, want %d and %q:\n%s", what, p.code, code, words, p.body)
	}
}

func TestBansThroughTheForm(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	begin := time.Now()
	b.wantDone(t, b.post("/bans", "address", " 192.0.2.7 ", "scope", "lists", "for", "2", "unit", "days", "reason", "floods & lies"), "192.0.2.7/32 is banned (lists)")
	b.wantDone(t, b.post("/bans", "address", "2001:db8::/32", "scope", "all", "for", ""), "2001:db8::/32 is banned (all)")
	list := x.l.Table.List()
	if len(list) != 2 {
		t.Fatalf("bans: %+v", list)
	}
	i := slices.IndexFunc(list, func(b storage.Ban) bool { return b.Scope == storage.ScopeLists })
	ban := list[i]
	if left := ban.Expires.Sub(begin); left < 48*time.Hour || left > 49*time.Hour || ban.Reason != "floods & lies" || ban.By != "Ann" {
		t.Errorf("ban = %+v", ban)
	}
	if !list[1-i].Expires.IsZero() {
		t.Errorf("a ban without an end ends: %+v", list[1-i])
	}
	for name, fields := range map[string][]string{
		"no address":   {"address", "", "scope", "all"},
		"everybody":    {"address", "0.0.0.0/0", "scope", "all"},
		"odd scope":    {"address", "192.0.2.1", "scope", "every"},
		"odd span":     {"address", "192.0.2.1", "scope", "all", "for", "x", "unit", "days"},
		"no span":      {"address", "192.0.2.1", "scope", "all", "for", "0", "unit", "days"},
		"odd unit":     {"address", "192.0.2.1", "scope", "all", "for", "1", "unit", "ages"},
		"endless span": {"address", "192.0.2.1", "scope", "all", "for", "999999999", "unit", "weeks"},
		"long reason":  {"address", "192.0.2.1", "scope", "all", "reason", strings.Repeat("x", 2000)},
	} {
		wantRefused(t, name, b.post("/bans", fields...), http.StatusBadRequest, "")
	}
	p := b.wantDone(t, b.post("/bans/remove", "address", "192.0.2.7/32", "scope", "lists"), "is lifted")
	if strings.Contains(p.body, "192.0.2.7/32</code>") || len(x.l.Table.List()) != 1 {
		t.Errorf("the ban is still there: %+v", x.l.Table.List())
	}
	wantRefused(t, "lifting again", b.post("/bans/remove", "address", "192.0.2.7/32", "scope", "lists"), http.StatusNotFound, "is not banned")
	p = b.get("/bans?address=198.51.100.1")
	if !strings.Contains(p.body, `value="198.51.100.1"`) {
		t.Error("GET /bans?address: the form is not filled in")
	}
	// The audit log has the operator, the address and the interface.
	log, err := operator.ReadAudit.Call(t.Context(), x.l, operator.AuditQuery{})
	if err != nil || len(log.Entries) != 3 {
		t.Fatalf("audit log: %+v, %v", log, err)
	}
	for _, e := range log.Entries {
		if e.Via != storage.ViaPage || e.By != "Ann" || e.From != netip.MustParseAddr("127.0.0.1") {
			t.Errorf("audit entry %+v, want the page, Ann and the loopback address", e)
		}
	}
	if p := b.get("/audit"); !strings.Contains(p.body, "ban.remove") || !strings.Contains(p.body, "192.0.2.7/32 (lists)") || !strings.Contains(p.body, "floods &amp; lies") {
		t.Errorf("GET /audit lacks the changes:\n%s", p.body)
	}
}

func TestAccountsThroughTheForms(t *testing.T) {
	x := newSite(t, nil)
	ended := kicks{}
	x.l.Sessions = ended
	b := x.operator(t)
	fields := []string{"email", "bob@example.com", "nick", "Bob", "uniquenick", "bobby", "password", "hunter2!", "namespace", "1", "partner", "0"}
	b.wantDone(t, b.post("/accounts", fields...), "was created in account 1")
	if err := logsIn(t, x.l, "bob@example.com", "hunter2!"); err != nil {
		t.Errorf("login of the new account: %v", err)
	}
	wantRefused(t, "no password", b.post("/accounts", "email", "c@example.com", "nick", "C"), http.StatusBadRequest, "password")
	wantRefused(t, "odd namespace", b.post("/accounts", append(fields, "namespace", "x")...), http.StatusBadRequest, "namespace")

	b.wantDone(t, b.post("/accounts/1/password", "password", "other-one", "again", "other-one"), "was changed")
	if err := logsIn(t, x.l, "bob@example.com", "other-one"); err != nil || ended[1] == nil {
		t.Errorf("login with the new password: %v, sessions ended: %v", err, ended)
	}
	wantRefused(t, "two passwords", b.post("/accounts/1/password", "password", "one-more-1", "again", "one-more-2"), http.StatusBadRequest, "differ")

	made := b.wantDone(t, b.post("/accounts/1/reset"), "https://servers.example.org/account/reset#")
	_, rest, _ := strings.Cut(made.body, "/account/reset#")
	s, err := x.l.OpenAccounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Passwords.UseReset(t.Context(), rest[:min(len(rest), 48)], "other-one", netip.Addr{}); err != nil {
		t.Errorf("the link on the page: %v", err)
	}

	p := b.wantDone(t, b.post("/accounts/1/ban", "for", "3", "unit", "hours", "reason", "cheats"), "is banned")
	if !strings.Contains(p.body, "cheats") || !strings.Contains(p.body, "Lift the ban") {
		t.Error("the page of the account does not show the ban")
	}
	if err := logsIn(t, x.l, "bob@example.com", "other-one"); err == nil {
		t.Error("a banned account logs in")
	}
	b.wantDone(t, b.post("/accounts/1/unban"), "no longer banned")

	for what, confirm := range map[string]string{"unconfirmed": "", "wrong": "ann@example.com"} {
		wantRefused(t, what, b.post("/accounts/1/delete", "confirm", confirm), http.StatusBadRequest, "e-mail")
	}
	if p := b.get("/accounts/1/delete"); p.code != http.StatusOK || !strings.Contains(p.body, "cannot be taken back") {
		t.Errorf("GET /accounts/1/delete: %d", p.code)
	}
	b.wantDone(t, b.post("/accounts/1/delete", "confirm", "BOB@example.com"), "is deleted")
	wantRefused(t, "page of the deleted", b.get("/accounts/1"), http.StatusNotFound, "")
	for _, path := range []string{"/accounts/1/password", "/accounts/1/ban", "/accounts/1/reset", "/accounts/99/delete", "/accounts/99/unban"} {
		wantRefused(t, path, b.post(path, "password", "hunter2!", "again", "hunter2!"), http.StatusNotFound, "")
	}
	for _, secret := range []string{"hunter2!", "other-one"} {
		for _, path := range pagePaths {
			if p := b.get(path); strings.Contains(p.body, secret) {
				t.Errorf("GET %s shows a password", path)
			}
		}
	}
}

func TestAccountsAreSearchedAndPaged(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	for i := range pageRows + 1 {
		_, _, err := x.l.Store.CreateUser(t.Context(), storage.User{Email: fmt.Sprintf("u%d@b.c", i)}, storage.Profile{Nick: fmt.Sprintf("Nick%d", i)})
		if err != nil {
			t.Fatal(err)
		}
	}
	p := b.get("/accounts")
	if !strings.Contains(p.body, "Nick199<") || strings.Contains(p.body, "Nick200<") || !strings.Contains(p.body, "/accounts?after=200&amp;q=") {
		t.Error("the first page is not the first 200 accounts with a link to the rest")
	}
	if p := b.get("/accounts?after=200"); !strings.Contains(p.body, "Nick200<") || strings.Contains(p.body, `rel="next"`) {
		t.Error("the second page is not the rest")
	}
	if p := b.get("/accounts?q=NICK200"); !strings.Contains(p.body, "Nick200<") || strings.Contains(p.body, "Nick1<") {
		t.Error("the search does not find by nick")
	}
	if p := b.get("/accounts?q=unknown"); !strings.Contains(p.body, "No account fits") {
		t.Error("the search finds what is not there")
	}
	wantRefused(t, "odd page", b.get("/accounts?after=x"), http.StatusBadRequest, "after")
}

func TestLongListsArePaged(t *testing.T) {
	racetest.Skip(t, "stores many records")
	x := newSite(t, nil)
	b := x.operator(t)
	for i := range pageRows + 1 {
		a := netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i)})
		ban := storage.Ban{Prefix: netip.PrefixFrom(a, 32), Scope: storage.ScopeAll, Added: time.Unix(int64(i), 0)}
		if err := operator.AddBan.Exec(t.Context(), x.l, operator.NewBan(ban)); err != nil {
			t.Fatal(err)
		}
		put(t, x.l, "gmtest", netip.AddrPortFrom(a, 7777).String())
	}
	for path, want := range map[string]struct {
		rows int
		next string
	}{
		"/bans": {pageRows, "/bans?from=200"}, "/bans?from=200": {1, ""}, "/bans?from=999": {0, ""},
		"/servers?game=gmtest": {pageRows, "/servers?from=200&amp;game=gmtest"}, "/servers?from=200&game=gmtest": {1, ""},
	} {
		p := b.get(path)
		rows := strings.Count(p.body, `<tr><th scope="row">`)
		if rows != want.rows || strings.Contains(p.body, `rel="next"`) != (want.next != "") || !strings.Contains(p.body, want.next) {
			t.Errorf("GET %s: %d rows, want %d and the link %q", path, rows, want.rows, want.next)
		}
	}
	wantRefused(t, "odd page", b.get("/bans?from=x"), http.StatusBadRequest, "from")
}

func TestGamesThroughTheForms(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	game := func(name string) (title, secret string, port uint16, maintenance bool) {
		g, _ := x.l.Catalogue.Catalog().Lookup(name)
		return g.Title, g.Secret(), g.QueryPort, g.Maintenance
	}
	b.wantDone(t, b.post("/games", "name", " MyGame ", "title", "My game", "secret", "aB3dE6", "id", "12", "port", "7000"), "is stored")
	if title, secret, port, _ := game("mygame"); title != "My game" || secret != "aB3dE6" || port != 7000 {
		t.Errorf("mygame = %s %s %d", title, secret, port)
	}
	wantRefused(t, "again", b.post("/games", "name", "mygame"), http.StatusBadRequest, "already")
	wantRefused(t, "odd name", b.post("/games", "name", "my game"), http.StatusBadRequest, "")
	wantRefused(t, "odd port", b.post("/games", "name", "other", "port", "70000"), http.StatusBadRequest, "port")
	wantRefused(t, "odd id", b.post("/games", "name", "other", "id", "x"), http.StatusBadRequest, "id")

	p := b.wantDone(t, b.post("/games/gmtest/maintenance", "on", "yes"), "Maintenance of gmtest is on")
	if _, secret, _, on := game("gmtest"); !on || secret != "HA6zkS" || !strings.Contains(p.body, "down for now") {
		t.Errorf("gmtest: maintenance %v, secret %s", on, secret)
	}
	b.wantDone(t, b.post("/games/gmtest/maintenance", "on", "no"), "Maintenance of gmtest is off")
	wantRefused(t, "unknown", b.post("/games/none/maintenance", "on", "yes"), http.StatusNotFound, "")

	b.wantDone(t, b.post("/games/gmtest/record", "record", "games:\r\n  - name: gmtest\r\n    title: Renamed\r\n"), "is stored")
	if title, _, _, _ := game("gmtest"); title != "Renamed" {
		t.Errorf("gmtest is called %q", title)
	}
	_, record, _ := strings.Cut(b.get("/games/gmtest").body, "<textarea")
	if record, _, _ = strings.Cut(record, "</textarea>"); !strings.Contains(record, "Renamed") {
		t.Error("the page of the game does not show the record")
	}
	for what, record := range map[string]string{
		"no record": "", "two records": "games: [{name: gmtest}, {name: nokey}]", "another game": "games: [{name: nokey}]", "no YAML": "{{{",
		"a room twice": "games: [{name: gmtest, rooms: [{id: 1, name: One}, {id: 1, name: Two}]}]",
	} {
		wantRefused(t, what, b.post("/games/gmtest/record", "record", record), http.StatusBadRequest, "")
	}
	b.wantDone(t, b.post("/games/gmtest/remove"), "is gone")
	if title, _, _, _ := game("gmtest"); title != "Test" {
		t.Errorf("after its record is gone gmtest is called %q", title)
	}
	wantRefused(t, "removing again", b.post("/games/gmtest/remove"), http.StatusNotFound, "")

	b.wantDone(t, b.upload("list.yaml", "games: [{name: up1, secret: aaaaaa}, {name: up2, secret: bbbbbb}]"), "Read 2 games, stored 2")
	if _, secret, _, _ := game("up2"); secret != "bbbbbb" {
		t.Errorf("up2 has the key %q", secret)
	}
	wantRefused(t, "not a list", b.upload("list.yaml", "nonsense"), http.StatusBadRequest, "")
	wantRefused(t, "no file", b.post("/games/upload"), http.StatusBadRequest, "choose a file")
	if p := b.get("/games?q=my"); !strings.Contains(p.body, "mygame") || strings.Contains(p.body, "gmtest") {
		t.Error("the search of games does not search")
	}
}

func TestPageOfChatRooms(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	for name, test := range map[string]struct {
		chat func() operator.Chat
		want bool
	}{
		"no daemon": {nil, false},
		"off":       {func() operator.Chat { return nil }, false},
		"on":        {openLobby, true},
	} {
		x.l.OpenChat = test.chat
		body := b.get("/rooms").body
		for _, part := range []string{"1 chat room with members", lobbyChannel, "Twelve"} {
			if strings.Contains(body, part) != test.want {
				t.Errorf("%s: the page has %q: %v, want %v", name, part, !test.want, test.want)
			}
		}
	}
}

func TestRoomsThroughTheForms(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	b.wantDone(t, b.post("/rooms", "game", "GMTest", "name", "Lobby", "max_waiting", "20"), "was added to gmtest")
	rooms, err := operator.ListRooms.Call(t.Context(), x.l, operator.GameQuery{Game: "gmtest"})
	if err != nil || len(rooms) != 1 || rooms[0].Name != "Lobby" || rooms[0].MaxWaiting != 20 {
		t.Fatalf("rooms: %+v, %v", rooms, err)
	}
	wantRefused(t, "unknown game", b.post("/rooms", "game", "none", "name", "Lobby"), http.StatusBadRequest, "unknown game")
	wantRefused(t, "no name", b.post("/rooms", "game", "gmtest", "name", ""), http.StatusBadRequest, "name")
	wantRefused(t, "odd size", b.post("/rooms", "game", "gmtest", "name", "a", "max_waiting", "-1"), http.StatusBadRequest, "max_waiting")
	b.wantDone(t, b.post("/rooms/remove", "id", fmt.Sprint(rooms[0].ID)), "is gone")
	wantRefused(t, "removing again", b.post("/rooms/remove", "id", fmt.Sprint(rooms[0].ID)), http.StatusNotFound, "")
	wantRefused(t, "odd number", b.post("/rooms/remove", "id", "x"), http.StatusBadRequest, "id")
}

func TestServersThroughTheForms(t *testing.T) {
	x := newSite(t, func(o *Options) { o.Protocols = []string{"a2s", "gs1"} })
	at := netip.MustParseAddrPort("192.0.2.1:7777")
	x.l.ServersChanged = func(ctx context.Context) error {
		kept, err := operator.ListKept.Call(ctx, x.l, operator.None{})
		for _, a := range x.l.Registry.HiddenAddresses() {
			x.l.Registry.Unhide(a)
		}
		for _, h := range kept.Hidden {
			x.l.Registry.Hide(h.Address)
		}
		return err
	}
	b := x.operator(t)
	put(t, x.l, "gmtest", at.String(), "hostname", "First")
	p := b.wantDone(t, b.post("/servers/hide", "address", at.String(), "reason", "fake players"), "192.0.2.1:7777 is hidden")
	if len(x.l.Registry.All()) != 0 || !strings.Contains(p.body, "fake players") || !strings.Contains(p.body, "hidden:") {
		t.Errorf("after hiding %d servers are listed:\n%s", len(x.l.Registry.All()), p.body)
	}
	b.wantDone(t, b.post("/servers/unhide", "address", at.String()), "no longer hidden")
	if len(x.l.Registry.All()) != 1 {
		t.Error("the server does not come back")
	}
	b.wantDone(t, b.post("/servers/remove", "address", at.String()), "is off the list")
	p = b.wantDone(t, b.post("/servers/add", "address", "a.example:27015", "protocol", "a2s", "game", "CStrike"), "a.example:27015 is asked from now on")
	if !strings.Contains(p.body, "<code>a.example:27015</code>") || !strings.Contains(p.body, "cstrike") || !strings.Contains(p.body, "<option>gs1</option>") {
		t.Errorf("the page lacks the added server:\n%s", p.body)
	}
	b.wantDone(t, b.post("/servers/remove", "address", "a.example:27015"), "a.example:27015 is forgotten")
	wantRefused(t, "removing again", b.post("/servers/remove", "address", "a.example:27015"), http.StatusNotFound, "")
	wantRefused(t, "no address", b.post("/servers/add", "address", "", "protocol", "a2s"), http.StatusBadRequest, "")
	wantRefused(t, "hiding no address", b.post("/servers/hide", "address", "a.example:1"), http.StatusBadRequest, "192.0.2.1:27015")
	wantRefused(t, "not hidden", b.post("/servers/unhide", "address", at.String()), http.StatusNotFound, "")
}

func TestPlayersAreSignedOutThroughTheForm(t *testing.T) {
	x := newSite(t, nil)
	h := &hub{list: []presence.SignedIn{{Profile: 7, User: 3, Client: presence.Client{Game: "gmtest", Peer: netip.MustParseAddrPort("192.0.2.1:4000")}}}}
	x.l.Sessions = h
	b := x.operator(t)
	if p := b.get("/sessions"); !strings.Contains(p.body, "192.0.2.1:4000") || !strings.Contains(p.body, "/bans?address=192.0.2.1") {
		t.Errorf("GET /sessions lacks the session:\n%s", p.body)
	}
	b.wantDone(t, b.post("/sessions/kick", "profile", "7"), "Profile 7 was signed out")
	if !slices.Equal(h.kicked, []storage.ProfileID{7}) {
		t.Errorf("kicked: %v", h.kicked)
	}
	wantRefused(t, "unknown", b.post("/sessions/kick", "profile", "8"), http.StatusNotFound, "not signed in")
	wantRefused(t, "odd", b.post("/sessions/kick", "profile", "x"), http.StatusBadRequest, "profile")
}

func TestPagesOfServersAndVerdicts(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	if p := b.get("/servers"); !strings.Contains(p.body, "No server is listed") {
		t.Error("GET /servers of an empty list says nothing")
	}
	put(t, x.l, "gmtest", "192.0.2.1:7777", "hostname", "First", "numplayers", "3", "maxplayers", "8")
	put(t, x.l, "nokey", "192.0.2.2:7777", "hostname", "Second")
	for path, want := range map[string]string{
		"/servers": "First Second", "/servers?game=gmtest": "First", "/servers?q=SECOND": "Second", "/servers?q=192.0.2.1": "First", "/servers?q=none": "",
	} {
		p := b.get(path)
		var got []string
		for _, name := range []string{"First", "Second"} {
			if strings.Contains(p.body, "<bdi>"+name+"</bdi>") {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("GET %s shows %v, want %s", path, got, want)
		}
	}
	wantRefused(t, "odd address", b.get("/verdicts?addr=x"), http.StatusBadRequest, "not an IP address")
	if p := b.get("/verdicts?addr=192.0.2.9"); !strings.Contains(p.body, "Nothing has come from 192.0.2.9") {
		t.Error("GET /verdicts of an unknown address says nothing")
	}
	for _, at := range []string{"192.0.2.3:1", "192.0.2.3:2"} {
		x.l.ServerLog.Note("qr2", netip.MustParseAddrPort(at), "gmtest", verdicts.NoAnswer)
	}
	if p := b.get("/verdicts?addr=192.0.2.3:2"); !strings.Contains(p.body, "192.0.2.3:2</code>") || strings.Contains(p.body, "192.0.2.3:1</code>") {
		t.Errorf("GET /verdicts of one port:\n%s", p.body)
	}
}

// The page of bans shows those in files, with hostile text as text, and not without
// end.
func TestPageOfFileBans(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	x.l.BanFiles = func(netip.Addr) ([]operator.FileBan, error) {
		list := []operator.FileBan{{Addresses: "192.0.2.*", Effect: "may not be listed", Reason: "<b>x", File: "/data/blocklist.txt", Line: 7}}
		return append(list, make([]operator.FileBan, maxFileBans+4)...), nil
	}
	p := b.get("/bans")
	for _, want := range []string{"<code>192.0.2.*</code>", "may not be listed", "&lt;b&gt;x", "/data/blocklist.txt:7", "5 more are not shown"} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the page lacks %q:\n%s", want, p.body)
		}
	}
	if strings.Contains(p.body, "There are no bans") {
		t.Error("the page says that there are no bans")
	}
}
