package bfhq

import (
	"fmt"
	"testing"
)

// full returns a player in a list with all keys.
func full(pid, i int) testPlayer {
	p := soldier(pid, 10+i%50)
	add := func(format string, numbers []int) {
		for _, n := range numbers {
			p = append(p, fmt.Sprintf(format, n), fmt.Sprint(1+(i+n)%9))
		}
	}
	for _, group := range []string{"ta%d", "tw%d", "kw%d", "bw%d", "sw%d", "hw%d"} {
		add(group, ids(9))
	}
	for _, group := range []string{"tv%d", "kv%d", "bv%d", "kvr%d", "tk%d", "kk%d", "dk%d", "te%d", "ke%d", "be%d", "se%d", "he%d"} {
		add(group, ids(6))
	}
	for victim := range 60 {
		p = append(p, "mvns", fmt.Sprint(1000+(i+victim)%500), "mvks", fmt.Sprint(1+victim%4))
	}
	return append(p, "kills", "20", "deaths", "9", "ks", fmt.Sprint(i%9), "mvns", "2", "mvks", "500")
}

// BenchmarkPlayerPage answers the page of a player with 1,000 rounds.
func BenchmarkPlayerPage(b *testing.B) {
	w := newWorld(b, nil)
	for i := range 1000 {
		w.mustPost(snapshot(i, full(1, i)))
	}
	w.mustPost(snapshot(2000, full(1, 1), soldier(2, 5, "mvns", "1", "mvks", "7")))
	if got := w.info(1, "klpr") + w.info(1, "mvns") + w.info(1, "vmns"); got != "20.00AnnAnn" {
		b.Fatal(got)
	}
	for b.Loop() {
		if _, text := w.request(home, "GET", "/ASP/getplayerinfo.aspx?pid=1&info="+ownPage, ""); len(text) < 1000 {
			b.Fatal(text)
		}
	}
}

// BenchmarkRound counts a round with four players, those that have totals, until the answer and
// beyond it.
func BenchmarkRound(b *testing.B) {
	w := newWorld(b, nil)
	i := 0
	for b.Loop() {
		w.mustPost(snapshot(i, full(1, i), full(2, i), full(3, i), full(4, i)))
		i++
	}
}

// BenchmarkParseSnapshot reads a round of 64 players.
func BenchmarkParseSnapshot(b *testing.B) {
	players := make([]testPlayer, 64)
	for i := range players {
		players[i] = append(full(1, i), "pID", fmt.Sprint(i+1))
	}
	list := snapshot(0, players...)
	b.SetBytes(int64(len(list)))
	for b.Loop() {
		pairs, err := parseSnapshot(battlefield2, list)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := newRound(battlefield2, listed.Addr(), pairs); err != nil {
			b.Fatal(err)
		}
	}
}
