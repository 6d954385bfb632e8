package verdicts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// happened is a verdict at a number of seconds.
type happened struct {
	at int
	v  Verdict
}

// repeated returns verdicts that are noted n times, every so many seconds.
func repeated(n, every int, list ...Verdict) (out []happened) {
	for i := range n {
		for _, v := range list {
			out = append(out, happened{i * every, v})
		}
	}
	return out
}

// then returns verdicts that are noted one by one, a second after those before.
func then(before []happened, list ...Verdict) []happened {
	for _, v := range list {
		before = append(before, happened{before[len(before)-1].at + 1, v})
	}
	return before
}

func TestFold(t *testing.T) {
	const longest = int(answerTime / time.Second)
	tests := map[string]struct {
		noted []happened
		at    int // when it is looked at, after the last one
		want  []string
	}{
		"the steps of a first round are shown": {
			noted: repeated(1, 1, Heard, ChallengeSent),
			want:  []string{"challenge sent 0-0 x1"},
		},
		"an outcome replaces the steps": {
			noted: repeated(1, 1, Heard, ChallengeSent, Listed),
			want:  []string{"listed 0-0 x1"},
		},
		"rounds that fail the same way are one verdict": {
			noted: repeated(39, 60, Heard, ChallengeSent, NoAnswer),
			want:  []string{"no answer 0-2280 x39"},
		},
		"the steps of the next such round say nothing new": {
			noted: then(repeated(3, 60, Heard, ChallengeSent, NoAnswer), Heard, ChallengeSent),
			want:  []string{"no answer 0-120 x3"},
		},
		"a step further than the failed round is shown": {
			noted: then(repeated(2, 60, UnknownGame), Heard, ChallengeSent),
			want:  []string{"unknown game 0-60 x2", "challenge sent 62-62 x1"},
		},
		"two ways to fail in turn are two verdicts": {
			noted: repeated(20, 60, Heard, ChallengeSent, Limited, NoAnswer),
			want:  []string{"limited 0-1140 x20", "no answer 0-1140 x20"},
		},
		"a server that was listed fails for a new reason": {
			noted: then(repeated(5, 60, NoAnswer), Listed, Expired, NoAnswer, NoAnswer),
			want:  []string{"no answer 0-240 x5", "listed 241-241 x1", "expired 242-242 x1", "no answer 243-244 x2"},
		},
		"a listed server that restarts": {
			noted: repeated(4, 60, Restarted, Listed),
			want:  []string{"restarted 0-180 x4", "listed 0-180 x4"},
		},
		"a challenge is open": {
			noted: repeated(1, 1, Heard, ChallengeSent), at: longest - 1,
			want: []string{"challenge sent 0-0 x1"},
		},
		"a challenge without an answer in time": {
			noted: repeated(1, 1, Heard, ChallengeSent), at: longest,
			want: []string{"no answer 0-0 x1"},
		},
		"challenges one after the other, none with an answer": {
			noted: repeated(10, 10, ChallengeSent), at: 1,
			want: []string{"no answer 0-70 x1"},
		},
		"a server that its service forgets in each round": {
			noted: repeated(10, 10, Heard, ChallengeSent), at: 1,
			want: []string{"no answer 0-70 x1"},
		},
		"a late answer counts": {
			noted: append(repeated(1, 1, ChallengeSent), happened{longest + 10, Listed}),
			want:  []string{"listed 90-90 x1"},
		},
		"a heartbeat that was taken ends the challenge": {
			noted: repeated(1, 1, ChallengeSent, Asked), at: 10 * longest,
			want: []string{"heartbeat taken, asked over A2S 0-0 x1"},
		},
		"a stray packet ends no round": {
			noted: repeated(1, 1, ChallengeSent, TooLong), at: longest,
			want: []string{"packet too long 0-0 x1", "no answer 0-0 x1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &record{source: source{"qr2", port(1)}}
			begin := time.Unix(1_000_000, 0)
			last := 0
			for _, n := range test.noted {
				last = n.at
				r.take(n.v, "gmtest", "", 0, begin.Add(time.Duration(n.at)*time.Second))
			}
			now := begin.Add(time.Duration(last+test.at) * time.Second)
			for range 2 { // looking changes nothing
				var got []string
				for _, k := range r.view(now) {
					got = append(got, fmt.Sprintf("%v %.0f-%.0f x%d", k.verdict, k.first.Sub(begin).Seconds(), k.last.Sub(begin).Seconds(), k.times))
				}
				if diff := cmp.Diff(got, test.want); diff != "" {
					t.Errorf("verdicts, -got +want:\n%s", diff)
				}
			}
		})
	}
}

// Players share an address: a verdict on one player does not begin a new series for
// another.
func TestFoldPlayers(t *testing.T) {
	l := NewLog(zerolog.Nop(), 0)
	for range 5 {
		for _, v := range []Verdict{ListSent, BadFilter} {
			l.NotePlayer("serverbrowse", port(0).Addr(), "gmtest", v)
		}
	}
	list := l.Of(port(0).Addr())
	if len(list) != 2 || list[0].Times != 5 || list[1].Times != 5 || list[1].Verdict != BadFilter {
		t.Errorf("entries %+v, want one of each, five times", list)
	}
}

// Requests that differ in their detail are different ones.
func TestFoldDetails(t *testing.T) {
	l := NewLog(zerolog.Nop(), 0)
	for i := range 10 * PerAddr {
		l.NoteDetail("webservices", port(0).Addr(), "gmtest", UnknownRequest, fmt.Sprint(i%2))
	}
	if list := l.Of(port(0).Addr()); len(list) != 2 || list[0].Times != 5*PerAddr {
		t.Errorf("entries %+v, want one for each detail", list)
	}
}

