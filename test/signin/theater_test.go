package signin

import (
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/theater"
)

// searched returns what the search of a game at the sign-in finds.
func searched(t *testing.T, c *fesl.Client, values ...string) wire.Text {
	t.Helper()
	_, err := c.Ask(rig.Wait(t), "pnow", "Start", values...)
	rig.Must(t, err)
	for {
		h, found, err := c.Next(rig.Wait(t))
		rig.Must(t, err)
		if h.Service == "pnow" {
			return found
		}
	}
}

// Two players of Mercenaries 2 sign in at EA's service. One offers a game, which is on the pages like every
// server; the other one finds it, joins it with a ticket and leaves. The game ends with its host's ban.
func TestPlayersOfMercenaries2(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	_, host := rig.TheaterPlayer(t, d, "Mattias")
	search, guest := rig.TheaterPlayer(t, d, "Jennifer")
	socket, err := netclient.Dial(rig.Wait(t), d.Address["theater"].String())
	rig.Must(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	at, err := theater.Echo(rig.Wait(t), socket, "1")
	rig.Must(t, err)
	if at != socket.Local() {
		t.Errorf("the datagram of %v came from %v", socket.Local(), at)
	}
	id, err := host.Host(rig.Wait(t), "Mattias", 3000, 2, "B-version", "1.1", "B-U-Mission", "oil")
	rig.Must(t, err)
	servers := func() string {
		_, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers?game=mercs2&full=1", "")
		return body
	}
	rig.WantIn(t, servers(), at.String(), `"Mattias"`, `"theater"`, `"players":1,`)

	result := searched(t, search, "players.0.props.{sessionType}", "listServers",
		"players.0.props.{filterToGame-version}", "version", "players.0.props.{filter-version}", "1.1")
	if result.Get("props.{games}.0.gid") != id || result.Get("props.{resultType}") != "LIST" {
		t.Errorf("the search found %v", result)
	}
	list, err := guest.List(rig.Wait(t), "FILTER-ATTR-U-Mission", "oil")
	rig.Must(t, err)
	if len(list) != 1 || list[0].Get("HN") != "Mattias" || list[0].Get("AP") != "1" {
		t.Fatalf("the list is %v", list)
	}
	join, err := guest.Send(rig.Wait(t), "EGAM", "LID", "257", "GID", id, "PORT", "3001", "R-INT-IP", "127.0.0.1", "R-INT-PORT", "3001", "PTYPE", "P")
	rig.Must(t, err)
	asked, err := host.Admit(rig.Wait(t), id)
	rig.Must(t, err)
	sent, err := guest.Await(rig.Wait(t), "EGEG", join)
	rig.Must(t, err)
	if sent.Get("TICKET") != asked.Get("TICKET") || net.JoinHostPort(sent.Get("I"), sent.Get("P")) != at.String() || asked.Get("NAME") != "Jennifer" {
		t.Errorf("the host is asked %v, and the guest is sent %v", asked, sent)
	}
	rig.Must(t, host.Enters(rig.Wait(t), id, asked.Get("PID")))
	rig.WantIn(t, servers(), `"players":2,`, `"Jennifer"`)
	_, page := rig.Get(t, d, "web", http.MethodGet, "/players/"+asked.Get("UID"), "")
	rig.WantIn(t, page, "Playing now: <a ", "<bdi>Mattias</bdi>")
	_, err = host.Ask(rig.Wait(t), "PLVT", "LID", "257", "GID", id, "PID", asked.Get("PID"))
	rig.Must(t, err)
	rig.WantIn(t, d.Cli("doctor", "127.0.0.1"), at.String()+" of mercs2, listed")
	rig.WantIn(t, d.Cli("query", "theater", d.Address["theater"].String()), "ECHO")
	rig.WantIn(t, d.Cli("query", "fesl", d.Address["fesl"].String()), "theaterPort")

	d.Cli("account", "ban", "Mattias")
	ctx := rig.Wait(t)
	if _, err := host.Await(ctx, "nothing", ""); err == nil || ctx.Err() != nil {
		t.Errorf("the connection of a banned host: %v", err)
	}
	if list, err = guest.List(rig.Wait(t)); err != nil || len(list) != 0 { // its game ended before its connection
		t.Errorf("after the host was banned the list is %v, %v", list, err)
	}
	d.Stop()
	rig.WantNoPassword(t, dir)
	if strings.Contains(d.Log.String(), sent.Get("TICKET")) {
		t.Error("the log has a ticket in it")
	}
}

// Two players of each other game with a list of EA's sign in as their game does. One searches, finds nothing
// and offers a game, which the other one finds and joins. Those of the catalogue are on the pages.
func TestGamesOfTheater(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("fesl.console_tickets", "true"))
	for _, game := range []struct{ client, name, nothing string }{
		{"mohair-pc", "mohairborne", "NOMATCH"},
		{"lotr-pandemic-pc", "lotrconquest", "NOSERVER"},
		{"bfbc2-pc", "", "NOSERVER"},
		{"bfbc2-ps3", "", "NOSERVER"},
		{"beach-ps3", "", "NOSERVER"},
	} {
		client := game.client
		var players []*theater.Client
		var search *fesl.Client
		for i, name := range []string{"Host", "Guest"} {
			c := rig.FESLGame(t, d, client)
			persona := name + strings.ReplaceAll(client, "-", "")[:7]
			var entered wire.Text
			var err error
			if strings.HasSuffix(client, "-ps3") {
				ticket := accounts.ConsoleTicket{User: uint64(len(client)*10 + i), Name: persona, Expires: time.Now().Add(time.Hour), RPCN: true}
				entered, err = c.Ask(rig.Wait(t), "acct", "NuPS3Login", "ticket", "$"+hex.EncodeToString(ticket.Append(nil)))
			} else {
				rig.Must(t, c.Register(rig.Wait(t), persona+"@example.com", rig.StormPassword, persona))
				entered, err = c.Ask(rig.Wait(t), "acct", "NuLoginPersona", "name", persona)
			}
			rig.Must(t, err)
			conn, err := netclient.DialTCP(rig.Wait(t), d.Address["theater"].String())
			rig.Must(t, err)
			p := theater.NewClient(conn)
			t.Cleanup(func() { _ = p.Close() })
			_, err = p.Hello(rig.Wait(t), client)
			rig.Must(t, err)
			rig.Must(t, p.Enter(rig.Wait(t), entered.Get("lkey")))
			players, search = append(players, p), c
		}
		host, guest := players[0], players[1]
		if found := searched(t, search); found.Get("props.{resultType}") != game.nothing {
			t.Errorf("%s: without a game the search found %v", client, found)
		}
		id, err := host.Host(rig.Wait(t), client, 3000, 4, "B-U-LevelKey", "helmsdeep")
		rig.Must(t, err)
		if found := searched(t, search); found.Get("props.{resultType}") != "JOIN" || found.Get("props.{games}.0.gid") != id {
			t.Errorf("%s: the search found %v", client, found)
		}
		if game.name != "" {
			_, page := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers?game="+game.name, "")
			rig.WantIn(t, page, `"127.0.0.1:3000"`, `"`+client+`"`)
		}
		list, err := guest.List(rig.Wait(t), "FILTER-ATTR-U-LevelKey", "helmsdeep")
		rig.Must(t, err)
		if len(list) != 1 || list[0].Get("GID") != id {
			t.Fatalf("%s: the list is %v", client, list)
		}
		join, err := guest.Send(rig.Wait(t), "EGAM", "LID", "257", "GID", id, "PORT", "3001", "R-INT-IP", "127.0.0.1", "R-INT-PORT", "3001", "PTYPE", "P")
		rig.Must(t, err)
		asked, err := host.Admit(rig.Wait(t), id)
		rig.Must(t, err)
		sent, err := guest.Await(rig.Wait(t), "EGEG", join)
		rig.Must(t, err)
		if sent.Get("TICKET") != asked.Get("TICKET") || sent.Get("P") != "3000" {
			t.Errorf("%s: the host is asked %v, and the guest is sent %v", client, asked, sent)
		}
		rig.Must(t, host.Enters(rig.Wait(t), id, asked.Get("PID")))
		_ = host.Close()
	}
}
