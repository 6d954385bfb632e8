package signin

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/competition"
)

// feslPlayer makes an account with a persona as a game of EA does, and returns the game's
// connection, which is open for the whole session, and the ticket for presence.
func feslPlayer(t *testing.T, d *rig.Running, persona string) (*fesl.Client, fesl.Ticket) {
	t.Helper()
	c := rig.FESLGame(t, d, "cncra3-pc")
	email := persona + "@example.com"
	rig.Must(t, c.Register(rig.Wait(t), email, rig.StormPassword, persona))
	ticket, err := c.Play(rig.Wait(t), email, rig.StormPassword, persona)
	rig.Must(t, err)
	return c, ticket
}

// meetForMatch waits for the match of two players of a game, who then get each other's addresses.
func meetForMatch(t *testing.T, d *rig.Running, game string, chatters []*rig.Chatter) {
	t.Helper()
	var match [2]string
	for i, x := range chatters {
		_, match[i], _ = strings.Cut(x.Expect("MBOT:MATCHED "), "MBOT:MATCHED ")
	}
	var id uint32
	var nicks [2]string
	_, err := fmt.Sscanf(match[0], "1 %d 1 %s 2130706433 4 -1 0 -1 1000 0 %s 2130706433 4 -1 0 -1 1000 1", &id, &nicks[0], &nicks[1])
	slices.Sort(nicks[:])
	if err != nil || match[0] != match[1] || nicks != [2]string{chatters[1].Nick, chatters[0].Nick} {
		t.Fatalf("matches %q: %v", match, err)
	}
	var players [2]natneg.Peer
	for i := range players {
		conn, err := netclient.Dial(rig.Wait(t), d.Address["natneg"].String())
		rig.Must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		players[i] = natneg.Peer{Packets: conn, Version: 3, Cookie: id, Index: byte(i), Game: game}
		rig.Must(t, players[i].Announce())
	}
	for i := range players {
		at, err := players[i].Partner(rig.Wait(t))
		rig.Must(t, err)
		if at != players[1-i].Local() {
			t.Errorf("player %d is led to %v, want %v", i, at, players[1-i].Local())
		}
		rig.Must(t, players[i].Report(rig.Wait(t)))
	}
}

// reportMatch lets two players report a ranked match that Tanya won.
func reportMatch(t *testing.T, d *rig.Running, dir string) {
	t.Helper()
	key, err := auth.ReadKey(filepath.Join(dir, auth.KeyName))
	rig.Must(t, err)
	client := func(service string) webservices.Client {
		return webservices.Client{Address: d.Address["webservices"].String(), Host: "redalert3pc." + service + ".pubsvs.gamespy.com"}
	}
	var players [2]webservices.Player
	for i, persona := range []string{"Tanya", "Natasha"} {
		c := client("auth")
		players[i].Certificate, players[i].Proof, err = c.SignIn(rig.Wait(t), key.Public(), persona, rig.StormPassword)
		rig.Must(t, err)
	}
	c := client("comp")
	session, err := c.Match(rig.Wait(t), players[0], "CreateSession", nil, "gameid", "2128")
	rig.Must(t, err)
	csid := session.Text("csid")
	report := competition.Report{Values: []competition.Value{{Key: 74, Type: competition.TypeByte, Int: 1}}}
	var conns [2]string
	for i := range players {
		joined, err := c.Match(rig.Wait(t), players[i], "SetReportIntention", nil, "csid", csid, "ccid", "", "gameid", "2128", "authoritative", "0")
		rig.Must(t, err)
		conns[i] = joined.Text("ccid")
		conn, _ := competition.ParseGUID(conns[i])
		report.Players = append(report.Players, competition.Player{Conn: conn, Team: uint32(i), Result: competition.Result(i)})
	}
	for i := range players {
		_, err := c.Match(rig.Wait(t), players[i], "SubmitReport", report.Append(nil), "csid", csid, "ccid", conns[i], "gameid", "2128", "authoritative", "0")
		rig.Must(t, err)
	}
}

