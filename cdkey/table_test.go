package cdkey

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	goodKey   = "AAAA-BBBB-CCCC-DDDD"
	product   = 461
	testPCH   = "0123456789abcdef0123456789abcdef"
	challenge = "wX3kQ9zz"
)

var (
	one   = netip.MustParseAddrPort("192.0.2.1:6500")
	two   = netip.MustParseAddrPort("198.51.100.2:6500")
	three = netip.MustParseAddrPort("203.0.113.3:6500")
)

// oneKey is a Keyring with goodKey.
type oneKey struct{ banned bool }

func (oneKey) Key(p int, hash string) (string, bool) {
	return goodKey, p == product && hash == HashOf(goodKey)
}

func (k oneKey) Banned(p int, hash string) bool { return k.banned && hash == HashOf(goodKey) }

// step is something that happens to a table.
type step struct {
	at   time.Duration
	from netip.AddrPort
	text string // of the message; empty: a tick
	want string // messages as "address text", one per line
}

// auth returns a request with a key.
func auth(key string, skey string) string {
	return `\auth\\pid\461\ch\` + challenge + `\resp\` + Respond(key, challenge, 77) + `\ip\16777343\skey\` + skey + `\reqproof\1\`
}

// older returns a request as older clients send it.
func older(text string) string { return strings.TrimSuffix(text, "\\reqproof\\1\\") }

func TestTable(t *testing.T) {
	h := HashOf(goodKey)
	ok := func(to netip.AddrPort, skey string) string { return to.String() + ` \uok\\cd\` + h + `\skey\` + skey }
	no := func(to netip.AddrPort, skey, text string) string {
		return to.String() + ` \unok\\cd\` + h + `\skey\` + skey + `\errmsg\` + text
	}
	ison := func(to netip.AddrPort) string { return to.String() + ` \ison\\cd\` + h + `\skey\3\pch\` + testPCH }
	proof := `\uon\\skey\3\seed\\proof\` + respond(goodKey, testPCH, 9, true)
	disc := `\disc\\pid\461\cd\` + h + `\ip\16777343`
	const s = time.Second
	tests := map[string][]step{
		"unknown key":    {{0, one, auth("other", "1"), one.String() + ` \unok\\cd\` + HashOf("other") + `\skey\1\errmsg\` + textUnknown}},
		"wrong response": {{0, one, strings.Replace(auth(goodKey, "1"), challenge, "another1", 1), no(one, "1", textWrong)}},
		"same server again": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{2 * s, one, auth(goodKey, "1"), ok(one, "1")},
			{9 * s, one, auth(goodKey, "2"), ok(one, "2")},
		},
		"in use elsewhere": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{5 * s, two, auth(goodKey, "2"), ison(one)},
			{5 * s, one, `\uon\\skey\3\seed\owatagusiam\proof\0`, ""},
			{6 * s, one, proof, no(two, "2", textInUse)},
			{7 * s, two, auth(goodKey, "2"), no(two, "2", textInUse)},
			{9 * s, one, auth(goodKey, "1"), ok(one, "1")},
		},
		"proof of another server": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{5 * s, two, auth(goodKey, "2"), ison(one)},
			{5 * s, three, proof, ""},
			{7 * s, netip.AddrPort{}, "", ok(two, "2")},
		},
		"wrong proof": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{5 * s, two, auth(goodKey, "2"), ison(one)},
			{6 * s, one, `\uon\\skey\3\seed\\proof\` + respond("other", testPCH, 9, true), ""},
			{6 * s, one, `\uon\\skey\3\seed\\proof\` + respond(goodKey, testPCH, 9, false), ""},
			{6900 * time.Millisecond, netip.AddrPort{}, "", ""},
			{7 * s, netip.AddrPort{}, "", ok(two, "2")},
			{8 * s, one, proof, ""},
		},
		"no longer there": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{5 * s, two, auth(goodKey, "2"), ison(one)},
			{6 * s, one, `\uoff\\skey\3`, ok(two, "2")},
			{7 * s, one, `\uoff\\skey\3`, ""},
		},
		"left": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{1 * s, two, disc, ""}, // not its own
			{2 * s, one, disc, ""},
			{3 * s, two, auth(goodKey, "2"), ok(two, "2")},
		},
		"left while asked": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{5 * s, two, auth(goodKey, "2"), ison(one)},
			{6 * s, one, disc, ok(two, "2")},
		},
		"silent server": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{61 * s, two, auth(goodKey, "2"), ok(two, "2")},
		},
		"server with keepalives": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{20 * s, one, `\ka\`, ""},
			{40 * s, one, `\ka\`, ""},
			{60 * s, one, `\ka\`, ""},
			{61 * s, two, auth(goodKey, "2"), ison(one)},
		},
		"one question at a time": {
			{0, one, auth(goodKey, "1"), ok(one, "1")},
			{5 * s, two, auth(goodKey, "2"), ison(one)},
			{5 * s, two, auth(goodKey, "2"), ""},
			{6 * s, three, auth(goodKey, "3"), ""},
		},
		"no more bytes than it sent": { // an older client's request is too short for a question
			{0, one, older(auth(goodKey, "1")), ok(one, "1")},
			{5 * s, two, auth(goodKey, "2"), ok(two, "2")},
			{6 * s, two, auth(goodKey, "2"), ok(two, "2")},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			x := newTable(oneKey{}, func(int) int { return 3 }, func() string { return testPCH }, lone())
			for i, e := range steps {
				if diff := cmp.Diff(e.want, x.happen(t, e, began)); diff != "" {
					t.Errorf("step %d, -want +got:\n%s", i, diff)
				}
			}
			x.sweep(began.Add(time.Hour))
			if x.len() != 0 && len(x.asked) == 0 {
				t.Errorf("%d keys in use after an hour of silence", x.len())
			}
		})
	}
}

// happen carries out a step and returns the packets it sends.
func (t *table) happen(tb testing.TB, e step, began time.Time) string {
	tb.Helper()
	now := began.Add(e.at)
	if e.text == "" {
		return texts(t.tick(now))
	}
	r, ok := parseRequest([]byte(e.text))
	if !ok {
		tb.Fatalf("parseRequest(%q) = false", e.text)
	}
	var out []send
	switch r.kind {
	case kindAuth:
		_, out = t.auth(e.from, &r, len(e.text), now)
	case kindDisc:
		_, out = t.leave(e.from, &r, len(e.text), now)
	case kindOn, kindOff:
		_, out = t.answer(e.from, &r, len(e.text), now)
	default:
		t.keepAlive(e.from, len(e.text), now)
	}
	return texts(out)
}

func texts(out []send) string {
	var lines []string
	for _, m := range out {
		lines = append(lines, m.to.String()+" "+string(m.body))
	}
	return strings.Join(lines, "\n")
}
