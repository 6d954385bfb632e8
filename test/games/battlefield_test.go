package games

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webservices/bfhq"
)

// Facts of Battlefield 2. No game was run: the messages are made from the layouts.
const (
	battlefield       = "battlefield2"
	battlefieldSecret = "hW6m9a"
	listedHere        = "127.0.0.1/32"
)

// soldier is a player of Battlefield 2.
type soldier struct {
	t    *testing.T
	nick string
	pid  string
	gp   *gpcm.Client
}

// enlist makes an account over GPCM, as the game does, and signs it in.
func enlist(t *testing.T, d *rig.Running, nick string) *soldier {
	t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(t), d.Address["gpcm"].String())
	rig.Must(t, err)
	gp, err := gpcm.Connect(rig.Wait(t), conn)
	rig.Must(t, err)
	t.Cleanup(func() { _ = gp.Close() })
	rig.Must(t, gp.Send("newuser", "", "email", nick+"@example.com", "nick", nick, "passwordenc", gamespy.EncodePassword(rig.StormPassword),
		"productID", "10493", "namespaceid", "12", "uniquenick", nick, "id", "1"))
	if m, err := gp.Next(rig.Wait(t)); err != nil || rig.Field(m, "profileid") == "" {
		t.Fatalf("newuser: %q, %v", m, err)
	}
	s := &soldier{t: t, nick: nick, gp: gp}
	s.signIn()
	return s
}

func (s *soldier) signIn() {
	s.t.Helper()
	rig.Must(s.t, s.gp.Login(rig.Wait(s.t), gpcm.Login{By: "user", Name: s.nick + "@" + s.nick + "@example.com", Password: rig.StormPassword, Game: battlefield}))
	s.pid = s.gp.Profile
}

// bfhqPage requests a page as the game does.
func bfhqPage(t *testing.T, d *rig.Running, target string) bfhq.Answer {
	t.Helper()
	head, text, _ := strings.Cut(rig.AskWeb(t, d, rig.WebHead("GET", "bf2web.gamespy.com", "/ASP/"+target, -1, "")), "\r\n\r\n")
	a, err := bfhq.ParseAnswer(text)
	if err != nil || !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || !strings.Contains(head, fmt.Sprintf("\r\nContent-Length: %d\r\n", len(text))) {
		t.Fatalf("%s: %v\n%s\n%q", target, err, head, text)
	}
	return a
}

// value returns a value of the player's page.
func (s *soldier) value(d *rig.Running, column string) string {
	s.t.Helper()
	a := bfhqPage(s.t, d, "getplayerinfo.aspx?pid="+s.pid+"&info="+column)
	v, ok := a.Value(column)
	if !ok {
		s.t.Fatalf("no %s in %+v", column, a)
	}
	return v
}

// await waits until a value of the player's page is the wanted one: the totals change behind the
// answer to a round.
func (s *soldier) await(d *rig.Running, column, want string) {
	s.t.Helper()
	for end := time.Now().Add(rig.Hang); s.value(d, column) != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s is %s, want %s\n%s", column, s.value(d, column), want, d.Log)
		}
	}
}

// roundList is the list of a round that began n hours after the first one.
func roundList(n int, more string) string {
	start := 1700000000 + 3600*n
	return fmt.Sprintf(`\gameport\16567\queryport\29900\mapname\strike_at_karkand\mapid\4\mapstart\%d.5\mapend\%d.5\win\1\gm\0\m\4\v\bf2\pc\2\rwa\0`,
		start, start+1800) + more
}

// sendRound posts a round as the scripts of game servers do, and returns the answer.
func sendRound(t *testing.T, d *rig.Running, list string) string {
	t.Helper()
	conn := rig.DialWeb(t, d)
	body := `clan\A Server` + list + `\EOF\1`
	_, err := io.WriteString(conn, rig.WebHead("POST", "gamestats.gamespy.com", "/ASP/bf2statistics.php", len(body), "Content-Type: application/x-www-form-urlencoded\r\n")+body)
	rig.Must(t, err)
	answer, err := io.ReadAll(conn)
	rig.Must(t, err)
	return string(answer)
}

