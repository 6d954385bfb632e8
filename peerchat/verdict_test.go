package peerchat

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// Verdicts on the sign-on of an address, for operators and the address's owner.
func TestVerdicts(t *testing.T) {
	log := verdicts.NewLog(zerolog.Nop(), 0)
	f := start(t, func(o *Options) { o.Verdicts = log })
	ann := f.register("Ann", testNamespace)
	has := func(v verdicts.Verdict) bool {
		return slices.ContainsFunc(log.Of(netip.MustParseAddr("127.0.0.1")), func(e verdicts.Entry) bool {
			return e.Service == name && e.Verdict == v
		})
	}
	f.room("#room")
	c := f.logIn(ann)
	for _, v := range []verdicts.Verdict{verdicts.InChat, verdicts.SignedIn} {
		if !has(v) {
			t.Errorf("after the sign-on %q is missing", v)
		}
	}
	for _, step := range []struct {
		kind    storage.ChatKind
		line    string
		answer  string
		verdict verdicts.Verdict
	}{
		{storage.ChatMute, "PRIVMSG Op :x", ":s 404 Ann-gs Op :You are muted", verdicts.ChatMuted},
		{storage.ChatBan, "JOIN #room", ":s 474 Ann-gs #room :Cannot join channel (+b)", verdicts.ChatBanned},
	} {
		channel := ""
		if step.kind == storage.ChatBan {
			channel = "#room"
		}
		r := storage.ChatRule{ChatRuleKey: storage.ChatRuleKey{Kind: step.kind, Profile: ann.ID, Channel: channel}}
		if err := f.rules.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		c.expect(step.line, step.answer)
		if !has(step.verdict) {
			t.Errorf("after %s %q is missing", step.line, step.verdict)
		}
	}
}
