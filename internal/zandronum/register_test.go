package zandronum

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/nettest"
)

const verification = "0123456789ABCDEF0123456789ABCDEF"

func TestParseKind(t *testing.T) {
	tests := map[string]struct {
		message string
		kind    Kind
		body    string
	}{
		"challenge":         {"745d5600aabb", KindChallenge, "aabb"},
		"old list request":  {"c7000000", KindQuery, ""},
		"three bytes":       {"745d56", kindNothing, ""},
		"nothing":           {"", kindNothing, ""},
		"all ones are ours": {"ffffffff", kindNothing, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			kind, body := ParseKind(nettest.Unhex(t, tc.message))
			if kind != tc.kind || hex.EncodeToString(body) != tc.body {
				t.Errorf("ParseKind(%s): got %d %x, want %d %s", tc.message, kind, body, tc.kind, tc.body)
			}
		})
	}
}

func TestParseChallenge(t *testing.T) {
	v := hex.EncodeToString([]byte(verification)) + "00"
	with := func(enforces bool, revision uint32) Challenge {
		return Challenge{Verification: []byte(verification), Complete: true, Enforces: enforces, Revision: revision}
	}
	tests := map[string]struct {
		body     string
		want     Challenge
		outdated bool
	}{
		"current":                {v + "01" + "99320469", with(true, 1761882777), false},
		"does not enforce":       {v + "00" + "99320469", with(false, 1761882777), false},
		"short revision":         {v + "01" + "f00a", with(true, 2800), false},
		"short and one more":     {v + "01" + "f00a99", with(true, 2800), false},
		"no revision":            {v + "01", with(true, revisionUnstated), false},
		"one byte of a revision": {v + "01" + "05", with(true, revisionUnstated), false},
		"refused revision":       {v + "01" + "cd0b0000", with(true, 3021), true},
		"without enforce byte":   {v, Challenge{Verification: []byte(verification), Revision: revisionUnstated}, true},
		"no verification string": {"00" + "01" + "f00a0000", Challenge{Verification: []byte{}, Complete: true, Enforces: true, Revision: 2800}, false},
		"nothing":                {"", Challenge{Verification: []byte{}, Revision: revisionUnstated}, true},
		"string without an end":  {"6162", Challenge{Verification: []byte("ab"), Revision: revisionUnstated}, true},
		"something behind it":    {v + "01" + "99320469" + "ffff", with(true, 1761882777), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := ParseChallenge(nettest.Unhex(t, tc.body))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseChallenge(%s) (-want +got):\n%s", tc.body, diff)
			}
			if got.Outdated() != tc.outdated {
				t.Errorf("Outdated() of %s: got %t, want %t", tc.body, got.Outdated(), tc.outdated)
			}
		})
	}
}

func TestRevisionsThatTakeParts(t *testing.T) {
	for revision, want := range map[uint32]bool{
		0: false, 2906: false, 2907: true, 3021: true, 1761882777: true, 0x80000001: true, revisionUnstated: false,
	} {
		if got := TakesParts(revision); got != want {
			t.Errorf("TakesParts(%d): got %t, want %t", revision, got, want)
		}
	}
}

func TestVerificationBothWays(t *testing.T) {
	want := Verification{[]byte(verification), 0xA45C3BE5}
	request := AppendVerificationRequest(nil, want)
	if s := hex.EncodeToString(request); s != "ce"+hex.EncodeToString([]byte(verification))+"00e53b5ca4" {
		t.Errorf("AppendVerificationRequest: got %s", s)
	}
	got, ok := ParseVerificationRequest(request)
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("ParseVerificationRequest: ok %t (-want +got):\n%s", ok, diff)
	}
	_, body := ParseKind(AppendVerification(nil, want))
	got, ok = ParseVerification(body)
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("ParseVerification: ok %t (-want +got):\n%s", ok, diff)
	}
	if _, ok := ParseVerification(body[:len(body)-1]); ok {
		t.Error("ParseVerification took a number of three bytes")
	}
	if _, ok := ParseVerificationRequest(AppendReceipt(nil, want.Verification)); ok {
		t.Error("ParseVerificationRequest took a receipt")
	}
}

func TestReceiptBothWays(t *testing.T) {
	kind, body := ParseKind(AppendReceipt(nil, []byte(verification)))
	if got := ParseReceipt(body); kind != KindReceipt || string(got) != verification {
		t.Errorf("ParseReceipt: got %d %q, want %d %q", kind, got, KindReceipt, verification)
	}
}

func FuzzParseToMaster(f *testing.F) {
	f.Add(AppendChallenge(nil, Challenge{Verification: []byte(verification), Complete: true, Revision: 5}))
	f.Add(AppendVerification(nil, Verification{[]byte(verification), 7}))
	f.Add(AppendReceipt(nil, []byte(verification)))
	f.Add(AppendListRequest(nil, ListVersion))
	f.Fuzz(func(t *testing.T, message []byte) {
		_, body := ParseKind(message)
		c := ParseChallenge(body)
		if len(c.Verification) > MaxString {
			t.Fatalf("verification string of %d bytes", len(c.Verification))
		}
		if c.Complete {
			_, again := ParseKind(AppendChallenge(nil, c))
			if diff := cmp.Diff(c, ParseChallenge(again)); diff != "" {
				t.Fatalf("ParseChallenge(AppendChallenge()) (-want +got):\n%s", diff)
			}
		}
		ParseVerification(body)
		ParseReceipt(body)
		ParseListRequest(body)
		ParseQuery(body)
	})
}
