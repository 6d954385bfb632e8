package daemon

import (
	"context"
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func TestObserver(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"made":             {nil, "changed bans"},
		"refused":          {storage.ErrConflict, ""},
		"request ended":    {fmt.Errorf("store: %w", context.Canceled), "doubt bans"},
		"too slow":         {context.DeadlineExceeded, "doubt bans"},
		"connection broke": {fmt.Errorf("x: %w", storage.ErrUnavailable), "doubt bans"},
	} {
		got := ""
		observer(func(table string) { got += "changed " + table }, func(table string) { got += "doubt " + table })(storage.TableBans, tt.err)
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
