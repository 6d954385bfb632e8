// Package mail sends mail of one plain text over SMTP (RFC 5321), with the client of
// the standard library: the one library that does more of it weighs thirty times as
// much.
//
// A server is spoken to with TLS, unless it is on this machine or its URL allows
// otherwise; its certificate is checked then. Nothing that comes from outside can add
// a header, a recipient or a command: addresses have a strict form, all other texts
// are encoded.
//
// It has no queue and tries once. When mail is sent is up to the caller.
package mail

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/respawnd/respawnd/configs"
)

// Config is section mail of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Mail server that takes the mail of this daemon, with which players who forgot
	// their password get a link: smtps://USER:PASSWORD@mail.example.org (port 465) or
	// smtp://USER:PASSWORD@mail.example.org (STARTTLS, port 587), special characters
	// as in %40. Without encryption only on this machine, or with ?insecure=true at
	// the end. It is never logged. Needs from and web.public_url. Empty: no mail is
	// sent.
	SMTPURL string `key:"smtp_url" as:"smtpurl" secret:"true" live:"true"`
	// File with the URL, in place of smtp_url. It is read for each mail.
	SMTPURLFile string `key:"smtp_url_file" as:"text" live:"true"`
	// Sender of mail, such as noreply@example.org or Name <noreply@example.org>.
	From string `key:"from" as:"sender" live:"true"`
	// Links that one address may ask for per hour, {range}; a registration counts as one.
	// 0: no bound.
	PerAddress int `key:"per_address" default:"10" range:"0 to 1000000" live:"true"`
	// Mails to one mailbox per hour, {range}: to all accounts with its
	// address together. A mailbox gets at most 10 a day.
	PerAccount int `key:"per_account" default:"3" range:"1 to 1000" live:"true"`
	// Mails per hour in all, {range}. A quarter is kept for addresses
	// from which the account signed in before. When half of the rest is used, a network
	// (/24, IPv6 /48) gets no more than its share.
	Total int `key:"total" default:"100" range:"1 to 1000000" live:"true"`
}

// On reports whether mail can be sent.
func (c *Config) On() bool { return c.From != "" && (c.SMTPURL != "" || c.SMTPURLFile != "") }

// maxURLFile is the size in bytes of the largest file with a URL.
const maxURLFile = 4 << 10

// server returns the server that takes the mail. Errors name the key and quote no
// URL.
func (c *Config) server() (configs.SMTPServer, error) {
	if c.SMTPURLFile == "" {
		s, err := configs.ParseSMTPURL(c.SMTPURL)
		if err != nil {
			err = fmt.Errorf("mail.smtp_url %w", err)
		}
		return s, err
	}
	info, err := os.Stat(c.SMTPURLFile)
	switch {
	case err != nil:
	case info.IsDir() || info.Size() > maxURLFile:
		err = fmt.Errorf("%s: not a file of at most %d bytes", c.SMTPURLFile, maxURLFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(c.SMTPURLFile)
	}
	if err != nil {
		return configs.SMTPServer{}, fmt.Errorf("mail.smtp_url_file: %w", err)
	}
	s, err := configs.ParseSMTPURL(strings.TrimSpace(string(text)))
	if err != nil {
		err = fmt.Errorf("mail.smtp_url_file: %s: the URL %w", c.SMTPURLFile, err)
	}
	return s, err
}

// Check returns the mistakes that can only be found on this machine.
func (c *Config) Check() error {
	switch {
	case c.SMTPURL != "" && c.SMTPURLFile != "":
		return errors.New("mail.smtp_url_file: there is mail.smtp_url too; remove one of them")
	case c.SMTPURLFile != "":
		_, err := c.server()
		return err
	}
	return nil
}

// Warnings returns settings that are allowed but rarely intended. publicURL is
// web.public_url.
func (c *Config) Warnings(publicURL string) (out []string) {
	url := c.SMTPURL != "" || c.SMTPURLFile != ""
	switch {
	case c.From != "" && !url:
		out = append(out, "mail.from: there is no mail.smtp_url, so no mail is sent")
	case c.From == "" && url:
		out = append(out, "mail.smtp_url: there is no mail.from, so no mail is sent")
	case url && publicURL == "":
		out = append(out, "mail.smtp_url: there is no web.public_url, so players are sent no links")
	case url && strings.HasPrefix(publicURL, "http:"):
		out = append(out, "web.public_url: links for new passwords are mailed, and others can read pages that are sent over http")
	}
	if s, err := configs.ParseSMTPURL(c.SMTPURL); err == nil && s.Insecure && s.Password != "" {
		out = append(out, "mail.smtp_url: insecure=true lets others on the way read its password")
	}
	return out
}
