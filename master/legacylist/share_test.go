package legacylist

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// shareable is a list with servers of three games that other masters get, and others that they do not.
func shareable(t *testing.T) *fixture {
	t.Helper()
	f := start(t, func(o *Options) {
		o.Master = "me"
		o.Trusted = func(netip.Addr) bool { return true }
	})
	put(t, f.reg, "ut", "192.0.2.1:7778", qr2.OldOrigin)
	put(t, f.reg, "ut", "192.0.2.2:7778", qr2.OldOrigin)
	put(t, f.reg, "unreal", "192.0.2.3:7778", qr2.OldOrigin)
	put(t, f.reg, "ut", "192.0.2.4:7778", qr2.Origin) // answers in another protocol
	put(t, f.reg, "ut", "192.0.2.5:7778", master.Federated)
	return f
}

func TestShare(t *testing.T) {
	f := shareable(t)
	const (
		all = `\unreal\192.0.2.3:7778 \ut\192.0.2.1:7778 192.0.2.2:7778 \final\`
		ut  = `\ut\192.0.2.1:7778 192.0.2.2:7778 \final\`
	)
	for name, tc := range map[string]struct{ hello, sync, want string }{
		"Qt5":          {`\validate\ANSWER\queryid\1.1\gamename\333networks\gamever\Qt-0.28\location\0\queryid\1.2\final\`, `\sync\all\msid\7AZDJdnXtEgh`, all},
		"Perl":         {`\gamename\333networks\location\0\validate\ANSWER\final\`, `\sync\all\final\`, all},
		"one game":     {`\gamename\333networks\validate\ANSWER\final\`, `\sync\UT none`, ut},
		"unknown game": {`\gamename\333networks\validate\ANSWER\final\`, `\sync\none\final\`, `\final\`},
		"itself":       {`\gamename\333networks\validate\ANSWER\final\`, `\sync\all\msid\` + identity("me") + `\final\`, `\final\`},
		"wrong secret": {`\gamename\333networks\validate\ANSWEr\final\`, `\sync\all\final\`, ""},
	} {
		c := f.connect(t)
		c.say(strings.ReplaceAll(tc.hello, "ANSWER", string(gamespy.AppendValidate(nil, 0, gamespy.MasterSecret, c.challenge))) + tc.sync)
		if got := ordered(c.rest()); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// ordered sorts the servers of each game.
func ordered(text string) string {
	list, err := ParseShared(text, 0)
	if err != nil {
		return text
	}
	var b strings.Builder
	games := make(map[string][]string)
	for _, g := range list {
		games[g.Game] = sorted(g.Servers)
	}
	for _, name := range []string{"unreal", "ut"} {
		if len(games[name]) > 0 {
			b.WriteString(`\` + name + `\` + strings.Join(games[name], " ") + ` `)
		}
	}
	return b.String() + gamespy.Final
}

// A master that asks again within the minute gets no byte, and its reader an error.
func TestShareIsLimited(t *testing.T) {
	f := start(t, nil)
	for i := range shareBurst + 1 {
		c := f.connect(t)
		r := Sync{ID: "x"}
		b, err := r.AppendTo(nil, c.challenge)
		if err != nil {
			t.Fatal(err)
		}
		c.say(string(b))
		if got, want := c.rest(), gamespy.Final; i < shareBurst && got != want || i == shareBurst && got != "" {
			t.Errorf("request %d: %q", i+1, got)
		}
	}
	if shareEvery < time.Minute {
		t.Error("a master may ask more often than once a minute")
	}
}
