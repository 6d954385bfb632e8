package masters

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestZandronumServerIsListed(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.StartZan(t, t.TempDir())
	h := rig.NewZanHost(t, d, rig.Home, nil)
	h.MustAnnounce()
	lost := h.Request()
	h.MustAnnounce()
	v := h.Request()
	if v.Number != lost.Number {
		t.Errorf("the repeated request has number %d, the first had %d", v.Number, lost.Number)
	}
	if out := d.Cli("server", "list"); strings.Contains(out, zandronum.Game) {
		t.Errorf("a server is listed that has verified nothing:\n%s", out)
	}
	if bans := h.MustVerify(v); bans.Len() != 0 {
		t.Errorf("ban list: got %+v, want none", bans)
	}
	d.WaitFor("the verdict", 0, rig.VerdictOn(h.Address(), "listed"))

	launcher := rig.NewZanPeer(t, d, rig.Home, nil)
	launcher.MustSend(zandronum.AppendListRequest(nil, 1)) // does not make it wait
	launcher.WantAnswer(zandronum.AnswerWrongVersion)
	rig.WantZanList(t, launcher, h)

	// The address waits for its next list. That concerns launchers only: the
	// game server on the same address continues.
	launcher.MustSend(zandronum.AppendListRequest(nil, zandronum.ListVersion))
	launcher.WantAnswer(zandronum.AnswerTooSoon)
	launcher.MustSend(zandronum.AppendListRequest(nil, zandronum.ListVersion)) // not answered
	second := &rig.ZanHost{ZanPeer: launcher, Enforces: true}
	if bans := second.MustRegister(); bans.Len() != 0 {
		t.Errorf("ban list of the second server: got %+v, want none", bans)
	}
	out := d.Cli("server", "list", "--game", zandronum.Game)
	for _, a := range []netip.AddrPort{h.Address(), second.Address()} {
		if !strings.Contains(out, a.String()) {
			t.Errorf("server list lacks %v:\n%s", a, out)
		}
	}
	for reason, want := range map[string]string{"too_soon": "1", "silenced": "1", "wrong_version": "1"} {
		if got := rig.Metric(t, d, `respawnd_dropped_total{reason="`+reason+`",service="zanmaster"}`); got != want {
			t.Errorf("packets dropped for %s: got %q, want %s", reason, got, want)
		}
	}
	d.Stop()
}

