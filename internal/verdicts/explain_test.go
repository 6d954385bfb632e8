package verdicts

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// services are those that note verdicts.
var services = []string{"qr2", "qr1", "zanmaster", "lan", "probe", "valvemaster", "q3master", "utmaster", "utmaster list", "gpcm", "gpsp", "natneg", "serverbrowse", "legacylist", "cdkey", "ssq", "dns"}

func TestExplain(t *testing.T) {
	for _, service := range services {
		causes := map[string]Verdict{}
		for v := range Verdict(len(texts)) {
			x := Entry{Service: service, Verdict: v, Game: "secret game name"}.Explain()
			if x.What == "" || x.Cause == "" {
				t.Errorf("%s, %v: %+v, want what came and a cause", service, v, x)
			}
			if other, twice := causes[x.Cause]; twice {
				t.Errorf("%s: %v and %v have the same cause %q", service, v, other, x.Cause)
			}
			causes[x.Cause] = v
			if !x.Good && x.Advice == "" {
				t.Errorf("%s, %v: nothing is wrong and nothing can be done, want advice or Good", service, v)
			}
			if strings.HasSuffix(x.Cause, ".") || x.Advice != "" && !strings.HasSuffix(x.Advice, ".") {
				t.Errorf("%s, %v: cause %q and advice %q, want no stop behind the first and one behind the second", service, v, x.Cause, x.Advice)
			}
			if strings.Contains(x.Cause+x.Advice, "secret game name") {
				t.Errorf("%s, %v: the words hold what the stranger sent", service, v)
			}
		}
	}
}

// A server that an operator named sends no reports, so the words mention none.
func TestExplainNamedServer(t *testing.T) {
	for _, v := range []Verdict{NoAnswer, Unanswered, NeverAsked, Expired} {
		x := Entry{Service: "probe", Verdict: v}.Explain()
		for _, word := range []string{"heartbeat", "report", "challenge"} {
			if strings.Contains(x.What+x.Cause+x.Advice, word) {
				t.Errorf("%v of a server that was named: %+v, want nothing about a %s", v, x, word)
			}
		}
	}
}

func TestExplainDetail(t *testing.T) {
	l := NewLog(zerolog.Nop(), 0)
	player := netip.MustParseAddr("192.0.2.1")
	for _, detail := range []string{"namespace 1", "namespace 2"} {
		l.NoteDetail("gpcm", player, "game", OtherNamespace, detail)
	}
	list := l.Of(player)
	if len(list) != 1 || list[0].Times != 2 || !strings.HasSuffix(list[0].Explain().Cause, ": namespace 2") {
		t.Errorf("entries %+v, want one with the last detail", list)
	}
}

func TestExplainUnknown(t *testing.T) {
	if x := (Entry{Verdict: 255}).Explain(); x.Cause == "" || x.What == "" {
		t.Errorf("Explain of no verdict: got %+v, want words", x)
	}
}