// A player of Battlefield 2 joins a ranked server, plays rounds, and sees them.
func TestBattlefield(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	listed := rig.Variable("webservices.snapshot_servers", listedHere)
	d := rig.Start(t, dir, listed)
	ann, bob := enlist(t, d, "Ann"), enlist(t, d, "Bob")

	// The server asks about a player who joins.
	a := bfhqPage(t, d, "VerifyPlayer.aspx?pid="+ann.pid+"&SoldierNick=Ann&auth=x")
	if result, _ := a.Value("result"); result != "Ok" {
		t.Errorf("VerifyPlayer: %+v", a)
	}
	a = bfhqPage(t, d, "VerifyPlayer.aspx?pid="+ann.pid+"&SoldierNick=Bob&auth=x")
	if result, _ := a.Value("result"); result != "InvalidReportedNick" {
		t.Errorf("VerifyPlayer with another nick: %+v", a)
	}
	if rank := ann.value(d, "rank"); rank != "0" {
		t.Errorf("rank %s of a new player", rank)
	}

	// Rounds, once each, by both ways.
	first := roundList(0, fmt.Sprintf(`\pID_0\%s\name_0\Ann\t_0\1\a_0\0\ctime_0\1200\c_0\1\ai_0\0\rs_0\600\kills_0\9\mvns_0\%s\mvks_0\4\pID_2\%s\name_2\=X= Bob\t_2\2\a_2\1\ctime_2\900\rs_2\20`,
		ann.pid, bob.pid, bob.pid))
	for range 2 {
		if answer := sendRound(t, d, first); !strings.Contains(answer, "\r\n\r\nO\nH\tresponse\tmapname\tmapstart\nD\tOK\tstrike_at_karkand\t1700000000.5\n$\t") {
			t.Fatalf("round: %q", answer)
		}
	}
	ann.await(d, "scor", "600")
	bob.await(d, "scor", "20")
	server, err := netclient.DialTCP(rig.Wait(t), d.Address["gstats"].String())
	rig.Must(t, err)
	c, err := gstats.Connect(rig.Wait(t), server)
	rig.Must(t, err)
	rig.Must(t, c.Authenticate(rig.Wait(t), battlefield, battlefieldSecret))
	rig.Must(t, c.Begin(-7))
	rig.Must(t, c.Report(-7, true, strings.Split(roundList(1, `\pID_0\`+ann.pid+`\name_0\Ann\t_0\1\ctime_0\60\rs_0\7`)[1:], `\`)...))
	ann.await(d, "scor", "607")
	rig.Must(t, c.Close())
	d.WantVisit("webservices", " for game "+battlefield, verdicts.RoundCounted)

	// The weapons that the rank allows.
	choose := func(id string) string {
		_, text, _ := strings.Cut(rig.AskWeb(t, d, rig.WebHead("POST", "bf2web.gamespy.com", "/ASP/selectunlock.aspx?pid="+ann.pid+"&id="+id, 0, "")), "\r\n\r\n")
		return text
	}
	if text := choose("22"); !strings.HasPrefix(text, "O\n") {
		t.Errorf("choice: %q", text)
	}
	if text := choose("11"); !strings.HasPrefix(text, "E\t121\n") {
		t.Errorf("a second choice of rank 2: %q", text)
	}

	// All of it after a restart.
	rig.Must(t, ann.gp.Close())
	d.Stop()
	d = rig.Start(t, dir, listed)
	if got := ann.value(d, "scor") + ann.value(d, "mvns") + bob.value(d, "vmns") + ann.value(d, "wins"); got != "607BobAnn2" {
		t.Errorf("after a restart: %s", got)
	}
	if answer := sendRound(t, d, first); !strings.Contains(answer, "\r\n\r\nO\n") || ann.value(d, "scor") != "607" {
		t.Errorf("the round once more: %q, score %s", answer, ann.value(d, "scor"))
	}
	a = bfhqPage(t, d, "getunlocksinfo.aspx?pid="+ann.pid)
	if got := fmt.Sprint(a.Tables[1].Rows, a.Tables[2].Rows[1]); got != "[[0 0]] [22 s]" {
		t.Errorf("weapons: %s", got)
	}
	a = bfhqPage(t, d, "getleaderboard.aspx?type=score&id=overall")
	if got := fmt.Sprint(a.Tables[0].Rows[0], len(a.Tables[1].Rows), a.Tables[1].Rows[0][2:4]); got[:3] != "[2 " || !strings.HasSuffix(got, "] 2 [Ann 607]") {
		t.Errorf("leaderboard: %s", got)
	}
	d.Stop()
}

// Without webservices.snapshot_servers rounds do not count, and the operator learns why.
func TestBattlefieldServerNotListed(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("webservices.unlocks", "all"))
	ann := enlist(t, d, "Ann")
	answer := sendRound(t, d, roundList(0, `\pID_0\`+ann.pid+`\rs_0\600`))
	if !strings.HasPrefix(answer, "HTTP/1.1 403 ") || !strings.Contains(answer, "\r\n\r\nE\nH\tresponse\n") || !strings.Contains(answer, "webservices.snapshot_servers") {
		t.Errorf("round: %q", answer)
	}
	d.WantVisit("webservices", " for game "+battlefield, verdicts.RoundNotListed)
	if score := ann.value(d, "scor"); score != "0" {
		t.Errorf("score %s", score)
	}
	a := bfhqPage(t, d, "getunlocksinfo.aspx?pid="+ann.pid)
	if len(a.Tables[2].Rows) != 14 || a.Tables[2].Rows[13][1] != "s" {
		t.Errorf("weapons: %+v", a.Tables)
	}
	d.Stop()
}

// The nodes of a cluster have the same pages, and a round that both get counts once.
func TestBattlefieldCluster(t *testing.T) {
	t.Parallel()
	c := rig.StartCluster(t, 2, rig.Variable("webservices.snapshot_servers", listedHere))
	a, b := &c.Nodes[0].Running, &c.Nodes[1].Running
	ann := enlist(t, a, "Ann")
	list := roundList(0, `\pID_0\`+ann.pid+`\name_0\Ann\t_0\1\rs_0\600`)
	for _, d := range []*rig.Running{a, b} {
		if answer := sendRound(t, d, list); !strings.Contains(answer, "\r\n\r\nO\n") {
			t.Errorf("round: %q", answer)
		}
	}
	ann.await(b, "scor", "600")
	for _, d := range []*rig.Running{a, b} {
		page := bfhqPage(t, d, "getleaderboard.aspx?type=score&id=overall")
		if score, _ := page.Value("score"); score != "600" || ann.value(d, "scor") != "600" {
			t.Errorf("score %s, totals %s; want 600", score, ann.value(d, "scor"))
		}
	}
	_, text, _ := strings.Cut(rig.AskWeb(t, b, rig.WebHead("POST", "bf2web.gamespy.com", "/ASP/selectunlock.aspx?pid="+ann.pid+"&id=22", 0, "")), "\r\n\r\n")
	weapons := bfhqPage(t, a, "getunlocksinfo.aspx?pid="+ann.pid)
	if got := fmt.Sprint(weapons.Tables[2].Rows[1]); !strings.HasPrefix(text, "O\n") || got != "[22 s]" {
		t.Errorf("choice %q, then %s", text, got)
	}
}
