package verdicts_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	_ "github.com/respawnd/respawnd/daemon/services" // they declare their words
	"github.com/respawnd/respawnd/internal/verdicts"
)

// services returns those that note verdicts.
func services() []string {
	return append([]string{"qr2", "valvemaster", "q3master"}, slices.Sorted(maps.Keys(verdicts.Speakers))...)
}

func TestExplain(t *testing.T) {
	for _, service := range services() {
		causes := map[string]verdicts.Verdict{}
		for v := range verdicts.Count() {
			x := verdicts.Entry{Service: service, Verdict: v, Game: "secret game name"}.Explain()
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
	for _, v := range []verdicts.Verdict{verdicts.NoAnswer, verdicts.Unanswered, verdicts.NeverAsked, verdicts.Expired} {
		x := verdicts.Entry{Service: "probe", Verdict: v}.Explain()
		for _, word := range []string{"heartbeat", "report", "challenge"} {
			if strings.Contains(x.What+x.Cause+x.Advice, word) {
				t.Errorf("%v of a server that was named: %+v, want nothing about a %s", v, x, word)
			}
		}
	}
}

func TestExplainDetail(t *testing.T) {
	l := verdicts.NewLog(zerolog.Nop(), 0)
	player := netip.MustParseAddr("192.0.2.1")
	for _, detail := range []string{"namespace 1", "namespace 2"} {
		l.NoteDetail("gpcm", player, "game", verdicts.OtherNamespace, detail)
	}
	list := l.Of(player)
	if len(list) != 1 || list[0].Times != 2 || !strings.HasSuffix(list[0].Explain().Cause, ": namespace 2") {
		t.Errorf("entries %+v, want one with the last detail", list)
	}
}

func TestExplainUnknown(t *testing.T) {
	if x := (verdicts.Entry{Verdict: 255}).Explain(); x.Cause == "" || x.What == "" {
		t.Errorf("Explain of no verdict: got %+v, want words", x)
	}
}

// A lasting condition does not come with the advice to wait.
func TestExplainLasting(t *testing.T) {
	begin := time.Now()
	for _, service := range services() {
		for v := range verdicts.Count() {
			if !v.Fails() {
				continue
			}
			e := verdicts.Entry{Service: service, Verdict: v, First: begin, Last: begin.Add(38 * time.Minute), Times: 38}
			if x := e.Explain(); !verdicts.OfPlayer(service) && (strings.Contains(x.Advice, "Wait") || strings.Contains(x.Advice, "wait ")) {
				t.Errorf("%s: %v for 38 minutes: %q", service, v, x.Advice)
			}
		}
	}
}
