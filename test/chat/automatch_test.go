package chat

import (
	"testing"

	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

// Automatic matches of a game are servers under another name, its own with "am" behind
// it, which is a game of the catalogue with a list and a key of its own.
func TestAutoMatchNames(t *testing.T) {
	t.Parallel()
	const name = rig.TestGame + "am"
	d := rig.Start(t, t.TempDir())
	d.Cli("game", "add", name, "--secret", rig.TestSecret)
	h := rig.NewHost(t, d.Address["qr2"], "hostname", "Match")
	h.Game = name
	instance := h.Instance
	h.Instance = 0 // the answer has the bits of the disabled services in its place
	h.Raw(append([]byte{byte(qr2.KindAvailable), 0, 0, 0, 0}, name+"\x00"...))
	if kind, body := h.Read(); kind != qr2.KindAvailable || len(body) != 0 {
		t.Errorf("availability of %s: kind %d, %q", name, kind, body)
	}
	h.Instance = instance
	h.MustRegister()
	list := func(game string) int {
		b := rig.Browse(t, d)
		r := serverbrowse.NewRequest(game, "", `\hostname`, 0)
		r.From, r.Challenge = rig.TestGame, b.Challenge
		msg, err := r.AppendTo(nil)
		b.Must(err)
		b.Write(msg)
		return len(b.MustReply(0).Entries)
	}
	if n := list(name); n != 1 {
		t.Errorf("the list of %s has %d servers, want 1", name, n)
	}
	if n := list(rig.TestGame); n != 0 {
		t.Errorf("the list of %s has %d servers, want none", rig.TestGame, n)
	}
	d.Stop()
}
