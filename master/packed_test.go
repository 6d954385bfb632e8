package master

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func FuzzPacked(f *testing.F) {
	f.Add([]byte("hostname\x00a\x00numplayers\x003\x00\x00\x00\x01player_\x00\x00Anna\x00"), []byte("hostname\x00bc\x00numplayers\x0013\x00\x00\x00\x02player_\x00\x00Anna\x00Bert\x00"))
	f.Add([]byte(""), []byte("\x00"))
	f.Add([]byte("\x00\x00\x00"), []byte(""))
	f.Add(bytes.Repeat([]byte("long"), 100), bytes.Repeat([]byte("long"), 200))
	f.Fuzz(func(t *testing.T, text, model []byte) {
		const before = "before"
		limit := 2*len(text) + 16
		packed, ok := appendPacked([]byte(before), text, model, limit)
		if !ok {
			t.Fatalf("%q by %q takes more than %d bytes", text, model, limit)
		}
		got := appendUnpacked([]byte(before), string(packed[len(before):]), model)
		if string(got) != before+string(text) {
			t.Fatalf("%q by %q: got %q", text, model, got)
		}
		if _, ok := appendPacked(nil, text, model, len(packed)-len(before)-1); ok && len(text) > 0 {
			t.Fatalf("%q by %q takes %d bytes, accepted with a limit below", text, model, len(packed)-len(before))
		}
	})
}

// rulesText is a report of some rules.
func rulesText(host string, players int) []byte {
	b := []byte("hostname\x00" + host + "\x00gamever\x001.1\x00mapname\x00arena\x00numplayers\x00" + fmt.Sprint(players) + "\x00")
	for i := range 20 {
		b = fmt.Appendf(b, "setting_%d\x00%d\x00", i, 100*i)
	}
	return append(b, 0)
}

func TestTextsOfAGameArePacked(t *testing.T) {
	_, src := newPairs()
	var first, second Server
	first.Game, second.Game = "gmtest", "gmtest"
	src.Into(&first, src.Text(rulesText("one", 1)))
	src.Into(&second, src.Text(rulesText("another", 2)))
	third := src.Next(&second, src.Text(rulesText("another", 13)))
	for want, s := range map[string]*Server{
		string(rulesText("one", 1)):      &first,
		string(rulesText("another", 2)):  &second,
		string(rulesText("another", 13)): third,
	} {
		got, ok := s.AppendUnread([]byte("> "))
		if !ok || string(got) != "> "+want {
			t.Errorf("text: got %q, %v, want %q", got, ok, want)
		}
		if n := len(s.Rules.content.text); n > 40 {
			t.Errorf("%q is kept in %d bytes, want at most 40", want, n)
		}
	}
	other := Server{Game: "other"}
	src.Into(&other, src.Text(rulesText("one", 1)))
	if other.Rules.content.model == first.Rules.content.model {
		t.Error("the report of another game is packed by the same model")
	}
}

// Whatever is reported, every text is kept as it came.
func TestTextsAreKeptAsTheyCame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, src := newPairs()
		servers := map[string]*Server{}
		for range rapid.IntRange(1, 200).Draw(t, "reports") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "server")
			old := servers[name]
			if old == nil {
				old = &Server{Game: "game"}
			}
			text := rapid.StringOf(rapid.SampledFrom([]rune("ab\x00"))).Draw(t, "text")
			servers[name] = src.Next(old, src.Text([]byte(text)))
			if got, ok := servers[name].AppendUnread(nil); !ok || string(got) != text {
				t.Fatalf("text: got %q, %v, want %q", got, ok, text)
			}
		}
	})
}

func TestModelsOfNoRecordAreGarbage(t *testing.T) {
	d, src := newPairs()
	var kept Server
	kept.Game = "game 0"
	src.Into(&kept, src.Text(rulesText("kept", 1)))
	for i := 1; i < maxModelGames; i++ {
		s := Server{Game: fmt.Sprint("game ", i)}
		src.Into(&s, src.Text(rulesText("gone", 1)))
	}
	if n := len(src.models.of); n != maxModelGames {
		t.Fatalf("%d games have models, want %d", n, maxModelGames)
	}
	runtime.GC()
	if n := d.list.Models(); n < 1 || n > maxModelGames/2 {
		t.Errorf("%d models are in use when the records of others are garbage, want few", n)
	}
	late := Server{Game: "late"}
	src.Into(&late, src.Text(rulesText("late", 1)))
	if late.Rules.content.model == nil {
		t.Error("no model for a game after those of others were collected")
	}
	if src.models.get("game 0")[0] != kept.Rules.content.model {
		t.Error("the model of a record was dropped")
	}
	runtime.KeepAlive(&kept)
}

func TestGamesBeyondTheLimitArePlain(t *testing.T) {
	_, src := newPairs()
	all := make([]Server, maxModelGames)
	for i := range all {
		all[i].Game = fmt.Sprint("game ", i)
		src.Into(&all[i], src.Text(rulesText("one", 1)))
	}
	late := Server{Game: "late"}
	text := rulesText("late", 1)
	src.Into(&late, src.Text(text))
	if c := late.Rules.content; c.model != nil || c.text != string(text) {
		t.Errorf("got model %v and text %q, want none and all of it", c.model, c.text)
	}
	runtime.KeepAlive(all)
}

// A host whose reports fit no model does not replace those of others at once.
func TestPoorTextsReplaceModelsSlowly(t *testing.T) {
	_, src := newPairs()
	keep := make([]*Server, 0, 2*poorPerModel)
	report := func(text string) {
		keep = append(keep, src.Next(&Server{Game: "game"}, src.Text([]byte(text))))
	}
	for i := range modelsPerGame {
		report(strings.Repeat(string(rune('a'+i)), 100))
	}
	before := src.models.get("game")
	for i := range poorPerModel {
		if got := src.models.get("game"); got != before {
			t.Fatalf("a model was replaced after %d reports, want %d", i, poorPerModel)
		}
		report(strings.Repeat(string(rune('e'+i)), 100))
	}
	after := src.models.get("game")
	if after[0] == before[0] || after[1] != before[1] {
		t.Errorf("models: got %v, want the first of %v replaced", after, before)
	}
	runtime.KeepAlive(keep)
}
