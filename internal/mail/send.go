package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/smtp"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/cacerts"
	"github.com/respawnd/respawnd/internal/clean"
)

// Timeout bounds the delivery of one mail.
const Timeout = 30 * time.Second

// Limits of a server's replies.
const (
	maxError  = 200       // bytes of an error that are passed on
	maxAnswer = 4 << 10   // bytes of an error that are read
	maxRead   = 256 << 10 // bytes in all, with those of TLS
)

// ErrNoTLS reports that a server offers no encryption.
var ErrNoTLS = errors.New("the server offers no STARTTLS; use smtps, or add ?insecure=true to the URL")

// Send hands a message to the server, within Timeout. Errors contain no address of the
// receiver and no password.
func Send(ctx context.Context, c *Config, m *Message) error {
	from, text, err := m.render(c.From, time.Now())
	if err != nil {
		return err
	}
	s, err := c.server()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if err := deliver(ctx, &s, from, m.To, text); err != nil {
		return hide(err, m.To, s.Address)
	}
	return nil
}

// IsTemporary reports whether a later attempt to send may succeed.
func IsTemporary(err error) bool {
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return answer.Code < 500
	}
	_, network := errors.AsType[net.Error](err)
	return network
}

// hidden is an error whose text does not name the receiver.
type hidden struct {
	error

	text string
}

// Error returns the text without the receiver.
func (h hidden) Error() string { return h.text }

// Unwrap returns the error itself.
func (h hidden) Unwrap() error { return h.error }

// hide makes an error of the exchange with a server fit for the log: a server may
// repeat the receiver.
func hide(err error, to, server string) error {
	local, _, _ := strings.Cut(to, "@")
	receiver := regexp.MustCompile("(?i)" + regexp.QuoteMeta(local) + "@[a-z0-9.-]*")
	text := receiver.ReplaceAllLiteralString(clean.Cut(err.Error(), maxAnswer), "(receiver)")
	return hidden{err, fmt.Sprintf("mail server %s: %s", server, clean.Cut(clean.Printable(text), maxError))}
}

// deliver hands a rendered message to a server.
func deliver(ctx context.Context, s *configs.SMTPServer, from, to string, text []byte) (err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close() // the answer to the message has come, or there is an error
		if ctx.Err() != nil && err != nil {
			err = ctx.Err()
		}
	}()
	client, err := converse(ctx, &bounded{conn, maxRead}, s)
	if err != nil {
		return err
	}
	if err := client.Mail(from); err != nil {
		return err
	}
	if err := client.Rcpt(to); err != nil {
		return err
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil { // reads whether the server took it
		return err
	}
	_ = client.Quit() // it has the message
	return nil
}

// bounded is a connection from which a number of bytes are read.
type bounded struct {
	net.Conn

	left int
}

// Read implements net.Conn.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the server says too much")
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// converse greets the server, encrypts the connection and signs in.
func converse(ctx context.Context, conn net.Conn, s *configs.SMTPServer) (*smtp.Client, error) {
	host, _, _ := net.SplitHostPort(s.Address) // checked when it was read
	cacerts.Ready()
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	optional := s.Insecure || isLoopback(conn.RemoteAddr())
	if s.TLS {
		encrypted := tls.Client(conn, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = encrypted
	}
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return nil, err
	}
	if err := client.Hello(literal(conn.LocalAddr())); err != nil {
		return nil, err
	}
	if !s.TLS {
		offered, _ := client.Extension("STARTTLS")
		switch {
		case offered:
			config.InsecureSkipVerify = optional // better than no encryption at all
			err = client.StartTLS(config)
		case !optional:
			err = ErrNoTLS
		}
		if err != nil {
			return nil, err
		}
	}
	if s.User == "" {
		return client, nil
	}
	return client, client.Auth(&login{user: s.User, password: string(s.Password)})
}

// literal returns an address as the name of a client without one.
func literal(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return "localhost"
	}
	if ip := at.Addr().Unmap(); ip.Is4() {
		return "[" + ip.String() + "]"
	}
	return "[IPv6:" + at.Addr().WithZone("").String() + "]"
}

func isLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// login is PLAIN (RFC 4616), or LOGIN for servers without it. That of the standard library sends
// no password over a connection without encryption, which a URL with insecure=true allows.
type login struct {
	user, password string
	plain          bool
	asked          int // by LOGIN: for the user, for the password
}

// Start implements smtp.Auth.
func (l *login) Start(server *smtp.ServerInfo) (mechanism string, first []byte, err error) {
	switch {
	case slices.Contains(server.Auth, "PLAIN"):
		l.plain = true
		return "PLAIN", []byte("\x00" + l.user + "\x00" + l.password), nil
	case slices.Contains(server.Auth, "LOGIN"):
		return "LOGIN", nil, nil
	}
	return "", nil, errors.New("the server offers neither AUTH PLAIN nor LOGIN")
}

// Next implements smtp.Auth.
func (l *login) Next(_ []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	l.asked++
	switch {
	case l.plain || l.asked > 2:
		return nil, errors.New("the server asks for more than a user and a password")
	case l.asked == 1:
		return []byte(l.user), nil
	}
	return []byte(l.password), nil
}
