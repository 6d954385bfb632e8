package bfhq

import (
	"crypto/aes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/storage"
)

// stellaKey signs tokens in tests; it is not that of the game.
const stellaKey = "000102030405060708090a0b0c0d0e0f"

// sign returns the token of a player, or of a server that asks about it.
func sign(t testing.TB, made time.Time, id uint32, kind uint16) string {
	t.Helper()
	raw, _ := hex.DecodeString(stellaKey)
	block, err := aes.NewCipher(raw)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 16)
	binary.LittleEndian.PutUint32(b, uint32(made.Unix()))
	binary.LittleEndian.PutUint32(b[4:], 100)
	binary.LittleEndian.PutUint32(b[8:], id)
	binary.LittleEndian.PutUint16(b[12:], kind)
	binary.LittleEndian.PutUint16(b[14:], crc16(b[:14]))
	block.Encrypt(b, b)
	return strings.NewReplacer("+", "[", "/", "]", "=", "_").Replace(base64.StdEncoding.EncodeToString(b))
}

// newStella returns a world whose game is Battlefield 2142.
func newStella(t testing.TB, edit func(*Options)) *world {
	t.Helper()
	return newWorld(t, func(o *Options) {
		o.Games = catalogOf(t, `games:
  - {name: stella, namespace: 12, hosts: [bf2web.gamespy.com webservices], files: [{path: /get*.aspx, is: stella},
    {path: /*.aspx, is: stella}, {path: /bf2142statistics.php, is: stella}]}
`)
		o.Ticket = func(ticket string) (storage.ProfileID, error) {
			if ticket == "ticket-of-2" {
				return 2, nil
			}
			return 0, accounts.ErrBadTicket
		}
		if edit != nil {
			edit(o)
		}
	})
}

// ask requests a page and returns its text without the last line feed.
func (w *world) ask(from netip.AddrPort, target string) string {
	w.t.Helper()
	_, text := w.request(from, "GET", "/"+target, "")
	return strings.TrimSuffix(fixed(text), "\n")
}

// answerOf is ask for a page without an error.
func (w *world) answerOf(from netip.AddrPort, target string) Answer {
	w.t.Helper()
	text := w.ask(from, target)
	a, err := ParseAnswer(text)
	if err != nil || a.Failed {
		w.t.Fatalf("%s: %v: %q", target, err, text)
	}
	return a
}

// trooper is a player of a round of Battlefield 2142.
func trooper(pid, score int, more ...string) testPlayer {
	return append(testPlayer{
		"c", "1", "crpt", fmt.Sprint(score), "gsco", fmt.Sprint(score), "nick", testNicks[pid-1], "pid", fmt.Sprint(pid), "t", "1", "tt", "1200",
	}, more...)
}

// playRound posts a round in Titan mode on a map, won by team 1 for the second army.
func (w *world) playRound(n int, players ...testPlayer) {
	w.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `prefix\Shuhia_Taiba\mapstart\%d.25\mapend\%d.5\win\1\gm\1\m\5\v\bf2142\pc\%d\rwa\1`, testRound+3600*n, testRound+3600*n+1800, len(players))
	for i, p := range players {
		for k := 0; k+1 < len(p); k += 2 {
			fmt.Fprintf(&b, `\%s_%d\%s`, p[k], i, p[k+1])
		}
	}
	code, text := w.request(listed, "POST", "/bf2142statistics.php", b.String()+`\EOF\1`)
	if code != 200 || !strings.HasPrefix(text, "O\nH\tresponse\tmapname\tmapstart\nD\tOK\tShuhia_Taiba\t") {
		w.t.Fatalf("round: %d %q", code, text)
	}
	w.settle()
}

