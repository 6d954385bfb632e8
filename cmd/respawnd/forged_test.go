package main

import (
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/internal/zandronum"
)

// Packets from other ports of its address, whose challenges stay unanswered, must
// not keep a new server off the list.
func TestForgedPacketsDoNotBlockNewServers(t *testing.T) {
	t.Parallel()
	const forged = 150 // more than unproved_burst
	d := start(t, t.TempDir())
	for range forged {
		newHost(t, d.address["qr2"]).heartbeat("3")
	}
	newHost(t, d.address["qr2"]).register()

	for i := range forged {
		newHost(t, d.address["zanmaster"]).raw(zanChallenge(fmt.Sprintf("%032x", i)))
	}
	g := newHost(t, d.address["zanmaster"])
	g.raw(zanChallenge(zanString))
	p, _ := g.packet()
	v, ok := zandronum.ParseVerificationRequest(zandronum.Decode(nil, p, 1<<11))
	if !ok {
		t.Fatalf("server got %x, want a verification", p)
	}
	g.raw(zandronum.Encode(nil, zandronum.AppendVerification(nil, v)))
	d.waitFor("the registration", 0, verdictOn(g.address(), "listed"))
	d.stop()
}

func zanChallenge(verification string) []byte {
	return zandronum.Encode(nil, zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: []byte(verification), Complete: true, Enforces: true, Revision: zanRevision,
	}))
}
