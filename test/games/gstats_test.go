package games

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

// statsClient returns a game that has proved itself to the statistics service.
func statsClient(t *testing.T, at netip.AddrPort) *gstats.Client {
	t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(t), at.String())
	rig.Must(t, err)
	c, err := gstats.Connect(rig.Wait(t), conn)
	rig.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	rig.Must(t, c.Authenticate(rig.Wait(t), rig.TestGame, rig.TestSecret))
	return c
}

// newStatsPlayer makes an account over GPCM and signs its player in. It returns the
// profile and the session.
func newStatsPlayer(t *testing.T, at netip.AddrPort, nick string) (storage.ProfileID, *gpcm.Client) {
	t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(t), at.String())
	rig.Must(t, err)
	c, err := gpcm.Connect(rig.Wait(t), conn)
	rig.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	rig.Must(t, c.Send("newuser", "", "email", nick+"@example.com", "nick", nick, "passwordenc", gamespy.EncodePassword(rig.StormPassword),
		"productID", "11", "namespaceid", "1", "uniquenick", nick, "id", "1"))
	if m, err := c.Next(rig.Wait(t)); err != nil || rig.Field(m, "profileid") == "" {
		t.Fatalf("newuser: %q, %v", m, err)
	}
	rig.Must(t, c.Login(rig.Wait(t), gpcm.Login{By: "uniquenick", Name: nick, Password: rig.StormPassword, Game: rig.TestGame}))
	id, err := strconv.ParseUint(c.Profile, 10, 32)
	rig.Must(t, err)
	return storage.ProfileID(id), c
}

