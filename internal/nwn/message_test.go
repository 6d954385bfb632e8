package nwn

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

var check = AccountCheck{
	Port: 5121, Salt: []byte("saltsalt"), Account: []byte("Tester"), Hash: []byte("d153282f53d62b3669c44aea01132cb9"), Platform: 'W',
}

var keys = KeyCheck{
	Port: 5121, Player: netip.MustParseAddrPort("198.51.100.7:5120"), Salt: []byte("saltsalt"),
	Keys: []Key{{[]byte("QABCDEFG"), []byte("d153282f53d62b3669c44aea01132cb9")}}, Account: []byte("Tester"),
}

// samples were made from the layouts, not recorded.
var samples = map[string]struct {
	message []byte
	wire    string
}{
	"account": {
		check.AppendTo(nil),
		"BMPA\x01\x14\x08\x00saltsalt\x06\x00Tester\x20\x00d153282f53d62b3669c44aea01132cb9\x00\x00\x57\x00",
	},
	"account answer": {AppendAccountAnswer(nil, []byte("Tester"), Good), "BMPR\x06\x00Tester\x00\x00"},
	"status":         {AppendStatus(nil, 5121), "BMST\x01\x14"},
	"status answer":  {AppendStatusAnswer(nil, false), "BMSR\x00\x00"},
	"status of 2":    {AppendStatusAnswer(nil, true), "BMSR\x40\x00\x00\x00"},
	"keys": {
		keys.AppendTo(nil), "BMAU\x01\x14\x01\x00\xc6\x33\x64\x07\x00\x14\x08\x00saltsalt\x01\x00\x08\x00QABCDEFG" +
			"\x20\x00d153282f53d62b3669c44aea01132cb9\x06\x00Tester",
	},
	"keys answer": {keys.AppendKeysAnswer(nil, Good), "BMAR\x01\x00\x08\x00QABCDEFG\x00\x00\x00\x00"},
	"module":      {AppendModule(nil, 3, "Inn"), "BMMO\x03\x03\x00Inn"},
	"heartbeat":   {AppendHeartbeat(nil), "BMHB"},
	"stop":        {AppendStop(nil, 5121), "BMDC\x01\x14\x00\x00"},
	"motd":        {AppendMotd(nil, 5120), "BMMA\x00\x14\x00\x00"},
	"motd answer": {AppendTextAnswer(nil, MotdAnswer, "Hello"), "BMMB\x05\x00Hello"},
	"version":     {AppendVersion(nil, 5120), "BMRA\x00\x14\x00\x00\x00"},
	"friends":     {AppendNoFriends(nil), "BMBF\x00\x00\x00\x00"},
	"question":    {AppendAskRules(nil, 5120), "BNXI\x00\x14"},
	"rules": {
		Rules{Port: 5121, Game: Game1, MinLevel: 1, MaxLevel: 40, Players: 2, Most: 16, Expansions: 3, Module: []byte("Inn")}.AppendTo(nil),
		"BNXR\x01\x14\xfd\x00\x01\x28\x02\x10\x00\x00\x00\x00\x00\x00\x03\x03Inn",
	},
	"name": {AppendName(nil, 5121, "Inn"), "BNERU\x01\x14\x00\x03Inn"},
}

func TestSamples(t *testing.T) {
	for name, s := range samples {
		if string(s.message) != s.wire {
			t.Errorf("%s: %q, want %q", name, s.message, s.wire)
		}
		again(t, []byte(s.wire), true)
	}
}

// again parses a message, writes the result and compares both.
func again(t *testing.T, p []byte, must bool) {
	t.Helper()
	kind, rest, _ := Cut(p)
	var err error
	same := func(v any, b []byte, parse func([]byte) (any, error)) {
		if got, err := parse(b[LettersLen:]); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%+v became %+v, %v", v, got, err)
		}
	}
	switch kind {
	case Account:
		var v AccountCheck
		if v, err = ParseAccount(rest); err == nil {
			same(v, v.AppendTo(nil), func(p []byte) (any, error) { return ParseAccount(p) })
		}
	case Keys:
		var v KeyCheck
		if v, err = ParseKeys(rest); err == nil {
			same(v, v.AppendTo(nil), func(p []byte) (any, error) { return ParseKeys(p) })
			if answer := v.AppendKeysAnswer(nil, Bad); len(answer) > len(p) && len(v.Keys) == 0 {
				t.Errorf("answer of %d bytes to %d", len(answer), len(p))
			}
		}
	case KeysAnswer:
		_, err = ParseKeysAnswer(rest)
	case AccountAnswer:
		_, _, err = ParseAccountAnswer(rest)
	case MotdAnswer, VersionAnswer:
		_, err = ParseText(rest)
	case RulesAnswer:
		var v Rules
		if v, err = ParseRules(rest); err == nil {
			same(v, v.AppendTo(nil), func(p []byte) (any, error) { return ParseRules(p) })
			_, _ = v.Fields()
		}
	case NameAnswer:
		_, err = ParseName(rest)
	case Leave:
		_ = Stops(rest)
	default:
	}
	if must && err != nil {
		t.Errorf("%q: %v", p, err)
	}
}

func FuzzMessage(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s.wire))
	}
	f.Fuzz(func(t *testing.T, p []byte) { again(t, p, false) })
}

func TestBadMessages(t *testing.T) {
	for _, s := range samples {
		for n := range len(s.wire) {
			again(t, []byte(s.wire[:n]), false) // no panic
		}
	}
	long := func(n int) []byte {
		return AccountCheck{Salt: []byte("s"), Account: []byte(strings.Repeat("a", n))}.AppendTo(nil)[LettersLen:]
	}
	if _, err := ParseAccount(long(MaxText)); err != nil {
		t.Errorf("the longest name: %v", err)
	}
	if _, err := ParseAccount(long(MaxText + 1)); err == nil {
		t.Error("a name that is too long")
	}
	if _, err := ParseAccount(long(0)); err == nil {
		t.Error("no name")
	}
	many := func(n int) []byte {
		return KeyCheck{Player: keys.Player, Keys: make([]Key, n)}.AppendTo(nil)[LettersLen:]
	}
	if _, err := ParseKeys(many(MaxKeys)); err != nil {
		t.Errorf("the most keys: %v", err)
	}
	if _, err := ParseKeys(many(MaxKeys + 1)); err == nil {
		t.Error("too many keys")
	}
	if Stops([]byte("\x01\x14\x01\x00")) || !Stops([]byte("\x01\x14\x00\x00")) || Stops(nil) {
		t.Error("a server that stops is not recognised, or another is")
	}
}
