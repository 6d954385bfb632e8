package query

import (
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// farCry is an answer that gamedig reads.
const farCry = "45594531076661726372790634393030310854657374204643044646410e6d705f6d616e676f726976657204312e34023002310331360b70756e6b6275737465720230011906416c696365033132033530"

func TestParseASE(t *testing.T) {
	packet, err := hex.DecodeString(farCry)
	if err != nil {
		t.Fatal(err)
	}
	st, err := ParseASE(packet)
	const want = "[{gamename farcry} {hostport 49001} {hostname Test FC} {gametype FFA} {mapname mp_mangoriver} {gamever 1.4} {password 0} {numplayers 1} {maxplayers 16} {punkbuster 0}]" +
		" {[player_ score_ ping_] [[Alice 12 50]]}"
	if got := fmt.Sprint(st.Rules, st.Players); got != want || err != nil {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if st, err := ParseASE(packet[:len(packet)-1]); err != nil || len(st.Rules) != 10 || len(st.Players.Rows) != 0 {
		t.Errorf("with a cut player: %+v, %v", st, err)
	}
	if _, err := ParseASE(packet[:40]); !errors.Is(err, errASE) {
		t.Errorf("with cut rules: %v", err)
	}
	if _, err := ParseASE([]byte("EYE2")); !errors.Is(err, ErrForeign) {
		t.Errorf("another answer: %v", err)
	}
}

func FuzzParseASE(f *testing.F) {
	packet, _ := hex.DecodeString(farCry)
	f.Add(packet)
	f.Add([]byte("EYE1"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		st, err := ParseASE(packet)
		if err != nil && !st.Empty() || len(st.Rules) > gamespy.MaxFields || len(st.Players.Rows) > MaxRows {
			t.Errorf("%+v, %v", st, err)
		}
	})
}
