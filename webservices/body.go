package webservices

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
)

// maxBodies bounds the bodies of all requests that are in memory, in bytes.
const maxBodies = 64 << 20

// firstRead is how much memory a body gets at first.
const firstRead = 4 << 10

// Errors of reading a body.
var (
	errTooLarge = errors.New("the body is too large")
	errBusy     = errors.New("too many bodies are in memory")
)

// bodies counts the bytes of all bodies in memory.
type bodies struct{ bytes atomic.Int64 }

// take takes n bytes and reports whether there were as many left.
func (b *bodies) take(n int) bool {
	if b.bytes.Add(int64(n)) <= maxBodies {
		return true
	}
	b.bytes.Add(-int64(n))
	return false
}

// read reads a body of at most n bytes. Clients may announce more than they
// send: a body that ends like a request is complete. The caller gives the
// capacity of the result back with release, also after an error, and may use the bytes read before
// it was cut off.
func (b *bodies) read(r io.Reader, n int) (body []byte, err error) {
	for {
		if len(body) == cap(body) {
			if len(body) > n {
				return body, errTooLarge
			}
			grown := min(max(2*cap(body), firstRead), n+1)
			if !b.take(grown - cap(body)) {
				return body, errBusy
			}
			body = append(make([]byte, 0, grown), body...)
		}
		m, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+m]
		switch {
		case len(body) > n:
			return body, errTooLarge
		case errors.Is(err, io.EOF), m > 0 && endsEnvelope(body):
			return body, nil
		case err != nil:
			return body, err
		}
	}
}

// release gives back the memory of a body.
func (b *bodies) release(body []byte) { b.bytes.Add(-int64(cap(body))) }

// endsEnvelope reports whether a body ends with the end tag of an Envelope.
func endsEnvelope(body []byte) bool {
	body = bytes.TrimRight(body, " \t\r\n\x00")
	if !bytes.HasSuffix(body, []byte("Envelope>")) {
		return false
	}
	return bytes.HasPrefix(body[bytes.LastIndexByte(body, '<')+1:], []byte("/"))
}
