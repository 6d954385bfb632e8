package lists

import (
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/test/rig"
)

// Packets from other ports of its address, whose challenges stay unanswered, must
// not keep a new server off the list.
func TestForgedPacketsDoNotBlockNewServers(t *testing.T) {
	t.Parallel()
	const forged = 150 // more than unproved_burst
	d := rig.Start(t, t.TempDir())
	for range forged {
		rig.NewHost(t, d.Address["qr2"]).MustHeartbeat("3")
	}
	rig.NewHost(t, d.Address["qr2"]).MustRegister()

	for i := range forged {
		rig.NewHost(t, d.Address["zanmaster"]).Raw(zanChallenge(fmt.Sprintf("%032x", i)))
	}
	g := rig.NewHost(t, d.Address["zanmaster"])
	g.Raw(zanChallenge(rig.ZanString))
	p, _ := g.Packet()
	v, ok := zandronum.ParseVerificationRequest(zandronum.Decode(nil, p, 1<<11))
	if !ok {
		t.Fatalf("server got %x, want a verification", p)
	}
	g.Raw(zandronum.Encode(nil, zandronum.AppendVerification(nil, v)))
	d.WaitFor("the registration", 0, rig.VerdictOn(g.Address(), "listed"))
	d.Stop()
}

func zanChallenge(verification string) []byte {
	return zandronum.Encode(nil, zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: []byte(verification), Complete: true, Enforces: true, Revision: rig.ZanRevision,
	}))
}
