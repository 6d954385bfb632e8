package games

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/cdkey"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/theater"
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/webservices/auth"
)

// newFile is a file that reports its first bytes.
type newFile struct {
	text  bytes.Buffer // not embedded: its ReadFrom would be used
	once  sync.Once
	begun chan struct{}
}

func (f *newFile) Write(p []byte) (int, error) {
	f.once.Do(func() { close(f.begun) })
	return f.text.Write(p)
}

// recordHere records this machine and returns what ends the recording and stores it.
func recordHere(t *testing.T, d *rig.Running, dir string) (stop func() (path string)) {
	t.Helper()
	token, err := admin.ReadToken(filepath.Join(dir, admin.TokenFile))
	rig.Must(t, err)
	c, err := admin.NewClient(d.Address["admin"].String(), token)
	rig.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	file, done := newFile{begun: make(chan struct{})}, make(chan error, 1)
	in := operator.NewRecording{Game: rig.TestGame, Address: d.Address["admin"].Addr(), Until: time.Now().Add(rig.Hang)}
	go func() {
		_, err := operator.Record.Call(ctx, c, in, &file)
		done <- err
	}()
	select {
	case <-file.begun:
	case err := <-done:
		t.Fatal(err)
	}
	return func() string {
		cancel()
		t.Log("cut off, as by Ctrl-C:", <-done)
		return rig.WriteFile(t, "recording.jsonl", file.text.String())
	}
}

// play uses services as a game does, with the password of the storm.
func play(t *testing.T, d *rig.Running, dir string) {
	t.Helper()
	rig.Register(t, d, "hostname", "Recorded", "AdminEMail", "host@example.com")
	rig.Browse(t, d).MustAsk(serverbrowse.PushUpdates, "", `\hostname`)
	if rig.NewUser(rig.Wait(t), d.Address["gpsp"], "recorded") == "" {
		t.Fatal("no account")
	}
	p, err := rig.Enter(rig.Wait(t), d.Address["gpcm"], "recorded")
	rig.Must(t, err)
	rig.Must(t, p.CarriesOut(`\updateui\\sesskey\$K\email\other@example.com`))
	rig.Must(t, p.Close())
	x := rig.ChatConn(t, d)
	x.Must(x.Encrypt(rig.Wait(t), rig.TestGame, rig.TestSecret))
	x.Must(x.LogIn(rig.Wait(t), 1, "recorded", rig.StormPassword))
	x.Must(x.SignOn(rig.Wait(t), "recorded"))
	_, err = x.Join(rig.Wait(t), "#GSP!"+rig.TestGame, "")
	x.Must(err)
	x.Must(x.Say("#GSP!"+rig.TestGame, "my password is "+rig.StormPassword))
	x.Must(x.Close())
	key, err := auth.ReadKey(filepath.Join(dir, auth.KeyName))
	rig.Must(t, err)
	web := webservices.Client{Address: d.Address["webservices"].String(), Host: "gmtest.auth.pubsvs.gamespy.com"}
	_, _, err = web.SignIn(t.Context(), key.Public(), "recorded", rig.StormPassword)
	rig.Must(t, err)
	c, err := cdkey.Dial(t.Context(), d.Address["cdkey"].String())
	rig.Must(t, err)
	rig.Must(t, c.Auth(462, "KEY-OF-A-PLAYER", time.Now().Add(rig.Hang)))
	rig.Must(t, c.Close())
	stats, err := gstats.Connect(rig.Wait(t), dial(t, d, "gstats"))
	rig.Must(t, err)
	rig.Must(t, stats.Authenticate(rig.Wait(t), rig.TestGame, rig.TestSecret))
	rig.Must(t, stats.Close())
}

func dial(t *testing.T, d *rig.Running, service string) net.Conn {
	t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(t), d.Address[service].String())
	rig.Must(t, err)
	return conn
}

