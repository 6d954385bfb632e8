package nwmaster

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/nwn"
)

// No hash of a password and no key is left, and questions stay as they are.
func TestRecordingsHoldNoHashes(t *testing.T) {
	const secret = "0123456789abcdef"
	keys := nwn.KeyCheck{Player: netip.MustParseAddrPort("192.0.2.1:5121"), Keys: []nwn.Key{{Public: []byte(secret), Hash: []byte(secret)}}, Account: []byte("Ann")}
	account := nwn.AccountCheck{Account: []byte("Ann"), Hash: []byte(secret)}.AppendTo(nil)
	for _, b := range [][]byte{
		account, account[:len(account)-5], keys.AppendTo(nil), keys.AppendKeysAnswer(nil, nwn.Good), []byte("BMCA\x00\x00" + secret), []byte("BMBI" + secret),
		[]byte("BMXX" + secret),
	} {
		before := bytes.Clone(b)
		if dialogueOf().Blot(b); bytes.Contains(b, []byte(secret[:8])) {
			t.Errorf("%q becomes %q", before, b)
		}
	}
	b := nwn.AppendMotd(nil, 5121)
	if dialogueOf().Blot(b); !bytes.Equal(b, nwn.AppendMotd(nil, 5121)) {
		t.Errorf("a question becomes %q", b)
	}
}
