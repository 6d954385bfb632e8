package verdicts

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

func port(p uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), p)
}

func TestNoteLogsChanges(t *testing.T) {
	var out bytes.Buffer
	b := NewLog(zerolog.New(&out), 0)
	for range 3 {
		b.Note("qr2", port(1), "gmtest", NoAnswer)
	}
	b.Note("qr2", port(1), "gmtest", Listed)
	b.Note("qr2", port(1), "other", Listed)
	if got := strings.Count(out.String(), "\n"); got != 3 {
		t.Fatalf("lines logged: got %d, want 3:\n%s", got, out.String())
	}
	for _, want := range []string{`"verdict":"no answer"`, `"verdict":"listed"`, `"message":"server listed"`, `"peer":"192.0.2.1:1"`, `"game":"gmtest"`, `"service":"qr2"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log lacks %s:\n%s", want, out.String())
		}
	}
	entries := b.Of(port(1).Addr())
	if len(entries) != 3 || entries[0].Times != 3 {
		t.Errorf("Of: got %+v, want three entries, the first confirmed three times", entries)
	}
}

// A server that fails again and again is challenged in between, which is not
// logged at level info. It must not fill the log of the daemon.
func TestNoteLogsRepeatsHourly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := NewLog(zerolog.New(&out).Level(zerolog.InfoLevel), 0)
		try := func(v Verdict) (lines int) {
			out.Reset()
			b.Note("qr2", port(1), "gmtest", ChallengeSent)
			b.Note("qr2", port(1), "gmtest", v)
			return strings.Count(out.String(), "\n")
		}
		for i, step := range []struct {
			after   time.Duration
			verdict Verdict
			want    int
		}{
			{0, WrongResponse, 1},
			{repeatAfter - time.Second, WrongResponse, 0},
			{time.Second, WrongResponse, 1},
			{time.Second, Listed, 1},
			{time.Second, WrongResponse, 1},
		} {
			time.Sleep(step.after)
			if got := try(step.verdict); got != step.want {
				t.Errorf("step %d, %v: %d lines, want %d", i, step.verdict, got, step.want)
			}
		}
	})
}

func TestNoteWithoutGame(t *testing.T) {
	var out bytes.Buffer
	NewLog(zerolog.New(&out), 0).Note("probe", port(1), "", NoAnswer)
	if got := out.String(); strings.Contains(got, "game") {
		t.Errorf("line %q, want no field for the game", got)
	}
}

// The message of a line names the event, the same for every server. The steps before a
// decision are logged at level debug.
func TestMessages(t *testing.T) {
	seen := map[string]Verdict{}
	for v := range Verdict(len(texts)) {
		var out bytes.Buffer
		NewLog(zerolog.New(&out), 0).Note("qr2", port(1), "gmtest", v)
		var line struct{ Level, Message, Verdict string }
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%v: line %q: %v", v, out.String(), err)
		}
		other, twice := seen[line.Message]
		if line.Message == "" || line.Message == "verdict" || twice || line.Verdict != v.String() || v.text().message == "" {
			t.Errorf("%v: %+v, want a message of its own (other: %v) and the verdict in a field", v, line, other)
		}
		seen[line.Message] = v
		want := "info"
		if v.text().debug {
			want = "debug"
		}
		if line.Level != want {
			t.Errorf("%v: level %s, want %s", v, line.Level, want)
		}
	}
}

// A line below the level of the log does not count towards the limit of lines.
func TestNoteBelowLevelIsNotRationed(t *testing.T) {
	var out bytes.Buffer
	b := NewLog(zerolog.New(&out).Level(zerolog.InfoLevel), 0)
	for p := range uint16(2 * linesBurst) {
		b.Note("qr2", port(p+1), "gmtest", ChallengeSent)
	}
	b.Note("qr2", port(1), "gmtest", Listed)
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "server listed") || strings.Contains(got, "left_out") {
		t.Errorf("lines logged: %q, want that the server is listed and nothing else", got)
	}
}

func TestLogCapacity(t *testing.T) {
	b := NewLog(zerolog.Nop(), 10)
	for p := range uint16(25) {
		b.Note("qr2", port(p+1), "gmtest", Heard)
	}
	if got := len(b.Of(port(1).Addr())); got != 10 {
		t.Fatalf("entries: got %d, want 10", got)
	}
	if got := b.Recent(1)[0].Addr; got != port(25) {
		t.Errorf("Recent(1): got %v, want %v", got, port(25))
	}
}

func TestLogPerAddress(t *testing.T) {
	b := NewLog(zerolog.Nop(), 0)
	for i := range 3 * PerAddr {
		b.Note("qr2", port(1), "gmtest", []Verdict{Listed, Expired}[i%2])
	}
	list := b.Of(port(1).Addr())
	if got := len(list); got != PerAddr {
		t.Fatalf("entries: got %d, want %d", got, PerAddr)
	}
	if last := list[PerAddr-1]; last.Verdict != Expired {
		t.Errorf("the last entry is %v, want that the oldest are forgotten", last.Verdict)
	}
}

func TestNoteRationsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := NewLog(zerolog.New(&out), 0)
		for p := range uint16(2 * linesBurst) {
			b.Note("qr2", port(p+1), "gmtest", Expired)
		}
		if got := strings.Count(out.String(), "\n"); got != linesBurst {
			t.Fatalf("lines at once: got %d, want %d", got, linesBurst)
		}
		time.Sleep(time.Second)
		b.Note("qr2", port(1), "gmtest", Listed)
		if !strings.Contains(out.String(), `"lines_left_out":500`) {
			t.Errorf("the next line does not say how many were left out")
		}
	})
}

func TestNoteCutsLongGame(t *testing.T) {
	b := NewLog(zerolog.Nop(), 0)
	b.Note("qr2", port(1), strings.Repeat("x", 1000), UnknownGame)
	if got := len(b.Of(port(1).Addr())[0].Game); got != maxGame {
		t.Errorf("stored name: got %d bytes, want %d", got, maxGame)
	}
}

func TestOutdates(t *testing.T) {
	for v := range Verdict(len(texts)) {
		if got, ok := Parse(v.String()); got != v || !ok {
			t.Errorf("Parse(%q) = %v, %v", v, got, ok)
		}
		if !v.Outdates(ChallengeSent) {
			t.Errorf("%v leaves advice about %v, want none", v, ChallengeSent)
		}
	}
	if v, ok := Parse("no verdict"); ok {
		t.Errorf("Parse(no verdict) = %v", v)
	}
	for v, want := range map[Verdict]bool{Listed: false, PerhapsReachable: false, Unreachable: false, ChallengeSent: false, Left: true, Expired: true, Removed: true, OnlyHere: true} {
		if got := v.Outdates(OnlyHere); got != want {
			t.Errorf("%v outdates %v: %v, want %v", v, OnlyHere, got, want)
		}
	}
	for v, want := range map[Verdict]bool{ListSent: false, Limited: false, ListRead: true} {
		if got := v.Outdates(ListUnread); got != want {
			t.Errorf("%v outdates %v: %v, want %v", v, ListUnread, got, want)
		}
	}
}

func TestNilLog(t *testing.T) {
	var b *Log
	b.Note("qr2", port(1), "gmtest", Heard)
	b.NotePlayer("gpcm", port(1).Addr(), "gmtest", SignedIn)
	if of, recent := b.Of(port(1).Addr()), b.Recent(10); of != nil || recent != nil {
		t.Errorf("nil log remembers %v and %v", of, recent)
	}
}

func BenchmarkNoteNewAddress(b *testing.B) {
	log := NewLog(zerolog.Nop(), 0)
	b.ReportAllocs()
	var n uint32
	for b.Loop() {
		n++
		log.Note("qr2", netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 1), "gmtest", ChallengeSent)
	}
}

// writer is called for every line of a log.
type writer func()

func (w writer) Write(p []byte) (int, error) { w(); return len(p), nil }

// A slow writer must not delay other callers: lines are written while
// the log is unlocked.
func TestNoteLogsUnlocked(t *testing.T) {
	lines := 0
	var b *Log
	b = NewLog(zerolog.New(writer(func() { lines += len(b.Recent(10)) })), 0)
	b.NoteAll("qr2", "gmtest", []Noted{
		{netip.MustParseAddrPort("192.0.2.1:1"), Listed}, {netip.MustParseAddrPort("192.0.2.2:1"), Listed},
	})
	if lines != 1+2 {
		t.Errorf("at the two lines %d entries were seen, want 1 and 2", lines)
	}
}

// A verdict names no service that is not open here.
func TestOtherProtocol(t *testing.T) {
	l := NewLog(zerolog.Nop(), 0)
	l.SetPorts(map[Verdict]uint16{SpeaksZandronum: 15300})
	at := netip.MustParseAddrPort("192.0.2.1:6500")
	l.Note("zanmaster", at, "", SpeaksQR2)
	got := l.Of(at.Addr())
	if len(got) != 1 || got[0].Verdict != SpeaksOther || got[0].Explain().Advice == "" {
		t.Errorf("verdicts on heartbeats for a service that is off: %+v", got)
	}
	l.SetPorts(map[Verdict]uint16{SpeaksQR2: 27900})
	l.Note("zanmaster", at, "", SpeaksQR2)
	if got := l.Of(at.Addr()); len(got) != 2 || got[1].Verdict != SpeaksQR2 || !strings.Contains(got[1].Explain().Advice, "27900") {
		t.Errorf("verdicts on heartbeats for another service: %+v", got)
	}
}

// A health check tests itself every minute: it fills neither the log nor what operators look at.
func TestTrialsAreQuiet(t *testing.T) {
	var out bytes.Buffer
	b := NewLog(zerolog.New(&out).Level(zerolog.InfoLevel), 0)
	trial := netip.MustParseAddrPort("127.118.3.4:6500")
	b.SetTrial(func(a netip.Addr) bool { return a == trial.Addr() })
	b.Note("qr2", trial, "gmtest", Listed)
	if out.Len() > 0 || len(b.Recent(9)) > 0 || len(b.Of(trial.Addr())) != 1 {
		t.Errorf("a self-test: logged %q, recent are %v, remembered are %v", out.String(), b.Recent(9), b.Of(trial.Addr()))
	}
	b.Note("qr2", port(1), "gmtest", Listed)
	if !strings.Contains(out.String(), "server listed") || len(b.Recent(9)) != 1 {
		t.Errorf("another server: logged %q, recent are %v", out.String(), b.Recent(9))
	}
}
