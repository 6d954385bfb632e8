package signin

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/test/rig"
)

// feslPlayer makes an account with a persona as a game of EA does, and returns the game's
// connection, which is open for the whole session, and the ticket for presence.
func feslPlayer(t *testing.T, d *rig.Running, persona string) (*fesl.Client, fesl.Ticket) {
	t.Helper()
	c := feslGame(t, d, "cncra3-pc")
	email := persona + "@example.com"
	rig.Must(t, c.Register(rig.Wait(t), email, rig.StormPassword, persona))
	ticket, err := c.Play(rig.Wait(t), email, rig.StormPassword, persona)
	rig.Must(t, err)
	return c, ticket
}

// feslGame returns the connection of a game that has said Hello.
func feslGame(t *testing.T, d *rig.Running, game string) *fesl.Client {
	t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(t), d.Address["fesl"].String())
	if err != nil {
		t.Fatal(err)
	}
	c := fesl.NewClient(conn)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Hello(rig.Wait(t), game)
	rig.Must(t, err)
	return c
}

// A player of Battlefield 2142 signs in, plays a round on a ranked server, and sees the rank
// and chooses an unlock on the pages of the game.
func TestPlayerOfBattlefield2142(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("webservices.snapshot_servers", "127.0.0.2/32"))
	c := feslGame(t, d, "bf2142-pc")
	rig.Must(t, c.Register(rig.Wait(t), "ivan@example.com", rig.StormPassword, "Ivan"))
	for _, ask := range [][]string{
		{"acct", "Login", "name", "Ivan", "password", rig.StormPassword, "machineId", "1", "returnEncryptedInfo", "1"},
		{"subs", "GetEntitlementByBundle", "bundleId", "REG-PC-BF2142-UNLOCK-1"},
		{"dobj", "GetObjectInventory", "domainId", "eagames", "subdomainId", "bf2142", "partitionKey", "online_content", "objectIds.[]", "1", "objectIds.0", "bf2142_bp1"},
		{"acct", "GetSubAccounts"}, {"acct", "LoginSubAccount", "name", "Ivan"},
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
	for end := time.Now().Add(rig.Hang); !strings.Contains(page("getplayerinfo.aspx?mode=base"), "\t"+s.Profile+"\tIvan\t0\t85\t85\t2\t"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the round is not on the page: %q", page("getplayerinfo.aspx?mode=base"))
		}
	}
	rig.WantIn(t, page("selectunlock.aspx?uid=211"), "H\tresult\nD\tOK\n")
	rig.WantIn(t, page("getunlocksinfo.aspx?x=1"), "H\tAvcred\nD\t1\nH\tUnlockID\nD\t211\n")
	rig.Must(t, s.MustLeave())
	if text := page("getunlocksinfo.aspx?x=1"); text != "None: No error" {
		t.Errorf("a player who has left presence has the page %q", text)
	}
}

// Players of Red Alert 3 sign in at EA's service and with its ticket at presence, become
// buddies, and meet in the lobby.
func TestPlayersOfRedAlert3(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
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
		chatters = append(chatters, rig.Chat(t, d, persona))
	}
	rig.Befriend(seats[0], seats[1])
	seats[0].Say(`\bm\1\sesskey\$K\t\2\msg\meet me in the lobby`)
	rig.WantIn(t, seats[1].Hears(`\bm\1\f\1\date\`), `\msg\meet me in the lobby\final\`)
	chatters[0].MustJoin("#GSP!redalert3pc", "Tanya")
	chatters[1].MustJoin("#GSP!redalert3pc", "Natasha", "Tanya")

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
