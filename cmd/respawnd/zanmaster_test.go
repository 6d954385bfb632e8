package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/zanmaster"
)

var home = netip.AddrFrom4([4]byte{127, 0, 0, 1})

func TestZandronumServerIsListed(t *testing.T) {
	quick(t)
	t.Parallel()
	d := startZan(t, t.TempDir())
	h := newZanHost(t, d, home, nil)
	h.announce()
	lost := h.request()
	h.announce()
	v := h.request()
	if v.Number != lost.Number {
		t.Errorf("the repeated request has number %d, the first had %d", v.Number, lost.Number)
	}
	if out := d.cli("server", "list"); strings.Contains(out, zandronum.Game) {
		t.Errorf("a server is listed that has verified nothing:\n%s", out)
	}
	if bans := h.verify(v); bans.Len() != 0 {
		t.Errorf("ban list: got %+v, want none", bans)
	}
	d.waitFor("the verdict", 0, verdictOn(h.address(), "listed"))

	launcher := newZanPeer(t, d, home, nil)
	launcher.send(zandronum.AppendListRequest(nil, 1)) // does not make it wait
	launcher.wantAnswer(zandronum.AnswerWrongVersion)
	wantZanList(t, launcher, h)

	// The address waits for its next list. That concerns launchers only: the
	// game server on the same address continues.
	launcher.send(zandronum.AppendListRequest(nil, zandronum.ListVersion))
	launcher.wantAnswer(zandronum.AnswerTooSoon)
	launcher.send(zandronum.AppendListRequest(nil, zandronum.ListVersion)) // not answered
	second := &zanHost{zanPeer: launcher, enforces: true}
	if bans := second.register(); bans.Len() != 0 {
		t.Errorf("ban list of the second server: got %+v, want none", bans)
	}
	out := d.cli("server", "list", "--game", zandronum.Game)
	for _, a := range []netip.AddrPort{h.address(), second.address()} {
		if !strings.Contains(out, a.String()) {
			t.Errorf("server list lacks %v:\n%s", a, out)
		}
	}
	for reason, want := range map[string]string{"too_soon": "1", "silenced": "1", "wrong_version": "1"} {
		if got := metric(t, d, `respawnd_dropped_total{reason="`+reason+`",service="zanmaster"}`); got != want {
			t.Errorf("packets dropped for %s: got %q, want %s", reason, got, want)
		}
	}
	d.stop()
}