func TestZandronumListInBothForms(t *testing.T) {
	t.Parallel()
	d := rig.StartZan(t, t.TempDir(), rig.NoWindow, rig.Variable("zanmaster.servers_per_address", "0"), rig.Variable("master.max_per_addr", "400"),
		rig.Variable("master.max_per_net", "400"), rig.Variable("zanmaster.unproved_burst", "400"))
	var want []string
	for range 260 { // a block of the list holds 255
		h := rig.NewZanHost(t, d, rig.Home, nil)
		h.MustRegister()
		want = append(want, h.Address().String())
	}
	slices.Sort(want)
	launcher := rig.NewZanPeer(t, d, rig.Home, nil)
	for _, old := range []bool{false, true} {
		var got []string
		for _, a := range launcher.List(old) {
			got = append(got, a.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("list, old form %v: got %d servers, want %d in the order of their text", old, len(got), len(want))
		}
	}
	d.Stop()

	e := rig.StartZan(t, t.TempDir(), rig.NoWindow, rig.Variable("zanmaster.old_list", "false"))
	launcher = rig.NewZanPeer(t, e, rig.Home, nil)
	launcher.MustSend(zandronum.AppendQuery(nil, zandronum.Query{})) // not answered
	rig.WantZanList(t, launcher)
	e.Stop()
}

func TestZandronumBanIsInForceAtOnceAndPushed(t *testing.T) {
	t.Parallel()
	d := rig.StartZan(t, t.TempDir(), rig.NoWindow)
	stays := rig.NewZanHost(t, d, rig.QuietLoopback(t), nil)
	goes := rig.NewZanHost(t, d, rig.QuietLoopback(t), nil)
	stays.MustRegister()
	goes.MustRegister()
	awaitReceipts(t, d, "2")
	launcher := rig.NewZanPeer(t, d, rig.Home, nil)
	bad := goes.Address().Addr().String()

	d.Cli("ban", "add", bad, "--scope", "zandronum", "--reason", "fake players", "--for", "24h")
	if out := d.Cli("server", "list"); strings.Contains(out, bad) || !strings.Contains(out, stays.Address().String()) {
		t.Errorf("server list, want %v without %s:\n%s", stays.Address(), bad, out)
	}
	rig.WantZanList(t, launcher, stays)
	if bans, _ := stays.BanList(); !slices.Equal(bans.Bans, []string{bad}) {
		t.Errorf("ban list: got %q, want %s", bans.Bans, bad)
	}
	if out := d.Cli("ban", "list"); !strings.Contains(out, "fake players") || !strings.Contains(out, "zandronum") {
		t.Errorf("ban list lacks reason or scope:\n%s", out)
	}
	if out := d.Cli("doctor", bad); !strings.Contains(out, "banned") {
		t.Errorf("doctor does not say that %s is banned:\n%s", bad, out)
	}
	goes.MustAnnounce()
	goes.WantAnswer(zandronum.AnswerBanned)

	// A prefix that ends in an octet is many addresses of the form that game
	// servers know: the list comes in parts.
	d.Cli("ban", "add", "10.128.0.0/9", "--scope", "zandronum")
	bans, parts := stays.BanList()
	if len(bans.Bans) != 129 || parts < 2 || !slices.Contains(bans.Bans, "10.255.*.*") || !slices.Contains(bans.Bans, bad) {
		t.Errorf("ban list: got %d bans in %d parts, want 129 in more than one: %.200q", len(bans.Bans), parts, bans.Bans)
	}
	d.Cli("ban", "remove", "10.128.0.0/9")
	d.Cli("ban", "remove", bad)
	for {
		if bans, _ = stays.BanList(); bans.Len() == 0 {
			break // the one between the two may have been sent or not
		}
	}
	goes.MustRegister()
	rig.WantZanList(t, launcher, stays, goes)
	awaitReceipts(t, d, "5")
	d.Stop()
}

// awaitReceipts waits until the master has as many receipts of ban lists, a digit. A
// receipt that it reads after its sender was banned is answered with the ban instead.
func awaitReceipts(t *testing.T, d *rig.Running, least string) {
	t.Helper()
	rig.Eventually(t, "receipts of ban lists", func() bool {
		return rig.Metric(t, d, `respawnd_zanmaster_ban_lists_total{result="received"}`) >= least
	})
}

func TestZandronumBanFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.StartZan(t, dir, rig.NoWindow, rig.Variable("zanmaster.ban_files_poll", "50ms"))
	h := rig.NewZanHost(t, d, rig.QuietLoopback(t), nil)
	goes := rig.NewZanHost(t, d, rig.QuietLoopback(t), nil)
	h.MustRegister()
	goes.MustRegister()
	bad := goes.Address().Addr().String()
	file := filepath.Join(dir, zanmaster.BanFile)
	n := d.Log.Len()
	if err := rig.WriteAt(file, "// ours\n"+bad+":aimbot\nnobody.example\n198.51.100.0/24 <12/31/2001 10:00>:over\n"); err != nil {
		t.Fatal(err)
	}
	d.WaitFor("the bad line", n, func(e rig.Entry) bool {
		return e.Text("level") == "warn" && strings.Contains(e.Text("error"), file+":3:")
	})
	if bans, _ := h.BanList(); !slices.Equal(bans.Bans, []string{bad}) {
		t.Errorf("ban list: got %q, want %s", bans.Bans, bad)
	}
	rig.WantZanList(t, rig.NewZanPeer(t, d, rig.Home, nil), h)
	d.WaitFor("the verdict", n, rig.VerdictOn(goes.Address(), "banned"))
	rig.Refused(t, commands.ExitFailure, d.Env, []string{"check"}, file+":3:")

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if bans, _ := h.BanList(); bans.Len() != 0 {
		t.Errorf("ban list without the file: got %q, want none", bans.Bans)
	}
	rig.Cli(t, d.Env, "check")
	goes.MustRegister()
	d.Stop()
}

// A ban in the store does not affect addresses that whitelist.txt exempts, not
// even for a moment.
func TestZandronumExemptServerStaysListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := rig.QuietLoopback(t)
	if err := rig.WriteAt(filepath.Join(dir, zanmaster.ExemptFile), at.String()+"\n"); err != nil {
		t.Fatal(err)
	}
	d := rig.StartZan(t, dir, rig.NoWindow)
	h := rig.NewZanHost(t, d, at, nil)
	h.MustRegister()
	d.Cli("ban", "add", "127.64.0.0/10", "--scope", "zandronum")
	d.Cli("ban", "add", "127.128.0.0/9")
	rig.WantZanList(t, rig.NewZanPeer(t, d, rig.Home, nil), h)
	if out := d.Cli("doctor", at.String()); strings.Contains(out, "banned") {
		t.Errorf("doctor says that an exempt server is banned:\n%s", out)
	}
	d.Stop()

	e := rig.StartZan(t, dir, rig.NoWindow)
	rig.WantZanList(t, rig.NewZanPeer(t, e, rig.Home, nil), h)
	e.Stop()
}

