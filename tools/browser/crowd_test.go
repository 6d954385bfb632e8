package browser

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/qr2"
)

// crowdGame is a game of a crowd with servers as its communities run them.
type crowdGame struct {
	name, secret string
	maps         []string
	kinds        []string
	most         int
}

// crowd are game servers of a community.
type crowd struct {
	net   netip.Prefix // of their addresses, which are this machine's
	games []crowdGame  // whose secrets are in the catalogue
	names []string     // of servers
}

// oddCrowd has servers with names that break tables.
var oddCrowd = crowd{netip.MustParsePrefix("127.0.0.0/8"), []crowdGame{
	{"gmtest", secret, []string{"DM-Deck16][", "CTF-Face", "DM-Morpheus", "AS-Frigate"}, []string{"Deathmatch", "Capture the flag"}, 16},
	{"swat4", "tG3j8c", []string{"MP-ABomb", "MP-Courthouse", "MP-FairfaxResidence"}, []string{"Barricaded Suspects", "VIP Escort"}, 16},
}, []string{
	"The Old Farts Clan | 24/7 Deck16 | No camping", "Kellergeister LAN", "=[BFA]= Instagib Arena #1", "Вечерний сервер Москва", "東京デスマッチ",
	"xX_PRO_GAMERS_ONLY_NO_NOOBS_ALLOWED_JOIN_OUR_DISCORD_FOR_ADMIN_Xx", "Mike's basement", "Coop night every Friday 20:00 CET, everybody is welcome, no password",
	"Œ Café München ©", "[EU] Fast Downloads – Stats – Fun", "a", "Zombie Horde / Survival / RPG / Save your progress", "Test server, please ignore",
	"العربية خادم الألعاب", "Ṱ̺̺̕o͞ ̷i̲̬͇̪͙n̝̗͕v̟̜̘̦͟o̶̙̰̠kè͚̮̺̪̹̱̤ ̖t̝͕̳̣̻̪͞h̼͓̲̦̳̘̲e͇̣̰̦̬͎ ̢̼̻̱̘h͚͎͙̜̣̲ͅi̦̲̣̰̤v̻͍e̺̭̳̪̰-m̢iͅn̖̺̞̲̯̰d̵̼̟͙̩̼̘̳", "<script>alert(1)</script> & \"quotes\"",
}}

// playerNames are names of players.
var playerNames = []string{"Ann", "Ben [BFA]", "Grumpy Old Man", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", "Łukasz", "山田", "<b>Bold</b>", "Player", "n00b", "Sarge"}

// addresses returns addresses with free ports, which a country file of writeCountries places in
// several countries.
func (c *crowd) addresses(t *testing.T, n int) (out []netip.AddrPort) {
	t.Helper()
	first := c.net.Addr().As4()
	for i := range n {
		ip := binary.BigEndian.Uint32(first[:]) | uint32(i%len(countryCodes))<<(32-c.net.Bits()-3) | uint32(i+1)
		at := net.UDPAddr{IP: binary.BigEndian.AppendUint32(nil, ip)}
		conn, err := net.ListenUDP("udp4", &at)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, netip.MustParseAddrPort(conn.LocalAddr().String()))
		_ = conn.Close()
	}
	return out
}

// list lists game servers of a crowd.
func (d *daemon) list(c *crowd, addresses []netip.AddrPort) {
	d.t.Helper()
	for i, at := range addresses {
		g := c.games[i%len(c.games)]
		to := d.address["qr2"]
		conn, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(at), net.UDPAddrFromAddrPort(to))
		if err != nil {
			d.t.Fatal(err)
		}
		h := &host{qr2.Host{
			Packets: netclient.New(conn, to, 0), Game: g.name, Secret: g.secret, Instance: uint32(i + 1), NATNeg: i%3 == 0,
			Rules: g.rules(i, c.names), Players: g.players(i),
		}, d.t}
		d.t.Cleanup(func() { _ = h.Close() })
		if err := h.Register(netclient.Bound(d.t.Context(), hang)); err != nil {
			d.t.Fatalf("game server %d was not listed: %v", i, err)
		}
	}
}

// playing returns how many players the server i has.
func (g *crowdGame) playing(i int) int { return (i*7 + i/5) % (g.most + 1) * (i % 3) / 2 }

func (g *crowdGame) rules(i int, names []string) []qr2.Rule {
	name := names[i%len(names)]
	if i >= len(names) {
		name += " " + strconv.Itoa(i)
	}
	return []qr2.Rule{
		{Name: "hostname", Value: name},
		{Name: "mapname", Value: g.maps[i%len(g.maps)]},
		{Name: "gametype", Value: g.kinds[i%len(g.kinds)]},
		{Name: "numplayers", Value: strconv.Itoa(min(g.playing(i), g.most))},
		{Name: "maxplayers", Value: strconv.Itoa(g.most)},
		{Name: "password", Value: strconv.Itoa(i % 5 / 4)},
		{Name: "hostport", Value: strconv.Itoa(7777 + i)},
		{Name: "gamever", Value: "1.42"},
		{Name: "adminname", Value: "The admin"},
		{Name: "timelimit", Value: "20"},
		{Name: "website", Value: "https://clan.example.org/" + strings.Repeat("very-long-path/", 8)},
	}
}