func TestZandronumListInBothForms(t *testing.T) {
	t.Parallel()
	d := startZan(t, t.TempDir(), noWindow, variable("zanmaster.servers_per_address", "0"), variable("master.max_per_addr", "400"),
		variable("master.max_per_net", "400"), variable("zanmaster.unproved_burst", "400"))
	var want []string
	for range 260 { // a block of the list holds 255
		h := newZanHost(t, d, home, nil)
		h.register()
		want = append(want, h.address().String())
	}
	slices.Sort(want)
	launcher := newZanPeer(t, d, home, nil)
	for _, old := range []bool{false, true} {
		var got []string
		for _, a := range launcher.list(old) {
			got = append(got, a.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("list, old form %v: got %d servers, want %d in the order of their text", old, len(got), len(want))
		}
	}
	d.stop()

	e := startZan(t, t.TempDir(), noWindow, variable("zanmaster.old_list", "false"))
	launcher = newZanPeer(t, e, home, nil)
	launcher.send(zandronum.AppendQuery(nil, zandronum.Query{})) // not answered
	wantZanList(t, launcher)
	e.stop()
}

func TestZandronumBanIsInForceAtOnceAndPushed(t *testing.T) {
	t.Parallel()
	d := startZan(t, t.TempDir(), noWindow)
	stays := newZanHost(t, d, quietLoopback(t), nil)
	goes := newZanHost(t, d, quietLoopback(t), nil)
	stays.register()
	goes.register()
	awaitReceipts(t, d, "2")
	launcher := newZanPeer(t, d, home, nil)
	bad := goes.address().Addr().String()

	d.cli("ban", "add", bad, "--scope", "zandronum", "--reason", "fake players", "--for", "24h")
	if out := d.cli("server", "list"); strings.Contains(out, bad) || !strings.Contains(out, stays.address().String()) {
		t.Errorf("server list, want %v without %s:\n%s", stays.address(), bad, out)
	}
	wantZanList(t, launcher, stays)
	if bans, _ := stays.banList(); !slices.Equal(bans.Bans, []string{bad}) {
		t.Errorf("ban list: got %q, want %s", bans.Bans, bad)
	}
	if out := d.cli("ban", "list"); !strings.Contains(out, "fake players") || !strings.Contains(out, "zandronum") {
		t.Errorf("ban list lacks reason or scope:\n%s", out)
	}
	if out := d.cli("doctor", bad); !strings.Contains(out, "banned") {
		t.Errorf("doctor does not say that %s is banned:\n%s", bad, out)
	}
	goes.announce()
	goes.wantAnswer(zandronum.AnswerBanned)

	// A prefix that ends in an octet is many addresses of the form that game
	// servers know: the list comes in parts.
	d.cli("ban", "add", "10.128.0.0/9", "--scope", "zandronum")
	bans, parts := stays.banList()
	if len(bans.Bans) != 129 || parts < 2 || !slices.Contains(bans.Bans, "10.255.*.*") || !slices.Contains(bans.Bans, bad) {
		t.Errorf("ban list: got %d bans in %d parts, want 129 in more than one: %.200q", len(bans.Bans), parts, bans.Bans)
	}
	d.cli("ban", "remove", "10.128.0.0/9")
	d.cli("ban", "remove", bad)
	for {
		if bans, _ = stays.banList(); bans.Len() == 0 {
			break // the one between the two may have been sent or not
		}
	}
	goes.register()
	wantZanList(t, launcher, stays, goes)
	awaitReceipts(t, d, "5")
	d.stop()
}

// awaitReceipts waits until the master has as many receipts of ban lists, a digit. A
// receipt that it reads after its sender was banned is answered with the ban instead.
func awaitReceipts(t *testing.T, d *running, least string) {
	t.Helper()
	eventually(t, "receipts of ban lists", func() bool {
		return metric(t, d, `respawnd_zanmaster_ban_lists_total{result="received"}`) >= least
	})
}

func TestZandronumBanFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startZan(t, dir, noWindow, variable("zanmaster.ban_files_poll", "50ms"))
	h := newZanHost(t, d, quietLoopback(t), nil)
	goes := newZanHost(t, d, quietLoopback(t), nil)
	h.register()
	goes.register()
	bad := goes.address().Addr().String()
	file := filepath.Join(dir, zanmaster.BanFile)
	n := d.log.len()
	if err := writeAt(file, "// ours\n"+bad+":aimbot\nnobody.example\n198.51.100.0/24 <12/31/2001 10:00>:over\n"); err != nil {
		t.Fatal(err)
	}
	d.waitFor("the bad line", n, func(e entry) bool {
		return e.text("level") == "warn" && strings.Contains(e.text("error"), file+":3:")
	})
	if bans, _ := h.banList(); !slices.Equal(bans.Bans, []string{bad}) {
		t.Errorf("ban list: got %q, want %s", bans.Bans, bad)
	}
	wantZanList(t, newZanPeer(t, d, home, nil), h)
	d.waitFor("the verdict", n, verdictOn(goes.address(), "banned"))
	refused(t, exitFailure, d.env, []string{"check"}, file+":3:")

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if bans, _ := h.banList(); bans.Len() != 0 {
		t.Errorf("ban list without the file: got %q, want none", bans.Bans)
	}
	cli(t, d.env, "check")
	goes.register()
	d.stop()
}

// A ban in the store does not affect addresses that whitelist.txt exempts, not
// even for a moment.
func TestZandronumExemptServerStaysListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := quietLoopback(t)
	if err := writeAt(filepath.Join(dir, zanmaster.ExemptFile), at.String()+"\n"); err != nil {
		t.Fatal(err)
	}
	d := startZan(t, dir, noWindow)
	h := newZanHost(t, d, at, nil)
	h.register()
	d.cli("ban", "add", "127.64.0.0/10", "--scope", "zandronum")
	d.cli("ban", "add", "127.128.0.0/9")
	wantZanList(t, newZanPeer(t, d, home, nil), h)
	if out := d.cli("doctor", at.String()); strings.Contains(out, "banned") {
		t.Errorf("doctor says that an exempt server is banned:\n%s", out)
	}
	d.stop()

	e := startZan(t, dir, noWindow)
	wantZanList(t, newZanPeer(t, e, home, nil), h)
	e.stop()
}

