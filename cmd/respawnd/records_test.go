package main

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
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
)

// storageOf returns SAKE for a player that has signed in.
func storageOf(d *child, player *gpcm.Client) *webservices.Storage {
	return &webservices.Storage{
		Client: webservices.Client{Address: d.address["webservices"].String(), Host: testGame + ".sake.gamespy.com"},
		Secret: testSecret, Ticket: player.Ticket,
	}
}

// sakeField returns a field of a record.
func sakeField(t *testing.T, name string, kind storage.SakeType, text string) storage.SakeField {
	t.Helper()
	v, err := storage.ParseSakeValue(kind, text)
	must(t, err)
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
func signIn(t *testing.T, d *child, nick string) *gpcm.Client {
	t.Helper()
	conn, err := netclient.DialTCP(wait(t), d.address["gpcm"].String())
	must(t, err)
	c, err := gpcm.Connect(wait(t), conn)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.Login(wait(t), gpcm.Login{By: "uniquenick", Name: nick, Password: stormPassword, Game: testGame}))
	return c
}

// Two players sign in, and use all web services. Everything that was acknowledged is
// there after the daemon was killed.
func TestWebServicesSurviveKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := onlyEnv(dir, []string{"gpcm", "webservices", "admin"})
	d := startProcess(t, "", env)
	annID, ann := newStatsPlayer(t, d.address["gpcm"], "Ann")
	benID, ben := newStatsPlayer(t, d.address["gpcm"], "Ben")
	again := func() {
		t.Helper()
		d.kill()
		d = startProcess(t, "", env)
		ann, ben = signIn(t, d, "Ann"), signIn(t, d, "Ben")
	}

	id, err := storageOf(d, ann).Create(wait(t), "levels", sakeField(t, "title", storage.SakeUnicode, "Höhle & <Turm>"),
		sakeField(t, "size", storage.SakeInt, "-42"), sakeField(t, "best", storage.SakeFloat, "1.5"), sakeField(t, "map", storage.SakeBinary, "AAECAwQ="))
	must(t, err)
	again()
	find := func(player *gpcm.Client) [][]string {
		t.Helper()
		records, err := storageOf(d, player).Search(wait(t), "levels", "size < 0 and title like 'h%'",
			"recordid", "ownerid", "title", "best", "map", "num_ratings", "average_rating", "my_rating")
		must(t, err)
		return records
	}
	want := [][]string{{strconv.Itoa(int(id)), strconv.Itoa(int(annID)), "Höhle & <Turm>", "1.5", "AAECAwQ=", "0", "0", "-1"}}
	if diff := cmp.Diff(want, find(ben)); diff != "" {
		t.Errorf("records after the create (-want +got):\n%s", diff)
	}

	if n, average, err := storageOf(d, ben).Rate(wait(t), "levels", id, 200); err != nil || n != "1" || average != "200" {
		t.Fatalf("Rate() = %s ratings of %s, %v, want one of 200", n, average, err)
	}
	again()
	want[0] = append(want[0][:5], "1", "200", "200")
	if diff := cmp.Diff(want, find(ben)); diff != "" {
		t.Errorf("records after the rating (-want +got):\n%s", diff)
	}
	_, _, err = storageOf(d, ben).Rate(wait(t), "levels", id, 1)
	storageRefuses(t, err, "AlreadyRated")
	storageRefuses(t, storageOf(d, ben).Update(wait(t), "levels", id), "NotOwned")
	storageRefuses(t, storageOf(d, ben).Delete(wait(t), "levels", id), "NotOwned")

	content := strings.Repeat("\x00a\r\n--Qr4G", 10_000)
	file, err := storageOf(d, ann).Upload(wait(t), strconv.Itoa(int(annID)), "cave.map", content)
	must(t, err)
	must(t, storageOf(d, ann).Update(wait(t), "levels", id,
		sakeField(t, "size", storage.SakeInt, "-43"), sakeField(t, "file", storage.SakeInt, file)))
	again()
	if got, err := storageOf(d, ben).Download(wait(t), strconv.Itoa(int(benID)), file); err != nil || got != content {
		t.Errorf("the file has %d bytes, %v, want the %d that were uploaded", len(got), err, len(content))
	}
	if got, err := storageOf(d, ben).Search(wait(t), "levels", "", "size", "file", "file.size", "file.downloads"); err != nil ||
		!cmp.Equal(got, [][]string{{"-43", file, strconv.Itoa(len(content)), "1"}}) {
		t.Errorf("the record with the file is %q, %v", got, err)
	}

	key, err := auth.ReadKey(filepath.Join(dir, auth.KeyName))
	must(t, err)
	var players [2]webservices.Player
	var conns [2]string
	client := func(service string) *webservices.Client {
		return &webservices.Client{Address: d.address["webservices"].String(), Host: testGame + "." + service + ".pubsvs.gamespy.com"}
	}
	for i, nick := range []string{"Ann", "Ben"} {
		players[i].Certificate, players[i].Proof, err = client("auth").SignIn(wait(t), key.Public(), nick, stormPassword)
		must(t, err)
	}
	session, err := client("comp").Match(wait(t), players[0], "CreateSession", nil, "gameid", "1")
	must(t, err)
	csid := session.Text("csid")
	for i := range players {
		e, err := client("comp").Match(wait(t), players[i], "SetReportIntention", nil, "csid", csid, "ccid", "", "gameid", "1", "authoritative", "0")
		must(t, err)
		conns[i] = e.Text("ccid")
	}
	for i := range players {
		_, err := client("comp").Match(wait(t), players[i], "SubmitReport", reportOf(t, conns[:]...), "csid", csid, "ccid", conns[i], "gameid", "1", "authoritative", "0")
		must(t, err)
		again()
	}
	wantIn(t, d.cli("matches", "list", testGame), "agreed", "Ann win, Ben loss")

	// All of it is still there, and goes with the account.
	if diff := cmp.Diff(want, find(ben)); diff != "" {
		t.Errorf("records at the end (-want +got):\n%s", diff)
	}
	if _, err := storageOf(d, ben).Download(wait(t), strconv.Itoa(int(benID)), file); err != nil {
		t.Error(err)
	}
	d.cli("account", "delete", "Ann@example.com")
	_, err = storageOf(d, ann).Create(wait(t), "levels")
	storageRefuses(t, err, "LoginTicketInvalid")
	d.kill()
	d = startProcess(t, "", env)
	ben = signIn(t, d, "Ben")
	if got := find(ben); len(got) != 0 {
		t.Errorf("records of a deleted account: %q", got)
	}
	_, err = storageOf(d, ben).Download(wait(t), strconv.Itoa(int(benID)), file)
	storageRefuses(t, err, "4")
}