// The frame of a page is that of the answers which archives have.
func TestStellaFrame(t *testing.T) {
	w := newStella(t, nil)
	_, text := w.request(home, "GET", "/getunlocksinfo.aspx?auth=x&pid=1", "")
	if want := "O\nH\tpid\tnick\tasof\nD\t1\tTester\t1700000000\nH\tAvcred\nD\t0\nH\tUnlockID\n$\t49\t$\n"; fixed(text) != want {
		t.Errorf("%q, want %q", fixed(text), want)
	}
	w.backend.Reload(PagesConfig{Unlocks: unlocksAll})
	_, text = w.request(home, "GET", "/getunlocksinfo.aspx?auth=x&pid=1", "")
	if want := "O\nH\tpid\tnick\tasof\nD\t1\tTester\t1700000000\nH\tAvcred\nD\t0\nH\tUnlockID\nD\t115\nD\t125\nD\t215\nD\t225\nD\t315\nD\t325\nD\t415\nD\t425\nD\t516\nD\t525\n$\t89\t$\n"; fixed(text) != want {
		t.Errorf("with all unlocks: %q, want %q", fixed(text), want)
	}
	if _, text := w.request(home, "GET", "/getplayerinfo.aspx?mode=nosuch&pid=1", ""); text != "E\t112\n$\t4\t$\n" {
		t.Errorf("an unknown mode: %q", text)
	}
}

// Who asks is known from a token that is signed with the key of the game, or without the
// key from the address.
func TestStellaAsker(t *testing.T) {
	w := newStella(t, nil)
	for _, step := range []struct {
		from  netip.AddrPort
		query string
		nick  string // empty: refused
	}{
		{home, "auth=x&pid=1", "Tester"},
		{unlisted, "auth=x&pid=1", ""},
		{unlisted, "auth=" + sign(t, time.Now(), 1, 0), ""},
		{home, "auth=x&gsa=ticket-of-2", "Ann"},
		{home, "auth=x&gsa=unknown", ""},
		{unlisted, "auth=x&gsa=ticket-of-2", ""},
		{listed, "auth=x&pid=3", "Ben"},
		{home, "auth=x", ""},
	} {
		text := w.ask(step.from, "getunlocksinfo.aspx?"+step.query)
		if refused := text == string(errUnproved); refused != (step.nick == "") || !refused && !strings.Contains(text, "\t"+step.nick+"\t") {
			t.Errorf("%s from %v: %q, want the page of %q", step.query, step.from, text, step.nick)
		}
	}
	w = newStella(t, func(o *Options) { o.Config.StellaKey = stellaKey })
	now := time.Now()
	for token, want := range map[string]string{
		sign(t, now, 2, 0): "Ann", sign(t, now.Add(-23*time.Hour), 3, 0): "Ben", sign(t, now.Add(-25*time.Hour), 3, 0): string(errExpired),
		sign(t, now.Add(25*time.Hour), 3, 0): string(errExpired), "": string(errUnproved), "AAAAAAAAAAAAAAAAAAAAAA__": string(errUnproved), "x": string(errUnproved),
	} {
		if text := w.ask(unlisted, "getunlocksinfo.aspx?pid=1&auth="+token); !strings.Contains(text, want) {
			t.Errorf("token %q: %q, want %q", token, text, want)
		}
	}
	if a := w.answerOf(unlisted, "getplayerinfo.aspx?mode=base&auth="+sign(t, now, 2, 1)); a.Tables[0].Rows[0][1] != "server" ||
		strings.Join(a.Tables[1].Columns[:4], " ") != "p.pid subaccount tid gsco" || len(a.Tables[1].Columns) != 267 {
		t.Errorf("the page for a server: %d columns, %+v", len(a.Tables[1].Columns), a.Tables)
	}
}

func FuzzToken(f *testing.F) {
	f.Add(sign(f, time.Unix(testRound, 0), 1, 0))
	f.Add("AAAAAAAAAAAAAAAAAAAAAA__")
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := openToken(stellaKey, text)
		if !ok {
			return
		}
		kind := uint16(0)
		if got.server {
			kind = 1
		}
		if again, same := openToken(stellaKey, sign(t, got.made, uint32(got.profile), kind)); !same || again != got {
			t.Errorf("%+v is read again as %+v", got, again)
		}
	})
}

