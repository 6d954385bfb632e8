package dialogue

import (
	"bytes"
	"regexp"
	"strings"
)

// Protocol is what a recording must know of the messages of a service. All fields are optional,
// and the functions may be called concurrently.
type Protocol struct {
	// Split returns the length of the first whole message of b, the bytes that one side of a
	// connection sent; 0: there is none yet. It is not for datagrams and HTTP, whose messages are whole.
	Split func(said bool, b []byte) int
	// Plain returns a message of the wire in plain text, and Wire is its inverse; nil: they are the
	// same. Both may change their argument.
	Plain, Wire func(message []byte) []byte
	// Blot overwrites what is secret in a message in plain text with asterisks: passwords, proofs and
	// responses, tickets, CD keys, e-mail addresses, and what players write to each other. A service
	// without it is recorded as lengths.
	Blot func(message []byte)
	// Shape returns what two answers to the same message have in common, such as the keys without
	// their values; nil: that there is an answer.
	Shape func(message []byte) string
	// Secret reports that the answer to a blotted message depends on what was blotted; nil: it does.
	Secret func(message []byte) bool
	// Skip reports that a message only begins to encipher, which is not replayed.
	Skip func(message []byte) bool
}

// Nothing is the Blot of a protocol without secrets.
func Nothing([]byte) {}

// Never is the Secret of a protocol whose answers depend on no secret.
func Never([]byte) bool { return false }

// Public is the Protocol of datagrams without secrets. shape is that of Protocol.
func Public(shape func([]byte) string) Protocol { return Protocol{Blot: Nothing, Shape: shape} }

// Ciphered is p with a cipher that works in place and is its own inverse.
func (p Protocol) Ciphered(crypt func(message []byte)) Protocol {
	p.Plain = func(b []byte) []byte { crypt(b); return b }
	p.Wire = p.Plain
	return p
}

// plain is Plain, if there is one.
func (p *Protocol) plain(message []byte) []byte {
	if p.Plain == nil {
		return message
	}
	return p.Plain(message)
}

// Overwrite replaces all of b by asterisks.
func Overwrite(b []byte) {
	for i := range b {
		b[i] = '*'
	}
}

// mail matches e-mail addresses, which every protocol may carry by accident.
var mail = regexp.MustCompile(`[\w.+%-]+@[\w-]+(\.[\w-]+)+`)

// blotMail overwrites e-mail addresses.
func blotMail(b []byte) {
	for _, at := range mail.FindAllIndex(b, -1) {
		Overwrite(b[at[0]:at[1]])
	}
}

// final ends a message of \key\value\ text on a stream.
const final = `\final\`

// Pairs is the Protocol of text such as \key\value\key\value\final\. The values of the secret keys
// are blotted, in lower case here.
func Pairs(secret ...string) Protocol {
	return Protocol{
		Split: func(_ bool, b []byte) int {
			end := bytes.Index(b, []byte(final))
			if end < 0 {
				return 0
			}
			return end + len(final)
		},
		Blot: func(b []byte) { BlotPairs(b, secret...) }, Shape: Keys,
	}
}

// BlotPairs overwrites the part of \key\value\ text behind each part that is a secret key. It does not
// count keys and values, so that a message of a strange form shows no secret.
func BlotPairs(b []byte, secret ...string) {
	next := false
	for part := range bytes.SplitSeq(b, []byte{'\\'}) {
		if next {
			Overwrite(bytes.TrimRight(part, "\x00\r\n"))
		}
		next = contains(secret, bytes.Trim(part, "\x00\r\n"))
	}
}

// contains reports whether a key is one of list, without regard to case.
func contains(list []string, key []byte) bool {
	for _, k := range list {
		if strings.EqualFold(k, string(key)) {
			return true
		}
	}
	return false
}

// Keys is the Shape of \key\value\ text: its keys.
func Keys(b []byte) string {
	_, b, _ = bytes.Cut(b, []byte{'\\'})
	var keys []string
	for i, part := range bytes.Split(b, []byte{'\\'}) {
		if i%2 == 0 && len(part) > 0 {
			keys = append(keys, strings.Trim(string(part), "\x00\r\n"))
		}
	}
	return strings.Join(keys, " ")
}

// Leading is the Shape of binary messages that begin with their type.
func Leading(n int) func([]byte) string {
	return func(b []byte) string { return string(b[:min(n, len(b))]) }
}

// Word is the Shape of messages that begin with four bytes and a word, as those of Quake do.
func Word(b []byte) string {
	if len(b) > 4 {
		if end := bytes.IndexFunc(b[4:], func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }); end >= 0 {
			b = b[:4+end]
		}
	}
	return string(b)
}

// Lines is the Split of lines that end with LF.
func Lines(_ bool, b []byte) int { return bytes.IndexByte(b, '\n') + 1 }