func TestZandronumServerThatDoesNotEnforce(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]struct{ listed, warned bool }{
		"hide": {false, false}, "show": {true, false}, "mark": {true, true},
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			d := startZan(t, t.TempDir(), noWindow, variable("zanmaster.not_enforcing", word))
			good, lax := newZanHost(t, d, home, nil), newZanHost(t, d, home, nil)
			lax.enforces = false
			good.register()
			lax.register()
			hosts := []*zanHost{good}
			if want.listed {
				hosts = append(hosts, lax)
			}
			launcher := newZanPeer(t, d, home, nil)
			wantZanList(t, launcher, hosts...)
			record, ok := zanRecords(t, d)[lax.address().String()]
			if ok != want.listed || (record.Rules["warning"] != "") != want.warned {
				t.Errorf("public JSON: listed %v, record %+v, want listed %v, warning %v", ok, record, want.listed, want.warned)
			}
			// The operator always sees it, and the reason why others do not.
			line := lineWith(d.cli("server", "list", "--game", zandronum.Game), lax.address().String())
			if line == "" || strings.Contains(line, "hidden: does not enforce the ban list") == want.listed {
				t.Errorf("server list says %q about the server that does not enforce", line)
			}
			if out := d.cli("server", "list", "--game", testGame); strings.Contains(out, lax.address().String()) {
				t.Errorf("server list of another game:\n%s", out)
			}
			lax.enforces = true
			lax.announce()
			launcher.list(false) // comes after the heartbeat
			wantZanList(t, launcher, good, lax)
			if line := lineWith(d.cli("server", "list"), lax.address().String()); strings.Contains(line, "hidden") {
				t.Errorf("server list says %q about the server that enforces now", line)
			}
			d.stop()
		})
	}
}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

func TestZandronumServerAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir, noWindow)
	tests := map[string]*zanHost{
		"In one message": newZanHost(t, d, home, tells(zanInfo("In one message"), 0)),
		"In pieces":      newZanHost(t, d, home, tells(zanInfo("In pieces"), 100)),
	}
	unverified := newZanHost(t, d, home, nil)
	unverified.announce()
	unverified.request()
	for _, h := range tests {
		h.register()
		record, ok := zanRecords(t, d)[h.address().String()]
		if !ok || record.Game != zandronum.Game || record.Origin != "zandronum" || record.Rules["enforcesbanlist"] != "1" ||
			record.Rules["revision"] != fmt.Sprint(zanRevision) {
			t.Errorf("public JSON of a server that was just listed: %+v", record)
		}
	}
	check := func(d *running) {
		t.Helper()
		for name, h := range tests {
			record := zanRecords(t, d)[h.address().String()]
			if record.Map != "MAP01" || record.Players != 2 || len(record.PlayerList) != 2 || record.Rules["pwads"] != "one.wad;two.pk3" {
				t.Errorf("public JSON of %q: %+v", name, record)
				continue
			}
			if record.PlayerList[0]["player_"] != "Ann" || record.PlayerList[1]["team_"] != "1" {
				t.Errorf("players of %q: %v", name, record.PlayerList)
			}
		}
	}
	for name, h := range tests {
		q := <-h.asked
		if q.Flags != zandronum.AllFlags || q.Flags2 != zandronum.AllFlags2 || !q.Segmented {
			t.Errorf("query to %q: %+v, want it to ask for everything, in pieces", name, q)
		}
		eventually(t, "what the server tells", func() bool { return zanRecords(t, d)[h.address().String()].Name == name })
	}
	check(d)
	if len(unverified.asked) > 0 {
		t.Error("a server was asked that has verified nothing")
	}
	out := d.cli("server", "list")
	for name, h := range tests {
		if line := lineWith(out, h.address().String()); !strings.Contains(line, name) || !strings.Contains(line, "2/16") || !strings.Contains(line, "direct") {
			t.Errorf("server list says %q about %q", line, name)
		}
	}
	d.stop()

	e := start(t, dir, noWindow)
	hosts := []*zanHost{tests["In one message"], tests["In pieces"]}
	wantZanList(t, newZanPeer(t, e, home, nil), hosts...)
	check(e)
	if out := e.cli("server", "list"); strings.Count(out, "restored") != 2 {
		t.Errorf("server list, want 2 servers that are restored:\n%s", out)
	}
	for _, h := range hosts {
		h.SetServer(e.address["zanmaster"])
		h.register()
	}
	if out := e.cli("server", "list"); strings.Contains(out, "restored") {
		t.Errorf("server list, want no server that is restored:\n%s", out)
	}
	if out := e.cli("doctor", hosts[0].address().Addr().String()); !strings.Contains(out, "restored") || strings.Contains(out, "its next report lists it again") {
		t.Errorf("doctor, want that the server was restored, and no advice to wait:\n%s", out)
	}
	wantZanList(t, newZanPeer(t, e, home, nil), hosts...)
	check(e)
	e.stop()
}

