package auth

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// text returns a ticket in base64.
func text(t accounts.ConsoleTicket) string { return base64.StdEncoding.EncodeToString(t.Append(nil)) }

func annsTicket() accounts.ConsoleTicket {
	return accounts.ConsoleTicket{User: 0x1a2b3c4d5e, Name: "ann_on_ps3", Expires: time.Now().Add(time.Hour).Truncate(time.Millisecond)}
}

func TestParseTicket(t *testing.T) {
	want := annsTicket()
	whole := want.Append(nil)
	for _, s := range []string{text(want), strings.TrimRight(text(want), "="), " " + text(want) + "\n"} {
		if got, err := parseTicket(s); err != nil || got != want {
			t.Errorf("parseTicket() = %+v, %v, want %+v", got, err, want)
		}
	}
	bad := map[string]string{
		"empty": "", "not base64": "***", "short": "AQID", "behind": base64.StdEncoding.EncodeToString(append(whole, 0)),
		"long": base64.StdEncoding.EncodeToString(make([]byte, accounts.MaxConsoleTicket+1)),
	}
	for i := range len(whole) {
		bad["cut"] = base64.StdEncoding.EncodeToString(whole[:i])
		for name, text := range bad {
			if got, err := parseTicket(text); err == nil {
				t.Errorf("%s at %d: parseTicket() = %+v", name, i, got)
			}
		}
	}
	for _, at := range []int{0, 1, 7, 8, 9, 13} { // version, length, section, type of the serial number
		wrong := append([]byte(nil), whole...)
		wrong[at] ^= 0x11
		if got, err := parseTicket(base64.StdEncoding.EncodeToString(wrong)); err == nil && at != 0 {
			t.Errorf("byte %d wrong: parseTicket() = %+v", at, got)
		}
	}
}

func FuzzTicket(f *testing.F) {
	want := annsTicket()
	f.Add(want.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseTicket(base64.StdEncoding.EncodeToString(b))
		if err == nil && (len(got.Name) > 64 || strings.Contains(got.Name, "\x00")) {
			t.Errorf("name %q", got.Name)
		}
	})
}

// TestConsole signs in with a ticket of a PS3, and with the token in the reply.
func TestConsole(t *testing.T) {
	f := build(t, func(o *Options) { o.Consoles, o.Registrations = true, 2 })
	sign := func(method string, ticket accounts.ConsoleTicket, code string) (token, challenge string) {
		t.Helper()
		r := f.call(method, header+"<gameid>1</gameid><npticket><Value>"+text(ticket)+"</Value></npticket>")
		if r.Text("responseCode") != code || code != "0" && len(r.Children) != 1 {
			t.Fatalf("%s: code %s with %d elements, want %s", method, r.Text("responseCode"), len(r.Children), code)
		}
		return r.Text("authToken"), r.Text("partnerChallenge")
	}
	ann := annsTicket()
	sign("LoginPs3CertWithGameId", ann, "0")
	token, challenge := sign("LoginPs3Cert", ann, "0")
	if token == "" || challenge == "" || len(token) > 255 || len(challenge) > 255 {
		t.Fatalf("token %q, challenge %q", token, challenge)
	}
	r := f.call("LoginRemoteAuth", header+"<authtoken>"+token+"</authtoken><challenge>"+challenge+"</challenge>")
	c := r.Child("certificate")
	if r.Text("responseCode") != "0" || c.Text("profilenick") != "ann_on_ps3" || c.Text("uniquenick") != "ann_on_ps3" {
		t.Errorf("certificate of %s, code %s", c.Text("profilenick"), r.Text("responseCode"))
	}
	list := f.log.Of(client.Addr())
	if len(list) == 0 || list[len(list)-1].Verdict != verdicts.SignedIn {
		t.Errorf("verdicts %+v, want SignedIn", list)
	}

	old := ann
	old.Expires = time.Now().Add(-time.Second)
	sign("LoginPs3Cert", old, "3")
	nameless := ann
	nameless.User, nameless.Name = 5, ""
	sign("LoginPs3Cert", nameless, "4")
	second, third := ann, ann
	second.User, third.User = 6, 7
	sign("LoginPs3Cert", second, "0")
	sign("LoginPs3Cert", third, "7") // a third account of one address in a minute
	sign("LoginPs3Cert", second, "0")
	if r := f.call("LoginPs3Cert", header+"<npticket><Value>AQID</Value></npticket>"); r.Text("responseCode") != "3" {
		t.Errorf("a ticket that cannot be read: code %s, want 3", r.Text("responseCode"))
	}

	// A player with a password keeps the account.
	eve := ann
	eve.User = 8
	if _, err := f.accounts.Users.Register(t.Context(), accounts.Registration{Email: "ps3-0000000000000008@" + accounts.ConsoleDomain, Nick: "Eve", Password: "pw"}); err != nil {
		t.Fatal(err)
	}
	sign("LoginPs3Cert", eve, "3")

	f.backend.SetConsoles(false)
	sign("LoginPs3Cert", ann, "7")
}
