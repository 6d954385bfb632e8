package cdkey

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// recorded is a recording of packets from game servers and players' machines.
type recorded struct {
	Responses []struct {
		CDKey     string `json:"cdkey"`
		Challenge string `json:"challenge"`
		Method    string `json:"method"`
		Response  string `json:"response"`
		Random    string `json:"random_hex"`
	} `json:"responses"`
	Packets []struct {
		Dir   string `json:"dir"`
		Clear string `json:"clear"`
		Wire  string `json:"wire_hex"`
	} `json:"packets"`
}

func loadRecorded(t testing.TB) (r recorded) {
	t.Helper()
	data, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Packets) == 0 || len(r.Responses) == 0 {
		t.Fatal("recorded.json is empty")
	}
	return r
}

func TestRecordedResponses(t *testing.T) {
	for _, r := range loadRecorded(t).Responses {
		random, err := strconv.ParseUint(r.Random, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		again := r.Method == "reauth"
		if got := respond(r.CDKey, r.Challenge, uint32(random), again); got != r.Response {
			t.Errorf("respond(%q, %q, %x, %v) = %s, want %s", r.CDKey, r.Challenge, random, again, got, r.Response)
		}
		if !proves([]byte(r.Response), r.CDKey, r.Challenge, again) {
			t.Errorf("proves(%s) = false, want true", r.Response)
		}
		for what, wrong := range map[string]bool{
			"other key":       proves([]byte(r.Response), r.CDKey+"x", r.Challenge, again),
			"other challenge": proves([]byte(r.Response), r.CDKey, r.Challenge+"x", again),
			"other method":    proves([]byte(r.Response), r.CDKey, r.Challenge, !again),
			"cut":             proves([]byte(r.Response[:71]), r.CDKey, r.Challenge, again),
		} {
			if wrong {
				t.Errorf("response %s is accepted with %s", r.Response, what)
			}
		}
	}
}

func TestRecordedPackets(t *testing.T) {
	kinds := map[string]kind{"auth": kindAuth, "disc": kindDisc, "ka": kindKeepAlive, "uon": kindOn, "uoff": kindOff, "ucount": kindCount}
	for _, p := range loadRecorded(t).Packets {
		b, err := hex.DecodeString(p.Wire)
		if err != nil {
			t.Fatal(err)
		}
		crypt(b)
		if string(b) != p.Clear {
			t.Errorf("%s in the clear is %q, want %q", p.Wire, b, p.Clear)
		}
		name, _, _ := strings.Cut(p.Clear[1:], `\`)
		if p.Dir == "S>C" {
			checkAnswer(t, p.Clear)
			continue
		}
		r, ok := parseRequest(b)
		if !ok || r.kind != kinds[name] || r.kind == kindUnknown {
			t.Errorf("parseRequest(%q): %v, %v", p.Clear, r.kind, ok)
		}
	}
}

// checkAnswer compares an answer of the service with the one this package writes.
func checkAnswer(t *testing.T, clear string) {
	t.Helper()
	f := fields{rest: []byte(clear[1:])}
	name, _ := f.next()
	values := make(map[string]string)
	for len(f.rest) > 0 {
		key, value := f.next()
		values[string(key)] = string(value)
	}
	h, _ := parseHash([]byte(values["cd"]))
	skey, _ := strconv.Atoi(values["skey"])
	var got []byte
	switch string(name) {
	case "uok":
		got = appendOK(nil, h, skey)
	case "unok":
		got = appendRefusal(nil, h, skey, values["errmsg"])
	case "ison":
		got = appendQuestion(nil, h, skey, values["pch"])
	case "ucount":
		return // not asked by this service
	}
	if string(got) != clear {
		t.Errorf("answer %q, want %q", got, clear)
	}
}

func TestParseRequest(t *testing.T) {
	const resp = "cb80a95a273e945964a6b706ab5498a17fe896b4dda8f6839da87c0820597e62c4fe2a56"
	auth := `\auth\\pid\461\ch\c\resp\` + resp + `\ip\-5\skey\6979`
	tests := map[string]struct {
		text string
		ok   bool
	}{
		"auth of an older client":  {auth, true},
		"auth of a newer one":      {auth + `\reqproof\1\`, true},
		"no challenge":             {strings.Replace(auth, `\ch\c`, "", 1), false},
		"no number":                {strings.Replace(auth, `\skey\6979`, "", 1), false},
		"number with a sign":       {strings.Replace(auth, "6979", "-6979", 1), false},
		"number too long":          {strings.Replace(auth, "6979", "12345678901", 1), false},
		"number too large":         {strings.Replace(auth, "6979", "2147483648", 1), false},
		"hash is no hash":          {strings.Replace(auth, resp, strings.Repeat("g", 72), 1), false},
		"short hash":               {strings.Replace(auth, resp, resp[:31], 1), false},
		"disc without a key":       {`\disc\\pid\461`, false},
		"no text":                  {"auth", false},
		"empty":                    {"", false},
		"unknown":                  {`\what\\pid\1`, false},
		"as long as can be":        {auth + `\x\` + strings.Repeat("y", maxRequest-len(auth)-3), true},
		"longer":                   {auth + `\x\` + strings.Repeat("y", maxRequest-len(auth)-2), false},
		"other letters of the hex": {strings.ReplaceAll(auth, "cb80", "CB80"), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, ok := parseRequest([]byte(test.text)); ok != test.ok {
				t.Errorf("parseRequest(%q): %v, want %v", test.text, ok, test.ok)
			}
		})
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, p := range loadRecorded(f).Packets {
		f.Add([]byte(p.Clear))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := parseRequest(b)
		if !ok {
			return
		}
		// An answer is never longer than its request.
		if r.kind == kindAuth && len(r.response) == responseLen {
			for _, answer := range [][]byte{appendOK(nil, r.hash, r.skey), appendRefusal(nil, r.hash, r.skey, textUnknown)} {
				if len(answer) > len(b) {
					t.Errorf("answer %q to %q is longer", answer, b)
				}
			}
		}
	})
}