func TestZandronumServerThatDoesNotEnforce(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]struct{ listed, warned bool }{
		"hide": {false, false}, "show": {true, false}, "mark": {true, true},
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			d := rig.StartZan(t, t.TempDir(), rig.NoWindow, rig.Variable("zanmaster.not_enforcing", word))
			good, lax := rig.NewZanHost(t, d, rig.Home, nil), rig.NewZanHost(t, d, rig.Home, nil)
			lax.Enforces = false
			good.MustRegister()
			lax.MustRegister()
			hosts := []*rig.ZanHost{good}
			if want.listed {
				hosts = append(hosts, lax)
			}
			launcher := rig.NewZanPeer(t, d, rig.Home, nil)
			rig.WantZanList(t, launcher, hosts...)
			record, ok := zanRecords(t, d)[lax.Address().String()]
			if ok != want.listed || (record.Rules["warning"] != "") != want.warned {
				t.Errorf("public JSON: listed %v, record %+v, want listed %v, warning %v", ok, record, want.listed, want.warned)
			}
			// The operator always sees it, and the reason why others do not.
			line := rig.LineWith(d.Cli("server", "list", "--game", zandronum.Game), lax.Address().String())
			if line == "" || strings.Contains(line, "hidden: does not enforce the ban list") == want.listed {
				t.Errorf("server list says %q about the server that does not enforce", line)
			}
			if out := d.Cli("server", "list", "--game", rig.TestGame); strings.Contains(out, lax.Address().String()) {
				t.Errorf("server list of another game:\n%s", out)
			}
			lax.Enforces = true
			lax.MustAnnounce()
			launcher.List(false) // comes after the heartbeat
			rig.WantZanList(t, launcher, good, lax)
			if line := rig.LineWith(d.Cli("server", "list"), lax.Address().String()); strings.Contains(line, "hidden") {
				t.Errorf("server list says %q about the server that enforces now", line)
			}
			d.Stop()
		})
	}
}

func TestZandronumServerAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir, rig.NoWindow)
	tests := map[string]*rig.ZanHost{
		"In one message": rig.NewZanHost(t, d, rig.Home, rig.Tells(rig.ZanInfo("In one message"), 0)),
		"In pieces":      rig.NewZanHost(t, d, rig.Home, rig.Tells(rig.ZanInfo("In pieces"), 100)),
	}
	unverified := rig.NewZanHost(t, d, rig.Home, nil)
	unverified.MustAnnounce()
	unverified.Request()
	for _, h := range tests {
		h.MustRegister()
		record, ok := zanRecords(t, d)[h.Address().String()]
		if !ok || record.Game != zandronum.Game || record.Origin != "zandronum" || record.Rules["enforcesbanlist"] != "1" ||
			record.Rules["revision"] != fmt.Sprint(rig.ZanRevision) {
			t.Errorf("public JSON of a server that was just listed: %+v", record)
		}
	}
	check := func(d *rig.Running) {
		t.Helper()
		for name, h := range tests {
			record := zanRecords(t, d)[h.Address().String()]
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
		q := <-h.Asked
		if q.Flags != zandronum.AllFlags || q.Flags2 != zandronum.AllFlags2 || !q.Segmented {
			t.Errorf("query to %q: %+v, want it to ask for everything, in pieces", name, q)
		}
		rig.Eventually(t, "what the server tells", func() bool { return zanRecords(t, d)[h.Address().String()].Name == name })
	}
	check(d)
	if len(unverified.Asked) > 0 {
		t.Error("a server was asked that has verified nothing")
	}
	out := d.Cli("server", "list")
	for name, h := range tests {
		if line := rig.LineWith(out, h.Address().String()); !strings.Contains(line, name) || !strings.Contains(line, "2/16") || !strings.Contains(line, "direct") {
			t.Errorf("server list says %q about %q", line, name)
		}
	}
	d.Stop()

	e := rig.Start(t, dir, rig.NoWindow)
	hosts := []*rig.ZanHost{tests["In one message"], tests["In pieces"]}
	rig.WantZanList(t, rig.NewZanPeer(t, e, rig.Home, nil), hosts...)
	check(e)
	if out := e.Cli("server", "list"); strings.Count(out, "restored") != 2 {
		t.Errorf("server list, want 2 servers that are restored:\n%s", out)
	}
	for _, h := range hosts {
		h.SetServer(e.Address["zanmaster"])
		h.MustRegister()
	}
	if out := e.Cli("server", "list"); strings.Contains(out, "restored") {
		t.Errorf("server list, want no server that is restored:\n%s", out)
	}
	if out := e.Cli("doctor", hosts[0].Address().Addr().String()); !strings.Contains(out, "restored") || strings.Contains(out, "its next report lists it again") {
		t.Errorf("doctor, want that the server was restored, and no advice to wait:\n%s", out)
	}
	rig.WantZanList(t, rig.NewZanPeer(t, e, rig.Home, nil), hosts...)
	check(e)
	e.Stop()
}

