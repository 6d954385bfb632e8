package gstats

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// FuzzSession sends anything to a game's session, on which one player is authenticated or
// none. The answers are whole messages, and private data of others are never in them nor
// changed.
func FuzzSession(f *testing.F) {
	for _, m := range loadRecorded(f).Session {
		if m.Dir == "C>S" {
			f.Add([]byte(m.text()), true)
		}
	}
	f.Add([]byte(`\getpd\\pid\7\ptype\1\dindex\0\keys\\lid\1\final\\setpd\\pid\7\ptype\1\dindex\0\kv\0\lid\1\length\1\data\x\final\`), true)
	f.Add([]byte(`\getpd\\pid\100001\pid\7\ptype\3\ptype\1\dindex\0\keys\`+"\x01a"+`\lid\1\mod\1`), false)
	f.Add([]byte(`\authp\\pid\7\resp\x\lid\1\final\\newgame\\connid\0\sesskey\1\final\\updgame\\sesskey\1\gamedata\`+"\x01a\x01b"), false)
	fix := build(f, nil)
	const secret = "private data of another player"
	f.Fuzz(func(t *testing.T, text []byte, player bool) {
		x := benchSession(t, fix)
		if !player {
			x.forget(x.players[firstPlayer])
		}
		x.out = nil
		for _, kind := range []storage.StatKind{storage.StatPrivateRead, storage.StatPrivateWrite} {
			id := blockOfTest(7, kind, 0)
			fix.book.blocks[id] = storage.StatBlock{StatBlockID: id, Data: []byte(secret), Modified: fix.book.now}
		}
		requests := 0
		for body := range bytes.SplitSeq(text, []byte(`\final\`)) {
			r := parseRequest(bytes.Clone(body))
			if err := x.handle(context.Background(), &r, time.Now()); err != nil {
				t.Fatalf("%q ends the connection: %v", body, err)
			}
			requests++
		}
		answers, have := drain(bytes.NewReader(x.out), 1<<20)
		if have != partial || len(answers) > requests {
			t.Errorf("%d answers to %d requests, %d", len(answers), requests, have)
		}
		revealed := func(a string) bool { return strings.Contains(a, secret) && !bytes.Contains(text, []byte(secret)) }
		for _, a := range answers {
			if !strings.HasPrefix(a, `\pauthr\`) && !strings.HasPrefix(a, `\getpidr\`) && !strings.HasPrefix(a, `\setpdr\`) &&
				!strings.HasPrefix(a, `\getpdr\`) && a != `\ka\` || revealed(a) {
				t.Errorf("answer %q", a)
			}
		}
		for _, kind := range []storage.StatKind{storage.StatPrivateRead, storage.StatPrivateWrite} {
			if got := fix.book.blocks[blockOfTest(7, kind, 0)].Data; string(got) != secret {
				t.Errorf("the data are changed to %q", got)
			}
		}
		clear(fix.book.blocks)
		fix.book.reports = nil
		if n := len(x.matches); n > maxMatches {
			t.Errorf("%d matches are remembered", n)
		}
	})
}
