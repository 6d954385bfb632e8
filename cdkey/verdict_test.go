package cdkey

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Refused keys are explained to the operator of the server that asked.
func TestVerdicts(t *testing.T) {
	good := auth(goodKey, "5")
	for name, test := range map[string]struct {
		banned bool
		text   string
		want   verdicts.Verdict
		detail string
	}{
		"accepted": {false, good, verdicts.KeyAccepted, ""},
		"unknown":  {false, auth("other", "5"), verdicts.KeyUnknown, "product 461"},
		"wrong":    {false, good[:len(good)-60] + "ffffffffff" + good[len(good)-50:], verdicts.KeyWrong, "product 461"},
		"banned":   {true, good, verdicts.KeyBanned, "product 461"},
	} {
		t.Run(name, func(t *testing.T) {
			log := verdicts.NewLog(zerolog.Nop(), 0)
			s := New(Options{Config: defaults(Strict), Keys: oneKey{test.banned}, Peers: part.Peers{Verdicts: log}})
			if why := give(s, new(written), one, test.text, time.Now()); why != notDropped {
				t.Fatalf("dropped: %s", why)
			}
			got := log.Of(one.Addr())
			if len(got) != 1 || got[0].Verdict != test.want || got[0].Detail != test.detail {
				t.Errorf("noted %+v, want %s with %q", got, test.want, test.detail)
			}
		})
	}
}

// A key that is in use is noted for the server that was refused, not for the one that
// proved it.
func TestVerdictInUse(t *testing.T) {
	log := verdicts.NewLog(zerolog.Nop(), 0)
	s := New(Options{Config: defaults(Strict), Keys: oneKey{}, Peers: part.Peers{Verdicts: log}})
	s.table.random, s.table.challenge = func(int) int { return 3 }, func() string { return testPCH }
	now := time.Now()
	proof := `\uon\\skey\3\seed\\proof\` + respond(goodKey, testPCH, 9, true)
	give(s, new(written), one, auth(goodKey, "5"), now)
	give(s, new(written), two, auth(goodKey, "6"), now)
	give(s, new(written), one, proof, now)
	if got := log.Of(two.Addr()); len(got) != 1 || got[0].Verdict != verdicts.KeyInUse {
		t.Errorf("noted for the second server: %+v", got)
	}
	if got := log.Of(one.Addr()); len(got) != 1 || got[0].Verdict != verdicts.KeyAccepted {
		t.Errorf("noted for the first server: %+v", got)
	}
}

// Requests that cannot be read get a verdict, too.
func TestUnreadableRequests(t *testing.T) {
	for name, text := range map[string]string{
		"other text":     "hello",
		"too long":       strings.Repeat("x", maxRequest+1),
		"short response": auth(goodKey, "5")[:60],
	} {
		t.Run(name, func(t *testing.T) {
			log := verdicts.NewLog(zerolog.Nop(), 0)
			s := New(Options{Config: defaults(Strict), Keys: oneKey{}, Peers: part.Peers{Verdicts: log}})
			data := []byte(text)
			if len(data) <= maxRequest {
				crypt(data)
			}
			s.ServePacket(new(written), netserve.Packet{Data: data, From: one})
			if got := log.Of(one.Addr()); len(got) != 1 || got[0].Verdict != verdicts.MalformedRequest {
				t.Errorf("noted %+v, want %v", got, verdicts.MalformedRequest)
			}
		})
	}
}
