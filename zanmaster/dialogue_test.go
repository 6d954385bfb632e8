package zanmaster

import (
	"testing"

	"github.com/respawnd/respawnd/internal/zandronum"
)

// A recorded message is that of the datagram, and can be sent again.
func TestRecordingsAreDecoded(t *testing.T) {
	message, p := string(zandronum.AppendListRequest(nil, 2)), dialogueOf()
	for _, datagram := range [][]byte{zandronum.Encode(nil, []byte(message)), p.Wire([]byte(message)), append([]byte{0xFF}, message...)} {
		if got := string(p.Plain(datagram)); got != message {
			t.Errorf("%x is %q, want %q", datagram, got, message)
		}
	}
	if got := p.Plain([]byte{1}); len(got) != 0 {
		t.Errorf("a byte is %q", got)
	}
}
