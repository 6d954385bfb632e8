package filterlog_test

import (
	"bytes"
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
