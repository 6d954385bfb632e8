package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// Forms ties forms to the browser that they were sent to, by a cookie of that
// browser. It keeps nothing but its key, which is of this process alone.
type Forms struct{ key [sha256.Size]byte }

// NewForms returns Forms with a new key.
func NewForms() *Forms {
	f := new(Forms)
	_, _ = rand.Read(f.key[:]) // never fails
	return f
}

// Token returns what a form has to carry for the browser with a cookie: a keyed
// hash of it, so that no other page can know it.
func (f *Forms) Token(cookie string) string {
	h := hmac.New(sha256.New, f.key[:])
	_, _ = h.Write([]byte(cookie)) // never fails
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Valid reports whether a form with a token was made for the browser with a
// cookie. It takes the same time for every token of the right length.
func (f *Forms) Valid(cookie, token string) bool {
	return cookie != "" && hmac.Equal([]byte(token), []byte(f.Token(cookie)))
}
