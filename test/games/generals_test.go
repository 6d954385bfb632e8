package games

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
	"github.com/respawnd/respawnd/test/rig"
)

// zeroHourPlayer is a player of Zero Hour.
type zeroHourPlayer struct {
	*rig.Chatter
	d       *rig.Running
	profile uint64
	pw      string
}

// load loads a file as the game does, and returns its head and its text.
func (p *zeroHourPlayer) load(method, file string) (head, text string) {
	p.T.Helper()
	head, text, _ = strings.Cut(rig.AskWeb(p.T.(*testing.T), p.d, rig.WebHead(method, "servserv.generals.ea.com", "/servserv/GeneralsZH/"+file, -1, "")), "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") {
		p.T.Fatalf("%s %s: %s", method, file, head)
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
func goOnline(t *testing.T, d *rig.Running, nick string) (p *zeroHourPlayer, config string) {
	t.Helper()
	p = &zeroHourPlayer{Chatter: &rig.Chatter{T: t}, d: d, pw: rig.StormPassword}
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
	conn, err := netclient.DialTCP(rig.Wait(t), d.Address["gpcm"].String())
	rig.Must(t, err)
	gp, err := gpcm.Connect(rig.Wait(t), conn)
	rig.Must(t, err)
	t.Cleanup(func() { _ = gp.Close() })
	rig.Must(t, gp.Send("newuser", "", "email", nick+"@example.com", "nick", nick, "passwordenc", gamespy.EncodePassword(p.pw),
		"productID", "10493", "namespaceid", "1", "uniquenick", nick, "id", "1"))
	if m, err := gp.Next(rig.Wait(t)); err != nil || rig.Field(m, "profileid") == "" {
		t.Fatalf("newuser: %q, %v", m, err)
	}
	rig.Must(t, gp.Login(rig.Wait(t), gpcm.Login{By: "uniquenick", Name: nick, Password: p.pw, Game: rig.ZeroHour}))
	_, err = fmt.Sscan(gp.Profile, &p.profile)
	rig.Must(t, err)

	p.Chatter = rig.ChatConn(t, d)
	p.Must(p.Encrypt(rig.Wait(t), rig.ZeroHour, rig.ZeroHourSecret))
	p.Profile = gp.Profile
	p.Must(p.SignOn(rig.Wait(t), nick))
	p.MustJoin("#GSP!" + rig.ZeroHour)
	p.MustSend("CDKEY 1234567890123456789012")
	if l := p.Hears("706"); l.Param(1) != "1" {
		t.Errorf("CDKEY: %q, want that the key is good", l)
	}
	return p, config
}

// own reads and writes the player's own data, as the game does at its start.
func (p *zeroHourPlayer) own(other uint64) {
	t := p.T.(*testing.T)
	t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(t), p.d.Address["gstats"].String())
	rig.Must(t, err)
	c, err := gstats.Connect(rig.Wait(t), conn)
	rig.Must(t, err)
	defer func() { _ = c.Close() }()
	rig.Must(t, c.Authenticate(rig.Wait(t), rig.ZeroHour, rig.ZeroHourSecret))
	id := storage.ProfileID(p.profile)
	if data, _, err := c.Get(rig.Wait(t), id, 3, 0); err != nil || len(data) > 0 {
		t.Errorf("data of a new player: %q, %v", data, err)
	}
	rig.Must(t, c.AuthenticatePlayer(rig.Wait(t), id, p.pw))
	for _, pairs := range []string{"\\locale\\0\x00", "\\wins2\\1\\losses2\\0\\games2\\1\\duration2\\12\\WinRow\\1\\systemSpec\\LOD2\\battle\\0\x00", "\\wins2\\2\\games2\\2\x00"} {
		if _, err := c.Set(rig.Wait(t), id, 3, 0, true, []byte(pairs)); err != nil {
			t.Errorf("setpd %q: %v", pairs, err)
		}
	}
	data, _, err := c.Get(rig.Wait(t), id, 3, 0)
	if want := "\\locale\\0\\wins2\\2\\losses2\\0\\games2\\2\\duration2\\12\\WinRow\\1\\systemSpec\\LOD2\\battle\\0\x00"; err != nil || string(data) != want {
		t.Errorf("getpd without keys: %q, %v; want %q", data, err, want)
	}
	if data, _, err = c.Get(rig.Wait(t), id, 3, 0, "wins2", "games2"); err != nil || !bytes.Equal(data, []byte("\\wins2\\2\\games2\\2\x00")) {
		t.Errorf("getpd with keys: %q, %v", data, err)
	}
	if _, err := c.Set(rig.Wait(t), storage.ProfileID(other), 3, 0, true, []byte("\\wins2\\9\x00")); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("data of another player: %v, want that they are refused", err)
	}
	// The medal for players who ordered early: the player is unknown, which is
	// harmless.
	rig.Must(t, c.Send(`\authp\\nick\preorder\keyhash\d3b07384d113edec49eaa6238ad5ff00\resp\x\lid\77`))
	if m, err := c.Next(rig.Wait(t)); err != nil || !strings.HasPrefix(m, `\pauthr\-1\lid\77`) {
		t.Errorf("preorder: %q, %v", m, err)
	}
	rig.Must(t, c.Begin(-7))
	rig.Must(t, c.Report(-7, true, "ccgenzh", "1", "player_0", p.Nick, "pid_0", fmt.Sprint(p.profile)))
	if _, _, err := c.Get(rig.Wait(t), id, 3, 0, "wins2"); err != nil { // the report did not end the connection
		t.Errorf("after a report: %v", err)
	}
}

