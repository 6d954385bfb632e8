package legacylist

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

const hello = `\gamename\gmtest\gamever\2\location\0\validate\12345678\final\\queryid\1.1\`

// spellings are requests as clients write them.
var spellings = map[string]struct {
	text string
	want inquiry
}{
	"as described":             {hello + `\list\cmp\gamename\quake\where\a=1\final\`, inquiry{mode: Compact, game: "quake", filter: "a=1"}},
	"plain, empty mode":        {hello + `\list\\gamename\quake\final\`, inquiry{game: "quake"}},
	"plain, no mode":           {hello + `\list\gamename\quake\final\`, inquiry{game: "quake"}},
	"no mode, filter first":    {hello + `\list\where\a=1\gamename\quake\final\`, inquiry{game: "quake", filter: "a=1"}},
	"no game":                  {hello + `\list\cmp\final\`, inquiry{mode: Compact}},
	"no game and no mode":      {hello + `\list\\final\`, inquiry{}},
	"groups":                   {hello + `\list\groups\gamename\quake\final\`, inquiry{mode: Groups, game: "quake"}},
	"info2":                    {hello + `\list\info2\gamename\quake\final\`, inquiry{mode: Info, game: "quake"}},
	"unknown mode":             {hello + `\list\fancy\gamename\quake\final\`, inquiry{game: "quake"}},
	"other letters":            {hello + `\List\CMP\GameName\QUAKE\Where\Name='X'\final\`, inquiry{mode: Compact, game: "quake", filter: "Name='X'"}},
	"basic in front":           {`\basic\` + hello + `\list\cmp\gamename\quake\final\`, inquiry{mode: Compact, game: "quake"}},
	"basic without a value":    {`\basic` + hello + `\list\cmp\gamename\quake\final\`, inquiry{mode: Compact, game: "quake"}},
	"line ends":                {"\r\n" + hello + "\r\n" + `\list\cmp\gamename\quake` + "\r\n" + `\final\` + "\r\n", inquiry{mode: Compact, game: "quake"}},
	"NUL behind each message":  {hello + "\x00" + `\list\cmp\gamename\quake\final\` + "\x00", inquiry{mode: Compact, game: "quake"}},
	"no queryid":               {`\gamename\gmtest\validate\12345678\final\\list\cmp\gamename\quake\final\`, inquiry{mode: Compact, game: "quake"}},
	"queryid with one slash":   {`\gamename\gmtest\validate\12345678\final\\queryid\1.1\list\cmp\gamename\quake\final\`, inquiry{mode: Compact, game: "quake"}},
	"in one message":           {`\gamename\gmtest\validate\12345678\list\cmp\gamename\quake\final\`, inquiry{mode: Compact, game: "quake"}},
	"unknown message between":  {hello + `\echo\hi\final\\list\cmp\gamename\quake\final\`, inquiry{mode: Compact, game: "quake"}},
	"filter before the game":   {hello + `\list\cmp\where\a=1\gamename\quake\final\`, inquiry{mode: Compact, game: "quake", filter: "a=1"}},
	"fields in another order":  {`\validate\12345678\gamename\gmtest\final\\list\cmp\gamename\quake\final\`, inquiry{mode: Compact, game: "quake"}},
	"a second list is ignored": {hello + `\list\cmp\gamename\quake\final\\list\\gamename\gmtest\final\`, inquiry{mode: Compact, game: "quake"}},
}

func TestVariationsOfClients(t *testing.T) {
	for name, tt := range spellings {
		tt.want.introduced, tt.want.listed, tt.want.engine, tt.want.validate = true, true, "gmtest", "12345678"
		for how, step := range map[string]int{"at once": len(tt.text), "byte by byte": 1, "in sevens": 7} {
			t.Run(name+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					got := hear(t, tt.text, step, time.Millisecond)
					if got.err != nil {
						t.Fatalf("inquiry: %v", got.err)
					}
					if d := cmp.Diff(tt.want, got.inquiry, cmp.AllowUnexported(inquiry{})); d != "" {
						t.Errorf("inquiry (-want +got):\n%s", d)
					}
				})
			})
		}
	}
}

// requestTime is the default of the key.
const requestTime = 30 * time.Second

// listener passes the inbox of a connection to a test.
type listener struct {
	heard chan heard
}

type heard struct {
	inquiry inquiry
	err     error
	after   time.Duration
}

func (l *listener) ServeConn(ctx context.Context, c *netserve.Conn) {
	in := inbox{conn: c, time: requestTime}
	start := time.Now()
	r, err := in.inquiry(ctx)
	l.heard <- heard{r, err, time.Since(start)}
}

// hear lets a client send a text, in pieces with a pause after each, and then
// stay silent, and returns the request as the master parsed it.
func hear(t *testing.T, text string, step int, pause time.Duration) heard {
	t.Helper()
	l := &listener{make(chan heard, 1)}
	ln := nettest.NewPipes()
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := netserve.ServeConns(ctx, ln, l, netserve.ConnOptions{}); err != nil {
			t.Error(err)
		}
	})
	defer serving.Wait()
	defer cancel()
	conn, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for text != "" {
		n := min(step, len(text))
		if _, err := io.WriteString(conn, text[:n]); err != nil {
			break // the master has closed the connection
		}
		text = text[n:]
		time.Sleep(pause)
	}
	return <-l.heard
}

func TestClientsThatDoNotEndTheirRequest(t *testing.T) {
	tests := map[string]struct {
		text  string
		want  inquiry // the zero value: none
		after time.Duration
	}{
		"list without end":               {hello + `\list\cmp\gamename\quake`, inquiry{mode: Compact, game: "quake"}, quietList},
		"list with half an end":          {hello + `\list\cmp\gamename\quake\fin`, inquiry{mode: Compact, game: "quake"}, quietList},
		"list with an end but a slash":   {hello + `\list\cmp\gamename\quake\final`, inquiry{mode: Compact, game: "quake"}, quietList},
		"list with a line end":           {hello + `\list\\gamename\quake` + "\r\n", inquiry{game: "quake"}, quietList},
		"list with filter":               {hello + `\list\cmp\gamename\quake\where\a=1`, inquiry{mode: Compact, game: "quake", filter: "a=1"}, quietList},
		"list of no game":                {hello + `\list\cmp`, inquiry{}, requestTime},
		"introduced alone":               {hello, inquiry{}, requestTime},
		"introduced without end":         {`\gamename\unreal\validate\12345678`, inquiry{}, requestTime},
		"unreal":                         {strings.ReplaceAll(hello, "gmtest", "Unreal"), inquiry{engine: "unreal"}, quietUnreal},
		"unreal that asks for a list":    {strings.ReplaceAll(hello, "gmtest", "unreal") + `\list\cmp\gamename\quake`, inquiry{engine: "unreal", mode: Compact, game: "quake"}, quietList},
		"unreal that asks, but not whom": {strings.ReplaceAll(hello, "gmtest", "unreal") + `\list\cmp`, inquiry{}, requestTime},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := hear(t, tt.text, len(tt.text), 0)
				if got.after != tt.after {
					t.Errorf("decided after %v, want %v", got.after, tt.after)
				}
				if tt.after == requestTime {
					if !errors.Is(got.err, endedTimeout) {
						t.Errorf("inquiry = %+v, %v, want %v", got.inquiry, got.err, endedTimeout)
					}
					return
				}
				tt.want.introduced, tt.want.listed, tt.want.validate = true, true, "12345678"
				if tt.want.engine == "" {
					tt.want.engine = "gmtest"
				}
				if d := cmp.Diff(tt.want, got.inquiry, cmp.AllowUnexported(inquiry{})); d != "" || got.err != nil {
					t.Errorf("inquiry, %v (-want +got):\n%s", got.err, d)
				}
			})
		})
	}
}

func TestGuessWaitsForTheClientToFallSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tail = `\list\cmp\gamename\quake`
		got := hear(t, tail, 1, quietList-time.Millisecond)
		if want := time.Duration(len(tail)-1)*(quietList-time.Millisecond) + quietList; got.after != want || got.inquiry.game != "quake" {
			t.Errorf("game %q after %v, want quake after %v", got.inquiry.game, got.after, want)
		}
	})
}

func TestDrippingClientHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := hear(t, strings.Repeat("x", 1000), 1, time.Second)
		if !errors.Is(got.err, endedTimeout) || got.after != requestTime {
			t.Errorf("ended after %v with %v, want %v with %v", got.after, got.err, requestTime, endedTimeout)
		}
	})
}

func TestBoundsOfSilentAndSlowClients(t *testing.T) {
	tests := map[string]struct {
		text   string // text that the client sends before it stops reading
		reason string
		after  time.Duration
	}{
		"greeting only":       {"", "first_byte_timeout", netserve.DefaultFirstByte},
		"introduced alone":    {hello, "request_timeout", requestTime},
		"reads no list":       {hello + `\list\cmp\gamename\gmtest\final\`, "slow_reader", netserve.DefaultWrite},
		"reads no error":      {`\list\cmp\gamename\gmtest\where\` + strings.Repeat("x", 1025) + `\final\`, "slow_reader", netserve.DefaultWrite},
		"reads no coded list": {`\gamename\gmtest\enctype\1\validate\VALIDATE\list\cmp\gamename\gmtest\final\`, "slow_reader", netserve.DefaultWrite},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startPipe(t, nil)
				fill(t, f.reg, 10)
				c := f.connect(t)
				start := time.Now()
				if tt.text != "" {
					c.say(strings.ReplaceAll(tt.text, "VALIDATE", string(gamespy.AppendValidate(nil, 1, testSecret, c.challenge))))
				}
				time.Sleep(tt.after - time.Millisecond)
				synctest.Wait()
				if got := metrictest.Value(t, f.metrics, "respawnd_connections"); got != 1 {
					t.Errorf("%v connections %v after the request, want 1", got, time.Since(start))
				}
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				if got := metrictest.Value(t, f.metrics, "respawnd_connections"); got != 0 || metrictest.Dropped(t, f.metrics, tt.reason) != 1 {
					t.Errorf("%v connections, %s counted %d times, want 0 and once", got, tt.reason, metrictest.Dropped(t, f.metrics, tt.reason))
				}
			})
		})
	}
}

func TestTimeForARequestIsThatOfTheOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3 * time.Second
		f := startPipe(t, func(o *Options) { o.RequestTime = most })
		for _, text := range []string{"", `\`, hello, hello + `\list\cmp`} {
			c := f.connect(t)
			begin := time.Now()
			if text != "" {
				c.say(text)
			}
			if got := c.rest(); got != "" || time.Since(begin) != most {
				t.Errorf("%q: got %q after %v, want the end after %v", text, got, time.Since(begin), most)
			}
		}
		if got := metrictest.Dropped(t, f.metrics, "request_timeout"); got != 4 {
			t.Errorf("counted %d times, want 4", got)
		}
	})
}

func TestServiceEndsWithOpenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ln := nettest.NewPipes()
		s := New(Options{Listing: part.Listing{Registry: master.NewRegistry(master.Limits{}), Games: testGames(t)}, Config: testConfig()})
		done := make(chan error, 1)
		go func() { done <- s.Serve(ctx, ln) }()
		f := &fixture{dial: ln.Dial}
		f.connect(t)
		asking := f.connect(t)
		asking.say(hello + `\list\cmp\gamename\gmtest\final\`) // and reads nothing
		synctest.Wait()
		start := time.Now()
		cancel()
		if err := <-done; err != nil || time.Since(start) > closeGrace {
			t.Errorf("Serve = %v %v after the end, want nil within %v", err, time.Since(start), closeGrace)
		}
	})
}

func FuzzInquiry(f *testing.F) {
	for _, s := range spellings {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r inquiry
		r.take(text)
		if r.mode != parseMode(string(r.mode)) {
			t.Errorf("mode %q is none", r.mode)
		}
		if r.wanted() != strings.ToLower(r.wanted()) {
			t.Errorf("wanted game %q has capitals", r.wanted())
		}
		for _, s := range []string{r.engine, r.game, r.filter, r.validate, r.enctype} {
			if strings.Contains(s, `\`) {
				t.Errorf("value %q has a backslash", s)
			}
		}
	})
}

// FuzzRequest writes requests and parses them as the master does.
func FuzzRequest(f *testing.F) {
	f.Add("gmtest", "quake", "a='b' and c>1", uint8(1), uint8(2))
	f.Add("Unreal", "", "", uint8(0), uint8(0))
	f.Add("\xff", "final", "where", uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, engine, game, text string, mode, enctype uint8) {
		r := Request{
			Engine: engine, Secret: testSecret, Enctype: int(enctype % (maxEnctype + 1)),
			Mode: []Mode{Plain, Compact, Info, Groups}[mode%4], Game: game, Filter: text,
		}
		const challenge = "ABCDEF"
		out, err := r.AppendTo([]byte("kept"), challenge)
		if err != nil {
			if string(out) != "kept" || !errors.Is(err, gamespy.ErrUnwritable) {
				t.Fatalf("AppendTo = %q, %v", out, err)
			}
			return
		}
		written := out[len("kept"):]
		if len(written) > maxText {
			return
		}
		var got inquiry
		in := inbox{text: written}
		in.cut(&got)
		name := func(s string) string { return strings.ToLower(strings.Trim(s, blanks)) }
		want := inquiry{
			introduced: true, engine: name(engine), enctype: strconv.Itoa(r.Enctype), listed: true, mode: r.Mode,
			validate: string(gamespy.AppendValidate(nil, r.Enctype, testSecret, challenge)),
			game:     name(game), filter: strings.Trim(text, blanks),
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(inquiry{})); d != "" || len(in.rest()) > 0 {
			t.Fatalf("written as %q, read with %q left (-want +got):\n%s", written, in.rest(), d)
		}
	})
}

// FuzzParse parses the data of a master and writes it again.
func FuzzParse(f *testing.F) {
	f.Add([]byte("\xc0\x00\x02\x0a\x19\x64" + `\final\`))
	f.Add([]byte("\xc0\x00\x02\x0a\x19\x64\xc0\x00\x02\x0b\x19\x64"))
	f.Add([]byte(`\basic\\secure\ABCDEF`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if servers, err := ParseCompact(b); err == nil {
			var again []byte
			for _, a := range servers {
				again = appendCompact(again, nil, a)
			}
			if string(b) != string(again) && string(b) != string(again)+gamespy.Final {
				t.Errorf("ParseCompact(%q) = %v, written again %q", b, servers, again)
			}
		}
		if challenge, err := ParseGreeting(b); err == nil && greeting+challenge != string(b) {
			t.Errorf("ParseGreeting(%q) = %q", b, challenge)
		}
	})
}
