package netserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

func TestBackoffGrowsToItsBoundAndStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backoff{free: 2, first: time.Millisecond, most: 5 * time.Millisecond}
		for range 2 {
			for i, ms := range []int{0, 0, 1, 2, 4, 5, 5} {
				want := time.Duration(ms) * time.Millisecond
				start := time.Now()
				if !b.wait(t.Context()) {
					t.Fatalf("wait %d = false before the end of its context", i)
				}
				if got := time.Since(start); got != want {
					t.Errorf("pause %d = %v, want %v", i, got, want)
				}
			}
			b.reset()
		}
	})
}

func TestBackoffEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, b := range map[string]backoff{
		"free":   {free: 1},
		"paused": {first: time.Hour, most: time.Hour},
	} {
		if b.wait(ctx) {
			t.Errorf("%s: wait = true after the end of its context", name)
		}
	}
}

func TestTroubleIsLoggedOncePerMinute(t *testing.T) {
	var lines logLines
	l, now := throttledLog{log: lines.logger()}, time.Now()
	for range 180 {
		l.warn(now, io.EOF, "trouble")
		now = now.Add(time.Second)
	}
	if got := lines.count("trouble"); got != 3 {
		t.Errorf("%d lines in three minutes, want 3", got)
	}
	if got := lines.count(`"times":60`); got != 2 {
		t.Errorf("%d lines say how often it happened, want 2", got)
	}
}

func TestPanicsAreLoggedOncePerPlaceAndHour(t *testing.T) {
	l, now := newPanicLog((&logLines{}).logger(), nil), time.Now()
	for i := range panicOrigins {
		if place := fmt.Sprint("place ", i); !l.isNews(place, now) || l.isNews(place, now) {
			t.Errorf("%s is not news exactly once", place)
		}
	}
	if l.isNews("one too many", now) {
		t.Error("a place beyond the bound is news")
	}
	if l.isNews("place 0", now.Add(panicAgain-1)) {
		t.Error("a place is news again too early")
	}
	if !l.isNews("place 0", now.Add(panicAgain)) {
		t.Error("a place is not news again after its time")
	}
}

func TestWhichErrorsASocketSurvives(t *testing.T) {
	inOp := func(err error) error {
		return &net.OpError{Op: "read", Net: "udp", Err: os.NewSyscallError("recvfrom", err)}
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"refused by ICMP":   {inOp(syscall.ECONNREFUSED), true},
		"reset":             {inOp(syscall.ECONNRESET), true},
		"no route":          {inOp(syscall.EHOSTUNREACH), true},
		"no buffers":        {inOp(syscall.ENOBUFS), true},
		"too large":         {inOp(syscall.EMSGSIZE), true},
		"out of files":      {inOp(syscall.EMFILE), true},
		"passed deadline":   {inOp(os.ErrDeadlineExceeded), true},
		"closed":            {inOp(net.ErrClosed), false},
		"end of file":       {io.EOF, false},
		"not of the system": {errors.New("else"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isTransient(tc.err); got != tc.want {
				t.Errorf("isTransient(%v) = %v, want %v", tc.err, got, tc.want)
			}
		})
	}
}

func TestTroubleIsLoggedAFewTimesAMinute(t *testing.T) {
	var tr Trouble
	now := time.Now()
	told := 0
	for range 100 {
		if _, tell := tr.Tell(now); tell {
			told++
		}
	}
	if told != troubleLines {
		t.Errorf("100 errors at once: told %d, want %d", told, troubleLines)
	}
	if _, tell := tr.Tell(now.Add(throttle - 1)); tell {
		t.Error("told again before the minute is over")
	}
	if untold, tell := tr.Tell(now.Add(throttle)); !tell || untold != 101-troubleLines {
		t.Errorf("after a minute: got %d, %v, want %d untold and a line", untold, tell, 101-troubleLines)
	}
}

func TestTroubleLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var trouble Trouble
		logger := zerolog.New(&log)
		line := func() string {
			log.Reset()
			trouble.Line(logger.Warn()).Msg("x")
			return log.String()
		}
		for i := range troubleLines + 2 {
			if got := line(); (got != "") != (i < troubleLines) {
				t.Errorf("line %d is %q", i, got)
			}
		}
		time.Sleep(throttle)
		if got := line(); !strings.Contains(got, `"untold":2`) {
			t.Errorf("the next line is %q, want 2 untold", got)
		}
	})
}
