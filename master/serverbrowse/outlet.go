package serverbrowse

import (
	"crypto/rand"
	"io"
	"sync"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/views"
)

// Sizes of the random parts of the crypt header.
const (
	cryptRandom    = 8
	cryptChallenge = 25
)

// outlet is the master's side of a connection. All data goes through one
// cipher, so it must be sent in the order in which it was enciphered: one lock
// covers both.
type outlet struct {
	w      io.Writer
	chunks *views.Chunks

	mu     sync.Mutex // held during a send; guards the fields below
	cipher gamespy.Cipher
	sent   int   // bytes
	err    error // of a failed write, after which the client cannot decipher the stream
}

// open generates the server's part of the key and returns the crypt header,
// which must be sent before anything else.
func (o *outlet) open(secret string, client [8]byte, backendFlags uint16) []byte {
	var random [cryptRandom + cryptChallenge]byte
	_, _ = rand.Read(random[:]) // never fails
	noise, challenge := random[:cryptRandom], random[cryptRandom:]
	key := gamespy.BrowseKey(secret, client, challenge)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cipher = gamespy.NewCipher(key[:])
	return gamespy.AppendCryptHeader(nil, backendFlags, noise, challenge)
}

// send writes plain as it is, at most half a chunk, and then the parts through
// the cipher. It blocks until all is written or a write fails; concurrent sends
// do not interleave. The parts are only read.
func (o *outlet) send(plain []byte, parts ...[]byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	buf := o.chunks.Get()
	defer o.chunks.Put(buf)
	have := copy(buf[:views.ChunkSize/2], plain)
	for _, part := range parts {
		for len(part) > 0 {
			n := min(len(part), views.ChunkSize-have)
			o.cipher.Encrypt(buf[have:have+n], part[:n])
			have, part = have+n, part[n:]
			if have == views.ChunkSize {
				o.write(buf[:])
				have = 0
			}
			if o.err != nil {
				return o.err
			}
		}
	}
	if have > 0 {
		o.write(buf[:have])
	}
	return o.err
}

func (o *outlet) write(p []byte) {
	if o.err == nil {
		o.sent += len(p)
		_, o.err = o.w.Write(p)
	}
}

// size returns the number of bytes that were sent.
func (o *outlet) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent
}
