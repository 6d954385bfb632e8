package games

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/nas"
)

// The game of the console. No console was available: its messages are made from the
// documented layouts.
const (
	kartGame   = "mariokartwii"
	kartSecret = "9r3Rmy"
	kartCode   = "RMCP"
)

// wii is a console with a game.
type wii struct {
	nas.Client
	t     *testing.T
	d     *rig.Running
	login nas.Form
	token string // of the last sign-in, with its challenge
	chal  string
}

// unpack returns a console that has tested its connection and has a user id.
func unpack(t *testing.T, d *rig.Running) *wii {
	t.Helper()
	w := &wii{Client: nas.Client{Address: d.Address["webservices"].String()}, t: t, d: d}
	page, err := w.Get(rig.Wait(t), "conntest", "/")
	if err != nil || page.Status != http.StatusOK || page.Header.Get("X-Organization") != "Nintendo" {
		t.Fatalf("connection test: %+v, %v", page, err)
	}
	w.login, err = w.Make(rig.Wait(t), kartCode)
	rig.Must(t, err)
	return w
}

// signIn signs in at /ac.
func (w *wii) signIn() {
	w.t.Helper()
	var err error
	w.token, w.chal, err = w.SignIn(rig.Wait(w.t), w.login)
	rig.Must(w.t, err)
}

// code returns the return code of a sign-in.
func (w *wii) code() string {
	w.t.Helper()
	reply, err := w.Ask(rig.Wait(w.t), "/ac", w.login)
	if err != nil && !errors.Is(err, nas.ErrRefused) {
		w.t.Fatal(err)
	}
	code, _ := reply.Text("returncd")
	return code
}

