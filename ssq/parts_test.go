package ssq

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	wire "github.com/respawnd/respawnd/internal/ssq"
)

// part has the server handle one packet of a question.
func (f *fixture) part(from netip.AddrPort, count, number int, text string) {
	f.packet(from, append(wire.Header{ID: testID, Count: count, Number: number}.AppendTo(nil), text...))
}

func TestQuestionsOfSeveralPackets(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	const query = "SELECT hostip WHERE port = 27016"
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 1, 0, 2}} {
		for i, n := range order {
			f.part(trustedClient, 3, n, []string{query[:9], query[9:20], query[20:]}[n])
			if last := i == len(order)-1; f.dropped != notDropped || (len(f.sent) > 0) != last {
				t.Fatalf("order %v, packet %d: dropped %q, %d packets sent", order, i, f.dropped, len(f.sent))
			}
		}
		if got := f.table(query); len(got.Rows) != 1 || got.Rows[0][0] != "192.0.2.9:27016" {
			t.Errorf("order %v: %+v", order, got)
		}
	}
}

func TestAmplificationInSeveralPackets(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	f.part(stranger, 2, 0, "SELECT hostip")
	f.part(stranger, 2, 1, ",hostname")
	if in := 4 + len("SELECT hostip,hostname"); f.bytesSent() > in || f.table("SELECT a").Columns[0] != wire.TokenColumn {
		t.Errorf("%d bytes in, %d out: %q", in, f.bytesSent(), f.sent)
	}
	f.part(stranger, 2, 0, "C")
	f.part(stranger, 2, 1, "L")
	if f.dropped != dropShort || len(f.sent) != 0 {
		t.Errorf("a question too short for a token: dropped %q, sent %q", f.dropped, f.sent)
	}
}

func TestPartialQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.threeServers()
		client := func(n int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(n)}), 4000)
		}
		for i := range maxPartial {
			f.part(client(i), 2, 0, "PI")
			time.Sleep(time.Millisecond)
			if f.dropped != notDropped {
				t.Fatalf("question %d: dropped %q", i, f.dropped)
			}
		}
		f.part(client(maxPartial), 2, 0, "PI")
		if f.dropped != dropParts {
			t.Errorf("a question more: dropped %q, want %q", f.dropped, dropParts)
		}
		f.part(client(1), 2, 1, "NG")
		if len(f.sent) != 1 {
			t.Error("the second question was forgotten")
		}
		f.part(client(0), 2, 1, "NG")
		if len(f.sent) != 0 {
			t.Error("the first question was not forgotten")
		}
		time.Sleep(partialTime)
		f.part(client(2), 2, 1, "NG")
		if f.dropped != dropParts || len(f.sent) != 0 {
			t.Errorf("after %v: dropped %q, sent %q", partialTime, f.dropped, f.sent)
		}
	})
}

// An old question is counted as forgotten although the packet at which that was
// seen completes another one.
func TestForgottenQuestionIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		other := netip.MustParseAddrPort("198.51.100.2:4000")
		f.part(stranger, 2, 0, "PI")
		time.Sleep(partialTime / 2)
		f.part(other, 2, 0, "PI")
		time.Sleep(partialTime / 2)
		f.part(other, 2, 1, "NG")
		if len(f.sent) != 1 || f.dropped != notDropped {
			t.Errorf("the newer question: %d answers, dropped %q", len(f.sent), f.dropped)
		}
		if got := metrictest.Dropped(t, f.gauges, dropParts.Error()); got != 1 {
			t.Errorf("%v forgotten questions were counted, want 1", got)
		}
	})
}

func TestPartialQuestionsAreAsLongAsWholeOnes(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	const query = "SELECT hostip"
	send := func(length int) {
		text := query + strings.Repeat(" ", length-len(query))
		for n, half := range []string{text[:length/2], text[length/2:]} {
			f.part(trustedClient, 2, n, half)
		}
	}
	if send(wire.MaxQuery); len(f.table(query).Rows) != 3 {
		t.Errorf("the longest question: dropped %q", f.dropped)
	}
	send(wire.MaxQuery + 1)
	if got := fmt.Sprintf("%q", f.sent); !strings.Contains(got, "too long") {
		t.Errorf("a byte more: dropped %q, sent %s", f.dropped, got)
	}
	send(2 * wire.MaxQuery)
	if f.dropped != dropOversized || len(f.sent) != 0 {
		t.Errorf("twice as long: dropped %q, sent %q", f.dropped, f.sent)
	}
	f.part(trustedClient, 2, 0, "PI")
	if f.part(trustedClient, 3, 1, "NG"); f.dropped != dropMalformed {
		t.Errorf("another number of packets: dropped %q, want %q", f.dropped, dropMalformed)
	}
}
