package stats

import (
	"fmt"
	"testing"
)

func TestNumberLimit(t *testing.T) {
	m := Decode([]Pair{{Key: fmt.Sprint("kills_", maxNumber), Value: "1"}, {Key: fmt.Sprint("kills_", maxNumber+1), Value: "2"}})
	if len(m.Players) != 1 || m.Players[0].Number != maxNumber || len(m.Server) != 1 || m.Server[0].Value != "2" {
		t.Errorf("Decode: %+v, want player %d, and the other key with the server", m, maxNumber)
	}
}
