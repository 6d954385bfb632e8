package signin

import (
	"errors"
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/test/rig"
)

// feslPlayer makes an account with a persona as a game of EA does, and returns the game's
// connection, which is open for the whole session, and the ticket for presence.
func feslPlayer(t *testing.T, d *rig.Running, persona string) (*fesl.Client, fesl.Ticket) {
	t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(t), d.Address["fesl"].String())
	if err != nil {
		t.Fatal(err)
	}
	c := fesl.NewClient(conn)
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.Hello(rig.Wait(t), "cncra3-pc")
	rig.Must(t, err)
	email := persona + "@example.com"
	rig.Must(t, c.Register(rig.Wait(t), email, rig.StormPassword, persona))
	ticket, err := c.Play(rig.Wait(t), email, rig.StormPassword, persona)
	rig.Must(t, err)
	return c, ticket
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