// line has the fields of a log line for a repeated verdict.
type line struct {
	Message string
	Times   int
	Since   time.Time
}

// The lines of two hours in which a server sends a heartbeat every ten seconds and
// answers no challenge: one at once, and one per hour with the count.
func TestLogFailingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := NewLog(zerolog.New(&out).Level(zerolog.InfoLevel), 0)
		begin := time.Now()
		for time.Since(begin) < 2*time.Hour+5*time.Minute {
			l.Note("qr2", port(1), "gmtest", ChallengeSent)
			time.Sleep(10 * time.Second)
		}
		var got []string
		for text := range strings.Lines(out.String()) {
			var x line
			if err := json.Unmarshal([]byte(text), &x); err != nil {
				t.Fatal(err)
			}
			since := ""
			if x.Times > 1 {
				since = x.Since.Sub(begin).String()
			}
			got = append(got, fmt.Sprintf("%s x%d since %s", x.Message, x.Times, since))
		}
		want := []string{
			"server did not answer x0 since ",
			"server did not answer x46 since 0s",
			"server did not answer x91 since 0s",
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("lines, -got +want:\n%s", diff)
		}
		list := l.Of(port(1).Addr())
		if len(list) != 1 || list[0].Verdict != NoAnswer || !list[0].First.Equal(begin) {
			t.Errorf("entries %+v, want one since the beginning", list)
		}
	})
}

// A good verdict that comes again is no news, unless others were logged in between.
func TestLogGoodVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := NewLog(zerolog.New(&out), 0)
		for range 10 {
			l.Note("qr2", port(1), "gmtest", Negotiated)
			time.Sleep(repeatAfter)
		}
		if got := strings.Count(out.String(), "\n"); got != 1 {
			t.Errorf("%d lines of one good verdict, want 1:\n%s", got, out.String())
		}
	})
}

// A line that was left out follows when there is room, and counts once.
func TestLogOwedLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := NewLog(zerolog.New(&out), 0)
		for p := range uint16(linesBurst) {
			l.Note("qr2", port(p+1), "gmtest", NoAnswer)
		}
		late := netip.MustParseAddrPort("198.51.100.1:1")
		for range 3 {
			l.Note("qr2", late, "gmtest", NoAnswer)
		}
		if strings.Contains(out.String(), late.String()) {
			t.Fatal("more lines than allowed")
		}
		time.Sleep(time.Second)
		out.Reset()
		for range 3 {
			l.Note("qr2", late, "gmtest", NoAnswer)
		}
		if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"times":4`) || !strings.Contains(got, `"lines_left_out":1`) {
			t.Errorf("lines %q, want one that counts", got)
		}
	})
}

// An address with many ports displaces its own verdicts and no others.
func TestLogPerHost(t *testing.T) {
	l := NewLog(zerolog.Nop(), 0)
	reg := prometheus.NewRegistry()
	l.Register(reg, "servers")
	other := netip.MustParseAddrPort("198.51.100.1:1")
	l.Note("qr2", other, "gmtest", NoAnswer)
	for p := range uint16(DefaultCapacity + 10) {
		l.Note("qr2", port(p+1), "gmtest", NoAnswer)
	}
	if got := len(l.Of(port(1).Addr())); got != PerHost {
		t.Errorf("entries of one address: %d, want %d", got, PerHost)
	}
	if len(l.Of(other.Addr())) != 1 {
		t.Error("the verdict on another address is gone")
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, label := range m.GetLabel() {
				if label.GetName() == "limit" {
					name += " " + label.GetValue()
				}
			}
			got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{
		"respawnd_verdicts_remembered":              PerHost + 1,
		"respawnd_verdicts_forgotten_total address": DefaultCapacity + 10 - PerHost,
		"respawnd_verdicts_forgotten_total all":     0,
		"respawnd_verdicts_repeated_total":          0,
		"respawnd_verdicts_lines_left_out_total":    0,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("metrics, -got +want:\n%s", diff)
	}
}

// A forgotten record leaves nothing behind: its memory serves another source.
func TestLogForgets(t *testing.T) {
	const capacity = 16
	l := NewLog(zerolog.Nop(), capacity)
	for i := range 100 {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i / 3)}), uint16(1+i%3))
		l.Note("qr2", a, fmt.Sprint("game", i), UnknownGame)
		l.Note("qr2", a, fmt.Sprint("game", i), ChallengeSent)
		if l.recent.n > capacity || len(l.hosts) > l.recent.n {
			t.Fatalf("%d records, %d hosts", l.recent.n, len(l.hosts))
		}
		list := l.Of(a.Addr())
		if n := 2 * (1 + i%3); len(list) != n || list[n-1].Game != fmt.Sprint("game", i) {
			t.Fatalf("verdicts on %v: %+v, want its own %d", a, list, n)
		}
	}
	if got := len(l.Recent(1000)); got != capacity {
		t.Errorf("Recent returned %d, want %d", got, capacity)
	}
}

// A packet that may be forged does not hide that its server is listed.
func TestRecentKeepsListed(t *testing.T) {
	l := NewLog(zerolog.Nop(), 0)
	l.Note("qr2", port(1), "gmtest", Listed)
	l.Note("qr2", port(1), "", TooLong)
	if got := l.Recent(1)[0].Verdict; got != Listed {
		t.Errorf("latest verdict %v, want %v", got, Listed)
	}
	l.Note("qr2", port(1), "gmtest", Expired)
	l.Note("qr2", port(1), "", TooLong)
	if got := l.Recent(1)[0].Verdict; got != TooLong {
		t.Errorf("latest verdict %v, want %v", got, TooLong)
	}
}
