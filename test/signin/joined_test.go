package signin

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/peerchat"
	"github.com/respawnd/respawnd/test/rig"
)

// olderGame signs a player of a game in by the older names of requests, at EA's service and with its
// ticket at presence, where the game is known by the name in the catalogue.
func olderGame(t *testing.T, d *rig.Running, client, game, persona string) (*fesl.Client, rig.Seat) {
	t.Helper()
	c := rig.FESLGame(t, d, client)
	rig.Must(t, c.Register(rig.Wait(t), persona+"@example.com", rig.StormPassword, persona))
	for _, ask := range [][]string{
		{"Login", "name", persona, "password", rig.StormPassword, "returnEncryptedInfo", "0"},
		{"GetSubAccounts"},
		{"LoginSubAccount", "name", persona},
	} {
		_, err := c.Ask(rig.Wait(t), "acct", ask[0], ask[1:]...)
		rig.Must(t, err)
	}
	ticket, err := c.Ask(rig.Wait(t), "acct", "GameSpyPreAuth")
	rig.Must(t, err)
	s := rig.Greeted(t, d)
	rig.Must(t, s.Login(rig.Wait(t), gpcm.Login{By: "authtoken", Name: ticket.Get("ticket"), Password: ticket.Get("challenge"), Game: game}))
	return c, s
}

// listed returns the list of a game, as its players get it.
func listed(t *testing.T, d *rig.Running, game, filter, fields string, o serverbrowse.Option) serverbrowse.Reply {
	t.Helper()
	b := rig.Browse(t, d)
	r := serverbrowse.NewRequest(game, filter, fields, o)
	r.From, r.Challenge = rig.TestGame, b.Challenge
	msg, err := r.AppendTo(nil)
	b.Must(err)
	b.Write(msg)
	return b.MustReply(o)
}

// hostOf lists a server of a game.
func hostOf(t *testing.T, d *rig.Running, game, secret string, rules ...string) *rig.Host {
	t.Helper()
	h := rig.NewHost(t, d.Address["qr2"], rules...)
	h.Game, h.Secret = game, secret
	h.MustRegister()
	return h
}

// A ranked server and a player of Battlefield 2142 sign in. The player finds the server in the list and
// joins; the server asks the pages of the game who that is, lets the player in, and reports it.
func TestMatchOfBattlefield2142(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	olderGame(t, d, "bf2142-pc", "stella", "Camp")
	_, ivan := olderGame(t, d, "bf2142-pc", "stella", "Ivan")
	server := hostOf(t, d, "stella", "M8o1Qw", "hostname", "Camp Gibraltar", "gamever", "1.10.112.0", "numplayers", "0", "maxplayers", "64")
	hostOf(t, d, rig.TestGame, rig.TestSecret, "hostname", "Elsewhere", "gamever", "1.10.112.0")
	list := listed(t, d, "stella", "gamever='1.10.112.0'", `\hostname\numplayers`, 0)
	rig.WantOnly(t, "Ivan", list, server.Address())

	player := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), list.Entries[0].Public)
	rig.Must(t, player.Send([]byte("auth="+ivan.Ticket+"&tid=0&SoldierNick=Ivan&pid="+ivan.Profile)))
	join, from := server.Packet()
	for query, want := range map[string]string{
		string(join): "Ok", strings.Replace(string(join), "Ivan", "Igor", 1): "InvalidReportedNick", string(join) + "9": "InvalidAuthProfileID",
	} {
		page := rig.AskWeb(t, d, rig.WebHead("GET", "stella.prod.gamespy.com", "/ValidatePlayer.aspx?"+query, -1, ""))
		rig.WantIn(t, page, "HTTP/1.1 200 OK\r\n", "D\t"+want+"\n")
	}
	rig.Must(t, server.SendTo([]byte("welcome"), from))
	rig.Must(t, player.Await(rig.Wait(t), func(b []byte, from netip.AddrPort) (bool, error) {
		return string(b) == "welcome" && from == server.Address(), nil
	}))
	server.OwnRules[5], server.OwnPlayers = "1", []string{"Ivan"}
	server.MustHeartbeat("1")
	rig.Eventually(t, "the player on the server", func() bool {
		e := listed(t, d, "stella", "", `\hostname\numplayers`, 0).Entries
		return len(e) == 1 && e[0].Values[1] == "1"
	})
}