// A player of Battlefield 2142 signs in, plays a round on a ranked server, and sees the rank
// and chooses an unlock on the pages of the game.
func TestPlayerOfBattlefield2142(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("webservices.snapshot_servers", "127.0.0.2/32"))
	c := rig.FESLGame(t, d, "bf2142-pc")
	rig.Must(t, c.Register(rig.Wait(t), "ivan@example.com", rig.StormPassword, "Ivan"))
	for _, ask := range [][]string{
		{"acct", "Login", "name", "Ivan", "password", rig.StormPassword, "machineId", "1", "returnEncryptedInfo", "1"},
		{"subs", "GetEntitlementByBundle", "bundleId", "REG-PC-BF2142-UNLOCK-1"},
		{"dobj", "GetObjectInventory", "domainId", "eagames", "subdomainId", "bf2142", "partitionKey", "online_content", "objectIds.[]", "1", "objectIds.0", "bf2142_bp1"},
		{"acct", "GetSubAccounts"},
		{"acct", "LoginSubAccount", "name", "Ivan"},
	} {
		_, err := c.Ask(rig.Wait(t), ask[0], ask[1], ask[2:]...)
		rig.Must(t, err)
	}
	ticket, err := c.Ask(rig.Wait(t), "acct", "GameSpyPreAuth")
	rig.Must(t, err)
	s := rig.Greeted(t, d)
	rig.Must(t, s.Login(rig.Wait(t), gpcm.Login{By: "authtoken", Name: ticket.Get("ticket"), Password: ticket.Get("challenge"), Game: "stella"}))
	page := func(target string) string {
		_, text, _ := strings.Cut(rig.AskWeb(t, d, rig.WebHead("GET", "stella.prod.gamespy.com", "/"+target+"&auth=x&gsa="+s.Ticket, -1, "")), "\r\n\r\n")
		return text
	}
	list := `prefix\Camp_Gibraltar\mapstart\1700000000.5\mapend\1700001800.5\win\1\gm\0\m\0\v\bf2142\pc\1\rwa\0` +
		`\c_0\1\crpt_0\85\gsco_0\85\nick_0\Ivan\pid_0\` + s.Profile + `\t_0\1\tt_0\1200\EOF\1`
	rig.WantIn(t, rig.AskWebFrom(t, d, "127.0.0.2", rig.WebHead("POST", "stella.prod.gamespy.com", "/bf2142statistics.php", len(list), "")+list), "\nD\tOK\tCamp_Gibraltar\t")
	d.WaitFor("the totals of the round", 0, rig.Message("the pages of players have a round"))
	rig.WantIn(t, page("getplayerinfo.aspx?mode=base"), "\t"+s.Profile+"\tIvan\t0\t85\t85\t2\t")
	rig.WantIn(t, page("selectunlock.aspx?uid=211"), "H\tresult\nD\tOK\n")
	rig.WantIn(t, page("getunlocksinfo.aspx?x=1"), "H\tAvcred\nD\t1\nH\tUnlockID\nD\t211\n")
	rig.Must(t, s.MustLeave())
	if text := page("getunlocksinfo.aspx?x=1"); text != "None: No error" {
		t.Errorf("a player who has left presence has the page %q", text)
	}
}

// Players of Red Alert 3 sign in at EA's service and with its ticket at presence, become
// buddies, meet in the lobby, get a match there and each other's addresses for it,
// and report it, which changes their ratings.
func TestPlayersOfRedAlert3(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir, rig.Variable("quickmatch.interval", "100ms"))
	var seats []rig.Seat
	var chatters []*rig.Chatter
	games := make(map[string]*fesl.Client)
	for i, persona := range []string{"Tanya", "Natasha"} {
		game, ticket := feslPlayer(t, d, persona)
		games[persona] = game
		s := rig.Greeted(t, d)
		rig.Must(t, s.Login(rig.Wait(t), gpcm.Login{By: "authtoken", Name: ticket.Value, Password: ticket.Challenge, Game: "redalert3pc"}))
		if s.Profile != fmt.Sprint(i+1) {
			t.Errorf("%s is profile %s", persona, s.Profile)
		}
		again := rig.Greeted(t, d)
		if err := again.Login(rig.Wait(t), gpcm.Login{By: "authtoken", Name: ticket.Value, Password: ticket.Challenge, Game: "redalert3pc"}); err == nil {
			t.Errorf("%s signed in with a ticket again", persona)
		}
		seats = append(seats, s)
		chatter := rig.ChatConn(t, d)
		chatter.Profile = s.Profile
		chatter.Must(chatter.SignOn(rig.Wait(t), persona))
		chatters = append(chatters, chatter)
	}
	rig.Befriend(seats[0], seats[1])
	seats[0].Say(`\bm\1\sesskey\$K\t\2\msg\meet me in the lobby`)
	rig.WantIn(t, seats[1].Hears(`\bm\1\f\1\date\`), `\msg\meet me in the lobby\final\`)
	ladder := rig.AskWeb(t, d, rig.WebHead("GET", "redalert3services.gamespy.com", "/GetPlayerLadderRatings.aspx?gp="+seats[0].Ticket, -1, ""))
	rig.WantIn(t, ladder, "HTTP/1.1 200 OK\r\n", ",58938,32034,-1,1200,58940,1088,-1,1200,")
	clan := rig.AskWeb(t, d, rig.WebHead("GET", "psweb.gamespy.com", "/clans/ClanActions.asmx/ClanInfoByProfileID?authToken=x&profileid=1", -1, ""))
	rig.WantIn(t, clan, "HTTP/1.1 200 OK\r\n", "<resultValue>-305</resultValue>")
	for _, x := range chatters {
		x.SearchMatch("#GSP!redalert3pc", "anpwcjnybr2008")
	}
	meetForMatch(t, d, "redalert3pc", chatters)
	reportMatch(t, d, dir)
	for i, want := range []string{"1220", "1180"} {
		page := rig.AskWeb(t, d, rig.WebHead("GET", "redalert3services.gamespy.com", "/GetPlayerLadderRatings.aspx?gp="+seats[i].Ticket, -1, ""))
		rig.WantIn(t, page, ",58938,32034,-1,"+want+",")
	}
	icon := rig.AskWeb(t, d, rig.WebHead("GET", "redalert3services.gamespy.com", "/GetPlayerRankIcon.aspx?gp=x&size=L&pid="+seats[0].Profile, -1, ""))
	rig.WantIn(t, icon, "HTTP/1.1 200 OK\r\n", "Content-Type: image/png\r\n")
	rig.WantIn(t, d.Cli("stats", "show", seats[0].Profile), "experience")
	rig.WantIn(t, d.Cli("matches", "list", "redalert3pc"), "agreed", "Tanya win, Natasha loss")

	// A ban ends both sessions of the player.
	d.Cli("account", "ban", "Natasha")
	seats[1].Hears(`\error\\err\6\fatal\`)
	for err := error(nil); !errors.Is(err, fesl.ErrGoodbye); {
		if _, _, err = games["Natasha"].Next(rig.Wait(t)); err != nil && !errors.Is(err, fesl.ErrGoodbye) {
			t.Fatalf("the session at EA's service ended with %v", err)
		}
	}
	d.Stop()
	rig.WantNoPassword(t, dir)
}

// Players of Command & Conquer 3 and of Kane's Wrath sign in by the older names of requests, and
// meet through the program in the room of their automatch.
func TestPlayersOfCommandAndConquer3(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("quickmatch.interval", "100ms"))
	for _, game := range []struct{ client, name, room, program string }{
		{"cnc3-pc", "cc3tibwars", "#GSP!cc3tibwarsam", "TiberiumQuickMatch"},
		{"cnc3-ep1-pc", "cc3xp1", "#GSP!cc3xp1am", "KaneQuickMatch"},
	} {
		var chatters []*rig.Chatter
		for _, persona := range []string{"Scrin", "Nod"} {
			persona += "of" + game.name[:4]
			c := rig.FESLGame(t, d, game.client)
			rig.Must(t, c.Register(rig.Wait(t), persona+"@example.com", rig.StormPassword, persona))
			_, err := c.Ask(rig.Wait(t), "acct", "Login", "name", persona, "password", rig.StormPassword, "returnEncryptedInfo", "0")
			rig.Must(t, err)
			_, err = c.Ask(rig.Wait(t), "acct", "LoginSubAccount", "name", persona)
			rig.Must(t, err)
			ticket, err := c.Ask(rig.Wait(t), "acct", "GameSpyPreAuth")
			rig.Must(t, err)
			s := rig.Greeted(t, d)
			rig.Must(t, s.Login(rig.Wait(t), gpcm.Login{By: "authtoken", Name: ticket.Get("ticket"), Password: ticket.Get("challenge"), Game: game.name}))
			x := rig.ChatConn(t, d)
			x.Profile = s.Profile
			x.Must(x.SignOn(rig.Wait(t), persona))
			x.SearchMatch(game.room, game.program)
			chatters = append(chatters, x)
		}
		meetForMatch(t, d, game.name, chatters)
	}
}

// What the service acknowledged is there after the daemon was killed: the account, its personas but for one
// that was deleted, the token of a game, statistics, the place on a board and records.
func TestFESLAfterKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.StartChild(t, dir)
	ask := func(c *fesl.Client, service, txn string, fields ...string) wire.Text {
		t.Helper()
		answer, err := c.Ask(rig.Wait(t), service, txn, fields...)
		rig.Must(t, err)
		return answer
	}
	c := rig.FESLGame(t, &d.Running, "mercs2-pc")
	ask(c, "acct", "AddAccount", "name", "Mattias", "password", rig.StormPassword, "email", "mattias@example.com", "countryCode", "DE")
	token := ask(c, "acct", "Login", "name", "Mattias", "password", rig.StormPassword, "returnEncryptedInfo", "1").Get("encryptedLoginInfo")
	ask(c, "acct", "AddSubAccount", "name", "Jennifer")
	ask(c, "acct", "AddSubAccount", "name", "Chris")
	ask(c, "acct", "DisableSubAccount", "name", "Chris")
	owner := ask(c, "acct", "LoginSubAccount", "name", "Jennifer").Get("profileId")
	ask(c, "rank", "UpdateStats", "u.[]", "1", "u.0.o", owner, "u.0.ot", "1", "u.0.s.[]", "1",
		"u.0.s.0.k", "vz", "u.0.s.0.ut", "0", "u.0.s.0.v", "4390", "u.0.s.0.t", "", "u.0.s.0.pt", "0")
	c = rig.FESLGame(t, &d.Running, "bfbc2-pc")
	ask(c, "acct", "NuLogin", "nuid", "mattias@example.com", "password", rig.StormPassword)
	ask(c, "acct", "NuLoginPersona", "name", "Jennifer")
	ask(c, "recp", "AddRecordAsMap", "recordName", "dogtags", "owner", owner, "values.{}", "1", "values.{7}", "QUFBQQ==")
	d.Kill()

	d = rig.StartChild(t, dir)
	c = rig.FESLGame(t, &d.Running, "mercs2-pc")
	ask(c, "acct", "Login", "encryptedInfo", token)
	if got := ask(c, "acct", "GetSubAccounts").List("subAccounts"); !slices.Equal(got, []string{"Mattias", "Jennifer"}) {
		t.Errorf("the personas are %q", got)
	}
	if got := ask(c, "acct", "LoginSubAccount", "name", "Jennifer").Get("profileId"); got != owner {
		t.Errorf("the persona is %s, was %s", got, owner)
	}
	stats := ask(c, "rank", "GetStats", "owner", owner, "ownerType", "1", "periodId", "0", "periodPast", "0", "keys.[]", "1", "keys.0", "vz")
	if got := stats.Get("stats.0.value"); got != "4390.0000" {
		t.Errorf("the statistics are %v", stats)
	}
	top := ask(c, "rank", "GetTopN", "key", "vz", "ownerType", "1", "minRank", "1", "maxRank", "10", "periodId", "0", "periodPast", "0")
	if top.Get("stats.0.owner") != owner || top.Get("stats.0.value") != "4390.0000" {
		t.Errorf("the board is %v", top)
	}
	c = rig.FESLGame(t, &d.Running, "bfbc2-pc")
	ask(c, "acct", "NuLogin", "nuid", "mattias@example.com", "password", rig.StormPassword)
	ask(c, "acct", "NuLoginPersona", "name", "Jennifer")
	if got := ask(c, "recp", "GetRecordAsMap", "recordName", "dogtags", "owner", owner).Get("values.{7}"); got != "QUFBQQ==" {
		t.Errorf("the dog tag is %q", got)
	}
}
