package dnsserver

import (
	"net/netip"
	"testing"

	"github.com/miekg/dns"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/verdicts"
)

// A client that gets no answer finds out why.
func TestDroppedQuestions(t *testing.T) {
	question := about("gpcm.gamespy.com", dns.TypeA)
	answer := about("gpcm.gamespy.com", dns.TypeA)
	answer.Response = true
	for name, test := range map[string]struct {
		from    string
		message []byte
		banned  bool
		want    verdicts.Verdict
	}{
		"cut off":                 {"192.168.1.9:53", []byte("\x12\x34"), false, verdicts.MalformedRequest},
		"an answer":               {"192.168.1.9:53", pack(t, answer), false, verdicts.MalformedRequest},
		"from a foreign network":  {"203.0.113.9:53", pack(t, question), false, verdicts.NotAllowed},
		"from a banned address":   {"192.168.1.9:53", pack(t, question), true, verdicts.Banned},
		"one that gets an answer": {"192.168.1.9:53", pack(t, question), false, verdicts.Heard}, // none
	} {
		t.Run(name, func(t *testing.T) {
			log := verdicts.NewLog(zerolog.Nop(), 0)
			f := newServer(t, func(o *Options) {
				o.Verdicts = log
				o.Banned = func(netip.Addr) bool { return test.banned }
			})
			got := f.packet(t, test.from, test.message)
			told := log.Recent(2)
			if test.want == verdicts.Heard {
				if got == nil || len(told) != 0 {
					t.Errorf("answer %x and verdicts %+v, want an answer and none", got, told)
				}
				return
			}
			if got != nil || len(told) != 1 || told[0].Verdict != test.want || told[0].Addr.Port() != 0 {
				t.Errorf("answer %x and verdicts %+v, want none and %v", got, told, test.want)
			}
		})
	}
}