// Data that the service confirmed are there after a kill, for another connection, and
// other players do not get them. So are the matches that a server reported, and the
// leaderboard that the results of proved players make.
func TestStatisticsSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	games := rig.Variable("games.file", rig.WriteFile(t, "games.yaml", "games:\n  - name: gmtest\n    boards: [{name: points, key: score, how: sum}]\n"))
	c := rig.StartChild(t, dir, games)
	ann, _ := newStatsPlayer(t, c.Address["gpcm"], "Ann")
	ben, _ := newStatsPlayer(t, c.Address["gpcm"], "Ben")
	data := []byte("a\\b\\final\\\x00c\x01")

	game := statsClient(t, c.Address["gstats"])
	rig.Must(t, game.AuthenticatePlayer(rig.Wait(t), ann, rig.StormPassword))
	private, err := game.Set(rig.Wait(t), ann, 1, 7, false, data)
	rig.Must(t, err)
	_, err = game.Set(rig.Wait(t), ann, 3, 0, true, []byte("\\clan\\The A-Team\\age\\15\x00"))
	rig.Must(t, err)
	merged, err := game.Set(rig.Wait(t), ann, 3, 0, true, []byte("\\age\\16\x00"))
	rig.Must(t, err)
	c.Kill()

	c = rig.StartChild(t, dir, games)
	other := statsClient(t, c.Address["gstats"])
	if _, _, err := other.Get(rig.Wait(t), ann, 1, 7); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("private data for a stranger: %v", err)
	}
	rig.Must(t, other.AuthenticatePlayer(rig.Wait(t), ben, rig.StormPassword))
	if _, _, err := other.Get(rig.Wait(t), ann, 1, 7); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("private data for another player: %v", err)
	}
	if _, err := other.Set(rig.Wait(t), ann, 1, 7, false, nil); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("data are set for another player: %v", err)
	}
	if got, at, err := other.Get(rig.Wait(t), ann, 3, 0); err != nil || string(got) != "\\clan\\The A-Team\\age\\16\x00" || !at.Equal(merged) {
		t.Errorf("public data %q of %v, %v", got, at, err)
	}
	if got, _, err := other.Get(rig.Wait(t), ann, 3, 0, "age"); err != nil || string(got) != "\\age\\16\x00" {
		t.Errorf("one key is %q, %v", got, err)
	}
	rig.Must(t, other.AuthenticatePlayer(rig.Wait(t), ann, rig.StormPassword))
	if got, at, err := other.Get(rig.Wait(t), ann, 1, 7); err != nil || string(got) != string(data) || !at.Equal(private) {
		t.Errorf("private data %q of %v, %v, want %q of %v", got, at, err, data, private)
	}

	// A server that its players prove themselves to reports two matches.
	server := statsClient(t, c.Address["gstats"])
	proof := gstats.Proof(rig.StormPassword, server.Challenge)
	for match, score := range map[int32][2]int{1: {10, 4}, 2: {5, 30}} {
		rig.Must(t, server.Begin(match))
		rig.Must(t, server.Report(match, true, "hostname", "The Inn",
			"player_0", "Ann", "pid_0", fmt.Sprint(ann), "auth_0", proof, "score_0", fmt.Sprint(score[0]),
			"player_1", "Ben", "pid_1", fmt.Sprint(ben), "auth_1", proof, "score_1", fmt.Sprint(score[1]),
			"player_2", "Eve", "pid_2", "77", "auth_2", "wrong", "score_2", "1000"))
	}
	_, _, err = server.Get(rig.Wait(t), ann, 3, 0) // answered after the reports are stored
	rig.Must(t, err)
	rig.WantIn(t, c.Cli("stats", "game", rig.TestGame), "2 of 3 proved")
	c.Kill()

	store := storetest.File(t, filepath.Join(dir, daemon.StoreName))
	defer func() { _ = store.Close() }()
	reports := 0
	for r, err := range store.Reports(t.Context(), rig.TestGame, 0) {
		rig.Must(t, err)
		reports++
		if !r.Done || !r.Trusted || !slices.Equal(r.Profiles, []storage.ProfileID{ann, ben}) || !strings.HasPrefix(string(r.Pairs), `\hostname\The Inn\`) {
			t.Errorf("report %+v", r)
		}
	}
	if reports != 2 {
		t.Errorf("%d reports are stored, want 2", reports)
	}
	ranking, err := store.Ranking(t.Context(), rig.TestGame, "points", 0, 10)
	rig.Must(t, err)
	if len(ranking) != 2 || ranking[0].Profile != ben || ranking[0].Value != 34 || ranking[1].Profile != ann || ranking[1].Value != 15 {
		t.Errorf("ranking %+v, want 34 of player %d and 15 of player %d", ranking, ben, ann)
	}
}

// A ban ends the authentication of a player, and doctor explains which player was
// refused and why.
func TestStatisticsPlayers(t *testing.T) {
	t.Parallel()
	rig.Quick(t)
	d := rig.Start(t, t.TempDir())
	ann, _ := newStatsPlayer(t, d.Address["gpcm"], "Ann")
	ben, _ := newStatsPlayer(t, d.Address["gpcm"], "Ben")
	game := statsClient(t, d.Address["gstats"])
	rig.Must(t, game.AuthenticatePlayer(rig.Wait(t), ann, rig.StormPassword))
	rig.Must(t, game.AuthenticatePlayer(rig.Wait(t), ben, rig.StormPassword))
	_, err := game.Set(rig.Wait(t), ann, 1, 0, false, []byte("mine"))
	rig.Must(t, err)

	d.Cli("account", "ban", "Ann@example.com")
	if _, _, err := game.Get(rig.Wait(t), ann, 1, 0); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("private data of a banned player: %v", err)
	}
	if _, err := game.Set(rig.Wait(t), ann, 1, 0, false, []byte("more")); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("data are set for a banned player: %v", err)
	}
	_, err = game.Set(rig.Wait(t), ben, 1, 0, false, []byte("his"))
	rig.Must(t, err)
	if err := game.AuthenticatePlayer(rig.Wait(t), ann, rig.StormPassword); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("a banned player is authenticated: %v", err)
	}
	if out := d.Cli("doctor", "127.0.0.1"); !strings.Contains(out, "statistics from 127.0.0.1 for game gmtest: account banned") {
		t.Errorf("doctor says nothing of the ban:\n%s", out)
	}

	conn, err := netclient.DialTCP(rig.Wait(t), d.Address["gstats"].String())
	rig.Must(t, err)
	stranger, err := gstats.Connect(rig.Wait(t), conn)
	rig.Must(t, err)
	defer func() { _ = stranger.Close() }()
	if err := stranger.Authenticate(rig.Wait(t), rig.TestGame, "wrong!"); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("a game with another key: %v", err)
	}
	if out := d.Cli("doctor", "127.0.0.1"); !strings.Contains(out, "the game and this service have different secret keys") {
		t.Errorf("doctor says nothing of the wrong key:\n%s", out)
	}
	d.Stop()
}
