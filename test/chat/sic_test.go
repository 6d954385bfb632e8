package chat

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/test/rig"
)

// sic is the running program.
type sic struct {
	t      *testing.T
	in     io.Writer
	screen *rig.Screen
	ended  chan struct{}
}

// startSic runs the program as a user with a nick.
func startSic(t *testing.T, d *rig.Running, nick string) *sic {
	t.Helper()
	at := d.Address["peerchat"]
	cmd := exec.CommandContext(t.Context(), rig.Program(t, "sic", "sic"), "-h", at.Addr().String(), "-p", fmt.Sprint(at.Port()), "-n", nick)
	s := &sic{t: t, screen: new(rig.Screen), ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = s.screen, s.screen
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if s.in = in; cmd.Start() != nil {
		t.Fatal("sic does not start")
	}
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // it complains that the service has ended the connection
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-s.ended })
	return s
}

// types enters a line.
func (s *sic) types(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatalf("%q: %v\n%s", line, err, s.screen)
	}
}

// shows waits until the program shows a text.
func (s *sic) shows(text string) {
	s.t.Helper()
	rig.Eventually(s.t, "the text "+text+" in sic", func() bool { return strings.Contains(s.screen.String(), text) })
}

// An IRC program for people sits in the title room of a game: it joins, talks with a
// game and leaves.
func TestSicTalksToAGame(t *testing.T) {
	rig.Program(t, "sic", "sic")
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	game := chatGame(t, d, "Gamer", "")
	game.MustJoin(lobbyTitle, "Gamer")
	s := startSic(t, d, "Visitor")
	s.shows("Welcome to the chat, Visitor")
	s.types(":j " + lobbyTitle)
	if l := game.Hears("JOIN", lobbyTitle); l.Nick() != "Visitor" {
		t.Errorf("joined by %v, want Visitor", l)
	}
	s.shows("Gamer Visitor")
	s.types("hello from a keyboard")
	if l := game.Hears("PRIVMSG", lobbyTitle); l.Nick() != "Visitor" || l.Param(1) != "hello from a keyboard" {
		t.Errorf("heard %v, want what the visitor typed", l)
	}
	game.Must(game.Say(lobbyTitle, "hello from a game"))
	s.shows("<Gamer> hello from a game")
	game.Must(game.Say("Visitor", "a word in private"))
	s.shows("<Gamer> a word in private")
	s.types(":m Gamer the same to you")
	if l := game.Hears("PRIVMSG", "Gamer"); l.Param(1) != "the same to you" {
		t.Errorf("heard %v in private", l)
	}
	s.types(":l " + lobbyTitle)
	if l := game.Hears("PART", lobbyTitle); l.Nick() != "Visitor" {
		t.Errorf("left by %v, want Visitor", l)
	}
	s.types(":QUIT :bye")
	s.shows("Closing Link")
	<-s.ended
	if j := game.MustJoin(lobbyTitle, "Gamer"); len(j.Members) != 1 {
		t.Errorf("members at the end: %q", j.Members)
	}
	d.Stop()
}