func TestZandronumPrivateList(t *testing.T) {
	t.Parallel()
	friend, stranger := rig.QuietLoopback(t), rig.QuietLoopback(t)
	d := rig.StartZan(t, t.TempDir(), rig.NoWindow, rig.Variable("zanmaster.allow_servers", friend.String()+"/32"),
		rig.Variable("zanmaster.allow_launchers", friend.String()+"/32"), rig.Variable("zanmaster.advertise_as", "203.0.113.5"))
	h, other := rig.NewZanHost(t, d, friend, nil), rig.NewZanHost(t, d, stranger, nil)
	h.MustRegister()
	other.MustAnnounce()
	other.WantAnswer(zandronum.AnswerBanned)
	d.WaitFor("the verdict", 0, rig.VerdictOn(other.Address(), "not on the allow list"))
	if got, want := rig.NewZanPeer(t, d, friend, nil).List(false), netip.AddrPortFrom(netip.MustParseAddr("203.0.113.5"), h.Address().Port()); !slices.Equal(got, []netip.AddrPort{want}) {
		t.Errorf("list: got %v, want %v", got, want)
	}
	launcher := rig.NewZanPeer(t, d, stranger, nil)
	launcher.MustSend(zandronum.AppendListRequest(nil, zandronum.ListVersion))
	launcher.WantAnswer(zandronum.AnswerBanned)
	d.Stop()
}

func TestZandronumSampleServes(t *testing.T) {
	t.Parallel()
	sample := filepath.Join("..", "..", "configs", "zandronum-only.yaml")
	env := []string{rig.Variable("data_dir", t.TempDir()), rig.Variable("log.format", "json")}
	for _, name := range []string{"zanmaster", "web", "admin"} {
		env = append(env, rig.Variable(name+".listen", "127.0.0.1:0"))
	}
	d := rig.StartWithout(t, env, "--config", sample)
	if len(d.Address) != 4 || !d.Address["probe"].IsValid() {
		t.Errorf("%s opens %v, want zanmaster, web, admin and the socket of the queries", sample, d.Address)
	}
	h := rig.NewZanHost(t, d, rig.Home, nil)
	h.MustRegister()
	rig.WantZanList(t, rig.NewZanPeer(t, d, rig.Home, nil), h)
	if _, ok := zanRecords(t, d)[h.Address().String()]; !ok {
		t.Error("the public JSON lacks the server")
	}
	d.Stop()
}

func TestZandronumBanIsOverInTime(t *testing.T) {
	t.Parallel()
	d := rig.StartZan(t, t.TempDir(), rig.NoWindow)
	h, goes := rig.NewZanHost(t, d, rig.QuietLoopback(t), nil), rig.NewZanHost(t, d, rig.QuietLoopback(t), nil)
	h.MustRegister()
	goes.MustRegister()
	awaitReceipts(t, d, "2")
	ban := func(span time.Duration) (code int, why string) {
		code, _, why = rig.Command(t, d.CliEnv(), "ban", "add", goes.Address().Addr().String(), "--scope", "zandronum", "--for", span.String())
		return code, why
	}
	if code, why := ban(time.Hour); code != 0 {
		t.Fatal(why)
	}
	if bans, _ := h.BanList(); bans.Len() != 1 {
		t.Errorf("ban list: got %+v, want one ban", bans)
	}
	for span := time.Second; ; span *= 2 { // replaces it; one that is over when it arrives is refused
		code, why := ban(span)
		if code == 0 {
			break
		}
		rig.WantIn(t, why, "before it begins")
	}
	for {
		if bans, _ := h.BanList(); bans.Len() == 0 {
			break
		}
	}
	goes.MustRegister()
	d.Stop()
}

