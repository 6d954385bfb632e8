package qr2

import (
	"fmt"
	"testing"
)

func TestFurtherFieldsBounds(t *testing.T) {
	packet := []byte(`\heartbeat\26900\gamename\gmtest`)
	for i := range maxExtra {
		packet = fmt.Appendf(packet, `\k%d\v`, i)
	}
	if got := len(furtherFields(packet)); got != maxExtra {
		t.Errorf("%d further fields, want %d: the name of the game is one", got, maxExtra)
	}
	if got := len(furtherFields([]byte(`\heartbeat\26900\k\v`))); got != 1 {
		t.Errorf("%d further fields, want 1", got)
	}
}
