package gstats

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

func TestReports(t *testing.T) {
	t.Parallel()
	const offline = `\challenge\955478497` // of match 7
	for name, tt := range map[string]struct {
		sent []string // KEY stands for the session key
		want []stats.Snapshot
		drop ended
	}{
		"update without newgame":  {[]string{`\updgame\\sesskey\7\connid\KEY\done\1\gamedata\` + "\x01a\x01b"}, []stats.Snapshot{{Session: 7, Done: true, Trusted: true, Pairs: pairsOf("a", "b")}}, ended{}},
		"old client":              {[]string{`\newgame\\sesskey\7`, `\updgame\\sesskey\7\done\0\gamedata\` + "\x01a\x01"}, []stats.Snapshot{{Session: 7, Begin: true, Trusted: true}, {Session: 7, Trusted: true, Pairs: pairsOf("a", "")}}, ended{}},
		"connection 0":            {[]string{`\updgame\\sesskey\7\connid\0\done\1\gamedata\`}, []stats.Snapshot{{Session: 7, Done: true}}, ended{}},
		"from disk":               {[]string{`\updgame\\sesskey\7\connid\KEY\done\1\gamedata\` + "\x01a\x01b" + `\dl\1`}, []stats.Snapshot{{Session: 7, Done: true, Pairs: pairsOf("a", "b")}}, ended{}},
		"offline":                 {[]string{`\newgame\\sesskey\7` + offline, `\updgame\\sesskey\7\done\1\gamedata\`}, []stats.Snapshot{{Session: 7, Begin: true}, {Session: 7, Done: true}}, ended{}},
		"offline, another answer": {[]string{`\newgame\\sesskey\8` + offline}, nil, droppedValue},
		"offline, then online":    {[]string{`\newgame\\sesskey\7` + offline, `\newgame\\connid\KEY\sesskey\7`, `\updgame\\sesskey\7\connid\KEY\done\0\gamedata\`}, []stats.Snapshot{{Session: 7, Begin: true}, {Session: 7, Begin: true, Trusted: true}, {Session: 7, Trusted: true}}, ended{}},
		"another connection":      {[]string{`\updgame\\sesskey\7\connid\5\done\1\gamedata\`}, nil, droppedConnID},
		"begun on another":        {[]string{`\newgame\\sesskey\7\connid\5`}, nil, droppedConnID},
		"no session":              {[]string{`\updgame\\connid\KEY\done\1\gamedata\`}, nil, droppedValue},
		"session of no number":    {[]string{`\newgame\\connid\KEY\sesskey\x`}, nil, droppedValue},
		"unsigned session":        {[]string{`\newgame\\connid\KEY\sesskey\4294967295`}, []stats.Snapshot{{Session: -1, Begin: true, Trusted: true}}, ended{}},
		"no data":                 {[]string{`\updgame\\sesskey\7\connid\KEY\done\1`}, []stats.Snapshot{{Session: 7, Done: true, Trusted: true}}, ended{}},
		"half a pair":             {[]string{`\updgame\\sesskey\7\connid\KEY\done\1\gamedata\` + "\x01a\x01b\x01c"}, []stats.Snapshot{{Session: 7, Done: true, Trusted: true, Pairs: pairsOf("a", "b", "c", "")}}, ended{}},
		"empty values":            {[]string{`\updgame\\sesskey\7\connid\KEY\done\0\gamedata\` + "\x01a\x01\x01c\x01d"}, []stats.Snapshot{{Session: 7, Trusted: true, Pairs: pairsOf("a", "", "c", "d")}}, ended{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, nil)
			c := f.game()
			for _, body := range tt.sent {
				c.send(strings.ReplaceAll(body, "KEY", fmt.Sprint(c.Key)))
			}
			c.want(`\ka\`, `\ka\`)
			compareReports(t, f.book.reported(), tt.want)
			if tt.drop != (ended{}) && f.dropped(tt.drop) != 1 {
				t.Errorf("not counted as %q", tt.drop.Error())
			}
		})
	}
}

func TestProofsOfReports(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.book.ask = []storage.ProfileID{1, 2, 3, 4, firstPlayer}
	c := f.player()
	right, offline := Proof(testPassword, c.Challenge), Proof(testPassword, PlayerChallenge(9))
	pairs := func(first string) []string {
		return []string{"pid_0", "1", "auth_0", first, "pid_1", "2", "auth_1", "wrong", "pid_2", "3", "auth_3", first, "auth_4", first}
	}
	if err := errors.Join(c.Report(9, false, pairs(right)...), c.Report(9, false, pairs(offline)...)); err != nil {
		t.Fatal(err)
	}
	c.send(`\updgame\\sesskey\9\connid\0\done\1\gamedata\` + "\x01pid_0\x011\x01auth_0\x01" + offline)
	c.want(`\ka\`, `\ka\`)
	for i, want := range [][]storage.ProfileID{{1, firstPlayer}, {firstPlayer}, {1, firstPlayer}} {
		if got := f.book.proved[i]; !slices.Equal(got, want) {
			t.Errorf("report %d proves the players %v, want %v", i, got, want)
		}
	}
}

func TestReportLimits(t *testing.T) {
	t.Parallel()
	t.Run("connection", func(t *testing.T) {
		t.Parallel()
		f := start(t, func(o *Options) { o.Reports = 3 })
		for range 2 {
			c := f.game()
			for i := range 5 {
				if err := c.Report(int32(i), true, "a", "b"); err != nil {
					t.Fatal(err)
				}
			}
			c.want(`\ka\`, `\ka\`)
		}
		if n := len(f.book.reported()); n != 6 || f.dropped(droppedRate) != 4 {
			t.Errorf("%d reports of two connections, want 3 of each", n)
		}
	})
	t.Run("address", func(t *testing.T) {
		t.Parallel()
		f := start(t, func(o *Options) { o.ReportsPerAddr = 4 })
		for range 3 {
			c := f.game()
			if err := errors.Join(c.Begin(1), c.Report(1, true, "a", "b")); err != nil {
				t.Fatal(err)
			}
			c.want(`\ka\`, `\ka\`)
		}
		if n := len(f.book.reported()); n != 4 || f.dropped(droppedRate) != 2 {
			t.Errorf("%d reports of an address, want 4", n)
		}
	})
	t.Run("pairs", func(t *testing.T) {
		t.Parallel()
		if n := len(parsePairs([]byte(strings.Repeat("\x01a\x01b", maxPairs+5)))); n != maxPairs {
			t.Errorf("%d pairs, want %d", n, maxPairs)
		}
	})
	t.Run("matches", func(t *testing.T) {
		t.Parallel()
		x := &session{}
		for i := range 3 * maxMatches {
			x.remember(match{session: int32(i)})
		}
		x.remember(match{session: 3*maxMatches - 1, offline: true})
		if len(x.matches) != maxMatches || !x.matches[maxMatches-1].offline || x.matchOf(0) >= 0 {
			t.Errorf("%d matches are remembered, want %d", len(x.matches), maxMatches)
		}
	})
}
