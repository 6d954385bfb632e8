package cluster

import "encoding/json"

// notesVersion is the first byte of notes; JSON follows it.
const notesVersion = 1

// maxNote is the length of the longest note that is read.
const maxNote = 4 << 10

// Notes are short messages to other nodes, all or one, whose loss does little harm: they are not repeated,
// and a node that joins does not get them. All methods may be called concurrently.
type Notes[T any] struct {
	bus     Bus
	subject string
}

// NewNotes returns Notes. bus nil: this node is alone, and nothing is sent.
func NewNotes[T any](bus Bus, subject string) Notes[T] { return Notes[T]{bus, subject} }

// Tell sends a note. It never waits.
func (n Notes[T]) Tell(v T) {
	if n.bus == nil {
		return
	}
	_ = n.bus.Publish(n.subject, encodeNote(v)) // see Notes
}

func encodeNote[T any](v T) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a mistake in the type
	}
	return append([]byte{notesVersion}, data...)
}

// Send sends a note to one node. It never waits.
func (n Notes[T]) Send(node string, v T) {
	if n.bus != nil {
		_ = n.bus.Send(node, n.subject, encodeNote(v)) // see Notes
	}
}

// Listen calls f with the notes of other nodes until cancel is called. f must not block. Notes that
// cannot be read are counted.
func (n Notes[T]) Listen(f func(T)) (cancel func()) {
	if n.bus == nil {
		return func() {}
	}
	return n.bus.Subscribe(n.subject, func(from string, data []byte) {
		if v, ok := parseNote[T](data); ok {
			f(v)
		} else {
			n.bus.Unread(from, n.subject)
		}
	})
}

func parseNote[T any](data []byte) (v T, ok bool) {
	if len(data) == 0 || len(data) > maxNote || data[0] != notesVersion {
		return v, false
	}
	return v, json.Unmarshal(data[1:], &v) == nil
}
