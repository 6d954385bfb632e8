package commands

import (
	"fmt"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

func TestBanThatIsOverIsListedAsSuch(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for want, expires := range map[string]time.Time{
		"further notice":                           {},
		stamp(now.Add(time.Hour)):                  now.Add(time.Hour),
		"over since " + stamp(now.Add(-time.Hour)): now.Add(-time.Hour),
		"over since " + stamp(now):                 now,
	} {
		if got := banEnd(storage.Ban{Expires: expires}, now); got != want {
			t.Errorf("banEnd(%s) = %q, want %q", fmt.Sprint(expires), got, want)
		}
	}
}