func md5hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// present signs in to presence with the token, as the game does, and returns the answer.
func (w *wii) present(d *rig.Running) (*gpcm.Client, string) {
	w.t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(w.t), d.Address["gpcm"].String())
	rig.Must(w.t, err)
	c, err := gpcm.Connect(rig.Wait(w.t), conn)
	rig.Must(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	const own = "abcdefghijklmnopqrstuvwxyz012345"
	secret := md5hex(w.chal)
	proof := func(first, second string) string {
		return md5hex(secret + strings.Repeat(" ", 48) + w.token + first + second + secret)
	}
	rig.Must(w.t, c.Send("login", "", "challenge", own, "authtoken", w.token, "partnerid", "11", "response", proof(own, c.Challenge),
		"firewall", "1", "port", "0", "productid", "11059", "gamename", kartGame, "namespaceid", "16", "sdkrevision", "3", "id", "1"))
	m, err := c.Next(rig.Wait(w.t))
	for err == nil && (strings.HasPrefix(m, `\bdy\`) || strings.HasPrefix(m, `\blk\`)) {
		m, err = c.Next(rig.Wait(w.t))
	}
	rig.Must(w.t, err)
	if strings.HasPrefix(m, `\lc\2\`) && rig.Field(m, "proof") != proof(c.Challenge, own) {
		w.t.Errorf("the service does not prove that it knows the challenge: %q", m)
	}
	c.Session, c.Profile, c.Ticket = rig.Field(m, "sesskey"), rig.Field(m, "profileid"), rig.Field(m, "lt")
	return c, m
}

// profile signs in at /ac and to presence and returns the number of the profile.
func (w *wii) profile() string {
	w.t.Helper()
	w.signIn()
	c, m := w.present(w.d)
	if c.Profile == "" || rig.Field(m, "uniquenick") == "" || strings.HasPrefix(rig.Field(m, "uniquenick"), "@") {
		w.t.Fatalf("login with the token: %q", m)
	}
	rig.Must(w.t, c.Close())
	return c.Profile
}

// kartStats proves the player to the statistics with its token.
func (w *wii) kartStats(d *rig.Running) (*gstats.Client, storage.ProfileID) {
	w.t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(w.t), d.Address["gstats"].String())
	rig.Must(w.t, err)
	c, err := gstats.Connect(rig.Wait(w.t), conn)
	rig.Must(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	rig.Must(w.t, c.Authenticate(rig.Wait(w.t), kartGame, kartSecret))
	id, err := c.AuthenticateToken(rig.Wait(w.t), w.token, w.chal)
	rig.Must(w.t, err)
	return c, id
}

// TestConsole takes a console through everything that a game of it asks for:
// connection test, sign-in, presence, statistics, records, web services, files.
func TestConsole(t *testing.T) {
	t.Parallel()
	rig.Quick(t)
	playConsole(t)
}

// TestConsoleOnPostgres is TestConsole on a database.
func TestConsoleOnPostgres(t *testing.T) {
	t.Parallel()
	playConsole(t, rig.OnPostgres(pgtest.Database(t))...)
}

func playConsole(t *testing.T, more ...string) {
	t.Helper()
	shelf := t.TempDir()
	rig.Must(t, os.Mkdir(filepath.Join(shelf, kartCode), 0o700))
	rig.Must(t, os.WriteFile(filepath.Join(shelf, kartCode, "ghost.bin"), []byte("ghost"), 0o600))
	dir := t.TempDir()
	more = append(more, rig.Variable("webservices.nas_downloads", shelf))
	d := rig.Start(t, dir, more...)

	w := unpack(t, d)
	w.signIn()
	c, m := w.present(d)
	if !strings.HasPrefix(m, `\lc\2\`) || c.Profile == "" || c.Ticket == "" {
		t.Fatalf("login with the token: %q", m)
	}
	// Games keep the user id in the last name, and read it back.
	rig.Must(t, c.Send("updatepro", "", "sesskey", c.Session, "lastname", "0123456789RMCJ"))
	if own, err := c.ReadProfile(rig.Wait(t), c.Profile); err != nil || rig.Field(own, "lastname") != "0123456789RMCJ" {
		t.Errorf("own profile: %q, %v", own, err)
	}

	stats, id := w.kartStats(d)
	if fmt.Sprint(id) != c.Profile {
		t.Errorf("profile %d to the statistics, %s to presence", id, c.Profile)
	}
	_, err := stats.Set(rig.Wait(t), id, 3, 0, true, []byte("\\vr\\5000\x00"))
	rig.Must(t, err)
	if data, _, err := stats.Get(rig.Wait(t), id, 3, 0); err != nil || !strings.Contains(string(data), `\vr\5000`) {
		t.Errorf("data of the player: %q, %v", data, err)
	}

	records := webservices.Storage{
		Client: webservices.Client{Address: w.Address, Host: kartGame + ".sake.gs.nintendowifi.net"}, Secret: kartSecret, Ticket: c.Ticket,
	}
	_, err = records.Create(rig.Wait(t), "ghosts", sakeField(t, "course", storage.SakeInt, "8"))
	rig.Must(t, err)
	game := webservices.Client{Address: w.Address, Host: kartGame + ".auth.pubsvs.gs.nintendowifi.net"}
	rig.Must(t, game.SignInWithToken(rig.Wait(t), w.token, w.chal))

	w.downloads()
	w.standing()

	// The profile belongs to the user id, the game and the console, also after a restart.
	profile := c.Profile
	if again := w.profile(); again != profile {
		t.Errorf("profile %s at the second sign-in, %s at the first", again, profile)
	}
	d.Stop()
	d = rig.Start(t, dir, more...)
	w.d, w.Address = d, d.Address["webservices"].String()
	if _, m := w.present(d); len(more) == 1 && !strings.HasPrefix(m, `\error\\err\266\`) {
		t.Errorf("a token from before the restart: %q", m) // without a cluster it is gone
	}
	if again := w.profile(); again != profile {
		t.Errorf("profile %s after a restart, %s before", again, profile)
	}
	w.ban(profile)
	d.Stop()
}

// downloads looks for files and downloads one.
func (w *wii) downloads() {
	t := w.t
	t.Helper()
	for _, tt := range []struct {
		action, contents, want string
		status                 int
	}{
		{"count", "", "1", 200},
		{"list", "", "ghost.bin\t\t\t\t\t5\r\n", 200},
		{"contents", "ghost.bin", "ghost", 200},
		{"contents", "../account.key", "", 404},
	} {
		f := nas.Form{{Name: "action", Value: []byte(tt.action)}, {Name: "rhgamecd", Value: []byte(kartCode)}, {Name: "contents", Value: []byte(tt.contents)}}
		got, err := w.Post(rig.Wait(t), "dls1", "/download", f)
		if err != nil || got.Status != tt.status || tt.status == 200 && string(got.Body) != tt.want {
			t.Errorf("%s %s: %d %q, %v, want %d %q", tt.action, tt.contents, got.Status, got.Body, err, tt.status, tt.want)
		}
	}
}

// standing checks the game and the console on the pages.
func (w *wii) standing() {
	t, d := w.t, w.d
	t.Helper()
	if code, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/games/"+kartGame, ""); code != http.StatusOK || !strings.Contains(body, `"state":"patched"`) || !strings.Contains(body, "patch") {
		t.Errorf("the game as JSON: %d %s", code, body)
	}
	out := d.Cli("doctor", "127.0.0.1")
	rig.WantIn(t, out, "connection tested", "account made", "console signed in", "Wii, game "+kartCode)
	rig.WantIn(t, d.Cli("hosts", "--game", kartGame, "--ip", "192.0.2.7"), "192.0.2.7 conntest.nintendowifi.net\n", "192.0.2.7 naswii.nintendowifi.net\n")
}

// ban bans the account: its session ends and the console is refused, until the ban is lifted.
func (w *wii) ban(profile string) {
	t, d := w.t, w.d
	t.Helper()
	email, ok := (&nas.ConsoleConfig{NASHardware: true}).AccountOf(w.login)
	if !ok {
		t.Fatal("no account")
	}
	w.signIn()
	c, _ := w.present(d)
	d.Cli("account", "ban", email, "--reason", "cheats")
	for {
		m, err := c.Next(rig.Wait(t))
		if err != nil {
			break // the session has ended
		}
		if !strings.HasPrefix(m, `\error\`) && !strings.HasPrefix(m, `\ka\`) && !strings.HasPrefix(m, `\bm\`) {
			t.Errorf("after the ban: %q", m)
		}
	}
	if code := w.code(); code != "3914" {
		t.Errorf("code %s for a banned console", code)
	}
	if _, m := w.present(d); !strings.HasPrefix(m, `\error\`) {
		t.Errorf("the token of a banned console: %q", m)
	}
	d.Cli("account", "unban", email)
	if again := w.profile(); again != profile {
		t.Errorf("profile %s after the ban, %s before", again, profile)
	}
	other := *w
	other.login = append(nas.Form{{Name: "macadr", Value: []byte("0017ab999999")}}, w.login...)
	if stranger := other.profile(); stranger == profile {
		t.Error("another console with the user id gets the profile")
	}
}

// TestConsolePolicy keeps new consoles out by configuration, and has none of it when it is
// switched off.
func TestConsolePolicy(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("webservices.nas_new_consoles", "false"))
	if code := unpack(t, d).code(); code != "3914" {
		t.Errorf("code %s for a new console", code)
	}
	rig.WantIn(t, d.Cli("doctor", "127.0.0.1"), "new console refused", "webservices.nas_new_consoles")
	d.Stop()
	d = rig.Start(t, t.TempDir(), rig.Variable("webservices.nas", "false"))
	c := nas.Client{Address: d.Address["webservices"].String()}
	if page, err := c.Get(rig.Wait(t), "conntest", "/"); err != nil || page.Status != http.StatusNotFound {
		t.Errorf("connection test: %+v, %v", page, err)
	}
	if _, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/games/"+kartGame, ""); !strings.Contains(body, `"state":"off"`) {
		t.Errorf("the game as JSON: %s", body)
	}
	if out := d.Cli("hosts", "--game", kartGame, "--ip", "192.0.2.7"); strings.Contains(out, "192.0.2.7 nas.nintendowifi.net") {
		t.Errorf("hosts lines:\n%s", out)
	}
	d.Stop()
}

// TestConsoleOfTwoNodes signs in at /ac of one node and to presence and statistics of
// the other.
func TestConsoleOfTwoNodes(t *testing.T) {
	t.Parallel()
	town := rig.NewTown(t)
	a, b := &town.A.Running, &town.B.Running
	w := unpack(t, a)
	w.signIn()
	c, m := w.present(b)
	if !strings.HasPrefix(m, `\lc\2\`) {
		t.Fatalf("login with the token of the other node: %q", m)
	}
	if _, id := w.kartStats(b); fmt.Sprint(id) != c.Profile {
		t.Errorf("profile %d to the statistics, %s to presence", id, c.Profile)
	}
	w.Address = b.Address["webservices"].String()
	w.d = a
	if again := w.profile(); again != c.Profile {
		t.Errorf("profile %s on the other node, want %s", again, c.Profile)
	}
	town.A.Stop()
	town.B.Stop()
}
