package valvemaster

import (
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"os"
	"testing"

	"github.com/respawnd/respawnd/internal/uplink"
)

// recorded is a packet as a real client sent it, and the expected answer.
type recorded struct {
	Client  string
	Query   string // in hex
	Servers int    // in an answer that is the end of the list
	More    bool   // the answer is a page that is not the last
	Dropped bool
}

// TestRecordedRequests sends the requests of quakestat 2.17. They were recorded on a
// socket whose server answered the first with the server 192.0.2.1:27015.
func TestRecordedRequests(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	from := netip.MustParseAddrPort("203.0.113.1:40000")
	for _, q := range all {
		t.Run(q.Client, func(t *testing.T) {
			v := newValve(t, nil)
			populate(t, v.list, 100)
			for _, a := range []string{"192.0.2.1:27015", "198.51.100.1:27015"} {
				rules := map[string]string{"hostname": a, "mapname": "de_dust2", "gamename": "cstrike", "appid": "240", "maxplayers": "16"}
				if err := put(v.list, netip.MustParseAddrPort(a), Origin, rules); err != nil {
					t.Fatal(err)
				}
			}
			b, err := hex.DecodeString(q.Query)
			if err != nil {
				t.Fatal(err)
			}
			if q.Dropped {
				if dropped := v.send(from, b); dropped == uplink.NotDropped || len(v.w.Take()) != 0 {
					t.Errorf("%q: answered", b)
				}
				return
			}
			l, err := ParseList(v.one(from, b))
			if err != nil || l.Last == q.More || !q.More && len(l.Servers) != q.Servers || q.More && len(l.Servers) == 0 {
				t.Errorf("%q: %v, %v; want %d servers, more %v", b, l, err, q.Servers, q.More)
			}
		})
	}
}
