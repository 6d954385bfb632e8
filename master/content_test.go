package master

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// pairsDecoder parses rules as names and values between commas. It counts its
// calls.
type pairsDecoder struct {
	list  *Registry
	calls atomic.Int32
	hint  atomic.Pointer[Names]
}

func (d *pairsDecoder) Decode(text []byte, expected Shape, into *Report) {
	d.calls.Add(1)
	d.hint.Store(expected.Rules)
	if len(text) > 0 {
		fillRules(d.list, into, strings.Split(string(text), ",")...)
	}
}

func newPairs() (*pairsDecoder, *Source) {
	d := &pairsDecoder{list: NewRegistry(Limits{})}
	return d, d.list.NewSource(d)
}

func into(src *Source, s *Server, text string) { src.Into(s, src.Text([]byte(text))) }

func TestTextIsReadWhenAskedForAndNotAgain(t *testing.T) {
	d, src := newPairs()
	var s Server
	into(src, &s, "hostname,a,mapname,b")
	put := mustPut(t, d.list, s)
	if n := d.calls.Load(); n != 0 {
		t.Fatalf("read %d times before the first call", n)
	}
	other := *put // as after a report of a probe
	if got, _ := other.Rules.Get("mapname"); got != "b" {
		t.Errorf("mapname: got %q, want b", got)
	}
	if got, _ := put.Field("HOSTNAME"); got != "a" {
		t.Errorf("hostname: got %q, want a", got)
	}
	if put.Players.Rows() != 0 || put.Teams.Columns() != 0 || put.Rules.Len() != 2 {
		t.Errorf("got %d players, %d team columns, %d rules, want 0, 0, 2", put.Players.Rows(), put.Teams.Columns(), put.Rules.Len())
	}
	if n := d.calls.Load(); n != 1 {
		t.Errorf("read %d times, want once", n)
	}
}

func TestTextIsReadByManyAtOnce(t *testing.T) {
	_, src := newPairs()
	var s Server
	into(src, &s, "hostname,a,mapname,b")
	var names [8]*Names
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() {
			names[i] = s.Rules.Names()
			if got := s.Rules.Value(1); got != "b" {
				t.Errorf("value: got %q, want b", got)
			}
		})
	}
	wg.Wait()
	for _, n := range names {
		if n != names[0] {
			t.Error("two readers were given different names")
		}
	}
}

func TestSameTextIsRecognised(t *testing.T) {
	_, src := newPairs()
	_, foreign := newPairs()
	var empty, s Server
	into(src, &s, "hostname,a")
	text := func(src *Source, b string) Text { return src.Text([]byte(b)) }
	if !src.Same(&s, text(src, "hostname,a")) {
		t.Error("Same of the text that the record was made from: false")
	}
	for name, got := range map[string]bool{
		"other text":         src.Same(&s, text(src, "hostname,b")),
		"longer text":        src.Same(&s, text(src, "hostname,a,b,c")),
		"of another source":  foreign.Same(&s, text(foreign, "hostname,a")),
		"an empty record":    src.Same(&empty, text(src, "")),
		"a record of values": src.Same(&Server{Rules: withRules(t, NewRegistry(Limits{}), Server{}, "hostname", "a").Rules}, text(src, "hostname,a")),
	} {
		if got {
			t.Errorf("Same, %s: true", name)
		}
	}
}

func TestTextIsCopied(t *testing.T) {
	_, src := newPairs()
	packet := []byte("hostname,a")
	var s Server
	src.Into(&s, src.Text(packet))
	clear(packet)
	if got, _ := s.Rules.Get("hostname"); got != "a" {
		t.Errorf("hostname: got %q, want a", got)
	}
}

// The names that were parsed last are expected again, even if reports in
// between were not parsed.
func TestNamesThatWereReadLastAreExpected(t *testing.T) {
	d, src := newPairs()
	var s Server
	into(src, &s, "hostname,a")
	names := s.Rules.Names()
	into(src, &s, "hostname,b")
	next := src.Next(&s, src.Text([]byte("hostname,c")))
	if got, _ := s.Rules.Get("hostname"); got != "b" {
		t.Errorf("the record that was copied: got %q, want b", got)
	}
	if got, _ := next.Rules.Get("hostname"); got != "c" || d.hint.Load() != names {
		t.Errorf("got %q and the expected names %p, want c and %p", got, d.hint.Load(), names)
	}
	if n := d.calls.Load(); n != 3 {
		t.Errorf("read %d times, want 3", n)
	}
}

type brokenDecoder struct{}

func (brokenDecoder) Decode(_ []byte, _ Shape, into *Report) { into.Rule([]byte("without a name")) }

func TestReportThatFitsNoRecordIsEmpty(t *testing.T) {
	var s Server
	into(NewRegistry(Limits{}).NewSource(brokenDecoder{}), &s, "text")
	if s.Rules.Len() != 0 || s.Rules.Names() != nil {
		t.Errorf("got %d rules, want none", s.Rules.Len())
	}
}
