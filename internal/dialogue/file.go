package dialogue

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// Version is the version of the form of recordings.
const Version = 1

// Header is the first line of a recording.
type Header struct {
	Recording int       `json:"recording"` // Version
	Game      string    `json:"game"`      // that was played
	Started   time.Time `json:"started"`
	Program   string    `json:"program"` // version of the daemon
	Address   string    `json:"address"` // of the player, without its last part
}

// Kind is what an Event is.
type Kind string

// The kinds.
const (
	Open    Kind = "open"    // a connection began
	Client  Kind = "client"  // a message of the client
	Server  Kind = "server"  // a message of the daemon
	Close   Kind = "close"   // the connection ended
	Verdict Kind = "verdict" // what a service decided about the address
	End     Kind = "end"     // the recording ended; Text says why
)

// Event is a line of a recording.
type Event struct {
	At      int64  `json:"at_ms"` // since Header.Started
	Kind    Kind   `json:"kind"`
	Service string `json:"service,omitzero"`
	Over    string `json:"over,omitzero"`   // "udp", "tcp" or "http"
	Stream  int    `json:"stream,omitzero"` // the same for a connection, or for datagrams of one port of the client
	Port    uint16 `json:"port,omitzero"`   // of the daemon
	Length  int    `json:"length,omitzero"` // of the message in bytes
	// Blotted reports that parts of Data are replaced by asterisks.
	Blotted bool `json:"blotted,omitzero"`
	// Data is the message in plain text; empty: only its length is recorded.
	Data Bytes `json:"data,omitzero"`
	// Text is a verdict, or why the recording ended.
	Text string `json:"text,omitzero"`
}

// Bytes is JSON as a string with a character for each byte, from U+0000 to U+00FF, so that a
// message of text can be read in the file.
type Bytes []byte

// MarshalJSON implements json.Marshaler.
func (b Bytes) MarshalJSON() ([]byte, error) {
	text := make([]rune, len(b))
	for i, c := range b {
		text[i] = rune(c)
	}
	return marshal(string(text))
}

// errNotBytes is the error for a character that stands for no byte.
var errNotBytes = errors.New("data has a character above U+00FF")

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	*b = make(Bytes, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return errNotBytes
		}
		*b = append(*b, byte(r))
	}
	return nil
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// maxLine is the longest line of a recording that is read, in bytes.
const maxLine = 8*maxMessage*utf8.UTFMax + 4096

// Read reads a recording. One that was cut off is read up to there.
func Read(r io.Reader) (h Header, events []Event, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Recording == 0 {
				return h, nil, errors.New("this file is not a recording")
			}
			if h.Recording != Version {
				return h, nil, fmt.Errorf("this recording is of version %d, and this program reads version %d", h.Recording, Version)
			}
			continue
		}
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return h, events, fmt.Errorf("line %d: %w", n, err)
		}
		events = append(events, e)
	}
	if h.Recording == 0 && lines.Err() == nil {
		return h, nil, io.ErrUnexpectedEOF
	}
	return h, events, lines.Err()
}
