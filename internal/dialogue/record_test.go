package dialogue

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

var player = netip.MustParseAddr("203.0.113.57")

// newRecorder returns one of a daemon with a service "pairs", whose secret key is "pass", and a
// service that says nothing of its secrets.
func newRecorder() *Recorder {
	return &Recorder{Program: "test", Logs: []*verdicts.Log{verdicts.NewLog(zerolog.Nop(), 0)}, Protocol: func(service string) Protocol {
		if service == "pairs" {
			return Pairs("pass")
		}
		return Protocol{}
	}}
}

// record starts a recording in a bubble and returns what ends it and gives the file.
func record(t *testing.T, r *Recorder, span time.Duration) (end func() (string, error), cancel func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var file bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- r.Record(ctx, "gmtest", player, span, &file) }()
	synctest.Wait()
	return func() (string, error) {
		err := <-done
		return file.String(), err
	}, cancel
}

func part(service, over string, act netserve.Act, text string) netserve.Part {
	return netserve.Part{Service: service, Over: over, Stream: service + over, Port: 29900, Act: act, Data: []byte(text)}
}

func TestRecordingIsWhatWasSaidWithoutSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		end, cancel := record(t, r, time.Minute)
		take := r.Tap.Watching().Take
		take(part("pairs", "tcp", netserve.Opened, ""))
		time.Sleep(40 * time.Millisecond)
		take(part("pairs", "tcp", netserve.Heard, `\login\\pass\hunt`))
		take(part("pairs", "tcp", netserve.Heard, `er2\ip\203.0.113.57\mail\me@example.org\final\\half\`))
		take(part("pairs", "tcp", netserve.Said, "\\lc\\2\xff\\final\\"))
		take(part("pairs", "tcp", netserve.Closed, ""))
		take(part("other", "udp", netserve.Heard, "secret"))
		r.Logs[0].NotePlayer("pairs", player, "gmtest", verdicts.Banned)
		r.Logs[0].NotePlayer("pairs", netip.MustParseAddr("203.0.113.58"), "gmtest", verdicts.Banned)
		cancel()
		text, err := end()
		if err != nil {
			t.Fatal(err)
		}
		want := `{"recording":1,"game":"gmtest","started":"2000-01-01T00:00:00Z","program":"test","address":"203.0.113.x"}
{"at_ms":0,"kind":"open","service":"pairs","over":"tcp","stream":1,"port":29900}
{"at_ms":40,"kind":"client","service":"pairs","over":"tcp","stream":1,"port":29900,"length":63,"blotted":true,"data":"\\login\\\\pass\\*******\\ip\\203.0.113.xx\\mail\\**************\\final\\"}
{"at_ms":40,"kind":"server","service":"pairs","over":"tcp","stream":1,"port":29900,"length":13,"data":"\\lc\\2ÿ\\final\\"}
{"at_ms":40,"kind":"client","service":"pairs","over":"tcp","stream":1,"port":29900,"length":6}
{"at_ms":40,"kind":"close","service":"pairs","over":"tcp","stream":1,"port":29900}
{"at_ms":40,"kind":"client","service":"other","over":"udp","stream":2,"port":29900,"length":6}
{"at_ms":40,"kind":"verdict","service":"pairs","text":"` + verdicts.Banned.String() + `"}
{"at_ms":40,"kind":"end","text":"it was stopped"}
`
		if text != want {
			t.Errorf("recording:\n%s\nwant:\n%s", text, want)
		}
		h, events, err := Read(strings.NewReader(text))
		if err != nil || h.Game != "gmtest" || len(events) != 8 || string(events[2].Data) != "\\lc\\2\xff\\final\\" {
			t.Errorf("read %+v, %+v, %v", h, events, err)
		}
	})
}

func TestRecordingEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		span  time.Duration
		after time.Duration // at which it must be over
		flood bool
		why   string
	}{
		"after its time":                  {time.Minute, time.Minute, false, endedTime},
		"after ten minutes at the latest": {time.Hour, Longest, false, endedTime},
		"at its size":                     {time.Minute, 0, true, endedBytes},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder()
				start := time.Now()
				end, cancel := record(t, r, tc.span)
				defer cancel()
				if tc.flood {
					take := r.Tap.Watching().Take
					for range MaxBytes >> 15 {
						take(part("pairs", "udp", netserve.Heard, `\a\`+strings.Repeat("x", 1<<15)))
					}
				}
				text, err := end()
				if took := time.Since(start); err != nil || took != tc.after {
					t.Errorf("it took %v, %v; want %v", took, err, tc.after)
				}
				_, events, err := Read(strings.NewReader(text))
				if err != nil || Ended(events) != tc.why || len(text) > MaxBytes {
					t.Errorf("%d bytes end with %q, %v; want %q", len(text), Ended(events), err, tc.why)
				}
				if r.Tap.Watching() != nil {
					t.Error("the tap is still open")
				}
			})
		})
	}
}

func TestSecondRecordingIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		end, cancel := record(t, r, time.Minute)
		if err := r.Record(t.Context(), "gmtest", player, time.Minute, new(bytes.Buffer)); !errors.Is(err, ErrBusy) {
			t.Errorf("second recording: %v", err)
		}
		cancel()
		if _, err := end(); err != nil {
			t.Error(err)
		}
		end, cancel = record(t, r, time.Minute)
		cancel()
		if text, err := end(); err != nil || text == "" {
			t.Errorf("after the first one: %q, %v", text, err)
		}
	})
}

func TestMessageWithoutAnEndIsRecordedAsLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		end, cancel := record(t, r, time.Minute)
		take := r.Tap.Watching().Take
		for range 3 {
			take(part("pairs", "tcp", netserve.Heard, `\pass\`+strings.Repeat("s3cret", maxMessage/10)))
		}
		cancel()
		text, err := end()
		if err != nil || strings.Contains(text, "s3cret") || !strings.Contains(text, `"length":`) {
			t.Errorf("%v: %.300s", err, text)
		}
	})
}

func TestWebServicesAreBlotted(t *testing.T) {
	b := []byte("POST /a?token=abc&x=1 HTTP/1.1\r\nCookie: me\r\nHost: h\r\n\r\n" +
		`<s:Body><ns1:Login a="1"><ns1:password>pw</ns1:password><ns1:nick>n</ns1:nick><token><ns1:Value>5E</ns1:Value></token></ns1:Login></s:Body>&passwd=pw2&z=3`)
	HTTP("password", "passwd", "token").Blot(b)
	want := "POST /a?token=***&x=1 HTTP/1.1\r\nCookie: **\r\nHost: h\r\n\r\n" +
		`<s:Body><ns1:Login a="1"><ns1:password>**</ns1:password><ns1:nick>n</ns1:nick><token><ns1:Value>**</ns1:Value></token></ns1:Login></s:Body>&passwd=***&z=3`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
}

func TestReadRefusesOtherFiles(t *testing.T) {
	for _, text := range []string{"", "{}\n", "no\n", `{"recording":2}` + "\n", `{"recording":1}` + "\n{\"data\":\"\u0100\"}\n"} {
		if _, _, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
