package mail

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/mail/mailtest"
)

func message() *Message {
	return &Message{Name: "Käfer's servers", To: "joe@example.com", Subject: "New password for Käfer", Text: "Hello.\n\nÄ line\n.\nend\n"}
}

// sendTo sends a message to a server and returns the mail that it took.
func sendTo(t *testing.T, s *mailtest.Server, url string, m *Message) mailtest.Mail {
	t.Helper()
	c := Config{SMTPURL: strings.ReplaceAll(url, "SERVER", s.Address), From: "noreply@example.org"}
	if err := Send(t.Context(), &c, m); err != nil {
		t.Fatalf("Send() = %v", err)
	}
	return <-s.Mails
}

func TestSend(t *testing.T) {
	tests := map[string]struct {
		opt       mailtest.Options
		url       string
		encrypted bool
		user      string
	}{
		"plain on this machine": {mailtest.Options{}, "smtp://SERVER", false, ""},
		"STARTTLS":              {mailtest.Options{STARTTLS: true}, "smtp://SERVER", true, ""},
		"PLAIN":                 {mailtest.Options{STARTTLS: true, Auth: "LOGIN PLAIN"}, "smtp://me%40here:s3cret@SERVER", true, "me@here"},
		"LOGIN":                 {mailtest.Options{Auth: "LOGIN"}, "smtp://me:s3cret@SERVER", false, "me"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := sendTo(t, mailtest.New(t, tc.opt), tc.url, message())
			if got.Encrypted != tc.encrypted || got.User != tc.user || (got.Password == "s3cret") != (tc.user != "") {
				t.Errorf("encrypted %v, user %q, password %q; want %v, %q", got.Encrypted, got.User, got.Password, tc.encrypted, tc.user)
			}
			if got.From != "noreply@example.org" || got.To != "joe@example.com" || got.Subject != "New password for Käfer" || got.Text != message().Text {
				t.Errorf("the mail is %+v", got)
			}
			from, err := got.Header.AddressList("From")
			if err != nil || len(from) != 1 || from[0].Name != "Käfer's servers" || from[0].Address != "noreply@example.org" {
				t.Errorf("From is %v, %v", from, err)
			}
			if _, err := got.Header.Date(); err != nil || got.Header.Get("Auto-Submitted") != "auto-generated" || got.Header.Get("Message-ID") == "" {
				t.Errorf("the header is %v, %v", got.Header, err)
			}
			for line := range strings.SplitSeq(got.Raw, "\r\n") {
				if len(line) > 998 || strings.ContainsFunc(line, func(r rune) bool { return r > '~' || r < ' ' }) {
					t.Errorf("line %q is too long or not ASCII", line)
				}
			}
		})
	}
}

// No text of a message becomes a header, a recipient or a command.
func TestInjection(t *testing.T) {
	const evil = "x\r\nBcc: victim@example.net\r\n\r\nbody\u2028\x00"
	s := mailtest.New(t, mailtest.Options{})
	m := &Message{Name: evil, Subject: evil, Text: "a\r\n.\r\nRCPT TO:<victim@example.net>\r\n", To: "joe@example.com"}
	got := sendTo(t, s, "smtp://SERVER", m)
	var names []string
	for name := range got.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To"}
	if !slices.Equal(names, want) || got.To != "joe@example.com" || !strings.Contains(got.Text, "RCPT TO") {
		t.Errorf("headers %q, to %q, text %q; want %q", names, got.To, got.Text, want)
	}
	for _, to := range []string{
		"", "joe", "@b.c", "a@", "a b@c.d", "a@b@c.d", "a@b.c\r\nRCPT TO:<x@y.z>", "a>@b.c", `"a> b"@c.d`, "<a@b.c>", "a@b.c,x@y.z", "a@b c", "ä@b.c", "a@-b.c", "a\x00@b.c", "a@[127.0.0.1]",
	} {
		m.To = to
		if err := Send(t.Context(), &Config{SMTPURL: "smtp://" + s.Address, From: "noreply@example.org"}, m); !errors.Is(err, ErrAddress) {
			t.Errorf("Send() to %q = %v, want ErrAddress", to, err)
		}
	}
}