func TestZandronumPrivateList(t *testing.T) {
	t.Parallel()
	friend, stranger := quietLoopback(t), quietLoopback(t)
	d := startZan(t, t.TempDir(), noWindow, variable("zanmaster.allow_servers", friend.String()+"/32"),
		variable("zanmaster.allow_launchers", friend.String()+"/32"), variable("zanmaster.advertise_as", "203.0.113.5"))
	h, other := newZanHost(t, d, friend, nil), newZanHost(t, d, stranger, nil)
	h.register()
	other.announce()
	other.wantAnswer(zandronum.AnswerBanned)
	d.waitFor("the verdict", 0, verdictOn(other.address(), "not on the allow list"))
	if got, want := newZanPeer(t, d, friend, nil).list(false), netip.AddrPortFrom(netip.MustParseAddr("203.0.113.5"), h.address().Port()); !slices.Equal(got, []netip.AddrPort{want}) {
		t.Errorf("list: got %v, want %v", got, want)
	}
	launcher := newZanPeer(t, d, stranger, nil)
	launcher.send(zandronum.AppendListRequest(nil, zandronum.ListVersion))
	launcher.wantAnswer(zandronum.AnswerBanned)
	d.stop()
}

func TestZandronumSampleServes(t *testing.T) {
	t.Parallel()
	sample := filepath.Join("..", "..", "configs", "zandronum-only.yaml")
	env := []string{variable("data_dir", t.TempDir()), variable("log.format", "json")}
	for _, name := range []string{"zanmaster", "web", "admin"} {
		env = append(env, variable(name+".listen", "127.0.0.1:0"))
	}
	d := startWithout(t, env, "--config", sample)
	if len(d.address) != 4 || !d.address["probe"].IsValid() {
		t.Errorf("%s opens %v, want zanmaster, web, admin and the socket of the queries", sample, d.address)
	}
	h := newZanHost(t, d, home, nil)
	h.register()
	wantZanList(t, newZanPeer(t, d, home, nil), h)
	if _, ok := zanRecords(t, d)[h.address().String()]; !ok {
		t.Error("the public JSON lacks the server")
	}
	d.stop()
}

func TestZandronumBanIsOverInTime(t *testing.T) {
	t.Parallel()
	d := startZan(t, t.TempDir(), noWindow)
	h, goes := newZanHost(t, d, quietLoopback(t), nil), newZanHost(t, d, quietLoopback(t), nil)
	h.register()
	goes.register()
	awaitReceipts(t, d, "2")
	ban := func(span time.Duration) (code int, why string) {
		code, _, why = command(t, d.cliEnv(), "ban", "add", goes.address().Addr().String(), "--scope", "zandronum", "--for", span.String())
		return code, why
	}
	if code, why := ban(time.Hour); code != 0 {
		t.Fatal(why)
	}
	if bans, _ := h.banList(); bans.Len() != 1 {
		t.Errorf("ban list: got %+v, want one ban", bans)
	}
	for span := time.Second; ; span *= 2 { // replaces it; one that is over when it arrives is refused
		code, why := ban(span)
		if code == 0 {
			break
		}
		wantIn(t, why, "before it begins")
	}
	for {
		if bans, _ := h.banList(); bans.Len() == 0 {
			break
		}
	}
	goes.register()
	d.stop()
}

