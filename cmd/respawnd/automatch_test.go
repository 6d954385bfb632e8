package main

import (
	"testing"

	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/qr2"
)

// Automatic matches of a game are servers under another name, its own with "am" behind
// it, which is a game of the catalogue with a list and a key of its own.
func TestAutoMatchNames(t *testing.T) {
	t.Parallel()
	const name = testGame + "am"
	d := start(t, t.TempDir())
	d.cli("game", "add", name, "--secret", testSecret)
	h := newHost(t, d.address["qr2"], "hostname", "Match")
	h.Game = name
	instance := h.Instance
	h.Instance = 0 // the answer has the bits of the disabled services in its place
	h.raw(append([]byte{byte(qr2.KindAvailable), 0, 0, 0, 0}, name+"\x00"...))
	if kind, body := h.read(); kind != qr2.KindAvailable || len(body) != 0 {
		t.Errorf("availability of %s: kind %d, %q", name, kind, body)
	}
	h.Instance = instance
	h.register()
	list := func(game string) int {
		b := browse(t, d)
		r := serverbrowse.NewRequest(game, "", `\hostname`, 0)
		r.From, r.Challenge = testGame, b.challenge
		msg, err := r.AppendTo(nil)
		b.must(err)
		b.write(msg)
		return len(b.reply(0).Entries)
	}
	if n := list(name); n != 1 {
		t.Errorf("the list of %s has %d servers, want 1", name, n)
	}
	if n := list(testGame); n != 0 {
		t.Errorf("the list of %s has %d servers, want none", testGame, n)
	}
	d.stop()
}
