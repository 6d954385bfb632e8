package ssq

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reply makes the packets of an answer.
func reply(t *testing.T, id byte, answer string) (packets [][]byte) {
	t.Helper()
	parts, err := Split(new([MaxPacket]byte), id, []byte(answer))
	if err != nil {
		t.Fatal(err)
	}
	for p := range parts {
		packets = append(packets, append([]byte(nil), p...))
	}
	return packets
}

const infoAnswer = "hostname\x00map\x00\n\x00Ann's\x00dust\x00\n\x00"

var infoTable = Table{Columns: []string{"hostname", "map"}, Rows: [][]string{{"Ann's", "dust"}}}

func TestExchangeWithServersOfTheDraft(t *testing.T) {
	e := NewExchange(Query{Verb: Procedure, Name: "info"}, 7)
	if got, want := string(e.Question()), "\x07\x00SP info"; strings.TrimRight(got, " ") != want || len(got) != minRequest {
		t.Errorf("Question() = %q, want %q and spaces", got, want)
	}
	for _, p := range []string{"", "\x07", "\x07\x01x", "\x08\x00" + infoAnswer} {
		if step, err := e.Take([]byte(p)); step != Wait || err == nil {
			t.Errorf("Take(%q) = %v, %v; want an error", p, step, err)
		}
	}
	step, err := e.Take(reply(t, 7, infoAnswer)[0])
	if diff := cmp.Diff(infoTable, e.Answer()); step != Done || err != nil || diff != "" {
		t.Errorf("Take(answer) = %v, %v, -want +got:\n%s", step, err, diff)
	}
	if step, err := e.Take(reply(t, 7, infoAnswer)[0]); step != Done || !errors.Is(err, ErrForeign) {
		t.Errorf("Take after the end = %v, %v; want ErrForeign", step, err)
	}
}

func TestExchangeRepeatsTheTokenOfTheServer(t *testing.T) {
	e := NewExchange(Query{Verb: Procedure, Name: "info"}, 255)
	token := reply(t, 255, "x-token\x00\n\x00abc-_DEF\x00\n\x00")[0]
	if step, err := e.Take(token); step != Ask || err != nil {
		t.Fatalf("Take(token) = %v, %v; want Ask", step, err)
	}
	if got, want := string(e.Question()), "\x00\x00SP info X-TOKEN abc-_DEF"; strings.TrimRight(got, " ") != want {
		t.Errorf("Question() = %q, want %q", got, want)
	}
	if step, err := e.Take(token); step != Wait || !errors.Is(err, ErrForeign) {
		t.Errorf("Take(the same again) = %v, %v; want ErrForeign", step, err)
	}
	if step, err := e.Take(reply(t, 0, infoAnswer)[0]); step != Done || err != nil {
		t.Errorf("Take(answer) = %v, %v; want Done", step, err)
	}
}

func TestExchangeWithoutTokens(t *testing.T) {
	e := NewExchange(Query{Verb: Version}, 0)
	for i := range maxTokens {
		if step, err := e.Take(reply(t, byte(i), "x-token\x00\n\x00abc\x00\n\x00")[0]); step != Ask || err != nil {
			t.Fatalf("Take(token %d) = %v, %v; want Ask", i, step, err)
		}
	}
	if step, err := e.Take(reply(t, maxTokens, "x-token\x00\n\x00abc\x00\n\x00")[0]); step != Done || !errors.Is(err, ErrRefused) {
		t.Errorf("Take(a token more) = %v, %v; want ErrRefused", step, err)
	}
}

func TestExchangeTellsWhyTheServerRefuses(t *testing.T) {
	e := NewExchange(Query{Verb: Version}, 1)
	step, err := e.Take(reply(t, 1, "x-error\x00\n\x00not\x1btoday\x00\n\x00")[0])
	if step != Done || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), `"not\x1btoday"`) {
		t.Errorf("Take(refusal) = %v, %v; want its text", step, err)
	}
}

func TestExchangeOfPings(t *testing.T) {
	e := NewExchange(Query{Verb: Ping}, 1)
	if step, err := e.Take(reply(t, 1, infoAnswer)[0]); step != Wait || err == nil {
		t.Errorf("Take(a table) = %v, %v; want an error", step, err)
	}
	if step, err := e.Take(reply(t, 1, "j\x00\n")[0]); step != Done || err != nil {
		t.Errorf("Take(pong) = %v, %v; want Done", step, err)
	}
}

