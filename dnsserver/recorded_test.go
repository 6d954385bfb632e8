package dnsserver

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/miekg/dns"
)

// recorded is a question as a real resolver sent it, and the expected answer.
type recorded struct {
	Client  string `json:"client"`
	Network string `json:"network"`
	Query   string `json:"query"` // in hex
	Code    string `json:"code"`
	Address string `json:"address,omitempty"`
}

// TestRecordedQuestions sends the questions of resolvers of operating systems and
// languages. They were recorded on a socket in its own network namespace, whose server
// answered each.
func TestRecordedQuestions(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	r := start(t, nil)
	for _, q := range all {
		b, err := hex.DecodeString(q.Query)
		if err != nil {
			t.Fatal(err)
		}
		asked := unpack(t, b)
		ask := asked.Question[0]
		t.Run(q.Client+" "+q.Network+" "+dns.TypeToString[ask.Qtype], func(t *testing.T) {
			var got *dns.Msg
			if q.Network == "tcp" {
				conn := r.connect(t)
				if _, err := conn.Write(framed(b)); err != nil {
					t.Fatal(err)
				}
				got = next(t, conn)
			} else {
				got = unpack(t, r.packet(t, "192.168.1.7:40000", b))
			}
			if code := dns.RcodeToString[got.Rcode]; code != q.Code || addressIn(got) != q.Address {
				t.Errorf("answered %s with address %q, want %s with %q", code, addressIn(got), q.Code, q.Address)
			}
			if got.Id != asked.Id || len(got.Question) != 1 || got.Question[0] != ask || !got.Response {
				t.Errorf("the answer does not repeat the question:\n%v", got)
			}
			if (got.IsEdns0() == nil) != (asked.IsEdns0() == nil) {
				t.Errorf("EDNS in the question: %v, in the answer: %v", asked.IsEdns0(), got.IsEdns0())
			}
		})
	}
}
