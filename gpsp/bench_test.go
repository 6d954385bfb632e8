package gpsp

import (
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

// BenchmarkRequest is a request without the network: parse, look up, write.
func BenchmarkRequest(b *testing.B) {
	f := newFixture(b, func(o *Options) { o.Lookups, o.Registrations = 0, 0 })
	f.populate(b)
	for i := range 500 {
		id := storage.ProfileID(5000 + i)
		f.account(b, fmt.Sprintf("p%d@example.com", i), "p", storage.Profile{ID: id, Nick: "Player"}, nil)
	}
	for name, text := range map[string]string{
		"valid":        askValid,
		"nicks":        `\nicks\\email\alice@example.com\passenc\` + gamespy.EncodePassword("secret") + `\namespaceid\1\partnerid\0\final\`,
		"check":        `\check\\nick\alice\email\alice@example.com\passenc\` + gamespy.EncodePassword("secret") + `\partnerid\0\final\`,
		"search":       `\search\\namespaceid\1\partnerid\0\nick\bob\final\`,
		"search page":  `\search\\namespaceid\1\partnerid\0\nick\player\final\`,
		"searchunique": `\searchunique\\uniquenick\BobU\namespaces\1,15\final\`,
		"uniquesearch": `\uniquesearch\\preferrednick\AliceU\namespaceid\1\final\`,
		"pmatch":       `\pmatch\\sesskey\70001\profileid\1001\productid\11\final\`,
		"others":       `\others\\sesskey\70001\profileid\1001\namespaceid\1\final\`,
	} {
		b.Run(name, func(b *testing.B) {
			in := []byte(text)
			var w reply
			live := f.srv.live.Load()
			b.ReportAllocs()
			for b.Loop() {
				cut, _, _ := gamespy.CutFinal(in)
				m, err := gamespy.ParseMessage(cut)
				if err != nil {
					b.Fatal(err)
				}
				c := f.srv.commands[m.Name()]
				w.b = w.b[:0]
				if result, err := f.srv.perform(b.Context(), &c, &request{Message: m, live: live}, &w); result != resultAnswered || err != nil {
					b.Fatalf("%s, %v: %s", result, err, w.b)
				}
				w.end()
			}
		})
	}
}
