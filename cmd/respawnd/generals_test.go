package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/mangler"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/storage"
)

// Facts of Zero Hour, as the game has them. No game was run: the messages are made from
// its published source.
const (
	zeroHour       = "ccgenzh"
	zeroHourSecret = "D6s9k3"
	quickRoom      = "#GPG!597"
)

// zeroHourPlayer is a player of Zero Hour.
type zeroHourPlayer struct {
	*chatter
	d       *running
	profile uint64
	pw      string
}

// load loads a file as the game does, and returns its head and its text.
func (p *zeroHourPlayer) load(method, file string) (head, text string) {
	p.t.Helper()
	head, text, _ = strings.Cut(askWeb(p.t.(*testing.T), p.d, webHead(method, "servserv.generals.ea.com", "/servserv/GeneralsZH/"+file, -1, "")), "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") {
		p.t.Fatalf("%s %s: %s", method, file, head)
	}
	return head + "\r\n", text
}

// section returns the lines of a section of config.txt.
func section(t *testing.T, config, name string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(config, "<"+name+">\n")
	lines, _, closed := strings.Cut(rest, "</"+name+">\n")
	if !ok || !closed {
		t.Fatalf("config.txt has no %s:\n%s", name, config)
	}
	return strings.Split(strings.TrimSuffix(lines, "\n"), "\n")
}

// goOnline sends the game's requests between the button Online and the lobby.
func goOnline(t *testing.T, d *running, nick string) (p *zeroHourPlayer, config string) {
	t.Helper()
	p = &zeroHourPlayer{chatter: &chatter{t: t}, d: d, pw: stormPassword}
	for _, file := range []string{"english-65540.txt", "maps-65536.txt"} {
		if _, text := p.load("GET", file); text != "\n" {
			t.Errorf("%s: %q, want one line feed", file, text)
		}
	}
	head, _ := p.load("HEAD", "config.txt")
	_, config = p.load("GET", "config.txt")
	if want := fmt.Sprintf("\r\nContent-Length: %d\r\n", len(config)); len(config) < 100 || !strings.Contains(head, want) {
		t.Errorf("config.txt has %d bytes, the answer to HEAD %q", len(config), head)
	}
	if _, text := p.load("GET", "MOTD-english.txt"); text != "Welcome\nto Zero Hour\n" {
		t.Errorf("MOTD %q", text)
	}

	// Sign-in, then chat with the number of the profile, and the check of the CD key.
	conn, err := netclient.DialTCP(wait(t), d.address["gpcm"].String())
	must(t, err)
	gp, err := gpcm.Connect(wait(t), conn)
	must(t, err)
	t.Cleanup(func() { _ = gp.Close() })
	must(t, gp.Send("newuser", "", "email", nick+"@example.com", "nick", nick, "passwordenc", gamespy.EncodePassword(p.pw),
		"productID", "10493", "namespaceid", "1", "uniquenick", nick, "id", "1"))
	if m, err := gp.Next(wait(t)); err != nil || field(m, "profileid") == "" {
		t.Fatalf("newuser: %q, %v", m, err)
	}
	must(t, gp.Login(wait(t), gpcm.Login{By: "uniquenick", Name: nick, Password: p.pw, Game: zeroHour}))
	_, err = fmt.Sscan(gp.Profile, &p.profile)
	must(t, err)

	p.chatter = chatConn(t, d)
	p.must(p.Encrypt(wait(t), zeroHour, zeroHourSecret))
	p.Profile = gp.Profile
	p.must(p.SignOn(wait(t), nick))
	p.join("#GSP!" + zeroHour)
	p.send("CDKEY 1234567890123456789012")
	if l := p.hears("706"); l.Param(1) != "1" {
		t.Errorf("CDKEY: %q, want that the key is good", l)
	}
	return p, config
}

