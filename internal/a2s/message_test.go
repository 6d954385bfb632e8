package a2s

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The documentation prints some of these packets beside texts that differ from the
// bytes; the bytes count.
func TestRequestsAsDocumented(t *testing.T) {
	for name, want := range map[string]Request{
		"request_info":               {InfoRequest, NoChallenge},
		"request_info_challenged":    {InfoRequest, 0xEA5E080A},
		"request_players":            {PlayersRequest, NoChallenge},
		"request_players_challenged": {PlayersRequest, 0x22D5A14B},
		"request_rules":              {RulesRequest, NoChallenge},
		"request_rules_challenged":   {RulesRequest, 0x22D5A14B},
		"request_ping":               {PingRequest, NoChallenge},
		"request_challenge":          {ChallengeRequest, NoChallenge},
	} {
		packet := packetOf(t, name)
		if got, err := ParseRequest(packet); got != want || err != nil {
			t.Errorf("ParseRequest(%s) = %+v, %v, want %+v", name, got, err, want)
		}
		if got := AppendRequest([]byte("x"), want); string(got) != "x"+string(packet) {
			t.Errorf("AppendRequest(%s) = %x, want %x", name, got[1:], packet)
		}
	}
}

func TestRequestsMayBeLongerOrShorter(t *testing.T) {
	for packet, want := range map[string]Request{
		"\xFF\xFF\xFF\xFFTSource Engine Query\x00\x01":                     {InfoRequest, NoChallenge},
		"\xFF\xFF\xFF\xFFTSource Engine Query\x00\x01\x00\x00\x00and more": {InfoRequest, 1},
		"\xFF\xFF\xFF\xFFU":                     {PlayersRequest, NoChallenge},
		"\xFF\xFF\xFF\xFFV\x01\x02":             {RulesRequest, NoChallenge},
		"\xFF\xFF\xFF\xFFV\x01\x02\x03\x04\x05": {RulesRequest, 0x04030201},
		"\xFF\xFF\xFF\xFFi\x01\x00\x00\x00":     {PingRequest, 1},
		"\xFF\xFF\xFF\xFFWx":                    {ChallengeRequest, NoChallenge},
	} {
		if got, err := ParseRequest([]byte(packet)); got != want || err != nil {
			t.Errorf("ParseRequest(%q) = %+v, %v, want %+v", packet, got, err, want)
		}
	}
}

func TestOtherPacketsAreNoRequests(t *testing.T) {
	for packet, want := range map[string]error{
		"":                              ErrForeign,
		"\xFF\xFF\xFF\xFF":              ErrForeign,
		"\xFE\xFF\xFF\xFFTSource":       ErrForeign,
		"\\status\\":                    ErrForeign,
		"\xFF\xFF\xFF\xFFI":             ErrForeign,
		"\xFF\xFF\xFF\xFFT":             ErrMalformed,
		"\xFF\xFF\xFF\xFFTsource":       ErrMalformed,
		string(AppendPing(nil, "")):     ErrForeign,
		string(AppendChallenge(nil, 1)): ErrForeign,
	} {
		if got, err := ParseRequest([]byte(packet)); !errors.Is(err, want) {
			t.Errorf("ParseRequest(%q) = %+v, %v, want %v", packet, got, err, want)
		}
	}
	whole := packetOf(t, "request_info")
	for n := range whole {
		if q, err := ParseRequest(whole[:n]); err == nil {
			t.Errorf("an info request cut at %d is %+v", n, q)
		}
	}
}

func TestChallengesAsDocumented(t *testing.T) {
	for name, want := range map[string]uint32{
		"challenge": 0x22D5A14B, "challenge_info": 0xEA5E080A, "dayz_challenge": 0x6C08816A,
	} {
		if got, err := ParseChallenge(bodyOf(t, name, KindChallenge)); got != want || err != nil {
			t.Errorf("%s: challenge %#x, error %v, want %#x", name, got, err, want)
		}
		if got := AppendChallenge(nil, want); !bytes.Equal(got, packetOf(t, name)) {
			t.Errorf("%s: AppendChallenge(%#x) = %x", name, want, got)
		}
	}
	for _, body := range []string{"", "\x01\x02\x03"} {
		if _, err := ParseChallenge([]byte(body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("ParseChallenge(%q): %v, want ErrMalformed", body, err)
		}
	}
}

// The documentation writes the text of Source servers with a full stop at its
// end, which is how its hex dump prints the NUL.
func TestPingsAsDocumented(t *testing.T) {
	for name, want := range map[string]string{"ping_goldsource": PingGoldSource, "ping_source": PingSource} {
		body := bodyOf(t, name, KindPing)
		if got := ParsePing(body); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got := AppendPing(nil, want); !bytes.Equal(got, packetOf(t, name)) {
			t.Errorf("%s: AppendPing(%q) = %x", name, want, got)
		}
	}
	if got := ParsePing(nil); got != "" {
		t.Errorf("a ping without text: %q", got)
	}
}

func TestMessages(t *testing.T) {
	for packet, want := range map[string]Message{
		"\xFF\xFF\xFF\xFFj":                      {KindPing, []byte{}},
		"\xFF\xFF\xFF\xFFj0\x00":                 {KindPing, []byte("0\x00")},
		"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFj0\x00": {KindPing, []byte("0\x00")},
	} {
		got, err := ParseMessage([]byte(packet))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ParseMessage(%q): %v (-want +got):\n%s", packet, err, diff)
		}
	}
	for packet, want := range map[string]error{
		"": ErrForeign, "\xFF\xFF\xFF": ErrForeign, "\xFE\xFF\xFF\xFFj": ErrForeign,
		"\xFF\xFF\xFF\xFF": ErrMalformed, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF": ErrMalformed,
	} {
		if _, err := ParseMessage([]byte(packet)); !errors.Is(err, want) {
			t.Errorf("ParseMessage(%q): %v, want %v", packet, err, want)
		}
	}
}

func TestTextsEndAtTheirNUL(t *testing.T) {
	for text, want := range map[string]string{"": "\x00", "a": "a\x00", "a\x00b": "a\x00", "\x00": "\x00"} {
		if got := string(appendText(nil, text)); got != want {
			t.Errorf("appendText(%q) = %q, want %q", text, got, want)
		}
	}
}
