package idmaster

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/idtech4"
)

// No key of a player and no name that is made from it is left, and lists stay as they are.
func TestRecordingsHoldNoKeys(t *testing.T) {
	const key, guid = "DOOMDOOMDOOM", "abcdefghijk"
	at := netip.MustParseAddrPort("192.0.2.1:27666")
	keys := idtech4.Keys{Server: at, Key: []byte(key), XP: []byte(key)}
	game := keys
	game.Game = true
	blotted := func(b []byte) []byte { dialogueOf().Blot(b); return b }
	for _, b := range [][]byte{
		keys.AppendTo(nil), game.AppendTo(nil), game.AppendTo(nil)[:30], idtech4.AppendAuthKey(nil, guid), idtech4.Check{Player: at, GUID: []byte(guid)}.AppendTo(nil),
		idtech4.Verdict{Reply: idtech4.Denied, Player: at, GUID: []byte(guid)}.AppendTo(nil), []byte("\xff\xffnewWord\x00" + key), []byte(key),
	} {
		before := bytes.Clone(b)
		if b := blotted(b); bytes.Contains(b, []byte(key[:6])) || bytes.Contains(b, []byte(guid)) || bytes.Equal(b, before) {
			t.Errorf("%q becomes %q", before, b)
		}
	}
	if b := idtech4.AppendHeartbeat(nil); !bytes.Equal(blotted(bytes.Clone(b)), b) {
		t.Error("a heartbeat is overwritten")
	}
}
