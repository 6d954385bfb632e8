package games

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
)

// storageOf returns SAKE for a player that has signed in.
func storageOf(d *rig.Child, player *gpcm.Client) *webservices.Storage {
	return &webservices.Storage{
		Client: webservices.Client{Address: d.Address["webservices"].String(), Host: rig.TestGame + ".sake.gamespy.com"},
		Secret: rig.TestSecret, Ticket: player.Ticket,
	}
}

// sakeField returns a field of a record.
func sakeField(t *testing.T, name string, kind storage.SakeType, text string) storage.SakeField {
	t.Helper()
	v, err := storage.ParseSakeValue(kind, text)
	rig.Must(t, err)
	return storage.SakeField{Name: name, Value: v}
}

// storageRefuses checks that an error has a result of SAKE.
func storageRefuses(t *testing.T, err error, result string) {
	t.Helper()
	if !errors.Is(err, webservices.ErrStorage) || !strings.HasSuffix(err.Error(), strconv.Quote(result)) {
		t.Errorf("error %v, want the result %s", err, result)
	}
}

// signIn returns a new session for a player of newStatsPlayer, as tickets end with the
// daemon.
func signIn(t *testing.T, d *rig.Child, nick string) *gpcm.Client {
	t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(t), d.Address["gpcm"].String())
	rig.Must(t, err)
	c, err := gpcm.Connect(rig.Wait(t), conn)
	rig.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	rig.Must(t, c.Login(rig.Wait(t), gpcm.Login{By: "uniquenick", Name: nick, Password: rig.StormPassword, Game: rig.TestGame}))
	return c
}

// Two players sign in, and use all web services. Everything that was acknowledged is
// there after the daemon was killed.
func TestWebServicesSurviveKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.OnlyEnv(dir, []string{"gpcm", "webservices", "admin"})
	d := rig.StartProcess(t, "", env)
	annID, ann := newStatsPlayer(t, d.Address["gpcm"], "Ann")
	benID, ben := newStatsPlayer(t, d.Address["gpcm"], "Ben")
	again := func() {
		t.Helper()
		d.Kill()
		d = rig.StartProcess(t, "", env)
		ann, ben = signIn(t, d, "Ann"), signIn(t, d, "Ben")
	}

	id, err := storageOf(d, ann).Create(rig.Wait(t), "levels", sakeField(t, "title", storage.SakeUnicode, "Höhle & <Turm>"),
		sakeField(t, "size", storage.SakeInt, "-42"), sakeField(t, "best", storage.SakeFloat, "1.5"), sakeField(t, "map", storage.SakeBinary, "AAECAwQ="))
	rig.Must(t, err)
	again()
	find := func(player *gpcm.Client) [][]string {
		t.Helper()
		records, err := storageOf(d, player).Search(rig.Wait(t), "levels", "size < 0 and title like 'h%'",
			"recordid", "ownerid", "title", "best", "map", "num_ratings", "average_rating", "my_rating")
		rig.Must(t, err)
		return records
	}
	want := [][]string{{strconv.Itoa(int(id)), strconv.Itoa(int(annID)), "Höhle & <Turm>", "1.5", "AAECAwQ=", "0", "0", "-1"}}
	if diff := cmp.Diff(want, find(ben)); diff != "" {
		t.Errorf("records after the create (-want +got):\n%s", diff)
	}

	if n, average, err := storageOf(d, ben).Rate(rig.Wait(t), "levels", id, 200); err != nil || n != "1" || average != "200" {
		t.Fatalf("Rate() = %s ratings of %s, %v, want one of 200", n, average, err)
	}
	again()
	want[0] = append(want[0][:5], "1", "200", "200")
	if diff := cmp.Diff(want, find(ben)); diff != "" {
		t.Errorf("records after the rating (-want +got):\n%s", diff)
	}
	_, _, err = storageOf(d, ben).Rate(rig.Wait(t), "levels", id, 1)
	storageRefuses(t, err, "AlreadyRated")
	storageRefuses(t, storageOf(d, ben).Update(rig.Wait(t), "levels", id), "NotOwned")
	storageRefuses(t, storageOf(d, ben).Delete(rig.Wait(t), "levels", id), "NotOwned")

	content := strings.Repeat("\x00a\r\n--Qr4G", 10_000)
	file, err := storageOf(d, ann).Upload(rig.Wait(t), strconv.Itoa(int(annID)), "cave.map", content)
	rig.Must(t, err)
	rig.Must(t, storageOf(d, ann).Update(rig.Wait(t), "levels", id,
		sakeField(t, "size", storage.SakeInt, "-43"), sakeField(t, "file", storage.SakeInt, file)))
	again()
	if got, err := storageOf(d, ben).Download(rig.Wait(t), strconv.Itoa(int(benID)), file); err != nil || got != content {
		t.Errorf("the file has %d bytes, %v, want the %d that were uploaded", len(got), err, len(content))
	}
	if got, err := storageOf(d, ben).Search(rig.Wait(t), "levels", "", "size", "file", "file.size", "file.downloads"); err != nil ||
		!cmp.Equal(got, [][]string{{"-43", file, strconv.Itoa(len(content)), "1"}}) {
		t.Errorf("the record with the file is %q, %v", got, err)
	}

	key, err := auth.ReadKey(filepath.Join(dir, auth.KeyName))
	rig.Must(t, err)
	var players [2]webservices.Player
	var conns [2]string
	client := func(service string) *webservices.Client {
		return &webservices.Client{Address: d.Address["webservices"].String(), Host: rig.TestGame + "." + service + ".pubsvs.gamespy.com"}
	}
	for i, nick := range []string{"Ann", "Ben"} {
		players[i].Certificate, players[i].Proof, err = client("auth").SignIn(rig.Wait(t), key.Public(), nick, rig.StormPassword)
		rig.Must(t, err)
	}
	session, err := client("comp").Match(rig.Wait(t), players[0], "CreateSession", nil, "gameid", "1")
	rig.Must(t, err)
	csid := session.Text("csid")
	for i := range players {
		e, err := client("comp").Match(rig.Wait(t), players[i], "SetReportIntention", nil, "csid", csid, "ccid", "", "gameid", "1", "authoritative", "0")
		rig.Must(t, err)
		conns[i] = e.Text("ccid")
	}
	for i := range players {
		_, err := client("comp").Match(rig.Wait(t), players[i], "SubmitReport", reportOf(t, conns[:]...), "csid", csid, "ccid", conns[i], "gameid", "1", "authoritative", "0")
		rig.Must(t, err)
		again()
	}
	rig.WantIn(t, d.Cli("matches", "list", rig.TestGame), "agreed", "Ann win, Ben loss")

	// All of it is still there, and goes with the account.
	if diff := cmp.Diff(want, find(ben)); diff != "" {
		t.Errorf("records at the end (-want +got):\n%s", diff)
	}
	if _, err := storageOf(d, ben).Download(rig.Wait(t), strconv.Itoa(int(benID)), file); err != nil {
		t.Error(err)
	}
	d.Cli("account", "delete", "--yes", "Ann@example.com")
	_, err = storageOf(d, ann).Create(rig.Wait(t), "levels")
	storageRefuses(t, err, "LoginTicketInvalid")
	d.Kill()
	d = rig.StartProcess(t, "", env)
	ben = signIn(t, d, "Ben")
	if got := find(ben); len(got) != 0 {
		t.Errorf("records of a deleted account: %q", got)
	}
	_, err = storageOf(d, ben).Download(rig.Wait(t), strconv.Itoa(int(benID)), file)
	storageRefuses(t, err, "4")
}
