package ssl3

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func FuzzRecords(f *testing.F) {
	f.Add(bytes.Join(loadRecorded(f).clientRecords(), nil), 7)
	f.Add([]byte{22, 3, 0, 0, 0}, 1)
	f.Add([]byte{22, 3, 0, 0x40, 1}, 3)
	f.Fuzz(func(t *testing.T, stream []byte, chunk int) {
		reader := recordReader{r: &chunks{stream, max(chunk, 1)}}
		read := 0
		for {
			r, err := reader.next(maxData)
			if err != nil {
				if _, refused := alertOf(err); !refused && !ended(err) {
					t.Fatalf("error %v", err)
				}
				return
			}
			head := stream[read : read+headerLen]
			read += headerLen + len(r.payload)
			if len(r.payload) > maxData || byte(r.typ) != head[0] || !bytes.Equal(r.payload, stream[read-len(r.payload):read]) {
				t.Fatalf("record %d %x of a stream with %x", r.typ, r.payload, head)
			}
		}
	})
}

// ended reports whether a stream has ended.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// chunks reads a few bytes at a time.
type chunks struct {
	rest []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(c.size, len(p))], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func FuzzHandshake(f *testing.F) {
	rec := loadRecorded(f)
	id := rec.identity()
	random, err := io.ReadAll(rec.random())
	if err != nil {
		f.Fatal(err)
	}
	records := rec.clientRecords()
	f.Add(bytes.Join(records, nil))
	for i := range records {
		f.Add(bytes.Join(records[:i], nil))
	}
	var clear half
	f.Add(clear.seal(nil, typeAlert, []byte{1, 0}))
	f.Add(oldHelloOf(version, 0, minChallenge, suite))
	f.Fuzz(func(t *testing.T, stream []byte) {
		s := newServer(id, bytes.NewReader(random), nil)
		data, err := feed(&s.state, bytes.Clone(stream))
		if len(s.partial) > messageHeader+maxHello+maxData {
			t.Errorf("%d bytes of a message are kept", len(s.partial))
		}
		if len(data) > 0 && !s.open {
			t.Error("data before the end of the handshake")
		}
		if _, refused := alertOf(err); err != nil && !refused && !ended(err) {
			if _, ended := errors.AsType[*PeerError](err); !ended {
				t.Errorf("error %v", err)
			}
		}
	})
}

func FuzzOldHello(f *testing.F) {
	f.Add(oldHelloOf(version, 0, minChallenge, suite)[oldHeader:])
	f.Add(oldHelloOf(version, oldSession, randomLen, 5, suite)[oldHeader:])
	f.Fuzz(func(t *testing.T, body []byte) {
		if h, ok := parseOldHello(body); ok && (len(body) < oldFixed+oldSuite+minChallenge || len(h.suites)*oldSuite > len(body)) {
			t.Errorf("%x is read as %+v", body, h)
		}
	})
}

func FuzzClientHello(f *testing.F) {
	f.Add(loadRecorded(f).bytes("client_hello")[messageHeader:])
	f.Fuzz(func(t *testing.T, body []byte) {
		h, ok := parseClientHello(body)
		if ok && !bytes.HasPrefix(body, h.appendClient(nil)) {
			t.Errorf("%x is read as %x", body, h.appendClient(nil))
		}
	})
}
