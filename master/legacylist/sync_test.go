package legacylist

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
)

// The challenge and the answer of the vector are those of masters of 333networks.
func TestSync(t *testing.T) {
	conn, heard := nettest.Recite(t, `\basic\\secure\ABCDEF`+`\ut\127.0.0.1:7778 \none\\final\`)
	list, err := Sync{ID: "123456789abc", Max: 10}.Ask(t.Context(), conn)
	want := []Shared{{"ut", []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7778")}}, {Game: "none"}}
	if fmt.Sprint(list) != fmt.Sprint(want) || err != nil {
		t.Errorf("got %v, %v; want %v", list, err, want)
	}
	const question = `\validate\TcGdY/3Q\gamename\333networks\location\0\final\\sync\all\msid\123456789abc\final\`
	if got := heard(); got != question {
		t.Errorf("asked %q, want %q", got, question)
	}
}

// FuzzParseShared reads the servers of a master within a limit.
func FuzzParseShared(f *testing.F) {
	f.Add(`\ut\1.2.3.4:7778 5.6.7.8:7778 \quakeworld\9.9.9.9:27500 \final\`)
	f.Add(`\ut\\unreal\::ffff:1.2.3.4:7778 [::1]:1 x \final\`)
	f.Add(`\ut\1.2.3.4:7778 5.6.7.8:77`)
	f.Fuzz(func(t *testing.T, text string) {
		const most = 2
		list, err := ParseShared(text, most)
		n := 0
		for _, g := range list {
			n += len(g.Servers)
		}
		switch {
		case n > most, errors.Is(err, netclient.ErrTooLong) && n != most:
			t.Errorf("%q: %d servers, %v", text, n, err)
		case err == nil && !strings.Contains(text, "final"):
			t.Errorf("%q: no end, and no error", text)
		}
	})
}