func TestExchangeGoesOnAfterAMalformedAnswer(t *testing.T) {
	e := NewExchange(Query{Verb: Procedure, Name: "info"}, 1)
	if step, err := e.Take(reply(t, 1, "hostname\x00map\x00\n\x00Ann's\x00")[0]); step != Wait || !errors.Is(err, ErrMalformed) {
		t.Errorf("Take(cut answer) = %v, %v; want ErrMalformed", step, err)
	}
	if step, err := e.Take(reply(t, 1, infoAnswer)[0]); step != Done || err != nil {
		t.Errorf("Take(answer) = %v, %v; want Done", step, err)
	}
}

func TestAnswersOfManyPacketsInAnyOrder(t *testing.T) {
	var want Table
	want.Columns = []string{"rulename", "rulevalue"}
	for range 150 {
		want.Rows = append(want.Rows, []string{strings.Repeat("n", 40), strings.Repeat("v", 70)})
	}
	packets := reply(t, 9, string(want.AppendTo(nil)))
	if len(packets) < 10 {
		t.Fatalf("%d packets, want many", len(packets))
	}
	e := NewExchange(Query{Verb: Procedure, Name: "rules"}, 9)
	for i := len(packets) - 1; i > 0; i-- {
		for range 2 { // each comes twice
			if step, err := e.Take(packets[i]); step != Wait || err != nil {
				t.Fatalf("Take(packet %d) = %v, %v; want Wait", i, step, err)
			}
		}
	}
	if step, err := e.Take(packets[0]); step != Done || err != nil {
		t.Fatalf("Take(packet 0) = %v, %v; want Done", step, err)
	}
	if diff := cmp.Diff(want, e.Answer()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAssemblyIsBounded(t *testing.T) {
	var a Assembly
	if _, err := a.Add(append(Header{Count: 3, Number: 0}.AppendTo(nil), make([]byte, MaxAnswer-1)...)); err != nil {
		t.Fatalf("Add(the longest packet): %v", err)
	}
	if _, err := a.Add(append(Header{Count: 3, Number: 1}.AppendTo(nil), 1, 2)); !errors.Is(err, ErrTooMuch) {
		t.Errorf("Add(two bytes more): %v, want ErrTooMuch", err)
	}
	if _, err := a.Add(append(Header{Count: 2, Number: 1}.AppendTo(nil), 1)); !errors.Is(err, ErrMalformed) {
		t.Errorf("Add(packet of another sequence): %v, want ErrMalformed", err)
	}
	if _, err := a.Add(append(Header{Count: 3, Number: 1}.AppendTo(nil), 1)); err != nil {
		t.Errorf("Add(the last byte): %v", err)
	}
	if whole, err := a.Add(append(Header{Count: 3, Number: 1}.AppendTo(nil), 1)); whole || err != nil {
		t.Errorf("Add(the last byte, again) = %v, %v; want neither", whole, err)
	}
	if whole, err := a.Add(Header{Count: 3, Number: 2}.AppendTo(nil)); !whole || err != nil || len(a.Answer()) != MaxAnswer {
		t.Errorf("Add(an empty packet) = %v, %v with %d bytes; want whole", whole, err, len(a.Answer()))
	}
}

func TestAnswersThatFitNoSequenceAreNotSplit(t *testing.T) {
	if got := len(reply(t, 0, strings.Repeat("x", MaxWritten))); got != MaxPackets {
		t.Errorf("%d packets, want %d", got, MaxPackets)
	}
	if _, err := Split(new([MaxPacket]byte), 0, make([]byte, MaxWritten+1)); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a byte more: %v, want ErrTooMuch", err)
	}
	if got := reply(t, 3, ""); len(got) != 1 || len(got[0]) != HeaderLen {
		t.Errorf("an empty answer is %x, want one header", got)
	}
}

func TestExchangeRepeatsNoLongTokens(t *testing.T) {
	for n, want := range map[int]Step{MaxWord: Ask, MaxWord + 1: Wait} {
		e := NewExchange(Query{Verb: Version}, 1)
		if step, err := e.Take(reply(t, 1, "x-token\x00\n\x00"+strings.Repeat("a", n)+"\x00\n\x00")[0]); step != want || (err == nil) != (want == Ask) {
			t.Errorf("Take(token of %d bytes) = %v, %v; want %v", n, step, err, want)
		}
	}
}