// playEA signs in and hosts a game as those of EA do, and returns what must stay secret.
func playEA(t *testing.T, d *rig.Running) (secrets []string) {
	t.Helper()
	game := fesl.NewClient(dial(t, d, "fesl"))
	_, err := game.Hello(rig.Wait(t), "mercs2-pc")
	rig.Must(t, err)
	rig.Must(t, game.Register(rig.Wait(t), "ea@example.com", rig.StormPassword, "Recorded2"))
	ticket, err := game.Play(rig.Wait(t), "ea@example.com", rig.StormPassword, "Recorded2")
	rig.Must(t, err)
	list := theater.NewClient(dial(t, d, "theater"))
	_, err = list.Hello(rig.Wait(t), "mercs2-pc")
	rig.Must(t, err)
	rig.Must(t, list.Enter(rig.Wait(t), ticket.Key))
	_, err = list.Host(rig.Wait(t), "Recorded", 3000, 2)
	rig.Must(t, err)
	rig.Must(t, list.Close())
	rig.Must(t, game.Close())
	return []string{ticket.Key, ticket.Value, ticket.Challenge}
}

// trialGames returns a game for each service that trial games of the catalogue play, and these
// services.
func trialGames(t *testing.T) (list, played []string) {
	t.Helper()
	layers, err := operator.BuiltIn().Layers()
	rig.Must(t, err)
	all := slices.Concat(layers...)
	for _, e := range daemon.List(&services.Config{}) {
		i := slices.IndexFunc(all, func(g games.Game) bool { return slices.Contains(g.Needs, games.Service(e.Name)) })
		if len(e.Plays) > 0 && i >= 0 {
			list, played = append(list, all[i].Name), append(played, e.Name)
		}
	}
	if len(played) < 14 {
		t.Errorf("trial games play %q", played)
	}
	slices.Sort(list)
	return slices.Compact(list), played
}

// address matches an e-mail address.
var address = regexp.MustCompile(`\w@\w+\.\w`)

// No secret of a player is in a recording, and the daemon answers a replay as it did.
func TestRecordingHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	stop := recordHere(t, d, dir)
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"record", rig.TestGame, "127.0.0.2", "--file", filepath.Join(t.TempDir(), "x")}, "another recording")
	play(t, d, dir)
	secrets := append(playEA(t, d), "KEY-OF-A-PLAYER", cdkey.HashOf("KEY-OF-A-PLAYER"))
	env := rig.TestEnv(t.TempDir())
	for service, at := range d.Address {
		env = append(env, rig.Variable(service+".listen", at.String()))
	}
	list, played := trialGames(t)
	for _, game := range append(list, rig.TestGame) {
		_, out, _ := rig.Command(t, env, "point", "test", game, "--to", "127.0.0.1", "--no-names")
		if strings.Contains(out, "refused") || strings.Contains(out, "no answer") {
			t.Errorf("point test %s:\n%s", game, out)
		}
	}
	path := stop()
	rig.WantNoPassword(t, filepath.Dir(path))
	text := rig.ReadFile(t, path)
	for what, bad := range map[string]bool{
		"an e-mail address": address.MatchString(text), "the whole address": strings.Contains(text, "127.0.0.1"),
	} {
		if bad {
			t.Errorf("the recording holds %s:\n%s", what, text)
		}
	}
	log := d.Log.String() // at level trace; rig searches it for the password
	for _, s := range secrets {
		if len(s) < 8 || strings.Contains(text, s) || strings.Contains(log, s) {
			t.Errorf("the recording or the log holds %q:\n%s\n%s", s, text, log)
		}
	}
	if found := address.FindString(log); found != "" {
		t.Errorf("the log holds an e-mail address: %q", found)
	}
	if *update {
		updateRecordings(t, text)
	}
	_, events, err := dialogue.Read(strings.NewReader(text))
	rig.Must(t, err)
	for _, service := range append(played, "cdkey") {
		if !slices.ContainsFunc(events, func(e dialogue.Event) bool { return e.Service == service && len(e.Data) > 0 }) {
			t.Errorf("nothing of %s was recorded", service)
		}
	}
	rig.WantIn(t, d.Cli("replay", path), "0 differ")
	rig.WantIn(t, d.Cli("audit", "--json"), `"action":"record","subject":"127.0.0.1"`)
	d.Stop()
}