// Two players of The Battle for Middle-earth II and of its expansion sign in, read the message of the day,
// meet in a room of chat and in the room of a game there, and get each other's addresses.
func TestMatchesOfMiddleEarth(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	for _, game := range []struct{ client, name, motdHost, motd, room string }{
		{"bfme2", "lotrbme2r", "servserv.generals.ea.com", "/servserv/lotrbfme2/MOTD-english.txt", "#GPG!1842"},
		{"bfme2-ep1-pc", "lotrbme2wk", "motd.gamespy.com", "/motd/motd.asp?userid=1&gamename=lotrbme2wk", "#GPG!1919"},
	} {
		t.Run(game.name, func(t *testing.T) {
			d.Cli("motd", "set", game.name, "Welcome to "+game.name)
			rig.WantIn(t, rig.AskWeb(t, d, rig.WebHead("GET", game.motdHost, game.motd, -1, "")), "HTTP/1.1 200 OK\r\n", "\r\n\r\nWelcome to "+game.name)
			var chatters []*rig.Chatter
			for i, persona := range []string{"Elrond", "Gimli"} {
				_, s := olderGame(t, d, game.client, game.name, persona+game.name[7:])
				x := rig.ChatConn(t, d)
				x.Must(x.Encrypt(rig.Wait(t), game.name, "g3Fd9z"))
				x.Profile = s.Profile
				x.Must(x.SignOn(rig.Wait(t), persona+game.name[7:]))
				if members := x.MustJoin(game.room).Members; len(members) != i+1 {
					t.Errorf("player %d sees %q in the room", i+1, members)
				}
				chatters = append(chatters, x)
			}
			middleEarthMatch(t, d, game.name, strings.TrimPrefix(game.room, "#GPG!"), chatters[0], chatters[1])
		})
	}
}

// middleEarthMatch has a player offer a game in a room of chat, and another one join it.
func middleEarthMatch(t *testing.T, d *rig.Running, game, group string, host, guest *rig.Chatter) {
	t.Helper()
	server := hostOf(t, d, game, "g3Fd9z", "hostname", "Rivendell", "gamemode", "openstaging", "numplayers", "1", "maxplayers", "2", "groupid", group)
	staging := peerchat.StagingName(game, host.Address, server.Private.Addr(), server.Private.Port())
	host.MustJoin(staging, "@"+host.Nick)
	for _, room := range listed(t, d, game, "", `\hostname\numwaiting\numservers`, serverbrowse.SendGroups).Entries {
		at := room.Public.Addr().As4()
		if fmt.Sprint(int(at[2])<<8|int(at[3])) == group && (room.Values[1] != "2" || room.Values[2] != "1") {
			t.Errorf("the room is in the list with %q", room.Values)
		}
	}
	if elsewhere := listed(t, d, game, "groupid=1", `\hostname`, 0).Entries; len(elsewhere) > 0 {
		t.Errorf("another room has the games %+v", elsewhere)
	}
	list := listed(t, d, game, "groupid="+group, `\hostname`, 0)
	rig.WantOnly(t, guest.Nick, list, server.Address())
	e := list.Entries[0]
	room := peerchat.StagingName(game, e.Public.Addr(), e.Local.Addr(), e.Local.Port())
	guest.MustJoin(room, "@"+host.Nick, guest.Nick)
	host.HearsFrom(guest, "JOIN", staging)
	guest.Must(guest.SetMemberKeys(room, guest.Nick, "b_flags", "sr"))
	host.Hears("702", host.Nick, room, guest.Nick, "BCAST", `\b_flags\sr`)
	host.Must(host.Tell(room, "GML "+host.Address.String()))
	guest.HearsFrom(host, "UTM", room, "GML "+host.Address.String())

	var players [2]natneg.Peer
	for i := range players {
		players[i] = natneg.Peer{
			Packets: rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["natneg"]), Version: 2, Cookie: uint32(server.Address().Port()), Index: byte(i), Game: game,
		}
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
