package nettest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestSkewClock has a process of its own put its clock ahead.
func TestSkewClock(t *testing.T) {
	const variable = "TEST_AS_SKEWED"
	if os.Getenv(variable) != "" {
		if err := SkewClock(time.Hour); err != nil {
			t.Skip(err)
		}
		began := time.Now()
		time.Sleep(time.Millisecond)
		if d := time.Since(began); d < time.Millisecond || d > time.Minute {
			t.Errorf("a millisecond took %v", d)
		}
		_, _ = fmt.Fprintln(os.Stdout, "ahead", began.Unix())
		return
	}
	if err := SkewClock(0); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSkewClock$")
	cmd.Env = append(os.Environ(), variable+"=1")
	out, err := cmd.CombinedOutput()
	var ahead int64
	if _, scan := fmt.Sscanf(string(out), "ahead %d", &ahead); err != nil || scan != nil {
		t.Fatalf("%v, %v\n%s", err, scan, out)
	}
	if d := time.Until(time.Unix(ahead, 0)); d < 50*time.Minute || d > time.Hour {
		t.Errorf("the clock is %v ahead, want an hour", d)
	}
}
