package configs

import (
	"errors"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
)

// SMTPServer is a server that takes mail, read from a URL.
type SMTPServer struct {
	Address  string // host:port
	TLS      bool   // encrypted from the first byte, else with STARTTLS
	Insecure bool   // it may also be spoken to without encryption
	User     string // empty: without signing in
	Password Secret
}

// ParseSMTPURL reads the URL of a server that takes mail:
//
//	smtp://USER:PASSWORD@HOST:PORT    STARTTLS is required; port 587 if missing
//	smtps://USER:PASSWORD@HOST:PORT   TLS; port 465 if missing
//	smtp://HOST:PORT?insecure=true    also without TLS
//
// Its errors do not quote it.
func ParseSMTPURL(text string) (s SMTPServer, err error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" {
		return s, errors.New("is not the address of a mail server: write smtps://USER:PASSWORD@mail.example.org, special characters as %40")
	}
	if u.Path != "" && u.Path != "/" || u.Fragment != "" || u.RawQuery != "" && u.RawQuery != "insecure=true" {
		return s, errors.New("must hold nothing after the port but ?insecure=true")
	}
	s = SMTPServer{TLS: u.Scheme == "smtps", Insecure: u.RawQuery != ""}
	if s.TLS && s.Insecure {
		return s, errors.New("is smtps with insecure=true: write one of them")
	}
	port := u.Port()
	switch {
	case port == "" && s.TLS:
		port = "465"
	case port == "":
		port = "587"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return s, errors.New("has a port that is not 1 to 65535")
	}
	s.Address = net.JoinHostPort(u.Hostname(), port)
	password, has := u.User.Password()
	s.User, s.Password = u.User.Username(), Secret(password)
	if (s.User == "") == has || strings.ContainsAny(s.User+password, "\x00\r\n") {
		return s, errors.New("has a user without a password, a password without a user, or a line break in one of them")
	}
	return s, nil
}

// parseSMTPURL checks the URL of a server that takes mail.
func parseSMTPURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	_, err := ParseSMTPURL(text)
	return text, err
}

// maxFrom is the longest sender of mail in bytes.
const maxFrom = 200

// parseSender checks the sender of mail: an address, which may stand in angle
// brackets after a name.
func parseSender(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	a, err := mail.ParseAddress(text)
	if err != nil || !IsMailAddress(a.Address) || len(text) > maxFrom || strings.ContainsAny(text, "\r\n\x00") {
		return "", errors.New("is not the address of a sender: write noreply@example.org or Name <noreply@example.org>")
	}
	return text, nil
}

// IsMailAddress reports whether mail can be sent to an address: letters, digits and
// signs without a meaning in headers and commands, in ASCII, before and after one @.
func IsMailAddress(text string) bool {
	const alnum = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	local, domain, ok := strings.Cut(text, "@")
	return ok && local != "" && domain != "" &&
		strings.Trim(local, alnum+".!#$%&'*+-/=?^_`{|}~") == "" && strings.Trim(domain, alnum+".-") == "" &&
		!strings.HasPrefix(domain, "-") && !strings.HasPrefix(domain, ".")
}
