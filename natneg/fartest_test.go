package natneg

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

func natTestPacket(t PortType) []byte {
	return Check{Test{PortType: t}}.AppendTo(Header{3, TypeNATTest, cookieNATTest}.AppendTo(nil))
}

// The answer to NAT test 2 waits for the client's own test 3, and no other client's decides.
func TestNATTest2WaitsForTest3(t *testing.T) {
	st := newStation(t, DefaultOptions(), "", "198.51.100.1:27901", "198.51.100.2:27901")
	st.deliver(0, mallory, natTestPacket(PortNN3))
	for name, natneg2 := range map[string]int{addr(1): 0, addr(2): 1} {
		if st.deliver(0, name, natTestPacket(PortNN2)); len(st.post.Take()) != 0 {
			t.Errorf("%s was answered before its test 3", name)
		}
		st.deliver(natneg2, name, natTestPacket(PortNN3))
		if got := st.post.Take(); (len(got) == 1) != (natneg2 == 0) || len(got) == 1 && got[0].socket != 1 {
			t.Errorf("natneg2 is socket %d: got %+v", natneg2, got)
		}
	}
}

func TestWaitingNATTestsAreBounded(t *testing.T) {
	st := newStation(t, DefaultOptions(), "", "198.51.100.1:27901", "198.51.100.2:27901")
	for i := range 2 * maxFarTests {
		st.deliver(0, addr(i), natTestPacket(PortNN2))
	}
	if got := len(st.farTests.known); got != maxFarTests || len(st.farTests.queue) != maxFarTests {
		t.Errorf("%d tests wait, %d in order, want %d", got, len(st.farTests.queue), maxFarTests)
	}
}

// The log says once what the tests cannot tell.
func TestLogSaysWhatNATTestsCannotTell(t *testing.T) {
	for want, at := range map[string][]string{
		untoldFar: {"198.51.100.1:27901"}, "": {"198.51.100.1:27901", "198.51.100.2:27901"},
	} {
		var log bytes.Buffer
		opt := DefaultOptions()
		opt.Log = zerolog.New(&log)
		st := newStation(t, opt, "", at...)
		st.lookAtAddresses()
		st.lookAtAddresses()
		if got := log.String(); strings.Count(got, "\n") != len(at)%2 || !strings.Contains(got, want) {
			t.Errorf("with %v: log %q, want %q once", at, got, want)
		}
	}
}