// search sends the program a player's search.
func (p *zeroHourPlayer) search(bot string, changes ...string) {
	p.T.Helper()
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
	p.Must(p.Say(bot, text))
}

// A player of Zero Hour goes online and gets a quick match with another one.
func TestZeroHour(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("quickmatch.announce", "1s"), rig.Variable("quickmatch.interval", "100ms"))
	rig.WantIn(t, d.Cli("motd", "set", rig.ZeroHour, "Welcome\nto Zero Hour"), "set the message of the day")
	ann, config := goOnline(t, d, "Ann")
	bob, _ := goOnline(t, d, "Bob")
	ann.own(bob.profile)

	// The NAT helper, under the name in config.txt, which leads here.
	if got := section(t, config, "Manglers"); !slices.Equal(got, []string{"servserv.generals.ea.com:4321"}) {
		t.Errorf("manglers %q", got)
	}
	m, err := mangler.Dial(t.Context(), d.Address["mangler"].String())
	rig.Must(t, err)
	defer func() { _ = m.Close() }()
	if seen, err := m.Seen(time.Now().Add(rig.Hang)); err != nil || seen != m.Local() {
		t.Errorf("the NAT helper saw %v, %v; want %v", seen, err, m.Local())
	}

	// The list of rooms has the one for quick matches, with the program in it.
	b := rig.Browse(t, d)
	r := serverbrowse.NewRequest(rig.ZeroHour, "", `\hostname\numwaiting`, serverbrowse.SendGroups)
	r.From, r.Challenge = rig.TestGame, b.Challenge
	msg, err := r.AppendTo(nil)
	b.Must(err)
	b.Write(msg)
	quick := 0
	for _, e := range b.MustReply(serverbrowse.SendGroups).Entries {
		if slices.Equal(e.Values, []string{"QuickMatch", "1"}) {
			at := e.Public.Addr().As4()
			quick = int(at[2])<<8 | int(at[3])
		}
	}
	if room := fmt.Sprint("#GPG!", quick); room != rig.QuickRoom {
		t.Fatalf("the room for quick matches is %s, want %s with one member", room, rig.QuickRoom)
	}
	bot := ""
	for _, nick := range ann.MustJoin(rig.QuickRoom).Members {
		bot = strings.TrimPrefix(nick, "@")
		if bot != nick {
			break
		}
	}
	ann.MustSend("WHOIS " + bot)
	field := ann.Hears("311").Param(2)
	var id int
	if n, err := fmt.Sscanf(section(t, config, "QMBot")[0], "id = %d", &id); n != 1 || err != nil || !strings.HasSuffix(field, fmt.Sprintf("X|%d", id)) || len(field) < 12 {
		t.Fatalf("the program %q signed on as %q, and config.txt has %q", bot, field, section(t, config, "QMBot"))
	}
	maps := section(t, config, "QMMaps")

	bob.MustJoin(rig.QuickRoom)
	ann.search(bot)
	ann.Expect(" PRIVMSG Ann MBOT:WORKING 1")
	ann.Expect(" PRIVMSG " + rig.QuickRoom + " MBOT:POOLSIZE 0 1")
	bob.search(bot, "Points", "40", "Side", "5")
	bob.Expect(" PRIVMSG Bob MBOT:WORKING 2")
	for _, p := range []*zeroHourPlayer{ann, bob} {
		p.Must(p.Say(bot, `\WIDEN`))
		p.Expect(" PRIVMSG " + p.Nick + " MBOT:WIDENINGSEARCH")
	}
	var match [2]string
	for i, p := range []*zeroHourPlayer{ann, bob} {
		_, match[i], _ = strings.Cut(p.Expect("MBOT:MATCHED "), "MBOT:MATCHED ")
	}
	words := strings.Fields(match[0])
	if match[0] != match[1] || len(words) != 12 {
		t.Fatalf("matches %q", match)
	}
	var at, seed int
	_, err = fmt.Sscan(match[0], &at, &seed)
	rig.Must(t, err)
	got := []string{strings.Join(words[2:7], " "), strings.Join(words[7:12], " ")}
	slices.Sort(got)
	if want := []string{"Ann 2130706433 2 -1 1", "Bob 2130706433 5 -1 1"}; !slices.Equal(got, want) || at < 0 || at > 3 || at >= len(maps) {
		t.Errorf("match %q on map %d, want %q", got, at, want)
	}
	d.WantVisit("quickmatch", " for game "+rig.ZeroHour, verdicts.QuickMatched)

	// Profiles that other clients claim are not believed.
	thief := rig.ChatConn(t, d)
	thief.MustSend("USER X1lsaFvqsX|" + fmt.Sprint(id) + " 127.0.0.1 peerchat.gamespy.com :x")
	thief.MustSend("NICK Thief")
	thief.Hears("001")
	thief.MustSend("NICK " + bot)
	thief.Hears("433")
	thief.MustSend("WHOIS Thief")
	if f := thief.Hears("311").Param(2); !strings.HasSuffix(f, "X|0") {
		t.Errorf("a player signed on as the program: %q", f)
	}
	d.Stop()
	if strings.Contains(d.Log.String(), "left chat") {
		t.Errorf("the program left chat in an orderly stop:\n%s", d.Log)
	}
}
