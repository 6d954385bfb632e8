package filterlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/filterlog"
)

func TestIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var l filterlog.Log
		log := zerolog.New(&out)
		say := func(text string) string {
			out.Reset()
			l.Ignored(log, "gmtest", text, errors.New("expected a value"))
			return out.String()
		}
		first := say("a in")
		for _, want := range []string{`"level":"warn"`, `"game":"gmtest"`, `"filter":"a in"`, `"error":"expected a value"`} {
			if !strings.Contains(first, want) {
				t.Errorf("line %q lacks %s", first, want)
			}
		}
		lines := 1
		for i := range 100 {
			lines += strings.Count(say(fmt.Sprint("b", i)), "\n")
			time.Sleep(time.Second)
		}
		if lines != filterlog.MaxTexts {
			t.Errorf("%d lines for 101 texts, want %d", lines, filterlog.MaxTexts)
		}
		time.Sleep(2 * time.Minute)
		if again := say("a in"); again != "" {
			t.Errorf("the same text minutes later: %q, want no line", again)
		}
		time.Sleep(filterlog.Window)
		next := say("a in")
		if strings.Count(next, "\n") != 2 || !strings.Contains(next, `"filters":91,"within":"1h0m0s"`) || !strings.Contains(next, `"filter":"a in"`) {
			t.Errorf("an hour later: %q, want a line that 91 were left out and one of the text", next)
		}
		if last := say("c"); strings.Count(last, "\n") != 1 {
			t.Errorf("the next text: %q, want one line", last)
		}
	})
}

// Omitted lines are counted in the log even if no further filter comes.
func TestRun(t *testing.T) {
	for name, end := range map[string]time.Duration{"when the window is over": filterlog.Window + time.Minute, "at the end of the service": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				var l filterlog.Log
				log := zerolog.New(&out)
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { defer close(ended); l.Run(ctx, log) }()
				for i := range filterlog.MaxTexts + 7 {
					l.Ignored(log, "gmtest", fmt.Sprint("b", i), errors.New("expected a value"))
				}
				time.Sleep(end)
				if end < filterlog.Window {
					stop()
				}
				synctest.Wait()
				if !strings.Contains(out.String(), `"filters":7,`) {
					t.Errorf("no line says that 7 filters were left out:\n%s", &out)
				}
				stop()
				<-ended
				if n := strings.Count(out.String(), "too many texts"); n != 1 {
					t.Errorf("%d lines say what was left out, want 1", n)
				}
			})
		})
	}
}
