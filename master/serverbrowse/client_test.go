package serverbrowse

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"
)

func TestClient(t *testing.T) {
	for name, tt := range map[string]struct {
		parts []string
		want  error // nil: any
	}{
		"nothing":      {nil, io.EOF},
		"short header": {[]string{"\xe6\x00"}, io.EOF},
		"no cipher":    {[]string{strings.Repeat("\xff", 300)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _ := nettest.Recite(t, tt.parts...)
			_, err := NewClient(conn, "aB3dE6").List(t.Context(), NewRequest("gmtest", "", "hostname", 0))
			if err == nil || (tt.want != nil && !errors.Is(err, tt.want)) {
				t.Errorf("List: %v, want %v", err, tt.want)
			}
		})
	}
	t.Run("nothing unwritable is sent", func(t *testing.T) {
		conn, heard := nettest.Recite(t)
		c := NewClient(conn, "aB3dE6")
		if _, err := c.List(t.Context(), NewRequest("gm\x00test", "", "", 0)); err == nil {
			t.Error("a request with a NUL in the name of the game: no error")
		}
		if err := c.Message(t.Context(), netip.MustParseAddrPort("192.0.2.1:6500"), make([]byte, 1<<16)); err == nil {
			t.Error("a message of 64 KiB: no error")
		}
		if sent := heard(); sent != "" {
			t.Errorf("sent %q", sent)
		}
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewClient(nettest.Silent(t), "aB3dE6").List(ended, NewRequest("gmtest", "", "", 0)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("context ended: %v, want %v", err, os.ErrDeadlineExceeded)
	}
}
