// Package mailtest has a mail server for tests. It is not for anything else.
package mailtest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options change a Server.
type Options struct {
	STARTTLS bool   // it is offered
	TLS      bool   // from the first byte
	Auth     string // the mechanisms that are offered
	Fail     string // the first word of commands that are refused
	Answer   string // to those; "550 no" if empty
}

// Mail is a mail that a server took.
type Mail struct {
	From, To  string // of the envelope
	Raw       string
	Header    mail.Header
	Subject   string // decoded
	Text      string // decoded, with \n between lines
	Encrypted bool
	User      string // that signed in
	Password  string
}

// Server is a mail server on a free port of the loopback address.
type Server struct {
	Address string
	Mails   chan Mail // has room for 16

	opt    Options
	config *tls.Config
}

// New starts a server that ends with the test.
func New(t testing.TB, opt Options) *Server {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: ln.Addr().String(), Mails: make(chan Mail, 16), opt: opt, config: certificate(t)}
	var mu sync.Mutex // guards open
	open := make(map[net.Conn]bool)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			all.Go(func() { s.serve(c); _ = c.Close() })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return s
}

// certificate returns the settings with a new certificate of its own.
func certificate(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
}

// session is a connection to the server.
type session struct {
	*Server

	conn net.Conn
	r    *bufio.Reader
	mail Mail
}

func (s *Server) serve(c net.Conn) {
	x := &session{Server: s, conn: c}
	if s.opt.TLS {
		x.conn, x.mail.Encrypted = tls.Server(c, s.config), true
	}
	x.r = bufio.NewReader(x.conn)
	x.say("220 test ESMTP")
	for {
		line, err := x.r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		word, rest, _ := strings.Cut(line, " ")
		if word = strings.ToUpper(word); s.opt.Fail == word {
			if s.opt.Answer == "" {
				s.opt.Answer = "550 no"
			}
			x.say(s.opt.Answer)
			continue
		}
		if !x.obey(word, rest) {
			return
		}
	}
}

func (x *session) say(line string) { _, _ = io.WriteString(x.conn, line+"\r\n") }

// obey executes a command. It returns false if that was the last one.
func (x *session) obey(word, rest string) bool {
	switch word {
	case "EHLO":
		x.say("250-test")
		if x.opt.STARTTLS && !x.mail.Encrypted {
			x.say("250-STARTTLS")
		}
		if x.opt.Auth != "" {
			x.say("250-AUTH " + x.opt.Auth)
		}
		x.say("250 8BITMIME")
	case "STARTTLS":
		x.say("220 go")
		x.conn = tls.Server(x.conn, x.config)
		x.r, x.mail.Encrypted = bufio.NewReader(x.conn), true
	case "AUTH":
		x.auth(rest)
	case "MAIL":
		x.mail.From = path(rest)
		x.say("250 ok")
	case "RCPT":
		x.mail.To = path(rest)
		x.say("250 ok")
	case "DATA":
		x.say("354 go")
		x.take()
		x.say("250 taken")
	case "QUIT":
		x.say("221 bye")
		return false
	default:
		x.say("500 what?")
	}
	return true
}

// path returns the address of a command.
func path(text string) string {
	_, text, _ = strings.Cut(text, "<")
	text, _, _ = strings.Cut(text, ">")
	return text
}

func (x *session) auth(rest string) {
	mechanism, first, _ := strings.Cut(rest, " ")
	ask := func(prompt string) string {
		x.say("334 " + prompt)
		line, _ := x.r.ReadString('\n')
		text, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		return string(text)
	}
	if mechanism == "LOGIN" {
		x.mail.User, x.mail.Password = ask("VXNlcm5hbWU6"), ask("UGFzc3dvcmQ6")
	} else {
		text, _ := base64.StdEncoding.DecodeString(first)
		if parts := strings.Split(string(text), "\x00"); len(parts) == 3 {
			x.mail.User, x.mail.Password = parts[1], parts[2]
		}
	}
	x.say("235 ok")
}

// take reads a mail.
func (x *session) take() {
	var raw strings.Builder
	for {
		line, err := x.r.ReadString('\n')
		if err != nil {
			return
		}
		if line == ".\r\n" {
			break
		}
		raw.WriteString(strings.TrimPrefix(line, "."))
	}
	m := x.mail
	m.Raw = raw.String()
	if parsed, err := mail.ReadMessage(strings.NewReader(m.Raw)); err == nil {
		m.Header = parsed.Header
		m.Subject, _ = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		body, _ := io.ReadAll(quotedprintable.NewReader(parsed.Body))
		m.Text = strings.ReplaceAll(string(body), "\r\n", "\n")
	}
	x.Mails <- m
}
