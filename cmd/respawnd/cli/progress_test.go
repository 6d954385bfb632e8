package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMeterSaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := newMeter(&out, 10<<20)
		in := io.TeeReader(strings.NewReader(strings.Repeat("x", 10<<20)), m)
		part := func() { _, _ = io.CopyN(io.Discard, in, 1<<20) }
		part()
		if out.Len() > 0 {
			t.Errorf("printed %q at once", &out)
		}
		time.Sleep(2 * time.Second)
		part()
		const want = "\x1b[K1.0 of 10.0 MB, about 18s left\r"
		if out.String() != want {
			t.Errorf("printed %q, want %q", &out, want)
		}
		part()
		m.End()
		if got := out.String(); got != want+"\x1b[K" {
			t.Errorf("printed %q, want no second state in the same second, and the line removed", got)
		}
	})
}

func TestMeterOfAMomentPrintsNothing(t *testing.T) {
	var out bytes.Buffer
	for range 100 {
		m := newMeter(&out, 1)
		m.Add(1)
		m.End()
	}
	if out.Len() > 0 {
		t.Errorf("printed %q", &out)
	}
}

func TestMeterPrintsOnTerminalsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := New(nil, nil, &out, &out).Meter(0)
		time.Sleep(time.Minute)
		if n, err := m.Write(make([]byte, 7)); n != 7 || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
		if m.End(); out.Len() > 0 {
			t.Errorf("printed %q", &out)
		}
	})
}
