package configs

import (
	"strings"
	"testing"
)

func TestParseSMTPURL(t *testing.T) {
	const secret = "hidden-token"
	for text, want := range map[string]SMTPServer{
		"smtp://mail.example.org":                            {Address: "mail.example.org:587"},
		"smtps://mail.example.org/":                          {Address: "mail.example.org:465", TLS: true},
		"smtp://[::1]:25?insecure=true":                      {Address: "[::1]:25", Insecure: true},
		"smtps://me%40example.org:a%3Ab%2F@mail.example.org": {Address: "mail.example.org:465", TLS: true, User: "me@example.org", Password: "a:b/"},
	} {
		if got, err := ParseSMTPURL(text); err != nil || got != want {
			t.Errorf("ParseSMTPURL(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", secret, "http://" + secret + "@x", "smtp://", "smtp://:25", "smtp://me:" + secret + "@", "smtp://me@x", "smtp://:" + secret + "@x", "smtp://x:0", "smtp://x:65536",
		"smtp://x:" + secret, "smtp://x/" + secret, "smtp://x#" + secret, "smtp://x?insecure=1", "smtp://x?" + secret, "smtps://x?insecure=true",
		"smtp://me:" + secret + "%0d%0a@x", "smtp://me%00:" + secret + "@x", "smtp://me:%zz" + secret + "@x", "smtp://me:" + secret + "\r\n@x",
	} {
		if got, err := ParseSMTPURL(text); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("ParseSMTPURL(%q) = %+v, %v, want an error without the secret", text, got, err)
		}
	}
}

func TestParseSender(t *testing.T) {
	for _, text := range []string{"", "noreply@example.org", "Our Servers <noreply@example.org>", `"A, B" <a@b.c>`, strings.Repeat("a", maxFrom-6) + "@b.org"} {
		if got, err := parseSender(" " + text); err != nil || got != text {
			t.Errorf("parseSender(%q) = %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"x", "a@b@c", "a@b.c, d@e.f", "a@b.c\r\nBcc: d@e.f", "X\n <a@b.c>", `"a b"@c.d`, "a@[192.0.2.1]", strings.Repeat("a", maxFrom-5) + "@b.org",
	} {
		if got, err := parseSender(text); err == nil {
			t.Errorf("parseSender(%q) = %q, want an error", text, got)
		}
	}
}