// own reads and writes the player's own data, as the game does at its start.
func (p *zeroHourPlayer) own(other uint64) {
	t := p.t.(*testing.T)
	t.Helper()
	conn, err := netclient.DialTCP(wait(t), p.d.address["gstats"].String())
	must(t, err)
	c, err := gstats.Connect(wait(t), conn)
	must(t, err)
	defer func() { _ = c.Close() }()
	must(t, c.Authenticate(wait(t), zeroHour, zeroHourSecret))
	id := storage.ProfileID(p.profile)
	if data, _, err := c.Get(wait(t), id, 3, 0); err != nil || len(data) > 0 {
		t.Errorf("data of a new player: %q, %v", data, err)
	}
	must(t, c.AuthenticatePlayer(wait(t), id, p.pw))
	for _, pairs := range []string{"\\locale\\0\x00", "\\wins2\\1\\losses2\\0\\games2\\1\\duration2\\12\\WinRow\\1\\systemSpec\\LOD2\\battle\\0\x00", "\\wins2\\2\\games2\\2\x00"} {
		if _, err := c.Set(wait(t), id, 3, 0, true, []byte(pairs)); err != nil {
			t.Errorf("setpd %q: %v", pairs, err)
		}
	}
	data, _, err := c.Get(wait(t), id, 3, 0)
	if want := "\\locale\\0\\wins2\\2\\losses2\\0\\games2\\2\\duration2\\12\\WinRow\\1\\systemSpec\\LOD2\\battle\\0\x00"; err != nil || string(data) != want {
		t.Errorf("getpd without keys: %q, %v; want %q", data, err, want)
	}
	if data, _, err = c.Get(wait(t), id, 3, 0, "wins2", "games2"); err != nil || !bytes.Equal(data, []byte("\\wins2\\2\\games2\\2\x00")) {
		t.Errorf("getpd with keys: %q, %v", data, err)
	}
	if _, err := c.Set(wait(t), storage.ProfileID(other), 3, 0, true, []byte("\\wins2\\9\x00")); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("data of another player: %v, want that they are refused", err)
	}
	// The medal for players who ordered early: the player is unknown, which is
	// harmless.
	must(t, c.Send(`\authp\\nick\preorder\keyhash\d3b07384d113edec49eaa6238ad5ff00\resp\x\lid\77`))
	if m, err := c.Next(wait(t)); err != nil || !strings.HasPrefix(m, `\pauthr\-1\lid\77`) {
		t.Errorf("preorder: %q, %v", m, err)
	}
	must(t, c.Begin(-7))
	must(t, c.Report(-7, true, "ccgenzh", "1", "player_0", p.Nick, "pid_0", fmt.Sprint(p.profile)))
	if _, _, err := c.Get(wait(t), id, 3, 0, "wins2"); err != nil { // the report did not end the connection
		t.Errorf("after a report: %v", err)
	}
}