func TestSendRefused(t *testing.T) {
	tests := map[string]struct {
		opt       mailtest.Options
		url, want string
		temporary bool
	}{
		"untrusted certificate": {mailtest.Options{TLS: true}, "smtps://SERVER", "certificate", false},
		"no such receiver":      {mailtest.Options{Fail: "RCPT", Answer: "550 <JOE@example.com> unknown, joe@example.com"}, "smtp://SERVER", `550 "<(receiver)> unknown, (receiver)"`, false},
		"later":                 {mailtest.Options{Fail: "MAIL", Answer: "451 greylisted"}, "smtp://SERVER", `451 "greylisted"`, true},
		"wrong password":        {mailtest.Options{Auth: "PLAIN", Fail: "AUTH", Answer: "535 no"}, "smtp://me:s3cret@SERVER", `535 "no"`, false},
		"no mechanism":          {mailtest.Options{Auth: "GSSAPI"}, "smtp://me:s3cret@SERVER", "neither AUTH PLAIN nor LOGIN", false},
		"no AUTH":               {mailtest.Options{}, "smtp://me:s3cret@SERVER", "AUTH", false},
		"long":                  {mailtest.Options{Fail: "DATA", Answer: "554 " + strings.Repeat("x", 10_000)}, "smtp://SERVER", `554 "xxx`, false},
		"endless":               {mailtest.Options{Fail: "DATA", Answer: strings.Repeat("554-x\r\n", maxRead/4)}, "smtp://SERVER", "says too much", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := mailtest.New(t, tc.opt)
			err := Send(t.Context(), &Config{SMTPURL: strings.ReplaceAll(tc.url, "SERVER", s.Address), From: "noreply@example.org"}, message())
			if err == nil || !strings.Contains(err.Error(), tc.want) || IsTemporary(err) != tc.temporary || len(err.Error()) > 2*maxError {
				t.Errorf("Send() = %v, temporary %v; want %q, %v", err, err != nil && IsTemporary(err), tc.want, tc.temporary)
			}
			for _, secret := range []string{"s3cret", "joe@", "example.com"} {
				if strings.Contains(strings.ToLower(err.Error()), secret) {
					t.Errorf("the error has %q: %v", secret, err)
				}
			}
		})
	}
}

// far is a connection to a server on another machine.
type far struct{ net.Conn }

func (far) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 587} }

// Other machines are spoken to without encryption only if the URL allows it.
func TestNeedsTLS(t *testing.T) {
	for name, tc := range map[string]struct {
		opt      mailtest.Options
		insecure bool
		want     string
	}{
		"none":                       {mailtest.Options{}, false, ErrNoTLS.Error()},
		"none, allowed":              {mailtest.Options{}, true, ""},
		"other certificate":          {mailtest.Options{STARTTLS: true}, false, "certificate"},
		"other certificate, allowed": {mailtest.Options{STARTTLS: true}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := mailtest.New(t, tc.opt)
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			server, err := (&Config{SMTPURL: "smtp://" + s.Address}).server()
			if err != nil {
				t.Fatal(err)
			}
			server.Insecure = tc.insecure
			_, err = converse(t.Context(), far{conn}, &server)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("converse() = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestSendEndsWithContext(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0") // it says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if c, err := ln.Accept(); err == nil {
			defer func() { _ = c.Close() }()
		}
		cancel()
		<-t.Context().Done() // until then the connection is open
	}()
	if err := Send(ctx, &Config{SMTPURL: "smtp://" + ln.Addr().String(), From: "a@b.c"}, message()); !errors.Is(err, context.Canceled) {
		t.Errorf("Send() = %v, want the error of the context", err)
	}
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", "smtps://me:hidden-token@mail.example.org\n")
	for name, tc := range map[string]struct {
		c    Config
		want string
	}{
		"nothing":      {Config{}, ""},
		"file":         {Config{SMTPURLFile: good}, ""},
		"both":         {Config{SMTPURL: "smtp://x", SMTPURLFile: good}, "mail.smtp_url too"},
		"missing file": {Config{SMTPURLFile: filepath.Join(dir, "none")}, "mail.smtp_url_file"},
		"folder":       {Config{SMTPURLFile: dir}, "not a file"},
		"largest file": {Config{SMTPURLFile: file("largest", "smtp://x"+strings.Repeat("\n", maxURLFile-8))}, ""},
		"large file":   {Config{SMTPURLFile: file("large", "smtp://x"+strings.Repeat("\n", maxURLFile-7))}, "not a file of at most"},
		"bad file":     {Config{SMTPURLFile: file("bad", "hidden-token:x")}, "not the address of a mail server"},
	} {
		err := tc.c.Check()
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hidden-token")) {
			t.Errorf("%s: Check() = %v, want %q", name, err, tc.want)
		}
	}
	const public = "https://servers.example.org"
	for name, tc := range map[string]struct {
		c      Config
		public string
		want   string
	}{
		"nothing":          {Config{}, "", ""},
		"complete":         {Config{SMTPURL: "smtps://x", From: "a@b.c"}, public, ""},
		"from alone":       {Config{From: "a@b.c"}, public, "mail.from: there is no mail.smtp_url"},
		"server alone":     {Config{SMTPURLFile: good}, public, "there is no mail.from"},
		"no public URL":    {Config{SMTPURL: "smtps://x", From: "a@b.c"}, "", "there is no web.public_url"},
		"public over http": {Config{SMTPURL: "smtps://x", From: "a@b.c"}, "http://a", "over http"},
		"insecure":         {Config{SMTPURL: "smtp://a:b@x?insecure=true", From: "a@b.c"}, public, "insecure=true"},
	} {
		if got := strings.Join(tc.c.Warnings(tc.public), "; "); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: Warnings() = %q, want %q", name, got, tc.want)
		}
	}
}