// A round reaches the pages: totals, ratios, rank, awards and boards.
func TestStellaRound(t *testing.T) {
	w := newStella(t, nil)
	w.playRound(0, trooper(1, 90, "klls", "9", "dths", "3", "klstrk", "5", "tots", "200", "toth", "50", "ktt-2", "800", "wkls-4", "6", "wbf-4", "100", "wbh-4", "40",
		"wtp-4", "700", "vkls-1", "3", "cpt", "2", "medalssb", "2", "erg", "1"), trooper(2, 30, "t", "2", "cs", "7", "rnk", "41"))
	w.playRound(1, trooper(1, 40, "klls", "1", "dths", "2", "klstrk", "2", "erg", "1", "Cep", "1"))
	for column, want := range map[string]string{
		"gsco": "130", "tt": "2400", "klls": "10", "dths": "5", "klstrk": "5", "kdr": "2.00", "spm": "3.25", "ovaccu": "0.25", "rnk": "3", "rnkcg": "1", "unavl": "3",
		"fgm": "1", "fk": "2", "fw": "4", "fm": "5", "win": "2", "los": "0", "brs": "90", "ttp": "2400", "trp": "2", "cts": "2", "attp-1": "2400", "awin-1": "2",
		"attp-0": "0", "mtt-1-5": "2400", "mwin-1-5": "2", "mbr-1-5": "90", "wkls-4": "6", "waccu-4": "0.40", "wshts-4": "100", "wkdr-4": "6.00", "lgdt": "1700005400",
	} {
		found := false
		for mode := range stellaColumns {
			a := w.answerOf(home, "getplayerinfo.aspx?pid=1&auth=x&mode="+mode)
			if got, ok := a.Value(column); ok {
				if found = true; got != want {
					t.Errorf("mode %s: %s is %s, want %s", mode, column, got, want)
				}
			}
		}
		server := w.answerOf(listed, "getplayerinfo.aspx?pid=1&mode=base")
		if got, ok := server.Value(column); ok && got != want {
			t.Errorf("for a server %s is %s, want %s", column, got, want)
		} else if !ok && !found {
			t.Errorf("no page has %s", column)
		}
	}
	ann := w.answerOf(home, "getplayerinfo.aspx?pid=2&mode=base")
	if rank, _ := ann.Value("rnk"); rank != "41" {
		t.Errorf("rank %s that the server gave", rank)
	}
	if a := w.answerOf(home, "getplayerinfo.aspx?mode=comp&gsa=ticket-of-2&pid=1"); len(a.Tables[1].Rows) != 2 || a.Tables[1].Rows[0][1] != "Ann" || a.Tables[1].Rows[1][1] != "Tester" {
		t.Errorf("comparison: %+v", a)
	}
	awards := w.answerOf(home, "getawardsinfo.aspx?pid=1")
	var got []string
	for _, row := range awards.Tables[1].Rows {
		got = append(got, row[0]+" "+row[1])
	}
	if slices.Sort(got); strings.Join(got, ", ") != "100_1 0, 100_2 0, 202 2, 400 1" {
		t.Errorf("awards %v", got)
	}
	progress := w.answerOf(home, "getplayerprogress.aspx?pid=1&mode=wl&scale=game")
	if strings.Join(progress.Tables[1].Columns, " ") != "date wins losses" || strings.Join(progress.Tables[1].Rows[0], " ") != "1700005400 2 0" {
		t.Errorf("progress: %+v", progress)
	}
	for query, want := range map[string]string{
		"type=overallscore": "2 30 41 DE | 1 Tester 130, 2 Ann 30", "type=commanderscore": "1 7 41 DE | 1 Ann 7", "type=combatscore": "none | 1 Tester 10",
		"type=weapon&id=4": "none | 1 Tester 6", "type=vehicle&id=1": "none | 1 Tester 3", "type=risingstar": "none | ", "type=teamworkscore": "none | ",
	} {
		a := w.answerOf(home, "getleaderboard.aspx?gsa=ticket-of-2&pos=1&after=17&"+query)
		own := "none"
		if rows := a.Tables[1].Rows; len(rows) > 0 {
			own = strings.Join(append([]string{rows[0][1]}, rows[0][4:7]...), " ")
		}
		var list []string
		for _, row := range a.Tables[2].Rows {
			list = append(list, row[0]+" "+row[3]+" "+row[4])
		}
		if got := own + " | " + strings.Join(list, ", "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	search := w.answerOf(home, "playersearch.aspx?gsa=ticket-of-2&nick=te*")
	if last := search.Tables[2].Rows; len(last) != 1 || last[0][1] != "Tester" {
		t.Errorf("search: %+v", search)
	}
	if a := w.answerOf(home, "clearranknotification.aspx?pid=1"); a.Tables[1].Rows[0][0] != "OK" {
		t.Errorf("clearranknotification: %+v", a)
	}
	shown := w.answerOf(home, "getplayerinfo.aspx?pid=1&mode=base")
	if change, _ := shown.Value("rnkcg"); change != "0" {
		t.Errorf("the new rank is shown again")
	}
	valid := w.answerOf(listed, "ValidatePlayer.aspx?auth=x&tid=0&SoldierNick=Tester&pid=1")
	if result, _ := valid.Value("result"); result != "Ok" {
		t.Errorf("ValidatePlayer: %+v", valid)
	}
}

// Each rank is one step of a row of unlocks, whose steps come in their order.
func TestStellaUnlocks(t *testing.T) {
	w := newStella(t, nil)
	w.playRound(0, trooper(1, 125)) // rank 3
	for _, from := range []netip.AddrPort{unlisted, home} {
		text := w.ask(from, "selectunlock.aspx?pid=1&uid=112")
		if text[0] != 'E' && text != string(errUnproved) {
			t.Errorf("the second step from %v: %q", from, text)
		}
	}
	for _, step := range []struct {
		uid, want string
	}{{"111", "O"}, {"111", "O"}, {"113", "E"}, {"112", "O"}, {"521", "O"}, {"522", "E"}, {"100", "E"}, {"116", "E"}, {"x", "E"}} {
		if text := w.ask(home, "selectunlock.aspx?pid=1&uid="+step.uid); text[:1] != step.want {
			t.Errorf("unlock %s: %q, want %s", step.uid, text, step.want)
		}
	}
	w.start(func(o *Options) { // the choices survive a restart
		o.Games = w.backend.opt.Games
	})
	rows := func() (ids []string) {
		for _, row := range w.answerOf(home, "getunlocksinfo.aspx?pid=1").Tables[2].Rows {
			ids = append(ids, row[0])
		}
		return ids
	}
	if got := rows(); strings.Join(got, " ") != "112 521" {
		t.Errorf("unlocks %v", got)
	}
	for policy, want := range map[string]int{unlocksAll: len(stellaUnlocks), unlocksNone: 0} {
		w.backend.Reload(PagesConfig{Unlocks: policy})
		if got := rows(); len(got) != want {
			t.Errorf("%s: unlocks %v", policy, got)
		}
	}
}

// The script of ranks is one value of many lines, whose characters the last line counts.
func TestStellaConfig(t *testing.T) {
	w := newStella(t, nil)
	text := w.ask(unlisted, "getbackendinfo.aspx?auth=x")
	script, _, _ := strings.Cut(text, "\n$\t")
	for _, want := range []string{"\nH\tconfig\nD\trankSettings.setRank 0 0\n", "\nrankSettings.setRank 40 57700\nrankSettings.setRank 41 0\n", "\nrankSettings.save\n$\t"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if want := fmt.Sprintf("\n$\t%d\t$", weight([]byte(script))); !strings.HasSuffix(text, want) {
		t.Errorf("the page ends with %q, want %q", text[len(text)-20:], want)
	}
}
