package legacylist

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/nettest"
)

func TestRequest_Ask(t *testing.T) {
	const hello = greeting + "ABCDEF"
	one := "\xc0\x00\x02\x01\x19\x64" // 192.0.2.1:6500
	for name, tt := range map[string]struct {
		enctype int
		parts   []string
		servers int
		want    error
	}{
		"nothing":                  {0, nil, 0, io.EOF},
		"short greeting":           {0, []string{hello[:10]}, 0, io.ErrUnexpectedEOF},
		"another greeting":         {0, []string{`\lc\1\challenge\ABCDEFGHIJ`}, 0, ErrGreeting},
		"no list":                  {0, []string{hello}, 0, nil},
		"list without its end":     {0, []string{hello, one}, 1, nil},
		"list in pieces":           {0, []string{hello[:3], hello[3:] + one[:2], one[2:] + gamespy.Final}, 1, nil},
		"half a server":            {0, []string{hello, one + one[:3]}, 0, ErrList},
		"refused":                  {1, []string{hello, `\fatal\no\final\`}, 0, ErrRefused},
		"enctype 1 without header": {1, []string{hello, "xyz"}, 0, gamespy.ErrListHeader},
		"enctype 2 without header": {2, []string{hello, "xyz"}, 0, gamespy.ErrListHeader},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _ := nettest.Recite(t, tt.parts...)
			r := Request{Engine: "gmtest", Secret: "aB3dE6", Enctype: tt.enctype, Mode: Compact, Game: "gmtest"}
			got, err := r.Ask(t.Context(), conn)
			want := slices.Repeat([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:6500")}, tt.servers)
			if !errors.Is(err, tt.want) || !slices.Equal(got, want) {
				t.Errorf("Ask: %v, %v; want %v, %v", got, err, want, tt.want)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Request{Mode: Compact}).Ask(ended, nettest.Silent(t)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("context ended: %v, want %v", err, os.ErrDeadlineExceeded)
	}
}

// FuzzParsePlain writes each parsed list and parses it again.
func FuzzParsePlain(f *testing.F) {
	f.Add([]byte(`\ip\192.0.2.1:7778\ip\[2001:db8::1]:1\final\`))
	f.Add([]byte(`\ip\\ip\`))
	f.Fuzz(func(t *testing.T, list []byte) {
		servers, err := ParsePlain(list)
		if err != nil {
			return
		}
		var again []byte
		for _, a := range servers {
			again = append(append(again, plainKey...), a.String()...)
		}
		if got, err := ParsePlain(again); err != nil || !slices.Equal(got, servers) {
			t.Errorf("%q: %v, then %v, %v", list, servers, got, err)
		}
	})
}