func TestZandronumLongBanList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "10.%d.%d.%d\n", i>>12, i>>6&63, i&63)
	}
	if err := rig.WriteAt(filepath.Join(dir, zanmaster.BanFile), text.String()); err != nil {
		t.Fatal(err)
	}
	d := rig.StartZan(t, dir, rig.NoWindow)
	h := rig.NewZanHost(t, d, rig.Home, nil)
	if bans := h.MustRegister(); len(bans.Bans) != 5000 || bans.Bans[4999] != "10.1.14.7" {
		t.Errorf("ban list: got %d bans, want 5000", len(bans.Bans))
	}
	rig.WantZanList(t, rig.NewZanPeer(t, d, rig.Home, nil), h)
	d.Stop()
}

func TestZandronumServersOfOneAddress(t *testing.T) {
	t.Parallel()
	const most = 10 // the default of zanmaster.servers_per_address
	for name, tc := range map[string]struct {
		file  string
		taken int
	}{
		"by default":                   {"", most},
		"in multiserver_whitelist.txt": {rig.Home.String() + "\n", 2*most + 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := rig.WriteAt(filepath.Join(dir, zanmaster.MultiServerFile), tc.file); err != nil {
				t.Fatal(err)
			}
			d := rig.StartZan(t, dir, rig.NoWindow, rig.Variable("master.max_per_addr", "20"))
			var hosts []*rig.ZanHost
			for range tc.taken {
				h := rig.NewZanHost(t, d, rig.Home, nil)
				h.MustRegister()
				hosts = append(hosts, h)
			}
			if tc.file == "" {
				more := rig.NewZanHost(t, d, rig.Home, nil)
				more.MustAnnounce()
				d.WaitFor("the verdict", 0, rig.VerdictOn(more.Address(), "too many"))
			}
			rig.WantZanList(t, rig.NewZanPeer(t, d, rig.Home, nil), hosts...)
			d.Stop()
		})
	}
}

// A second self-test comes before its address may have the list again.
func TestZandronumSelftestTwice(t *testing.T) {
	t.Parallel()
	d := rig.StartZan(t, t.TempDir())
	env := append(rig.TestEnv(t.TempDir()), rig.Variable("zanmaster.listen", d.Address["zanmaster"].String()))
	for _, name := range rig.Listening() {
		if name != "zanmaster" {
			env = append(env, rig.Variable(name+".listen", ""))
		}
	}
	for range 2 { // each has an address of its own, so that no window of requests is in its way
		out := rig.Cli(t, env, "selftest")
		if line := rig.LineWith(out, "zanmaster"); !strings.HasSuffix(strings.TrimSpace(line), " ok") {
			t.Errorf("selftest printed\n%s", out)
		}
		if n := len(zanRecords(t, d)); n != 0 {
			t.Errorf("%d test servers are listed", n)
		}
	}
	d.Cli("ban", "add", "127.0.0.0/8", "--scope", "zandronum")
	if code, out, _ := rig.Command(t, env, "selftest"); code != commands.ExitFailure || !strings.Contains(rig.LineWith(out, "zanmaster"), "FAILED: refused") {
		t.Errorf("selftest while we are banned: exit code %d, want %d\n%s", code, commands.ExitFailure, out)
	}
	d.Stop()
}

func TestZandronumRestoreSkipsBanned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.StartZan(t, dir)
	stays, goes := rig.NewZanHost(t, d, rig.QuietLoopback(t), nil), rig.NewZanHost(t, d, rig.QuietLoopback(t), nil)
	stays.MustRegister()
	goes.MustRegister()
	d.Stop()
	rig.Cli(t, rig.TestEnv(dir), "ban", "add", goes.Address().Addr().String(), "--scope", "zandronum")
	e := rig.StartZan(t, dir)
	rig.WantZanList(t, rig.NewZanPeer(t, e, rig.Home, nil), stays)
	if _, ok := zanRecords(t, e)[goes.Address().String()]; ok {
		t.Error("the public JSON has the banned server")
	}
	e.Stop()

	// Nor by a daemon that runs no such master.
	f := rig.StartWithout(t, rig.TestEnv(dir, rig.Variable("zanmaster.listen", "")))
	if records := zanRecords(t, f); len(records) != 1 {
		t.Errorf("servers that were restored without the master: %v, want one", records)
	}
	f.Stop()
}
