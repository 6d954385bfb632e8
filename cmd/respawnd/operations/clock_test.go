package operations

import (
	"fmt"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
)

func TestBanThatIsOverIsListedAsSuch(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for want, expires := range map[string]time.Time{
		"further notice":                               {},
		cli.Stamp(now.Add(time.Hour)):                  now.Add(time.Hour),
		"over since " + cli.Stamp(now.Add(-time.Hour)): now.Add(-time.Hour),
		"over since " + cli.Stamp(now):                 now,
	} {
		if got := endOf(expires, now); got != want {
			t.Errorf("endOf(%s) = %q, want %q", fmt.Sprint(expires), got, want)
		}
	}
}
