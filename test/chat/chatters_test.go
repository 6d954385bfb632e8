package chat

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/peerchat"
	"github.com/respawnd/respawnd/test/rig"
)

// chatGame signs a game on, enciphered. With a unique nick its player logs in and
// has the nick that belongs to it.
func chatGame(t testing.TB, d *rig.Running, nick, uniqueNick string) *rig.Chatter {
	t.Helper()
	x := rig.ChatConn(t, d)
	x.Must(x.Encrypt(rig.Wait(t), rig.TestGame, rig.TestSecret))
	if uniqueNick != "" {
		x.Must(x.LogIn(rig.Wait(t), 1, uniqueNick, rig.StormPassword))
	}
	x.Must(x.SignOn(rig.Wait(t), nick))
	return x
}

// stagingName returns the name that a game's host gives its staging room.
func stagingName(x *rig.Chatter, private netip.AddrPort) string {
	return peerchat.StagingName(rig.TestGame, x.Address, private.Addr(), private.Port())
}