// search sends the program a player's search.
func (p *zeroHourPlayer) search(bot string, changes ...string) {
	p.t.Helper()
	ip := p.Address.As4()
	text := fmt.Sprintf(`\CINFO\Widen\30\LadID\0\LadPass\0\PointsMin\50\PointsMax\200\Points\100\Discons\0\DisconMax\10\NumPlayers\2\Pings\0A`+
		`\IP\%d\Side\2\Color\-1\NAT\1\EXE\11\INI\22\Maps\0101`, int32(uint32(ip[0])<<24|uint32(ip[1])<<16|uint32(ip[2])<<8|uint32(ip[3])))
	for i := 0; i+1 < len(changes); i += 2 {
		before, after, _ := strings.Cut(text, `\`+changes[i]+`\`)
		_, rest, more := strings.Cut(after, `\`)
		text = before + `\` + changes[i] + `\` + changes[i+1]
		if more {
			text += `\` + rest
		}
	}
	p.must(p.Say(bot, text))
}

// A player of Zero Hour goes online and gets a quick match with another one.
func TestZeroHour(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("quickmatch.announce", "1s"), variable("quickmatch.interval", "100ms"))
	wantIn(t, d.cli("motd", "set", zeroHour, "Welcome\nto Zero Hour"), "set the message of the day")
	ann, config := goOnline(t, d, "Ann")
	bob, _ := goOnline(t, d, "Bob")
	ann.own(bob.profile)

	// The NAT helper, under the name in config.txt, which leads here.
	if got := section(t, config, "Manglers"); !slices.Equal(got, []string{"servserv.generals.ea.com:4321"}) {
		t.Errorf("manglers %q", got)
	}
	m, err := mangler.Dial(t.Context(), d.address["mangler"].String())
	must(t, err)
	defer func() { _ = m.Close() }()
	if seen, err := m.Seen(time.Now().Add(hang)); err != nil || seen != m.Local() {
		t.Errorf("the NAT helper saw %v, %v; want %v", seen, err, m.Local())
	}

	// The list of rooms has the one for quick matches, with the program in it.
	b := browse(t, d)
	r := serverbrowse.NewRequest(zeroHour, "", `\hostname\numwaiting`, serverbrowse.SendGroups)
	r.From, r.Challenge = testGame, b.challenge
	msg, err := r.AppendTo(nil)
	b.must(err)
	b.write(msg)
	quick := 0
	for _, e := range b.reply(serverbrowse.SendGroups).Entries {
		if slices.Equal(e.Values, []string{"QuickMatch", "1"}) {
			at := e.Public.Addr().As4()
			quick = int(at[2])<<8 | int(at[3])
		}
	}
	if room := fmt.Sprint("#GPG!", quick); room != quickRoom {
		t.Fatalf("the room for quick matches is %s, want %s with one member", room, quickRoom)
	}
	bot := ""
	for _, nick := range ann.join(quickRoom).Members {
		bot = strings.TrimPrefix(nick, "@")
		if bot != nick {
			break
		}
	}
	ann.send("WHOIS " + bot)
	field := ann.hears("311").Param(2)
	var id int
	if n, err := fmt.Sscanf(section(t, config, "QMBot")[0], "id = %d", &id); n != 1 || err != nil || !strings.HasSuffix(field, fmt.Sprintf("X|%d", id)) || len(field) < 12 {
		t.Fatalf("the program %q signed on as %q, and config.txt has %q", bot, field, section(t, config, "QMBot"))
	}
	maps := section(t, config, "QMMaps")

	bob.join(quickRoom)
	ann.search(bot)
	ann.expect(" PRIVMSG Ann MBOT:WORKING 1")
	ann.expect(" PRIVMSG " + quickRoom + " MBOT:POOLSIZE 0 1")
	bob.search(bot, "Points", "40", "Side", "5")
	bob.expect(" PRIVMSG Bob MBOT:WORKING 2")
	for _, p := range []*zeroHourPlayer{ann, bob} {
		p.must(p.Say(bot, `\WIDEN`))
		p.expect(" PRIVMSG " + p.Nick + " MBOT:WIDENINGSEARCH")
	}
	var match [2]string
	for i, p := range []*zeroHourPlayer{ann, bob} {
		_, match[i], _ = strings.Cut(p.expect("MBOT:MATCHED "), "MBOT:MATCHED ")
	}
	words := strings.Fields(match[0])
	if match[0] != match[1] || len(words) != 12 {
		t.Fatalf("matches %q", match)
	}
	var at, seed int
	_, err = fmt.Sscan(match[0], &at, &seed)
	must(t, err)
	got := []string{strings.Join(words[2:7], " "), strings.Join(words[7:12], " ")}
	slices.Sort(got)
	if want := []string{"Ann 2130706433 2 -1 1", "Bob 2130706433 5 -1 1"}; !slices.Equal(got, want) || at < 0 || at > 3 || at >= len(maps) {
		t.Errorf("match %q on map %d, want %q", got, at, want)
	}
	d.wantVisit("quickmatch", " for game "+zeroHour, verdicts.QuickMatched)

	// Profiles that other clients claim are not believed.
	thief := chatConn(t, d)
	thief.send("USER X1lsaFvqsX|" + fmt.Sprint(id) + " 127.0.0.1 peerchat.gamespy.com :x")
	thief.send("NICK Thief")
	thief.hears("001")
	thief.send("NICK " + bot)
	thief.hears("433")
	thief.send("WHOIS Thief")
	if f := thief.hears("311").Param(2); !strings.HasSuffix(f, "X|0") {
		t.Errorf("a player signed on as the program: %q", f)
	}
	d.stop()
	if strings.Contains(d.log.String(), "left chat") {
		t.Errorf("the program left chat in an orderly stop:\n%s", d.log)
	}
}
