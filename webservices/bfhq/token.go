package bfhq

import (
	"context"
	"crypto/aes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
)

// token is what a game or a server of Battlefield 2142 says about itself in the parameter
// auth of a page: a block of AES under a key that is built into the game.
type token struct {
	made    time.Time
	profile storage.ProfileID
	server  bool // it is a server that asks, about the player of the profile
}

// tokenLife is how far the clock of a player may be off.
const tokenLife = 24 * time.Hour

// tokenLetters turns a token into base64.
var tokenLetters = strings.NewReplacer("[", "+", "]", "/", "_", "=")

// openToken reads a token with a key of 32 hex digits. ok is false if it was made with
// another key.
func openToken(key, text string) (t token, ok bool) {
	raw, err := hex.DecodeString(key)
	b, err2 := base64.StdEncoding.DecodeString(tokenLetters.Replace(text))
	if err != nil || err2 != nil || len(raw) != aes.BlockSize || len(b) != aes.BlockSize {
		return t, false
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return t, false
	}
	block.Decrypt(b, b)
	if crc16(b[:14]) != binary.LittleEndian.Uint16(b[14:]) {
		return t, false
	}
	return token{
		made:    time.Unix(int64(binary.LittleEndian.Uint32(b)), 0),
		profile: storage.ProfileID(binary.LittleEndian.Uint32(b[8:])),
		server:  binary.LittleEndian.Uint16(b[12:]) == 1,
	}, true
}

// crc16 is the check sum of a token: polynomial 1021, start 0.
func crc16(b []byte) (sum uint16) {
	for _, c := range b {
		sum ^= uint16(c) << 8
		for range 8 {
			carry := sum >> 15
			sum = sum<<1 ^ carry*0x1021
		}
	}
	return sum
}

// proofError is a page without a frame, for a request that does not prove who asks.
type proofError string

func (e proofError) Error() string { return string(e) }

// The texts are those of the original pages.
const (
	errUnproved proofError = "None: No error"
	errExpired  proofError = "ExpiredAuth: Expired authentication token"
)

// identified is an answerer for requests that prove who asks, which it notes in them.
func identified(make func(stella, context.Context, *request) (*Answer, error)) answerer {
	return func(r *Backend, ctx context.Context, q *request) (a *Answer, err error) {
		if q.asker, err = r.identify(ctx, q); err != nil {
			return nil, err
		}
		return make(stella{r}, ctx, q)
	}
}

// identify returns who asks. Without the key of the game that is a server whose rounds
// count, or a player at the address from which the profile is signed in.
func (r *Backend) identify(ctx context.Context, q *request) (token, error) {
	c := r.config.Load()
	if c.StellaKey != "" {
		t, ok := openToken(c.StellaKey, q.get("auth"))
		switch age := q.now.Sub(t.made).Abs(); {
		case !ok:
			return t, errUnproved
		case age > tokenLife:
			return t, errExpired
		}
		return t, nil
	}
	t := token{server: c.lists(q.from)}
	n, _ := query.Number(q.query, "pid")
	t.profile = storage.ProfileID(n)
	if ticket := q.get("gsa"); ticket != "" && r.opt.Ticket != nil && !t.server {
		if id, err := r.opt.Ticket(ticket); err == nil {
			t.profile = id
		}
	}
	if t.profile == 0 || !t.server && (r.opt.SignedIn == nil || !r.opt.SignedIn(ctx, t.profile, q.from)) {
		return t, errUnproved
	}
	return t, nil
}
