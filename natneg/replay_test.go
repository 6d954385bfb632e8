package natneg

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
)

// recorded is a packet of a recorded exchange.
type recorded struct {
	T   float64        `json:"t"` // seconds
	Src netip.AddrPort `json:"src"`
	Dst netip.AddrPort `json:"dst"`
	Hex string         `json:"hex"`
}

type capture struct {
	Name    string     `json:"name"`
	Packets []recorded `json:"packets"`
}

// names are the addresses of natneg1 to natneg3 in the recordings.
var names = []string{"127.0.0.1:27901", "127.0.0.2:27901", "127.0.0.3:27901"}

// reply is a packet of a server, whichever socket it left from.
type reply struct {
	to   netip.AddrPort
	from netip.AddrPort
	data string
}

// comparable makes replies of two servers comparable: the rest of a report
// receipt is copied from the report by one and cleared by the other.
func comparable(p []byte) string {
	p = bytes.Clone(p)
	if Type(p[7]) == TypeReportAck {
		p[headerSize+2] = 0
	}
	return string(p)
}

// TestRecordedExchanges replays the clients' side of whole
// sessions: negotiations with and without a game socket, and NAT detection.
func TestRecordedExchanges(t *testing.T) {
	for _, c := range readJSON[capture](t, "captures.json") {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStation(t, DefaultOptions(), "127.0.0.1:27902", names...)
				start := time.Now()
				var want []reply
				for _, p := range c.Packets {
					data := nettest.Unhex(t, p.Hex)
					if !slices.Contains(names, p.Dst.String()) {
						if slices.Contains(names, p.Src.String()) || p.Src.Port() == 27902 {
							want = append(want, reply{p.Dst, p.Src, comparable(data)})
						}
						continue // from client to client, or from the server
					}
					st.pass(time.Duration(p.T*float64(time.Second)) - time.Since(start))
					if got := st.deliver(slices.Index(names, p.Dst.String()), p.Src.String(), data); got != notDropped {
						t.Errorf("%s: dropped as %q", p.Hex, got)
					}
				}
				for _, p := range st.post.Take() {
					if h := p.header(t); h.Type == TypeTest && h.Cookie != cookieNATTest {
						continue // of the client's router: the recorded server has none
					}
					from := netip.MustParseAddrPort("127.0.0.1:27902")
					if p.socket >= 0 {
						from = st.at[p.socket]
					}
					got := reply{p.to, from, comparable(p.data)}
					if h := p.header(t); h.Type == TypeTest && p.data[headerSize] == byte(PortNN2) {
						// The recorded server answered test 2 from natneg2, which the
						// client had written to.
						got.from = netip.MustParseAddrPort(names[1])
						if p.socket != 2 {
							t.Errorf("NAT test 2 was answered from socket %d, want natneg3", p.socket)
						}
					}
					i := slices.Index(want, got)
					if i < 0 {
						t.Errorf("sent %x from %v to %v, which the recorded server did not", p.data, from, p.to)
						continue
					}
					want = slices.Delete(want, i, i+1)
				}
				for _, w := range want {
					t.Errorf("not sent: %x from %v to %v", w.data, w.from, w.to)
				}
				if st.Open() != 0 {
					t.Errorf("%d cookies are open after the last report", st.Open())
				}
			})
		})
	}
}

// TestRecordedTroubleIsAnswered replays clients whose recorded server left
// packets out, sent wrong ones or never answered. None of them has a partner.
func TestRecordedTroubleIsAnswered(t *testing.T) {
	type experiment struct {
		Case    string     `json:"case"`
		Packets []recorded `json:"packets"`
	}
	for _, c := range readJSON[experiment](t, "experiments.json") {
		t.Run(c.Case, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStation(t, DefaultOptions(), "", names...)
				start := time.Now()
				acks, reports := 0, 0
				for _, p := range c.Packets {
					socket := slices.Index(names, p.Dst.String())
					if socket < 0 || slices.Contains(names, p.Src.String()) {
						continue
					}
					st.pass(time.Duration(p.T*float64(time.Second)) - time.Since(start))
					data := nettest.Unhex(t, p.Hex)
					h, _, _ := ParseHeader(data)
					dropped := st.deliver(socket, p.Src.String(), data)
					switch h.Type {
					case TypeInit:
						acks++
						if dropped != notDropped {
							t.Errorf("init %s: dropped as %q", p.Hex, dropped)
						}
					case TypeReport:
						reports++
					case TypeConnectAck: // of a connect that was not ours
						if dropped != dropUnexpected {
							t.Errorf("connect receipt %s: dropped as %q, want %q", p.Hex, dropped, dropUnexpected)
						}
					default:
						t.Errorf("%s: a client sent that?", p.Hex)
					}
				}
				st.pass(time.Minute)
				for _, p := range st.post.Take() {
					switch h := p.header(t); h.Type {
					case TypeInitAck:
						acks--
					case TypeReportAck:
						reports--
					case TypeConnect:
						if got := p.connect(t).Finished; got != FinishedNoOne {
							t.Errorf("connect: got finished %d, want %d", got, FinishedNoOne)
						}
					default:
						t.Errorf("sent %x", p.data)
					}
				}
				if acks != 0 || reports != 0 {
					t.Errorf("%d inits and %d reports were not confirmed", acks, reports)
				}
			})
		})
	}
}
