package gamespy

import (
	"bytes"
	"errors"
	"iter"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Final ends a message of backslash text on a stream.
const Final = `\final\`

const (
	// MaxMessage is the maximum length of one message of backslash text, with
	// its [Final].
	MaxMessage = 16 << 10

	// MaxFields is the maximum number of fields that [ParseMessage] accepts in
	// one message. A full status packet of a host with 64 players has about
	// 450.
	MaxFields = 1024
)

var (
	// ErrMessageTooLong reports text of more than [MaxMessage] bytes.
	ErrMessageTooLong = errors.New("gamespy: message too long")

	// ErrTooManyFields reports more than [MaxFields] fields.
	ErrTooManyFields = errors.New("gamespy: too many fields")

	// ErrNoFields reports text without a single key.
	ErrNoFields = errors.New("gamespy: message has no fields")

	// ErrUnwritable reports a key or value that would break the framing.
	ErrUnwritable = errors.New("gamespy: field cannot be written")
)

const (
	finalName   = "final"
	keyTrim     = "\r\n"
	messageTrim = "\r\n\\"
)

// Message is one message of backslash text: fields in the order of the wire.
// The first one names the message, often with an empty value. The zero value is
// an empty message. Add must not be called on both copies of a copied Message.
type Message struct {
	fields []field
}

type field struct {
	key, value string
}

// CutFinal cuts the first message from b, the unread bytes of a stream. message
// is the part of b before the first [Final], rest the part after it. If ok is
// false there is no whole message yet, message is nil and rest is b: read more,
// unless b already has [MaxMessage] bytes.
func CutFinal(b []byte) (message, rest []byte, ok bool) {
	i := bytes.Index(b[:min(len(b), MaxMessage)], []byte(Final))
	if i < 0 {
		return nil, b, false
	}
	return b[:i], b[i+len(Final):], true
}

// ParseMessage reads the fields of one datagram or of one message from
// [CutFinal]. It accepts the forms that clients really send:
//
//   - Anything before the first backslash is skipped, such as the NUL or line
//     end that a client put behind its previous message.
//   - The text ends at the first NUL after that. A line end there is dropped.
//   - A last key without a value has an empty one.
//   - An empty key is skipped without a value, so that the doubled backslash
//     between two messages that were joined does not shift keys and values.
//
// `\final\` inside a datagram is an ordinary field. The message shares no
// memory with b; its strings share one copy of it. The error is
// [ErrMessageTooLong], [ErrTooManyFields] or [ErrNoFields].
func ParseMessage(b []byte) (Message, error) {
	if len(b) > MaxMessage {
		return Message{}, ErrMessageTooLong
	}
	_, b, _ = bytes.Cut(b, []byte{'\\'})
	b, _, _ = bytes.Cut(b, []byte{0})
	// Trailing backslashes carry no field: a missing value is an empty one.
	rest := string(bytes.TrimRight(b, messageTrim))

	var m Message
	for rest != "" {
		var f field
		f.key, rest, _ = strings.Cut(rest, `\`)
		f.key = strings.Trim(f.key, keyTrim)
		if f.key == "" {
			continue
		}
		if len(m.fields) == MaxFields {
			return Message{}, ErrTooManyFields
		}
		if m.fields == nil {
			m.fields = make([]field, 0, min(strings.Count(rest, `\`)/2+1, MaxFields))
		}
		f.value, rest, _ = strings.Cut(rest, `\`)
		m.fields = append(m.fields, f)
	}
	if len(m.fields) == 0 {
		return Message{}, ErrNoFields
	}
	return m, nil
}

// Name returns the first key as it was spelt, or "" for an empty message.
func (m Message) Name() string {
	if len(m.fields) == 0 {
		return ""
	}
	return m.fields[0].key
}

// Len returns the number of fields.
func (m Message) Len() int {
	return len(m.fields)
}

// Get returns the value of the first field called key, which matches without
// regard to the case of ASCII letters, and whether there is one.
func (m Message) Get(key string) (value string, ok bool) {
	for _, f := range m.fields {
		if ascii.EqualFold(f.key, key) {
			return f.value, true
		}
	}
	return "", false
}

// Password returns the password of a message: clients have used four keys for
// it, two of them for encoded ones. given reports whether there is one, ok
// whether it could be decoded.
func (m Message) Password() (plain string, given, ok bool) {
	for _, key := range []string{"passenc", "passwordenc"} {
		if encoded, given := m.Get(key); given {
			plain, err := DecodePassword(encoded)
			return plain, true, err == nil
		}
	}
	for _, key := range []string{"pass", "password"} {
		if plain, given := m.Get(key); given {
			return plain, true, true
		}
	}
	return "", false, false
}

// Fields yields the keys and values in order, repeated keys included.
func (m Message) Fields() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, f := range m.fields {
			if !yield(f.key, f.value) {
				return
			}
		}
	}
}

// Add appends a field. [Message.AppendTo] checks it.
func (m *Message) Add(key, value string) {
	m.fields = append(m.fields, field{key, value})
}

// AppendTo appends the fields to b, without a [Final], and returns the longer
// slice. It returns b as it was and [ErrUnwritable] if a key is empty, if a key
// or value contains a backslash or a NUL, or if a value is the word "final",
// which would end the message early. A key of that name would do so too on a
// stream, but is an ordinary field in a datagram, so it is written. AppendTo
// never silently leaves out a field.
func (m Message) AppendTo(b []byte) ([]byte, error) {
	for _, f := range m.fields {
		if f.key == "" || f.value == finalName || !writable(f.key) || !writable(f.value) {
			return b, ErrUnwritable
		}
	}
	for _, f := range m.fields {
		b = append(b, '\\')
		b = append(b, f.key...)
		b = append(b, '\\')
		b = append(b, f.value...)
	}
	return b, nil
}

func writable(s string) bool {
	return strings.IndexByte(s, '\\') < 0 && strings.IndexByte(s, 0) < 0
}