func TestZandronumLongBanList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "10.%d.%d.%d\n", i>>12, i>>6&63, i&63)
	}
	if err := writeAt(filepath.Join(dir, zanmaster.BanFile), text.String()); err != nil {
		t.Fatal(err)
	}
	d := startZan(t, dir, noWindow)
	h := newZanHost(t, d, home, nil)
	if bans := h.register(); len(bans.Bans) != 5000 || bans.Bans[4999] != "10.1.14.7" {
		t.Errorf("ban list: got %d bans, want 5000", len(bans.Bans))
	}
	wantZanList(t, newZanPeer(t, d, home, nil), h)
	d.stop()
}

func TestZandronumServersOfOneAddress(t *testing.T) {
	t.Parallel()
	const most = 10 // the default of zanmaster.servers_per_address
	for name, tc := range map[string]struct {
		file  string
		taken int
	}{
		"by default":                   {"", most},
		"in multiserver_whitelist.txt": {home.String() + "\n", 2*most + 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := writeAt(filepath.Join(dir, zanmaster.MultiServerFile), tc.file); err != nil {
				t.Fatal(err)
			}
			d := startZan(t, dir, noWindow, variable("master.max_per_addr", "20"))
			var hosts []*zanHost
			for range tc.taken {
				h := newZanHost(t, d, home, nil)
				h.register()
				hosts = append(hosts, h)
			}
			if tc.file == "" {
				more := newZanHost(t, d, home, nil)
				more.announce()
				d.waitFor("the verdict", 0, verdictOn(more.address(), "too many"))
			}
			wantZanList(t, newZanPeer(t, d, home, nil), hosts...)
			d.stop()
		})
	}
}

// A second self-test comes before its address may have the list again.
func TestZandronumSelftestTwice(t *testing.T) {
	t.Parallel()
	d := startZan(t, t.TempDir())
	env := append(testEnv(t.TempDir()), variable("zanmaster.listen", d.address["zanmaster"].String()))
	for _, name := range listening() {
		if name != "zanmaster" {
			env = append(env, variable(name+".listen", ""))
		}
	}
	for i, want := range []string{"ok", "ok, but the list was not looked at"} {
		out := cli(t, env, "selftest")
		if line := lineWith(out, "zanmaster"); !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(line, "zanmaster")), want) {
			t.Errorf("self-test %d, want %q:\n%s", i+1, want, out)
		}
		eventually(t, "the farewell of the test server", func() bool { return len(zanRecords(t, d)) == 0 })
	}
	d.cli("ban", "add", home.String(), "--scope", "zandronum")
	if code, out, _ := command(t, env, "selftest"); code != exitFailure || !strings.Contains(lineWith(out, "zanmaster"), "FAILED: refused") {
		t.Errorf("selftest while we are banned: exit code %d, want %d\n%s", code, exitFailure, out)
	}
	d.stop()
}

func TestZandronumRestoreSkipsBanned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startZan(t, dir)
	stays, goes := newZanHost(t, d, quietLoopback(t), nil), newZanHost(t, d, quietLoopback(t), nil)
	stays.register()
	goes.register()
	d.stop()
	cli(t, testEnv(dir), "ban", "add", goes.address().Addr().String(), "--scope", "zandronum")
	e := startZan(t, dir)
	wantZanList(t, newZanPeer(t, e, home, nil), stays)
	if _, ok := zanRecords(t, e)[goes.address().String()]; ok {
		t.Error("the public JSON has the banned server")
	}
	e.stop()

	// Nor by a daemon that runs no such master.
	f := startWithout(t, testEnv(dir, variable("zanmaster.listen", "")))
	if records := zanRecords(t, f); len(records) != 1 {
		t.Errorf("servers that were restored without the master: %v, want one", records)
	}
	f.stop()
}
