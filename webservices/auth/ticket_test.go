package auth

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// appendTo appends a ticket of version 2.1.
func (t *consoleTicket) appendTo(b []byte) []byte {
	be := binary.BigEndian
	var body []byte
	add := func(kind uint16, content []byte) {
		body = append(be.AppendUint16(be.AppendUint16(body, kind), uint16(len(content))), content...)
	}
	add(ticketBinary, []byte("serial number of 20b"))
	add(ticketU32, be.AppendUint32(nil, 0x100))
	add(ticketTime, be.AppendUint64(nil, uint64(t.expires.Add(-time.Hour).UnixMilli())))
	add(ticketTime, be.AppendUint64(nil, uint64(t.expires.UnixMilli())))
	add(ticketU64, be.AppendUint64(nil, t.user))
	add(ticketText, append([]byte(t.name), make([]byte, 32-len(t.name))...))
	add(ticketBinary, []byte("gb\x00\x01"))
	add(ticketText, []byte("a4\x00\x00"))
	add(ticketBinary, []byte("UP0001-BLUS00001_00\x00\x00\x00\x00\x00"))
	add(ticketU32, make([]byte, 4))
	add(0, nil)
	add(0, nil)
	sections := append(be.AppendUint16([]byte{0x30, 0}, uint16(len(body))), body...)
	sections = append(append(be.AppendUint16(append(sections, 0x30, 2), 8), 0, 8, 0, 4), "sign"...)
	return append(be.AppendUint32(append(b, 0x21, 1, 0, 0), uint32(len(sections))), sections...)
}

func (t *consoleTicket) text() string { return base64.StdEncoding.EncodeToString(t.appendTo(nil)) }

func annsTicket() consoleTicket {
	return consoleTicket{user: 0x1a2b3c4d5e, name: "ann_on_ps3", expires: time.Now().Add(time.Hour).Truncate(time.Millisecond)}
}

func TestParseTicket(t *testing.T) {
	want := annsTicket()
	whole := want.appendTo(nil)
	for _, text := range []string{want.text(), strings.TrimRight(want.text(), "="), " " + want.text() + "\n"} {
		if got, err := parseTicket(text); err != nil || got != want {
			t.Errorf("parseTicket() = %+v, %v, want %+v", got, err, want)
		}
	}
	bad := map[string]string{
		"empty": "", "not base64": "***", "short": "AQID", "behind": base64.StdEncoding.EncodeToString(append(whole, 0)),
		"long": base64.StdEncoding.EncodeToString(make([]byte, maxTicket+1)),
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
	f.Add(want.appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseTicket(base64.StdEncoding.EncodeToString(b))
		if err == nil && (len(got.name) > maxTicketName || strings.Contains(got.name, "\x00")) {
			t.Errorf("name %q", got.name)
		}
	})
}

// TestConsole signs in with a ticket of a PS3, and with the token in the reply.
func TestConsole(t *testing.T) {
	f := build(t, func(o *Options) { o.Consoles, o.Registrations = true, 2 })
	sign := func(method string, ticket consoleTicket, code string) (token, challenge string) {
		t.Helper()
		r := f.call(method, header+"<gameid>1</gameid><npticket><Value>"+ticket.text()+"</Value></npticket>")
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
	old.expires = time.Now().Add(-time.Second)
	sign("LoginPs3Cert", old, "3")
	nameless := ann
	nameless.user, nameless.name = 5, ""
	sign("LoginPs3Cert", nameless, "4")
	second, third := ann, ann
	second.user, third.user = 6, 7
	sign("LoginPs3Cert", second, "0")
	sign("LoginPs3Cert", third, "7") // a third account of one address in a minute
	sign("LoginPs3Cert", second, "0")
	if r := f.call("LoginPs3Cert", header+"<npticket><Value>AQID</Value></npticket>"); r.Text("responseCode") != "3" {
		t.Errorf("a ticket that cannot be read: code %s, want 3", r.Text("responseCode"))
	}

	// A player with a password keeps the account.
	eve := ann
	eve.user = 8
	if _, err := f.accounts.Users.Register(t.Context(), accounts.Registration{Email: "ps3-0000000000000008@" + accounts.ConsoleDomain, Nick: "Eve", Password: "pw"}); err != nil {
		t.Fatal(err)
	}
	sign("LoginPs3Cert", eve, "3")

	f.backend.SetConsoles(false)
	sign("LoginPs3Cert", ann, "7")
}
