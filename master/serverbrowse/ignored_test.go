package serverbrowse

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/filterlog"
)

// The service logs how many filters had no line of their own.
func TestIgnoredFiltersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		f := startPipe(t, func(o *Options) { o.Log = zerolog.New(&lines) })
		for i := range filterlog.MaxTexts + 3 {
			if _, err := f.srv.compile(fmt.Sprint("((", i), "gmtest"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(filterlog.Window + time.Minute)
		synctest.Wait()
		if !strings.Contains(lines.String(), `"filters":3,`) {
			t.Errorf("no line counts the other 3 filters:\n%s", &lines)
		}
	})
}