func (g *crowdGame) players(i int) qr2.Table {
	t := qr2.Table{Columns: []string{"player_", "score_", "ping_"}}
	for k := range min(g.playing(i), g.most) {
		t.Rows = append(t.Rows, []string{playerNames[(i+k)%len(playerNames)], strconv.Itoa(40 - 3*k), strconv.Itoa(20 + 7*k)})
	}
	return t
}

// countryCodes are the countries of the eight parts of a network.
var countryCodes = []string{"DE", "US", "FR", "PL", "BR", "NZ", "GB", "JP"}

// writeCountries writes a database in MaxMind's format with countryCodes.
func writeCountries(t *testing.T, network netip.Prefix) string {
	t.Helper()
	text := func(s string) string { return string([]byte{byte(2<<5 | len(s))}) + s }
	pairs := func(list ...string) string { return string([]byte{byte(7<<5 | len(list)/2)}) + strings.Join(list, "") }
	record := func(code string) string { return pairs(text("country"), pairs(text("iso_code"), text(code))) }
	length := len(record("DE"))
	const gap = 16
	first, bits := network.Addr().As4(), network.Bits()
	nodes := bits + 1 + 2 + 4 // a path to the network, then a tree for three bits
	three := func(n int) string { return string([]byte{byte(n >> 16), byte(n >> 8), byte(n)}) }
	var tree, data strings.Builder
	for i := range bits { // the other branch of each node is empty
		branch := [2]int{nodes, nodes}
		branch[first[i/8]>>(7-i%8)&1] = i + 1
		tree.WriteString(three(branch[0]) + three(branch[1]))
	}
	for i := range 3 {
		tree.WriteString(three(bits+2*i+1) + three(bits+2*i+2))
	}
	for i := range 4 {
		tree.WriteString(three(nodes+gap+2*i*length) + three(nodes+gap+(2*i+1)*length))
	}
	for _, code := range countryCodes {
		data.WriteString(record(code))
	}
	number := func(head string, n int) string { return head + string([]byte{byte(n)}) }
	meta := pairs(
		text("node_count"), number("\xc1", nodes), text("record_size"), number("\xa1", 24), text("ip_version"), number("\xa1", 4),
		text("database_type"), text("Test"), text("binary_format_major_version"), number("\xa1", 2),
		text("binary_format_minor_version"), number("\xa1", 0), text("build_epoch"), number("\x01\x02", 1),
	)
	path := filepath.Join(t.TempDir(), "countries.mmdb")
	file := tree.String() + strings.Repeat("\x00", gap) + data.String() + "\xAB\xCD\xEFMaxMind.com" + meta
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writePictures makes a folder with a picture of each game of a crowd.
func (c *crowd) writePictures(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i, g := range c.games {
		sign := image.NewPaletted(image.Rect(0, 0, 96, 96), color.Palette{color.Transparent, color.RGBA{byte(90 + 60*i%160), byte(110 + 30*i%60), byte(150 - 40*i%120), 255}, color.White})
		for at := range sign.Pix {
			x, y := at%96-48, at/96-48
			switch r := x*x + y*y; {
			case r < 300*(i+1):
				sign.Pix[at] = 2
			case r < 2200:
				sign.Pix[at] = 1
			}
		}
		var b bytes.Buffer
		if err := png.Encode(&b, sign); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, g.name+".png"), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// crowded starts a daemon of a community with a full list.
func crowded(t *testing.T, servers int) *daemon {
	t.Helper()
	return oddCrowd.start(t, servers)
}

// start starts a daemon with servers that have a past. more are variables, NAME=value.
func (c *crowd) start(t *testing.T, servers int, more ...string) *daemon {
	t.Helper()
	dir, addresses := t.TempDir(), c.addresses(t, servers)
	var past []visited
	for i, at := range addresses {
		g := &c.games[i%len(c.games)]
		past = append(past, visited{at, g.name, min(g.playing(i), g.most), time.Duration(5+i%9*24) * time.Hour})
	}
	writeHistory(t, dir, past...)
	d := startDaemon(t, append([]string{
		"RESPAWND_DATA_DIR=" + dir, "RESPAWND_WEB_PICTURES=" + c.writePictures(t), "RESPAWND_GEOIP_FILE=" + writeCountries(t, c.net), "RESPAWND_WEB_TITLE=Old Games Club", "RESPAWND_WEB_CONTACT=admin@example.org",
		"RESPAWND_WEB_MESSAGE=Friday is Instagib night, from 20:00 CET.\nNew maps: see the forum.",
		`RESPAWND_WEB_LINKS=[{title: Discord, url: "https://discord.example/club"}, {title: Rules, url: "https://club.example.org/rules"}]`,
		"RESPAWND_WEB_PUBLIC_URL=http://servers.example.org", "RESPAWND_WEB_GAME_ADDRESS=192.0.2.80",
	}, more...)...)
	d.dir = dir
	d.list(c, addresses)
	return d
}
