package natneg

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// testsTo returns the tests among packets that were sent to an address.
func testsTo(t *testing.T, list []sent, to string) (tests []Test) {
	t.Helper()
	for _, p := range list {
		if h, body, err := ParseHeader(p.data); err == nil && h.Type == TypeTest && p.to == netip.MustParseAddrPort(to) {
			test, ok := ParseTest(body)
			if !ok {
				t.Fatalf("sent %x, no test", p.data)
			}
			tests = append(tests, test)
		}
	}
	return tests
}

func testReceipt(cookie uint32, test Test) []byte {
	return test.AppendTo(Header{3, TypeTestAck, cookie}.AppendTo(nil))
}

// A client that returns the secret gets the other tests, from another port. No other client does.
func TestRouterTests(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(Test) Test // of what the client returns; nil: nothing is returned
		cookie uint32
		proved bool
	}{
		"returned":       {func(t Test) Test { return t }, 7, true},
		"not returned":   {nil, 7, false},
		"another secret": {func(t Test) Test { t.Data[7]++; return t }, 7, false},
		"another test":   {func(t Test) Test { t.PortType = PortType(testPort); return t }, 7, false},
		"another cookie": {func(t Test) Test { return t }, 8, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStation(t, DefaultOptions(), "198.51.100.1:1")
				st.inits(7, 0, alice)
				first := testsTo(t, st.post.Take(), alice)
				if len(first) != 1 || first[0].PortType != PortType(testNear) {
					t.Fatalf("a client of three inits got the tests %v, want one", first)
				}
				if tc.change != nil {
					st.deliver(0, alice, testReceipt(tc.cookie, tc.change(first[0])))
				}
				sent := st.post.Take()
				st.pass(2 * time.Second)
				sent = append(sent, st.post.Take()...)
				far := testsTo(t, sent, alice)
				if (len(far) == testTries) != tc.proved || !tc.proved && len(far) > 0 {
					t.Errorf("got %v, want tests from another port: %v", far, tc.proved)
				}
				for _, p := range sent {
					if p.header(t).Type == TypeTest && p.socket != -1 {
						t.Errorf("a test came from socket %d, want the second one", p.socket)
					}
				}
				s := &st.table.byCookie[7].sides[0]
				if s.tests.proved() != tc.proved || !s.tests.over() {
					t.Errorf("proved %v, over %v; want %v, true", s.tests.proved(), s.tests.over(), tc.proved)
				}
			})
		})
	}
}

// Packets of a client of one or two inits pay for its connects alone.
func TestRouterTestsAreEarned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n, want := range []int{0, 0, 0, 1, 2, 2} {
			st := newStation(t, DefaultOptions(), "198.51.100.1:1")
			for i := range n {
				st.deliver(0, alice, initPacket(7, 0, PortNN1+PortType(i%3)))
			}
			st.pass(3 * time.Second)
			if got := len(testsTo(t, st.post.Take(), alice)); got != want {
				t.Errorf("%d inits brought %d tests, want %d", n, got, want)
			}
		}
	})
}
