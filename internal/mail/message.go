package mail

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"

	"github.com/respawnd/respawnd/configs"
)

// Message is a mail of plain text.
type Message struct {
	Name    string // of the sender, if Config.From has none
	To      string // an address
	Subject string
	Text    string // with \n between lines
}

// ErrAddress reports that no mail can be sent to an address.
var ErrAddress = errors.New("not an address that mail can be sent to")

// Limits of a message in bytes.
const (
	maxSubject = 200
	maxText    = 16 << 10
)

// render returns the message as it is sent, and the address of its sender.
func (m *Message) render(from string, now time.Time) (sender string, text []byte, err error) {
	a, err := mail.ParseAddress(from)
	if err != nil || !configs.IsMailAddress(a.Address) {
		return "", nil, errors.New("mail.from is not an address")
	}
	if !configs.IsMailAddress(m.To) {
		return "", nil, ErrAddress
	}
	if len(m.Subject) > maxSubject || len(m.Text) > maxText {
		return "", nil, fmt.Errorf("a subject of %d bytes or a text of %d is too long", len(m.Subject), len(m.Text))
	}
	if a.Name == "" {
		a.Name = m.Name
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	_, domain, _ := strings.Cut(a.Address, "@")
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", (&mail.Address{Name: oneLine(a.Name), Address: a.Address}).String()},
		{"To", "<" + m.To + ">"},
		{"Subject", mime.QEncoding.Encode("utf-8", oneLine(m.Subject))},
		{"Date", now.UTC().Format("Mon, 02 Jan 2006 15:04:05 -0700")},
		{"Message-ID", "<" + hex.EncodeToString(id[:]) + "@" + domain + ">"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
		{"Auto-Submitted", "auto-generated"}, // no automatic answers, please
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(strings.ReplaceAll(m.Text, "\n", "\r\n"))) // memory only
	_ = w.Close()
	return a.Address, b.Bytes(), nil
}

// oneLine replaces characters that end a line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
