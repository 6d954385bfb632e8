package gpsp

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/verdicts"
)

const (
	askValid   = `\valid\\email\alice@example.com\partnerid\0\gamename\gmtest\final\`
	validYes   = `\vr\1\final\`
	askUnknown = `\valid\\email\unknown@example.com\partnerid\0\gamename\gmtest\final\`
	validNo    = `\vr\0\final\`
)

func TestRequestsAreAnsweredInTheirOrder(t *testing.T) {
	f := start(t, nil)
	f.populate(t)
	c := f.connect(t)
	c.send(askValid + "\x00\r\n" + askUnknown + `\ka\\final\` + askValid)
	for i, want := range []string{validYes, validNo, validYes} {
		if got := c.reply(); got != want {
			t.Errorf("reply %d = %q, want %q", i, got, want)
		}
	}
	if got := metrictest.Value(t, f.metrics, "respawnd_gpsp_requests_total", "valid"); got != 3 {
		t.Errorf("%v requests were counted, want 3", got)
	}
}

func TestRequestMayComeInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		f.populate(t)
		c := f.connect(t)
		go func() {
			for i := range askValid {
				_, _ = c.conn.Write([]byte(askValid[i : i+1]))
			}
		}()
		if got := c.reply(); got != validYes {
			t.Errorf("reply = %q, want %q", got, validYes)
		}
	})
}

func TestLongestRequest(t *testing.T) {
	f := start(t, nil)
	f.populate(t)
	long := func(n int) string {
		const head, tail = `\valid\\email\alice@example.com\partnerid\0\junk\`, `\final\`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	c := f.connect(t)
	if got := c.ask(long(gamespy.MaxMessage)); got != validYes {
		t.Errorf("request of %d bytes: %q, want %q", gamespy.MaxMessage, got, validYes)
	}
	const refused = `\error\\err\1\errmsg\the request is too long\final\`
	if got := c.ask(long(gamespy.MaxMessage + 1)); got != refused {
		t.Errorf("request of %d bytes: %q, want %q", gamespy.MaxMessage+1, got, refused)
	}
	if got := metrictest.Dropped(t, f.metrics, endedTooLong.Error()); got != 1 {
		t.Errorf("%v were counted as too long, want 1", got)
	}
}

// The answer must get through although the client has more to send.
func TestEndlessRequestIsAnsweredAndClosed(t *testing.T) {
	f := start(t, nil)
	c := f.connect(t)
	c.send(`\search\\nick\` + strings.Repeat("x", 100<<10))
	if got, want := c.reply(), `\error\\err\1\errmsg\the request is too long\final\`; got != want {
		t.Errorf("reply = %q, want %q", got, want)
	}
	c.wantClosed()
}

func TestNothingIsNoRequest(t *testing.T) {
	for name, text := range map[string]string{
		"end alone": `\final\`, "line end": "\r\n" + `\final\`, "NUL": "\x00" + `\final\`, "NUL first": `\` + "\x00" + `valid\\final\`,
		"many fields": strings.Repeat(`\a\b`, gamespy.MaxFields+1) + `\final\`,
	} {
		t.Run(name, func(t *testing.T) {
			log := verdicts.NewLog(zerolog.Nop(), 0)
			f := start(t, func(o *Options) { o.Verdicts = log })
			c := f.connect(t)
			c.send(text)
			if got, want := c.reply(), `\error\\err\1\errmsg\the request is malformed\final\`; got != want {
				t.Errorf("reply = %q, want %q", got, want)
			}
			c.wantClosed()
			if got := metrictest.Dropped(t, f.metrics, endedMalformed.Error()); got != 1 {
				t.Errorf("%v were counted as malformed, want 1", got)
			}
			if got := log.Recent(2); len(got) != 1 || got[0].Verdict != verdicts.MalformedRequest {
				t.Errorf("noted %+v, want %v", got, verdicts.MalformedRequest)
			}
		})
	}
}

func TestUnknownCommandIsCounted(t *testing.T) {
	f := start(t, nil)
	c := f.connect(t)
	if got, want := c.ask(`\login\\final\`), `\error\\err\1\errmsg\unknown command\final\`; got != want {
		t.Errorf("reply = %q, want %q", got, want)
	}
	c.wantClosed()
	if got := metrictest.Dropped(t, f.metrics, endedUnknown.Error()); got != 1 {
		t.Errorf("%v were counted as unknown, want 1", got)
	}
}

func TestSlowRequestIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		f.populate(t)
		c := f.connect(t)
		time.Sleep(9 * time.Second)
		if got := c.ask(askValid); got != validYes {
			t.Fatalf("reply = %q, want %q", got, validYes)
		}
		begin := time.Now()
		for range 11 { // a byte now and then does not help
			if _, err := c.conn.Write([]byte(`\`)); err != nil {
				break
			}
			time.Sleep(defaults().Idle / 10)
		}
		c.wantClosed()
		if took := time.Since(begin); took > defaults().Idle+defaults().Idle/10 {
			t.Errorf("closed after %v, want %v", took, defaults().Idle)
		}
		if got := metrictest.Dropped(t, f.metrics, endedIdle.Error()); got != 1 {
			t.Errorf("%v time-outs were counted, want 1", got)
		}
	})
}

func TestStopEndsQuietConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		ln := nettest.NewPipes()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.srv.Serve(ctx, ln) }()
		conn, err := ln.DialFrom(netip.MustParseAddrPort("192.0.2.1:1"))
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(t, conn)
		f.populate(t)
		if got := c.ask(askValid); got != validYes {
			t.Fatalf("reply = %q, want %q", got, validYes)
		}
		begin := time.Now()
		cancel()
		if err := <-done; err != nil || time.Since(begin) != 0 {
			t.Errorf("Serve = %v after %v, want nil at once", err, time.Since(begin))
		}
		c.wantClosed()
	})
}

func TestBannedAddressIsNotServed(t *testing.T) {
	f := start(t, func(o *Options) { o.Banned = netip.Addr.IsLoopback })
	c := f.connect(t)
	c.wantClosed()
	if got := metrictest.Dropped(t, f.metrics, endedBanned.Error()); got != 1 {
		t.Errorf("%v bans were counted, want 1", got)
	}
}

func TestLogHasNoSecretsAndNoContent(t *testing.T) {
	log := new(nettest.Log)
	f := start(t, func(o *Options) { o.Log = zerolog.New(log).Level(zerolog.TraceLevel) })
	f.populate(t)
	for _, text := range []string{
		`\nicks\\email\alice@example.com\pass\secret\namespaceid\1\partnerid\0\final\`,
		`\check\\nick\Alice\email\alice@example.com\partnerid\0\passenc\` + gamespy.EncodePassword("secret") + `\final\`,
		`\newuser\\nick\Nicky\email\new@example.com\pass\secret\namespaceid\1\uniquenick\NewU\cdkey\KEY-1\partnerid\0\final\`,
		`\newuser\\nick\Nicky\email\alice@example.com\pass\guessed\namespaceid\1\uniquenick\\partnerid\0\final\`,
		`\search\\sesskey\70001\profileid\1001\namespaceid\1\partnerid\0\email\alice@example.com\final\`,
	} {
		f.ask(t, text)
	}
	f.connect(t).send(`\secret\` + "\x00" + `\final\`)
	c := f.connect(t)
	c.ask(`\guessed\\final\`)
	for _, word := range []string{"secret", "guessed", "example.com", gamespy.EncodePassword("secret"), "Nicky", "NewU", "KEY-1", "70001"} {
		if strings.Contains(log.String(), word) {
			t.Errorf("the log has %q in it:\n%s", word, log)
		}
	}
	if !strings.Contains(log.String(), `"command":"newuser"`) {
		t.Errorf("the log does not tell of the requests:\n%s", log)
	}
}

func TestMetricsAreThereFromTheStart(t *testing.T) {
	f := newFixture(t, nil)
	all, err := f.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, mf := range all {
		if mf.GetName() == "respawnd_gpsp_requests_total" {
			n = len(mf.GetMetric())
		}
	}
	if want := len(commands()); n != want {
		t.Errorf("%d counters of requests, want %d", n, want)
	}
}
