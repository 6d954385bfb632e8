package gpcm

import (
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
)

func TestFlightLimits(t *testing.T) {
	event := presence.Message{Text: strings.Repeat("x", 1000)}
	for name, tc := range map[string]struct {
		event presence.Event
		most  int
	}{
		"events": {presence.StatusChanged{}, maxFlight},
		"weight": {event, (maxFlightWeight + item{event: event}.weight() - 1) / item{event: event}.weight()},
	} {
		var f flight
		n := 0
		for ; !f.full() && n <= maxFlight; n++ {
			f.add(tc.event, 0, uint64(n), time.Unix(0, 0))
		}
		if n != tc.most {
			t.Errorf("%s: full with %d events, want %d", name, n, tc.most)
		}
	}
}

func TestStatusLimits(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.pair()
	for n, letter := range map[int]string{maxStatusText: "Z", maxStatusText + 1: "Q"} {
		text := strings.Repeat(letter, n)
		ann.send(`\status\%d\sesskey\$K\statstring\%s\locstring\%s\final\`, maxState, text, text)
		m := ben.want(`\bm\100\`)
		if got := strings.Count(m, letter); got != 2*maxStatusText {
			t.Errorf("two texts of %d bytes arrive with %d bytes, want %d", n, got, 2*maxStatusText)
		}
	}
	ann.send(`\status\%d\sesskey\$K\statstring\x\locstring\x\final\`, maxState+1)
	ann.wantError(codeStatus)
}
